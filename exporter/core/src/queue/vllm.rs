//! vLLM's names (V1 engine, releases 0.8 to 0.32). Some releases emit old and new names together. The batch
//! limit is not a metric. Gauges are written at steps of the scheduler only, so an idle engine repeats
//! its last ones.

use super::{
    dialect::{Dialect, NOTHING, of},
    limit::Endpoint,
};

/// Gauge of waiting requests.
pub const WAITING: &str = "vllm:num_requests_waiting";
/// Counter of requests that were answered, by how they ended.
pub const SERVED: &str = "vllm:request_success_total";
/// Gauge of running requests.
pub const RUNNING: &str = "vllm:num_requests_running";

/// Its table.
pub static VLLM: Dialect = Dialect {
    name: "vllm",
    marks: &["vllm:"],
    engines: &["engine"],
    waiting: &[of(WAITING)],
    running: &[of(RUNNING)],
    kv_usage: &[
        of("vllm:kv_cache_usage_perc"),
        of("vllm:gpu_cache_usage_perc"),
    ],
    served: &[of(SERVED)],
    rejected: &[of("vllm:admission_rejections_total")],
    latency: &[of("vllm:e2e_request_latency_seconds")],
    first_token: &[of("vllm:time_to_first_token_seconds")],
    per_token: &[
        of("vllm:inter_token_latency_seconds"),
        of("vllm:time_per_output_token_seconds"),
    ],
    progress: &[
        of("vllm:generation_tokens_total"),
        of("vllm:prompt_tokens_total"),
        of("vllm:request_success_total"),
    ],
    images: &["vllm"],
    arguments: &["--max-num-seqs", "--max_num_seqs"],
    endpoint: Some(Endpoint {
        port: None,
        path: "/server_info?config_format=json",
        key: "max_num_seqs",
    }),
    ..NOTHING
};
