//! Range queries to Prometheus, with the history kept in memory and extended at each tick. Whatever
//! comes back instead of samples becomes one line: what, where, what would be right.

mod answer;

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use autoscaler_core::{
    observe::RawSeries,
    units::{TargetId, Timestamp},
};
use reqwest::Url;

use crate::{Args, telemetry::Metrics, validate::Query};

/// Points that Prometheus gives for one range query at most (its limit is 11,000).
const POINTS: i64 = 10_000;
/// Bytes of an answer that are read at most: one series of 10,000 points takes a fifth of a MiB.
const BODY: usize = 4 << 20;

/// The client and the histories.
pub struct Prometheus {
    client: Querier,
    history: i64,
    histories: BTreeMap<TargetId, BTreeMap<String, History>>,
}

/// One signal's past.
#[derive(Default)]
struct History {
    promql: String,
    series: RawSeries,
}

impl History {
    /// Whether it is the past of this query too. Pods come and go; the history is the target's all the
    /// same.
    fn goes_on(&self, query: &Query) -> bool {
        self.promql == query.promql || query.names_pods
    }
}

/// Asks, keeps nothing.
#[derive(Clone)]
pub struct Querier {
    http: reqwest::Client,
    base: Url,
    metrics: Arc<Metrics>,
}

/// A range to ask for: `[from, to]` in steps, and the moment of now.
#[derive(Clone, Debug)]
pub struct Range {
    promql: String,
    from: i64,
    to: i64,
    step: i64,
    now: i64,
}

/// Answers of one range: series with all their points.
pub type Fetched = Result<Vec<RawSeries>, String>;

impl Prometheus {
    /// A client for the administrator's address.
    pub fn new(args: &Args, metrics: Arc<Metrics>) -> reqwest::Result<Self> {
        let http = reqwest::Client::builder()
            .timeout(Duration::from_secs(args.query_timeout))
            .connect_timeout(Duration::from_secs(args.query_timeout.min(5)))
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        let client = Querier {
            http,
            base: args.prometheus_url.clone(),
            metrics,
        };
        Ok(Self {
            client,
            history: args.history_days * 86_400,
            histories: BTreeMap::new(),
        })
    }

    /// The part that asks.
    pub fn client(&self) -> Querier {
        self.client.clone()
    }

    /// Forgets histories of targets that are gone.
    pub fn forget_all_but<'a>(&mut self, ids: impl Iterator<Item = &'a TargetId>) {
        let ids: std::collections::BTreeSet<_> = ids.collect();
        self.histories.retain(|id, _| ids.contains(id));
    }

    /// What is missing of a signal's history: all of it at first, else from the last known step.
    pub fn prepare(&self, id: &TargetId, query: &Query, step: i64, now: Timestamp) -> Range {
        let whole = now.0 - self.history;
        let known = self
            .histories
            .get(id)
            .and_then(|histories| histories.get(&query.name))
            .filter(|history| history.goes_on(query))
            .and_then(|history| history.series.points.last())
            .map(|(time, _)| {
                #[expect(clippy::cast_possible_truncation, reason = "unix seconds")]
                let time = *time as i64;
                time - 2 * step
            });
        let from = known.unwrap_or(whole).max(whole).div_euclid(step) * step;
        Range {
            promql: query.promql.clone(),
            from,
            to: now.0.div_euclid(step) * step,
            step,
            now: now.0,
        }
    }

    /// Joins a fetched range to the history and returns the whole as the signal's answer. An answer
    /// that is not exactly one series is passed on as it is, for the observer to judge.
    pub fn remember(
        &mut self,
        id: &TargetId,
        query: &Query,
        fetched: Fetched,
        now: Timestamp,
    ) -> Fetched {
        let mut series = fetched?;
        let history = self
            .histories
            .entry(id.clone())
            .or_default()
            .entry(query.name.clone())
            .or_default();
        if !history.goes_on(query) {
            *history = History::default();
        }
        history.promql.clone_from(&query.promql);
        if series.len() != 1 {
            return Ok(series);
        }
        let Some(newest) = series.pop() else {
            return Ok(series);
        };
        let first = newest.points.first().map_or(f64::MAX, |(time, _)| *time);
        let oldest = (now.0 - self.history) as f64;
        let points = &mut history.series.points;
        points.retain(|(time, _)| *time >= oldest && *time < first);
        points.extend(newest.points);
        history.series.labels = newest.labels;
        // Of the newest answer alone: what is missing from an older one is in the past.
        history.series.partial = newest.partial;
        Ok(vec![history.series.clone()])
    }
}

impl Querier {
    /// Fetches a range in chunks that Prometheus accepts, and the value of now behind it.
    pub async fn fetch(&self, range: Range) -> Fetched {
        let started = Instant::now();
        let fetched = self.chunks(&range).await;
        self.metrics.query(started.elapsed(), fetched.is_ok());
        fetched
    }

    async fn chunks(&self, range: &Range) -> Fetched {
        let mut joined: Vec<RawSeries> = Vec::new();
        let mut from = range.from;
        while from <= range.to {
            let to = range.to.min(from + (POINTS - 1) * range.step);
            let parameters = [
                ("query", range.promql.clone()),
                ("start", from.to_string()),
                ("end", to.to_string()),
                ("step", range.step.to_string()),
            ];
            join(
                &mut joined,
                self.ask("api/v1/query_range", &parameters).await?,
            );
            from = to + range.step;
        }
        if range.now > range.to {
            let parameters = [
                ("query", range.promql.clone()),
                ("time", range.now.to_string()),
            ];
            join(&mut joined, self.ask("api/v1/query", &parameters).await?);
        }
        Ok(joined)
    }

    async fn ask(&self, path: &str, parameters: &[(&str, String)]) -> Fetched {
        let base = self.base.as_str().trim_end_matches('/');
        let where_ = format!("Prometheus at {base}");
        let response = self
            .http
            .get(format!("{base}/{path}"))
            .query(parameters)
            .send()
            .await
            .map_err(|error| format!("{where_} gave no answer: {}", cause(&error)))?;
        let status = response.status();
        let body = read(response)
            .await
            .map_err(|error| format!("{where_}: {error}"))?;
        answer::parse(status.as_u16(), &body).map_err(|error| format!("{where_} {error}"))
    }
}

/// Joins answers of consecutive ranges by their labels.
fn join(joined: &mut Vec<RawSeries>, part: Vec<RawSeries>) {
    for series in part {
        match joined
            .iter_mut()
            .find(|known| known.labels == series.labels)
        {
            Some(known) => {
                known.points.extend(series.points);
                known.partial = known.partial.take().or(series.partial);
            }
            None => joined.push(series),
        }
    }
}

/// The body, read no further than [`BODY`].
async fn read(mut response: reqwest::Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() <= BODY => body.extend_from_slice(&chunk),
            Ok(Some(_)) => return Err(format!("the answer is larger than {} MiB", BODY >> 20)),
            Ok(None) => return Ok(body),
            Err(error) => return Err(format!("the answer broke off: {}", cause(&error))),
        }
    }
}

/// The innermost cause in one line; the outer ones only repeat the address.
fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it took longer than --query-timeout allows".to_owned();
    }
    let mut source: &dyn std::error::Error = error;
    while let Some(inner) = source.source() {
        source = inner;
    }
    source.to_string()
}
