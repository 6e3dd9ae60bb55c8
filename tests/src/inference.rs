//! Real inference servers on the CPU, under a load that fills them.

use std::{
    fs,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{
    free_port, gguf, peer,
    service::{Service, answers},
};

/// Time for a server to be ready; a busy machine is slow.
const START: Duration = Duration::from_secs(90);

/// A server that runs.
pub struct Inference {
    /// Its process.
    pub service: Service,
    /// Where its metrics are.
    pub metrics: String,
    url: String,
    body: Value,
}

impl Drop for Inference {
    /// Asked to end, since Triton's Python has a process of its own, which would outlive a Triton that is killed.
    fn drop(&mut self) {
        // Fails only when it ended already; the service kills what stays.
        let _ = self.service.stop(Duration::from_secs(20));
    }
}

const TRITON_MODEL: &str = r#"name: "slow"
backend: "python"
max_batch_size: 4
dynamic_batching { max_queue_delay_microseconds: 20000 }
instance_group [{ kind: KIND_CPU, count: 1 }]
input [{ name: "IN", data_type: TYPE_FP32, dims: [1] }]
output [{ name: "OUT", data_type: TYPE_FP32, dims: [1] }]
"#;

/// The embedded Python looks for packages in no variable of the environment.
const TRITON_CODE: &str = r#"import sys
import time

sys.path.insert(0, "SITE")
import triton_python_backend_utils as utils


class TritonPythonModel:
    def execute(self, requests):
        time.sleep(0.1)
        tensors = [utils.get_input_tensor_by_name(one, "IN").as_numpy() for one in requests]
        return [utils.InferenceResponse([utils.Tensor("OUT", one)]) for one in tensors]
"#;

/// Triton with one model that takes a tenth of a second for up to four requests at once.
pub async fn triton(folder: &Path) -> anyhow::Result<Inference> {
    // The first provider wins.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let home = peer("triton")?;
    let server = home.join("wheel/pytriton/tritonserver");
    let models = folder.join("models");
    fs::create_dir_all(models.join("slow/1"))?;
    fs::write(models.join("slow/config.pbtxt"), TRITON_MODEL)?;
    let site = home.join("site").display().to_string();
    fs::write(
        models.join("slow/1/model.py"),
        TRITON_CODE.replace("SITE", &site),
    )?;
    let (port, metrics) = (free_port()?, free_port()?);
    let mut command = Command::new(server.join("bin/tritonserver"));
    command
        .arg(format!("--model-repository={}", models.display()))
        .arg(format!(
            "--backend-directory={}",
            server.join("backends").display()
        ))
        .args(["--http-address=127.0.0.1", "--metrics-address=127.0.0.1"])
        .args([
            format!("--http-port={port}"),
            format!("--metrics-port={metrics}"),
        ])
        .args([
            "--allow-grpc=false",
            "--allow-gpu-metrics=false",
            "--exit-timeout-secs=5",
        ])
        .arg("--metrics-config=histogram_latencies=true")
        .env("LD_LIBRARY_PATH", home.join("wheel/nvidia_pytriton.libs"));
    let mut service = Service::start("tritonserver", &mut command, folder.join("triton.log"))?;
    let client = reqwest::Client::new();
    let ready = format!("http://127.0.0.1:{port}/v2/health/ready");
    service.wait(START, || answers(&client, &ready)).await?;
    Ok(Inference {
        service,
        metrics: format!("http://127.0.0.1:{metrics}/metrics"),
        url: format!("http://127.0.0.1:{port}/v2/models/slow/infer"),
        body: json!({"inputs": [{"name": "IN", "shape": [1, 1], "datatype": "FP32", "data": [1.0]}]}),
    })
}

/// llama-server with two places and a model of noise.
pub async fn llama(folder: &Path) -> anyhow::Result<Inference> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let model = folder.join("noise.gguf");
    gguf::write(&model)?;
    let port = free_port()?;
    let mut command = Command::new(peer("llama")?.join("bin/llama-server"));
    command
        .arg("--model")
        .arg(&model)
        .args(["--host", "127.0.0.1", "--port", &port.to_string()])
        .args([
            "--parallel",
            "2",
            "--ctx-size",
            "4096",
            "--threads",
            "1",
            "--metrics",
        ]);
    let mut service = Service::start("llama-server", &mut command, folder.join("llama.log"))?;
    let client = reqwest::Client::new();
    let ready = format!("http://127.0.0.1:{port}/health");
    service.wait(START, || answers(&client, &ready)).await?;
    Ok(Inference {
        service,
        metrics: format!("http://127.0.0.1:{port}/metrics"),
        url: format!("http://127.0.0.1:{port}/completion"),
        body: json!({"prompt": "noise", "n_predict": 400, "ignore_eos": true}),
    })
}

/// Clients that ask again as soon as they are answered, until they are dropped.
pub struct Clients {
    ask: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<u64>>,
}

impl Clients {
    /// Starts `count` of them.
    pub fn start(server: &Inference, count: usize) -> Self {
        let ask = Arc::new(AtomicBool::new(true));
        let client = reqwest::Client::new();
        let one = |_| {
            let (ask, client) = (Arc::clone(&ask), client.clone());
            let (url, body) = (server.url.clone(), server.body.clone());
            tokio::spawn(async move {
                let mut answered = 0;
                while ask.load(Ordering::Relaxed) {
                    let answer = client.post(&url).json(&body).send().await;
                    answered += u64::from(answer.is_ok_and(|answer| answer.status().is_success()));
                }
                answered
            })
        };
        let tasks = (0..count).map(one).collect();
        Self { ask, tasks }
    }

    /// Lets them end; how many requests were answered.
    pub async fn stop(mut self) -> u64 {
        self.ask.store(false, Ordering::Relaxed);
        let mut answered = 0;
        for task in self.tasks.drain(..) {
            answered += task.await.unwrap_or_default();
        }
        answered
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.ask.store(false, Ordering::Relaxed);
    }
}
