//! Asks one inference server for its metrics, within its deadline and a size limit, and remembers what two
//! answers are needed for. Understands no server itself: the tables do.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use exporter_core::{
    exposition::{self, ParseError, Sample},
    queue::{
        dialect,
        limit::{self, Endpoint},
        read::{self, Answer, Memory, ReadError},
    },
};

use crate::config;

/// Bytes that an answer may have; vLLM's is some hundred kilobytes.
const LARGEST: usize = 16 << 20;
/// Time between two looks at a page that names the batch limit: it changes with a restart at most.
const PAGE_AGE: Duration = Duration::from_mins(10);
/// Models of one server whose batch limits are asked for.
const MOST_PAGES: usize = 32;

/// Why a server gave nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InferenceError {
    /// No connection, no answer in time, or a broken one.
    #[error("no answer: {0}")]
    Unreachable(String),
    /// It wants to know who asks.
    #[error("answered {0}: it wants a login, which is not supported")]
    Login(u16),
    /// Nothing there.
    #[error(
        "answered 404 instead of 200: is the path right, are its metrics on (--metrics, --enable-metrics)?"
    )]
    NotFound,
    /// Another status than 200.
    #[error("answered {0} instead of 200")]
    Status(u16),
    /// Too much.
    #[error("the answer is larger than {} MiB", LARGEST >> 20)]
    TooLarge,
    /// Not text.
    #[error("the answer is not UTF-8 text")]
    NotText,
    /// Statistics of another form.
    #[error(
        "the answer is JSON, not an exposition: trtllm-serve has its own at /prometheus/metrics"
    )]
    Json,
    /// Not an exposition.
    #[error("the answer is not an exposition: {0}")]
    Form(#[from] ParseError),
    /// Another program's exposition.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl InferenceError {
    /// Whether the server could be reached at all.
    pub(crate) fn reached(&self) -> bool {
        !matches!(self, Self::Unreachable(_))
    }
}

/// What a client needs before it is made. Called for each: it fails only when that was done already, which is as good.
pub(crate) fn ready_for_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// A client for all servers.
pub(crate) fn client() -> Result<reqwest::Client, reqwest::Error> {
    ready_for_tls();
    let agent = concat!("foresail-exporter/", env!("CARGO_PKG_VERSION"));
    reqwest::Client::builder()
        .user_agent(agent)
        .no_proxy()
        // An annotation of a pod names one address and none that this one names.
        .redirect(reqwest::redirect::Policy::none())
        .build()
}

/// One server and what is known of it from earlier answers.
pub(crate) struct Asker {
    client: reqwest::Client,
    server: config::Server,
    memory: Memory,
    pages: BTreeMap<String, u64>,
    pages_asked: Option<Instant>,
}

impl Asker {
    pub(crate) fn new(client: reqwest::Client, server: config::Server) -> Self {
        Self {
            client,
            server,
            memory: Memory::default(),
            pages: BTreeMap::new(),
            pages_asked: None,
        }
    }

    /// What the server serves at `now`, unix seconds.
    pub(crate) async fn ask(&mut self, now: f64) -> Result<Answer, InferenceError> {
        let config::Server { url, deadline, .. } = &self.server;
        // For its other pages too: what was read first would be old when the last of them came.
        let end = tokio::time::Instant::now() + *deadline;
        let answer = tokio::time::timeout_at(end, fetch(&self.client, url.reveal())).await;
        let late = || format!("nothing within {} s", deadline.as_secs_f64());
        let text = answer.map_err(|_| InferenceError::Unreachable(late()))??;
        if text.trim_start().starts_with(['[', '{']) {
            return Err(InferenceError::Json);
        }
        let samples = exposition::parse(&text)?;
        self.look_at_pages(&samples, end).await;
        Ok(read::read(
            &self.server.target,
            &samples,
            &self.pages,
            now,
            &mut self.memory,
        )?)
    }

    /// Asks the server's other page for batch limits, where it has one and nobody configured them.
    async fn look_at_pages(&mut self, samples: &[Sample], end: tokio::time::Instant) {
        let server = self.server.target.server;
        let server = server.or_else(|| dialect::detect(samples));
        let Some(endpoint) = server.and_then(|server| server.endpoint) else {
            return;
        };
        let recent = self
            .pages_asked
            .is_some_and(|asked| asked.elapsed() < PAGE_AGE);
        if recent || self.server.target.batch_limit.is_some() {
            return;
        }
        self.pages_asked = Some(Instant::now());
        self.pages.clear();
        let mut models = vec![String::new()];
        if endpoint.path.contains("{model}") {
            let nothing = BTreeMap::new();
            let first = read::read(
                &self.server.target,
                samples,
                &nothing,
                0.0,
                &mut Memory::default(),
            );
            let first = first.unwrap_or_default();
            let named = read::models(&first.servers).into_iter();
            models = named.take(MOST_PAGES).map(String::from).collect();
        }
        for model in models {
            let Some(url) = page(self.server.url.reveal(), &endpoint, &model) else {
                continue;
            };
            let answer = tokio::time::timeout_at(end, fetch(&self.client, &url)).await;
            // A server without the page is as common as one with it: then the limit stays unknown.
            let text = match answer {
                Ok(Ok(text)) => text,
                Ok(Err(error)) => {
                    tracing::debug!(target = self.server.target.url, %error, "no batch limit from there");
                    continue;
                }
                // What does not answer once would hold up every model.
                Err(_) => return,
            };
            if let Some(limit) = limit::in_json(&text, endpoint.key) {
                self.pages.insert(model, limit);
            }
        }
    }
}

/// The address of a page beside the metrics.
fn page(metrics: &str, endpoint: &Endpoint, model: &str) -> Option<String> {
    let mut url = reqwest::Url::parse(metrics).ok()?;
    if let Some(port) = endpoint.port {
        url.set_port(Some(port)).ok()?;
    }
    let (path, query) = match endpoint.path.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (endpoint.path, None),
    };
    // Else a slash in a model's name would be a step of the path.
    url.set_path(&path.replace("{model}", &model.replace('/', "%2F")));
    url.set_query(query);
    Some(url.into())
}

async fn fetch(client: &reqwest::Client, url: &str) -> Result<String, InferenceError> {
    let unreachable = |error: reqwest::Error| InferenceError::Unreachable(innermost(&error));
    let mut answer = client.get(url).send().await.map_err(unreachable)?;
    match answer.status().as_u16() {
        200 => {}
        status @ (401 | 403) => return Err(InferenceError::Login(status)),
        404 => return Err(InferenceError::NotFound),
        status => return Err(InferenceError::Status(status)),
    }
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(unreachable)? {
        body.extend_from_slice(&chunk);
        if body.len() > LARGEST {
            return Err(InferenceError::TooLarge);
        }
    }
    String::from_utf8(body).map_err(|_| InferenceError::NotText)
}

/// The last cause: "connection refused" says more than "error sending request".
pub(crate) fn innermost(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => innermost(source),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_lie_beside_the_metrics() {
        let of = |path, port| Endpoint {
            port,
            path,
            key: "",
        };
        let at = |endpoint: &Endpoint, model| page("http://10.0.0.5:8002/m?x=1", endpoint, model);
        assert_eq!(
            at(&of("/v2/models/{model}/config", Some(8000)), "a/b c").unwrap(),
            "http://10.0.0.5:8000/v2/models/a%2Fb%20c/config"
        );
        assert_eq!(
            at(&of("/info?config_format=json", None), "").unwrap(),
            "http://10.0.0.5:8002/info?config_format=json"
        );
    }
}
