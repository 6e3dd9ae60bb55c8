//! The names of every server but vLLM, one table each. A name stands here because its project's source
//! or a running server showed it; docs/inference-servers.md shows the tables.

use super::{
    dialect::{Dialect, Efficiency, NOTHING, of},
    limit::Endpoint,
};

/// `SGLang`, started with `--enable-metrics`. Ranks of data parallelism share the work, those of tensor and
/// pipeline parallelism repeat it; with priorities a total stands beside its parts. `sglang:utilization`
/// is declared and never set, so it is not read.
pub static SGLANG: Dialect = Dialect {
    name: "sglang",
    marks: &["sglang:"],
    engines: &["dp_rank"],
    copies: &["tp_rank", "pp_rank", "moe_ep_rank"],
    splits: &["priority"],
    waiting: &[of("sglang:num_queue_reqs")],
    running: &[of("sglang:num_running_reqs")],
    kv_usage: &[of("sglang:token_usage")],
    served: &[of("sglang:num_requests_total")],
    latency: &[of("sglang:e2e_request_latency_seconds")],
    first_token: &[of("sglang:time_to_first_token_seconds")],
    per_token: &[
        of("sglang:inter_token_latency_seconds"),
        of("sglang:time_per_output_token_seconds"),
    ],
    progress: &[
        of("sglang:realtime_tokens_total"),
        of("sglang:forward_execution_seconds_total"),
    ],
    port: 30000,
    images: &["sglang"],
    arguments: &["--max-running-requests"],
    endpoint: Some(Endpoint {
        port: None,
        path: "/v1/loads",
        key: "max_running_requests",
    }),
    ..NOTHING
};

/// trtllm-serve. Its `/metrics` is JSON; the exposition lies elsewhere.
pub static TRTLLM_SERVE: Dialect = Dialect {
    name: "trtllm-serve",
    marks: &["trtllm_"],
    waiting: &[of("trtllm_num_requests_waiting")],
    running: &[of("trtllm_num_requests_running")],
    limit: &[
        of("trtllm_max_batch_size_runtime"),
        of("trtllm_max_batch_size_static"),
        of("trtllm_max_num_active_requests"),
    ],
    kv_usage: &[of("trtllm_kv_cache_utilization")],
    served: &[
        of("trtllm_request_success_total"),
        of("trtllm_num_requests_completed_total"),
    ],
    latency: &[of("trtllm_e2e_request_latency_seconds")],
    first_token: &[of("trtllm_time_to_first_token_seconds")],
    per_token: &[of("trtllm_time_per_output_token_seconds")],
    path: "/prometheus/metrics",
    images: &["tensorrt-llm", "trtllm"],
    arguments: &["--max_batch_size"],
    ..NOTHING
};

/// Triton, with the names of its TensorRT-LLM backend first. Its own gauge counts requests that wait for
/// execution; how many are executed is not said.
pub static TRITON: Dialect = Dialect {
    name: "triton",
    marks: &["nv_inference_", "nv_trt_llm_"],
    model: &["model"],
    waiting: &[
        of("nv_trt_llm_request_metrics").only("request_type", "waiting"),
        of("nv_inference_pending_request_count"),
    ],
    running: &[of("nv_trt_llm_request_metrics").only("request_type", "active")],
    limit: &[of("nv_trt_llm_request_metrics").only("request_type", "max")],
    efficiency: Efficiency::MeanBatch(of("nv_inference_count"), of("nv_inference_exec_count")),
    kv_usage: &[of("nv_trt_llm_kv_cache_block_metrics").only("kv_cache_block_type", "fraction")],
    served: &[of("nv_inference_request_success")],
    rejected: &[of("nv_inference_request_failure").only("reason", "REJECTED")],
    first_token: &[of("nv_inference_first_response_histogram_ms").per(1000)],
    port: 8002,
    images: &["tritonserver"],
    endpoint: Some(Endpoint {
        port: Some(8000),
        path: "/v2/models/{model}/config",
        key: "max_batch_size",
    }),
    ..NOTHING
};

/// Text Generation Inference.
pub static TGI: Dialect = Dialect {
    name: "tgi",
    marks: &["tgi_"],
    waiting: &[of("tgi_queue_size")],
    running: &[of("tgi_batch_current_size")],
    served: &[of("tgi_request_success"), of("tgi_request_count")],
    latency: &[of("tgi_request_duration")],
    per_token: &[of("tgi_request_mean_time_per_token_duration")],
    port: 3000,
    images: &["text-generation-inference"],
    arguments: &["--max-batch-size"],
    variables: &["MAX_BATCH_SIZE"],
    endpoint: Some(Endpoint {
        port: None,
        path: "/info",
        key: "max_batch_size",
    }),
    ..NOTHING
};

/// Text Embeddings Inference. It says how large batches are, not how many requests run.
pub static TEI: Dialect = Dialect {
    name: "tei",
    marks: &["te_request_", "te_queue_size", "te_batch_"],
    waiting: &[of("te_queue_size")],
    efficiency: Efficiency::MeanBatch(of("te_batch_next_size_sum"), of("te_batch_next_size_count")),
    served: &[of("te_request_success"), of("te_request_count")],
    latency: &[of("te_request_duration")],
    port: 3000,
    images: &["text-embeddings-inference"],
    arguments: &["--max-batch-requests"],
    variables: &["MAX_BATCH_REQUESTS"],
    endpoint: Some(Endpoint {
        port: None,
        path: "/info",
        key: "max_batch_requests",
    }),
    ..NOTHING
};

/// llama.cpp's server, started with `--metrics`. It has no labels. Its averages are since the last scrape
/// by anyone, so they are not read.
pub static LLAMA_CPP: Dialect = Dialect {
    name: "llama.cpp",
    marks: &["llamacpp:"],
    waiting: &[of("llamacpp:requests_deferred")],
    running: &[of("llamacpp:requests_processing")],
    port: 8080,
    images: &["llama.cpp", "llama-server", "llamacpp"],
    arguments: &["--parallel", "-np"],
    variables: &["LLAMA_ARG_N_PARALLEL"],
    endpoint: Some(Endpoint {
        port: None,
        path: "/props",
        key: "total_slots",
    }),
    ..NOTHING
};

/// `LMDeploy`. `num_requests_succeeded` is a gauge there, so the counter of finished requests is read.
pub static LMDEPLOY: Dialect = Dialect {
    name: "lmdeploy",
    marks: &["lmdeploy:"],
    engines: &["engine"],
    waiting: &[of("lmdeploy:num_requests_waiting")],
    running: &[of("lmdeploy:num_requests_running")],
    kv_usage: &[of("lmdeploy:gpu_cache_usage_perc")],
    served: &[of("lmdeploy:request_success_total")],
    latency: &[of("lmdeploy:e2e_request_latency_seconds")],
    first_token: &[of("lmdeploy:time_to_first_token_seconds")],
    per_token: &[of("lmdeploy:time_per_output_token_seconds")],
    port: 23333,
    images: &["lmdeploy"],
    arguments: &["--max-batch-size"],
    ..NOTHING
};

/// Ray Serve by the metrics agent of its node. It measures how full batches are by itself.
pub static RAY_SERVE: Dialect = Dialect {
    name: "ray-serve",
    marks: &["ray_serve_"],
    model: &["deployment"],
    waiting: &[of("ray_serve_deployment_queued_queries")],
    running: &[
        of("ray_serve_num_ongoing_requests_at_replicas"),
        of("ray_serve_replica_processing_queries"),
    ],
    efficiency: Efficiency::Ratio(of("ray_serve_batch_utilization_percent").per(100)),
    served: &[
        of("ray_serve_deployment_request_counter_total"),
        of("ray_serve_deployment_request_counter"),
    ],
    latency: &[of("ray_serve_deployment_processing_latency_ms").per(1000)],
    port: 8080,
    images: &["rayproject/ray"],
    ..NOTHING
};

/// `MLServer`. Requests in progress and their durations are those of the whole server, by no model.
pub static MLSERVER: Dialect = Dialect {
    name: "mlserver",
    marks: &["model_infer_request_"],
    model: &["model"],
    running: &[of("rest_server_requests_in_progress").only("method", "POST")],
    served: &[of("model_infer_request_success_total")],
    latency: &[
        of("rest_server_request_duration_seconds").only("path", "/v2/models/{model_name}/infer")
    ],
    port: 8082,
    images: &["mlserver"],
    ..NOTHING
};

/// The endpoint picker of llm-d. Only its own queue counts as waiting: what waits at its endpoints is told
/// by them, and would be counted twice. Deprecated names stand beside the new ones. Requests that find no
/// endpoint are demand of a pool without replicas; they and the cache are told by pool, not by model.
pub static LLM_D: Dialect = Dialect {
    name: "llm-d",
    marks: &[
        "llm_d_epp_",
        "inference_extension_flow_control_",
        "inference_pool_",
    ],
    model: &["model_name", "inference_pool", "name"],
    waiting: &[
        of("llm_d_epp_flow_control_queue_size"),
        of("inference_extension_flow_control_queue_size"),
    ],
    running: &[
        of("llm_d_epp_request_running"),
        of("inference_objective_running_requests"),
    ],
    kv_usage: &[
        of("llm_d_epp_average_kv_cache_utilization"),
        of("inference_pool_average_kv_cache_utilization"),
    ],
    served: &[
        of("llm_d_epp_request_total"),
        of("inference_objective_request_total"),
    ],
    rejected: &[of("llm_d_epp_flow_control_requests_total").only("outcome", "RejectedNoEndpoints")],
    latency: &[of("llm_d_epp_request_duration_seconds")],
    first_token: &[of("llm_d_epp_request_ttft_seconds")],
    per_token: &[of("llm_d_epp_request_streaming_itl_seconds")],
    port: 9090,
    images: &[
        "llm-d-router",
        "llm-d-inference-scheduler",
        "endpoint-picker",
    ],
    ..NOTHING
};

/// NIM for language models. Its names have no beginning of their own, so it is told by the one that only
/// it has, and stands last.
pub static NIM: Dialect = Dialect {
    name: "nim",
    marks: &["num_request_max"],
    waiting: &[of("num_requests_waiting")],
    running: &[of("num_requests_running")],
    limit: &[of("num_request_max")],
    kv_usage: &[of("gpu_cache_usage_perc")],
    served: &[of("request_finish_total")],
    latency: &[of("e2e_request_latency_seconds")],
    first_token: &[of("time_to_first_token_seconds")],
    per_token: &[of("time_per_output_token_seconds")],
    path: "/v1/metrics",
    images: &["nvcr.io/nim/"],
    ..NOTHING
};
