//! An inference server that serves nothing but metrics, with vLLM's names, as if it were busy. Never stands for how
//! vLLM behaves; recordings do that.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::load::now;

/// Answers on a free port; its address, and the task that answers until it is aborted.
pub async fn serve() -> anyhow::Result<(String, tokio::task::JoinHandle<()>)> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?.to_string();
    let begin = now();
    let task = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let text = page((now() - begin) * 20.0);
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
                text.len()
            );
            tokio::spawn(async move {
                let mut request = [0; 4096];
                // A reader that goes away early is no concern of the server.
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    Ok((address, task))
}

/// The page after so many requests.
fn page(requests: f64) -> String {
    let labels = "engine=\"0\",model_name=\"chat\"";
    let (all, most) = (requests.floor(), (requests * 0.9).floor());
    let tokens = all * 50.0;
    let sum = all * 0.4;
    format!(
        "# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{{labels}}} 12
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{{{labels}}} 3
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{{{labels}}} 0.75
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{{{labels}}} {tokens}
# TYPE vllm:request_success_total counter
vllm:request_success_total{{{labels},finished_reason=\"stop\"}} {all}
# TYPE vllm:e2e_request_latency_seconds histogram
vllm:e2e_request_latency_seconds_bucket{{{labels},le=\"0.5\"}} {most}
vllm:e2e_request_latency_seconds_bucket{{{labels},le=\"1.0\"}} {all}
vllm:e2e_request_latency_seconds_bucket{{{labels},le=\"+Inf\"}} {all}
vllm:e2e_request_latency_seconds_sum{{{labels}}} {sum}
vllm:e2e_request_latency_seconds_count{{{labels}}} {all}
"
    )
}
