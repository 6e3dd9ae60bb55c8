//! Everything gathered on one node at one time; scrapes read this and nothing else.

use crate::{
    attribution::Attribution,
    device::Gpu,
    queue::{Server, batch::Queue},
};

/// How one source fared.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SourceStatus {
    /// `nvml`, `simulated` or the kind of inference server.
    pub name: String,
    /// Address, for sources that are asked over the network.
    pub target: Option<String>,
    /// Whether the source itself could be reached.
    pub up: bool,
    /// Whether the last gather of it brought everything.
    pub success: bool,
    /// Seconds that the last gather took; `None` before the first.
    pub duration: Option<f64>,
    /// Unix seconds of the last complete gather; `None` before the first.
    pub last_success: Option<f64>,
    /// Gathers that failed since the exporter started.
    pub failures: u64,
    /// Why the last gather failed, in one line.
    pub reason: Option<String>,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Snapshot {
    /// Unix seconds at which the last gather of the GPUs ended; 0 before the first.
    pub gathered_at: f64,
    /// Name of the node.
    pub hostname: String,
    /// Driver version; absent when no driver was reached.
    pub driver_version: Option<String>,
    /// Version of the driver's management library; absent when none was reached.
    pub nvml_version: Option<String>,
    /// Every source, reached or not.
    pub sources: Vec<SourceStatus>,
    /// GPUs in bus order.
    pub gpus: Vec<Gpu>,
    /// Inference servers, one entry per target and model.
    pub servers: Vec<Server>,
    /// Who holds the GPUs; `None` when nobody was asked, or so long ago that it is no longer believed.
    pub attribution: Option<Attribution>,
    /// Batch work of the cluster; only the exporter that has this role knows it.
    pub batch: Vec<Queue>,
}
