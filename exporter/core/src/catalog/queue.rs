//! Inference servers under one set of names, whatever their own names are.

use super::{Kind, Metric};

/// Labels that name a server's model.
pub const LABELS: &[&str] = &["server", "model_name", "target", "namespace", "pod"];

/// Those of a histogram.
const BUCKET_LABELS: &[&str] = &["server", "model_name", "target", "namespace", "pod", "le"];

const fn of(name: &'static str, kind: Kind, unit: &'static str, help: &'static str) -> Metric {
    Metric {
        name,
        kind,
        help,
        unit,
        labels: LABELS,
    }
}

const fn seconds(name: &'static str, help: &'static str) -> Metric {
    Metric {
        labels: BUCKET_LABELS,
        ..of(name, Kind::Histogram, "seconds", help)
    }
}

/// Requests that wait.
pub static QUEUE_DEPTH: Metric = of(
    "foresail_inference_queue_depth",
    Kind::Gauge,
    "requests",
    "Requests that wait for a place in the batch. Absent when stale.",
);

/// Requests in work.
pub static IN_FLIGHT: Metric = of(
    "foresail_inference_requests_in_flight",
    Kind::Gauge,
    "requests",
    "Requests in the running batch. Absent when stale.",
);

/// Requests that may run at once.
pub static BATCH_LIMIT: Metric = Metric {
    labels: &[
        "server",
        "model_name",
        "target",
        "namespace",
        "pod",
        "limit_source",
    ],
    ..of(
        "foresail_inference_batch_limit",
        Kind::Gauge,
        "requests",
        "Requests that may run at once, over all engines; limit_source says who says so. Absent when unknown.",
    )
};

/// How full the batch is.
pub static BATCH_EFFICIENCY: Metric = of(
    "foresail_inference_batch_efficiency_ratio",
    Kind::Gauge,
    "ratio",
    "How full the batch is: running requests, or the mean batch since the last answer, as a share of the batch limit. Absent when the limit is unknown or nothing ran.",
);

/// Cache of keys and values.
pub static KV_USAGE: Metric = of(
    "foresail_inference_kv_cache_usage_ratio",
    Kind::Gauge,
    "ratio",
    "Share of the cache of keys and values in use, the mean over engines. Absent when stale.",
);

/// Answered requests.
pub static REQUESTS: Metric = of(
    "foresail_inference_requests_total",
    Kind::Counter,
    "requests",
    "Requests that the server answered since it started; for llm-d those that it took.",
);

/// Requests turned away.
pub static REJECTED: Metric = of(
    "foresail_inference_requests_rejected_total",
    Kind::Counter,
    "requests",
    "Requests that the server turned away since it started; for llm-d those that found no endpoint.",
);

/// Whether gauges can be believed.
pub static STALE: Metric = of(
    "foresail_inference_gauges_stale",
    Kind::Gauge,
    "0 or 1",
    "1 when the server's gauges say work while its counters stood still for a minute: it hangs, sleeps, or left them behind. Absent where its counters cannot tell.",
);

/// End to end.
pub static REQUEST_DURATION: Metric = seconds(
    "foresail_inference_request_duration_seconds",
    "Time from a request to its last token, with the bounds that the server chose.",
);

/// To the first token.
pub static FIRST_TOKEN: Metric = seconds(
    "foresail_inference_time_to_first_token_seconds",
    "Time from a request to its first token, with the bounds that the server chose.",
);

/// Between tokens.
pub static PER_TOKEN: Metric = seconds(
    "foresail_inference_time_per_output_token_seconds",
    "Time between two tokens, with the bounds that the server chose.",
);

/// Which names were used.
pub static ADAPTER_INFO: Metric = Metric {
    labels: &[
        "server",
        "model_name",
        "target",
        "namespace",
        "pod",
        "waiting",
        "running",
        "latency",
    ],
    ..of(
        "foresail_inference_adapter_info",
        Kind::Gauge,
        "always 1",
        "The server's own names that stand behind its queue depth, running requests and durations.",
    )
};

/// All of them.
pub static ALL: &[&Metric] = &[
    &QUEUE_DEPTH,
    &IN_FLIGHT,
    &BATCH_LIMIT,
    &BATCH_EFFICIENCY,
    &KV_USAGE,
    &REQUESTS,
    &REJECTED,
    &STALE,
    &REQUEST_DURATION,
    &FIRST_TOKEN,
    &PER_TOKEN,
    &ADAPTER_INFO,
];
