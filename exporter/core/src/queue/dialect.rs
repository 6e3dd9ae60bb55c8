//! What a server's table can say, and how a server is told by the names it emits. Holds no server itself.

use super::{limit::Endpoint, servers, vllm};
use crate::exposition::Sample;

/// Where a number stands in a server's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Metric name; for histograms without its suffix.
    pub name: &'static str,
    /// A label that a row must have, and its value.
    pub only: Option<(&'static str, &'static str)>,
    /// What the number is divided by to come to requests, seconds or a ratio.
    pub divisor: u32,
}

impl Source {
    /// Rows with this label alone.
    #[must_use]
    pub const fn only(mut self, label: &'static str, value: &'static str) -> Self {
        self.only = Some((label, value));
        self
    }

    /// In another unit.
    #[must_use]
    pub const fn per(mut self, divisor: u32) -> Self {
        self.divisor = divisor;
        self
    }
}

/// A number under `name`, in its own unit.
pub const fn of(name: &'static str) -> Source {
    Source {
        name,
        only: None,
        divisor: 1,
    }
}

/// How the fullness of the batch is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Efficiency {
    /// Running requests over the batch limit.
    Running,
    /// Requests executed over executions since the last answer, over the batch limit.
    MeanBatch(Source, Source),
    /// A histogram of the ratio itself: its mean since the last answer.
    Ratio(Source),
}

/// What one server's names mean. In every list the first name that a model has wins; they are never added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Value of the label `server`, and the kind in the configuration.
    pub name: &'static str,
    /// Beginnings of names that no other server has.
    pub marks: &'static [&'static str],
    /// Label of the model's name, best first.
    pub model: &'static [&'static str],
    /// Labels of ranks that share the work: their rows are summed, and each has its own batch limit.
    pub engines: &'static [&'static str],
    /// Labels of ranks that do the same work: the lowest counts, the others repeat it.
    pub copies: &'static [&'static str],
    /// Labels that split a total which is also there, under an empty value.
    pub splits: &'static [&'static str],
    /// Gauge of waiting requests.
    pub waiting: &'static [Source],
    /// Gauge of running requests.
    pub running: &'static [Source],
    /// Gauge of the batch limit, over all engines.
    pub limit: &'static [Source],
    /// How full the batch is.
    pub efficiency: Efficiency,
    /// Gauge of the cache in use, 0 to 1.
    pub kv_usage: &'static [Source],
    /// Counter of answered requests.
    pub served: &'static [Source],
    /// Counter of requests turned away.
    pub rejected: &'static [Source],
    /// Histogram of the whole time of a request.
    pub latency: &'static [Source],
    /// Histogram of the time to the first token.
    pub first_token: &'static [Source],
    /// Histogram of the time between tokens.
    pub per_token: &'static [Source],
    /// Counters that move with every step of the engine, for gauges that are only written at a step. Empty
    /// for servers whose gauges are true at every time.
    pub progress: &'static [Source],
    /// Port and path of its metrics where nobody says otherwise.
    pub port: u16,
    /// See `port`.
    pub path: &'static str,
    /// Words that the name of its image has.
    pub images: &'static [&'static str],
    /// Options of its command line that set the batch limit of an engine.
    pub arguments: &'static [&'static str],
    /// Variables that do the same.
    pub variables: &'static [&'static str],
    /// Another page that says the batch limit.
    pub endpoint: Option<Endpoint>,
}

/// A table that says nothing; every server's starts from it.
pub(super) const NOTHING: Dialect = Dialect {
    name: "",
    marks: &[],
    model: &["model_name"],
    engines: &[],
    copies: &[],
    splits: &[],
    waiting: &[],
    running: &[],
    limit: &[],
    efficiency: Efficiency::Running,
    kv_usage: &[],
    served: &[],
    rejected: &[],
    latency: &[],
    first_token: &[],
    per_token: &[],
    progress: &[],
    port: 8000,
    path: "/metrics",
    images: &[],
    arguments: &[],
    variables: &[],
    endpoint: None,
};

/// All servers. Where two could be meant by the same answer the more special one stands first.
pub static ALL: &[&Dialect] = &[
    &vllm::VLLM,
    &servers::SGLANG,
    &servers::TRTLLM_SERVE,
    &servers::TRITON,
    &servers::TGI,
    &servers::TEI,
    &servers::LLAMA_CPP,
    &servers::LMDEPLOY,
    &servers::RAY_SERVE,
    &servers::MLSERVER,
    &servers::LLM_D,
    &servers::NIM,
];

/// The server of this name.
pub fn named(name: &str) -> Option<&'static Dialect> {
    ALL.iter().copied().find(|dialect| dialect.name == name)
}

/// All names, for messages.
pub fn names() -> String {
    let names: Vec<&str> = ALL.iter().map(|dialect| dialect.name).collect();
    names.join(", ")
}

impl Dialect {
    /// Whether an answer has names of this server.
    pub fn speaks(&self, samples: &[Sample]) -> bool {
        let marked = |name: &str| self.marks.iter().any(|mark| name.starts_with(mark));
        samples.iter().any(|sample| marked(&sample.name))
    }
}

/// The server whose names an answer has.
pub fn detect(samples: &[Sample]) -> Option<&'static Dialect> {
    ALL.iter().copied().find(|dialect| dialect.speaks(samples))
}
