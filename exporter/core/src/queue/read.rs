//! Reads a server's answer by its table. Numbers that only two answers together give come from what the
//! earlier one left in `Memory`. What cannot be used is absent, with one line that says why.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    LimitSource, Progress, Server, Target,
    dialect::{self, Dialect, Efficiency, Source},
    histogram::Histogram,
};
use crate::exposition::Sample;
use rows::Rows;

mod rows;

/// Seconds without a step after which gauges that still say work are not believed. Longer than the longest
/// step of an engine, a prefill of some hundred thousand tokens.
const STALE_AFTER: f64 = 60.0;

/// Why an answer is not one of a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// No name of any server in it.
    #[error(
        "the answer has no metric of a known server ({0}): is the path right, are its metrics on?"
    )]
    Unknown(String),
    /// No name of the server that it should be.
    #[error("the answer has no metric that begins with {marks}: not a {server} server's metrics")]
    NotIt {
        /// The server that was meant.
        server: &'static str,
        /// Beginnings of its names.
        marks: String,
    },
}

/// What is known of one target between its answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    models: BTreeMap<String, Past>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Past {
    /// Sum of the counters that move with every step, and the time at which it last changed.
    steps: Option<(f64, f64)>,
    /// Two counters whose increases give a mean.
    pair: Option<(f64, f64)>,
}

/// What an answer brought.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Answer {
    /// One entry per model, by name.
    pub servers: Vec<Server>,
    /// What of it could not be used, in one line.
    pub incomplete: Option<String>,
}

/// Reads the answer of `target` at `now` (unix seconds). `pages` holds batch limits of one engine that
/// another page of the server gave, by model.
pub fn read(
    target: &Target,
    samples: &[Sample],
    pages: &BTreeMap<String, u64>,
    now: f64,
    memory: &mut Memory,
) -> Result<Answer, ReadError> {
    let dialect = match target.server {
        None => dialect::detect(samples).ok_or_else(|| ReadError::Unknown(dialect::names()))?,
        Some(dialect) if dialect.speaks(samples) => dialect,
        Some(dialect) => {
            return Err(ReadError::NotIt {
                server: dialect.name,
                marks: dialect.marks.join(" or "),
            });
        }
    };
    let mut reader = Reader {
        rows: Rows::new(dialect, samples),
        dialect,
        faults: Vec::new(),
    };
    let mut servers: BTreeMap<String, Server> = BTreeMap::new();
    reader.numbers(&mut servers);
    reader.histograms(&mut servers);
    reader.engines(target, pages, &mut servers);
    let mut past = BTreeMap::new();
    for (model, server) in &mut servers {
        let before = memory.models.remove(model).unwrap_or_default();
        server.target = target.clone();
        server.server = dialect.name;
        server.model.clone_from(model);
        past.insert(model.clone(), reader.compare(server, &before, now));
    }
    memory.models = past;
    Ok(Answer {
        servers: servers.into_values().collect(),
        incomplete: (!reader.faults.is_empty()).then(|| reader.faults.join("; ")),
    })
}

struct Reader<'a> {
    rows: Rows<'a>,
    dialect: &'static Dialect,
    faults: Vec<String>,
}

/// Value and the name that gave it.
type Named = (f64, &'static str);

impl Reader<'_> {
    /// By model, the sum of the first source that the model has; the mean of the rows if `mean`.
    fn gauges(&mut self, sources: &[Source], mean: bool) -> BTreeMap<String, Named> {
        let mut found = BTreeMap::new();
        for source in sources {
            for (model, rows) in self.rows.of(source, "") {
                if found.contains_key(&model) {
                    continue;
                }
                let bad = rows
                    .iter()
                    .find(|row| !(row.value.is_finite() && row.value >= 0.0));
                if let Some(row) = bad {
                    let fault = format!("{} is {}, not a number from 0", source.name, row.value);
                    self.fault(fault);
                    continue;
                }
                let mut value: f64 = rows.iter().map(|row| row.value).sum();
                if mean {
                    value /= rows.len() as f64;
                }
                found.insert(model, (value / f64::from(source.divisor), source.name));
            }
        }
        found
    }

    fn fault(&mut self, fault: String) {
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    fn numbers(&mut self, servers: &mut BTreeMap<String, Server>) {
        let dialect = self.dialect;
        for (model, (value, name)) in self.gauges(dialect.waiting, false) {
            let server = servers.entry(model).or_default();
            (server.waiting, server.names[0]) = (Some(value), name);
        }
        for (model, (value, name)) in self.gauges(dialect.running, false) {
            let server = servers.entry(model).or_default();
            (server.running, server.names[1]) = (Some(value), name);
        }
        for (model, (value, _)) in self.gauges(dialect.kv_usage, true) {
            servers.entry(model).or_default().kv_usage = Some(value);
        }
        for (model, (value, _)) in self.gauges(dialect.served, false) {
            servers.entry(model).or_default().served = Some(value);
        }
        for (model, (value, _)) in self.gauges(dialect.rejected, false) {
            servers.entry(model).or_default().rejected = Some(value);
        }
    }

    fn histograms(&mut self, servers: &mut BTreeMap<String, Server>) {
        let dialect = self.dialect;
        for (model, (histogram, name)) in self.merged(dialect.latency) {
            let server = servers.entry(model).or_default();
            (server.latency, server.names[2]) = (Some(histogram), name);
        }
        for (model, (histogram, _)) in self.merged(dialect.first_token) {
            servers.entry(model).or_default().first_token = Some(histogram);
        }
        for (model, (histogram, _)) in self.merged(dialect.per_token) {
            servers.entry(model).or_default().per_token = Some(histogram);
        }
    }

    fn merged(&mut self, sources: &[Source]) -> BTreeMap<String, (Histogram, &'static str)> {
        let mut found = BTreeMap::new();
        for source in sources {
            let sums = self.rows.of(source, "_sum");
            for (model, buckets) in self.rows.of(source, "_bucket") {
                if found.contains_key(&model) {
                    continue;
                }
                let sums = sums.get(&model).map_or(&[][..], Vec::as_slice);
                match Histogram::merge(&buckets, sums, source.divisor) {
                    Ok(histogram) => {
                        found.insert(model, (histogram, source.name));
                    }
                    Err(reason) => self.fault(format!("{} {reason}", source.name)),
                }
            }
        }
        found
    }

    /// Batch limits: what is configured for one engine counts once for each.
    fn engines(
        &mut self,
        target: &Target,
        pages: &BTreeMap<String, u64>,
        servers: &mut BTreeMap<String, Server>,
    ) {
        let limits = self.gauges(self.dialect.limit, false);
        for (model, server) in servers {
            let engines = self.rows.engines(model);
            let each = |limit: u64, source| (limit.saturating_mul(engines), source);
            let metric = || limits.get(model).and_then(|(value, _)| whole(*value));
            let page = || pages.get(model).or_else(|| pages.get("")).copied();
            server.batch_limit = (target.batch_limit)
                .map(|limit| each(limit, LimitSource::Configured))
                .or_else(|| metric().map(|limit| (limit, LimitSource::Metric)))
                .or_else(|| page().map(|limit| each(limit, LimitSource::Endpoint)))
                .or_else(|| {
                    let limit = target.argument_limit?;
                    Some(each(limit, LimitSource::Arguments))
                })
                .filter(|(limit, _)| *limit > 0);
        }
    }

    /// What this answer and the one before give together; returns what to keep for the next.
    fn compare(&mut self, server: &mut Server, before: &Past, now: f64) -> Past {
        let model = server.model.clone();
        let model = model.as_str();
        let steps = self.steps(model);
        let steps = steps.map(|sum| match before.steps {
            // Exact: the same text gives the same number. A restart changes it too.
            Some((last, since)) if last.to_bits() == sum.to_bits() => (sum, since),
            _ => (sum, now),
        });
        let busy = server.running.unwrap_or(0.0) + server.waiting.unwrap_or(0.0) > 0.0;
        server.progress = match steps {
            None => Progress::Unknown,
            Some(_) if !busy => Progress::Idle,
            Some((_, since)) if now - since >= STALE_AFTER => Progress::Stale,
            Some(_) => Progress::Moving,
        };
        if server.progress == Progress::Stale {
            (server.waiting, server.running, server.kv_usage) = (None, None, None);
        }
        let pair = match self.dialect.efficiency {
            Efficiency::Running => None,
            Efficiency::MeanBatch(items, executions) => {
                self.pair(model, &items, "", &executions, "")
            }
            Efficiency::Ratio(ratio) => self.pair(model, &ratio, "_sum", &ratio, "_count"),
        };
        let mean = before.pair.zip(pair).and_then(|(before, now)| {
            let (items, executions) = (now.0 - before.0, now.1 - before.1);
            // Nothing was executed, or the server started anew.
            (items >= 0.0 && executions > 0.0).then_some(items / executions)
        });
        let limit = server.batch_limit.map(|(limit, _)| limit as f64);
        let over_limit = |batch: Option<f64>| Some(batch? / limit?);
        server.batch_efficiency = match self.dialect.efficiency {
            Efficiency::Running => over_limit(server.running),
            Efficiency::MeanBatch(..) => over_limit(server.running.or(mean)),
            Efficiency::Ratio(ratio) => mean.map(|mean| mean / f64::from(ratio.divisor)),
        };
        Past { steps, pair }
    }

    fn steps(&self, model: &str) -> Option<f64> {
        let of = |source| self.rows.sum(source, "", model);
        let found: Vec<f64> = self.dialect.progress.iter().filter_map(of).collect();
        (!found.is_empty()).then(|| found.iter().sum())
    }

    fn pair(
        &self,
        model: &str,
        items: &Source,
        items_suffix: &str,
        executions: &Source,
        executions_suffix: &str,
    ) -> Option<(f64, f64)> {
        let items = self.rows.sum(items, items_suffix, model)?;
        Some((items, self.rows.sum(executions, executions_suffix, model)?))
    }
}

/// A whole number above zero.
fn whole(value: f64) -> Option<u64> {
    let sound = value >= 1.0 && value <= f64::from(u32::MAX) && value.fract() == 0.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked above"
    )]
    sound.then_some(value as u64)
}

/// Models of an answer whose batch limit a page by model can give.
pub fn models(servers: &[Server]) -> BTreeSet<&str> {
    let named = servers.iter().filter(|server| !server.model.is_empty());
    named.map(|server| server.model.as_str()).collect()
}

#[cfg(test)]
mod tests;
