//! Inference servers under one set of names, whatever their own names are.

use super::{Kind, Metric};

/// Labels that name a server's model.
pub const LABELS: &[&str] = &["server", "model_name", "target", "namespace", "pod"];

/// Requests that wait.
pub static QUEUE_DEPTH: Metric = Metric {
    name: "foresail_inference_queue_depth",
    kind: Kind::Gauge,
    help: "Requests that wait for a place in the batch.",
    unit: "requests",
    labels: LABELS,
};

/// Requests in work.
pub static IN_FLIGHT: Metric = Metric {
    name: "foresail_inference_requests_in_flight",
    kind: Kind::Gauge,
    help: "Requests in the running batch.",
    unit: "requests",
    labels: LABELS,
};

/// Requests that may run at once.
pub static BATCH_LIMIT: Metric = Metric {
    name: "foresail_inference_batch_limit",
    kind: Kind::Gauge,
    help: "Requests that may run at once, over all engines; limit_source says who says so. Absent when unknown.",
    unit: "requests",
    labels: &[
        "server",
        "model_name",
        "target",
        "namespace",
        "pod",
        "limit_source",
    ],
};

/// How full the batch is.
pub static BATCH_EFFICIENCY: Metric = Metric {
    name: "foresail_inference_batch_efficiency_ratio",
    kind: Kind::Gauge,
    help: "Running requests as a share of the batch limit. Absent when the limit is unknown.",
    unit: "ratio",
    labels: LABELS,
};

/// All of them.
pub static ALL: &[&Metric] = &[&QUEUE_DEPTH, &IN_FLIGHT, &BATCH_LIMIT, &BATCH_EFFICIENCY];
