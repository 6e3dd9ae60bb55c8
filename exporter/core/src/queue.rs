//! Inference servers: how deep their queues are, how full their batches, how fast they answer. One table
//! per server says which of its names mean what; one reader serves all tables. Never asks a server.

pub mod dialect;

pub mod vllm;

pub mod servers;

pub mod histogram;

pub mod limit;

pub mod read;

pub mod discovery;

pub mod batch;

pub mod page;

use dialect::Dialect;
use histogram::Histogram;

/// Where a batch limit comes from, in the order in which they are believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitSource {
    /// Somebody wrote it into the configuration or on the pod.
    Configured,
    /// A metric of the server.
    Metric,
    /// Another page of the server.
    Endpoint,
    /// The command line of its container.
    Arguments,
}

impl LimitSource {
    /// Value of the label `limit_source`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Configured => "configured",
            Self::Metric => "metric",
            Self::Endpoint => "endpoint",
            Self::Arguments => "arguments",
        }
    }
}

/// A server's address and what is known of it before it is asked.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Target {
    /// URL of its metrics.
    pub url: String,
    /// What it is; `None`: what its names say.
    pub server: Option<&'static Dialect>,
    /// Namespace of the pod behind it.
    pub namespace: Option<String>,
    /// Name of the pod behind it.
    pub pod: Option<String>,
    /// Requests that one engine runs at once, from the configuration.
    pub batch_limit: Option<u64>,
    /// The same from its container's command line.
    pub argument_limit: Option<u64>,
}

/// What counters say of the gauges beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Progress {
    /// No counter of this server moves with the work, or its gauges need none.
    #[default]
    Unknown,
    /// Work goes on, or began so recently that nothing can be said yet.
    Moving,
    /// Nothing to do.
    Idle,
    /// Gauges say work, counters stand still: the gauges are what was left behind.
    Stale,
}

/// One model of one server, as last asked.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Server {
    /// Where it was asked.
    pub target: Target,
    /// Name of its dialect.
    pub server: &'static str,
    /// Served model; empty for a server without that label.
    pub model: String,
    /// Requests that wait.
    pub waiting: Option<f64>,
    /// Requests in the running batch.
    pub running: Option<f64>,
    /// Requests that may run at once, over all engines; `None` when nobody says.
    pub batch_limit: Option<(u64, LimitSource)>,
    /// How full the batch is: actual over most, 0 to 1.
    pub batch_efficiency: Option<f64>,
    /// Share of the cache of keys and values in use, 0 to 1; the mean over engines.
    pub kv_usage: Option<f64>,
    /// Requests answered since the server started.
    pub served: Option<f64>,
    /// Requests turned away since the server started.
    pub rejected: Option<f64>,
    /// Time from a request to its last token, seconds.
    pub latency: Option<Histogram>,
    /// Time from a request to its first token, seconds.
    pub first_token: Option<Histogram>,
    /// Time between two tokens, seconds.
    pub per_token: Option<Histogram>,
    /// Whether its gauges can be believed.
    pub progress: Progress,
    /// The server's own names that were used: of waiting, running and latency; empty where none was there.
    pub names: [&'static str; 3],
}
