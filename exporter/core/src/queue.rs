//! Inference servers: how deep their queues are and how full their batches. One adapter per server.

pub mod vllm;

/// Where a batch limit comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitSource {
    /// Somebody wrote it into the configuration.
    Configured,
}

impl LimitSource {
    /// Value of the label `limit_source`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Configured => "configured",
        }
    }
}

/// A server's address and what is known of it before it is asked.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Target {
    /// URL of its metrics.
    pub url: String,
    /// Namespace of the pod behind it.
    pub namespace: Option<String>,
    /// Name of the pod behind it.
    pub pod: Option<String>,
    /// Sequences that one engine runs at once (`--max-num-seqs`).
    pub batch_limit: Option<u64>,
}

/// One model of one server, as last asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Where it was asked.
    pub target: Target,
    /// Served model name.
    pub model: String,
    /// Requests that wait.
    pub waiting: Option<f64>,
    /// Requests in the running batch.
    pub running: Option<f64>,
    /// Requests that may run at once, over all engines; `None` when nobody says.
    pub batch_limit: Option<(u64, LimitSource)>,
}

impl Server {
    /// Running requests as a share of the batch limit; absent when either is unknown.
    pub fn batch_efficiency(&self) -> Option<f64> {
        let (limit, _) = self.batch_limit?;
        (limit > 0).then_some(self.running? / limit as f64)
    }
}
