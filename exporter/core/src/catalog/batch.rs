//! Batch work of the cluster; one exporter in the role of the cluster serves it.

use super::{Kind, Metric};

/// Work that waits.
pub static QUEUE_DEPTH: Metric = Metric {
    name: "foresail_batch_queue_depth",
    kind: Kind::Gauge,
    help: "Jobs, and Kueue's workloads, that ask for GPUs and wait for room (pending) or are held back (suspended); a Job of Kueue counts once, as the workload.",
    unit: "jobs",
    labels: &["namespace", "queue", "kind", "state"],
};

/// Work that runs.
pub static RUNNING: Metric = Metric {
    name: "foresail_batch_running",
    kind: Kind::Gauge,
    help: "Jobs, and Kueue's workloads, that ask for GPUs and run.",
    unit: "jobs",
    labels: &["namespace", "queue", "kind"],
};

/// All of them.
pub static ALL: &[&Metric] = &[&QUEUE_DEPTH, &RUNNING];
