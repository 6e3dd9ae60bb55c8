//! The exporter beside real inference servers that are full: what it tells of their queues is what is there.

use std::time::{Duration, Instant};

use exporter_core::exposition::{Sample, parse};
use tests::{
    inference::{Clients, Inference, llama, triton},
    product::exporter_with,
};

/// Longest wait for a state that the load brings about.
const PATIENCE: Duration = Duration::from_mins(1);

struct Watched {
    address: String,
    client: reqwest::Client,
}

impl Watched {
    async fn samples(&self) -> Vec<Sample> {
        let answer = self.client.get(format!("http://{}/metrics", self.address));
        let text = answer.send().await.unwrap().text().await.unwrap();
        parse(&text).unwrap()
    }

    /// The first scrape that fulfils the condition.
    async fn until(&self, what: &str, fulfilled: impl Fn(&[Sample]) -> bool) -> Vec<Sample> {
        let started = Instant::now();
        loop {
            let samples = self.samples().await;
            if fulfilled(&samples) {
                return samples;
            }
            let own: Vec<String> = samples
                .iter()
                .filter(|sample| {
                    sample.name.starts_with("foresail_inference")
                        && !sample.name.ends_with("_bucket")
                })
                .map(|sample| format!("{} {}", sample.name, sample.value))
                .collect();
            assert!(
                started.elapsed() < PATIENCE,
                "never came: {what}\n{}",
                own.join("\n")
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

fn value(samples: &[Sample], name: &str) -> Option<f64> {
    let name = format!("foresail_inference_{name}");
    let mut found = samples.iter().filter(|sample| sample.name == name);
    let first = found.next().map(|sample| sample.value);
    assert!(found.next().is_none(), "{name} stands twice");
    first
}

/// Starts an exporter that asks the server every second; the process is kept with it.
async fn beside(
    folder: &std::path::Path,
    kind: &str,
    server: &Inference,
    more: &str,
) -> (tests::service::Service, Watched) {
    let file = folder.join("exporter.yaml");
    let text = format!(
        "intervalSeconds: 1\nservers: [{{kind: {kind}, url: \"{}\"{more}}}]\n",
        server.metrics
    );
    std::fs::write(&file, text).unwrap();
    let flags = [
        "--simulated=1xL4".to_owned(),
        format!("--config={}", file.display()),
    ];
    let (service, address) = exporter_with(folder, &flags).await.unwrap();
    let client = reqwest::Client::new();
    (service, Watched { address, client })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_triton_is_seen_with_its_queue_and_its_batches() {
    if let Err(reason) = tests::peer("triton") {
        let test = "a_full_triton_is_seen_with_its_queue_and_its_batches";
        return tests::skip(test, &reason.to_string());
    }
    let folder = tempfile::tempdir().unwrap();
    let server = triton(folder.path()).await.unwrap();
    // Its page with the limit is asked at its usual port, which a test does not own.
    // Its page with the limit is asked at its usual port, which a test does not own.
    let (_exporter, watched) = beside(folder.path(), "triton", &server, ", batchLimit: 4").await;
    watched
        .until("idle", |s| value(s, "queue_depth") == Some(0.0))
        .await;
    let clients = Clients::start(&server, 12);
    // Twelve clients, four at once: eight wait, save in the moment between two batches.
    let full = watched
        .until("a queue and full batches", |s| {
            value(s, "queue_depth").is_some_and(|depth| (6.0..=12.0).contains(&depth))
                && value(s, "batch_efficiency_ratio").is_some_and(|ratio| ratio > 0.7)
        })
        .await;
    assert_eq!(value(&full, "batch_limit"), Some(4.0));
    assert!(value(&full, "batch_efficiency_ratio").is_some_and(|ratio| ratio <= 1.0));
    let answered = clients.stop().await;
    let after = watched
        .until("idle again", |s| {
            value(s, "queue_depth") == Some(0.0)
                && value(s, "requests_total").is_some_and(|count| count >= answered as f64)
        })
        .await;
    let counted = value(&after, "requests_total").unwrap();
    assert!(
        (counted - answered as f64).abs() < 1e-9,
        "{counted} counted, {answered} answered"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_llama_server_is_seen_with_its_queue_and_its_slots() {
    if let Err(reason) = tests::peer("llama") {
        let test = "a_full_llama_server_is_seen_with_its_queue_and_its_slots";
        return tests::skip(test, &reason.to_string());
    }
    let folder = tempfile::tempdir().unwrap();
    let server = llama(folder.path()).await.unwrap();
    let (_exporter, watched) = beside(folder.path(), "llama.cpp", &server, "").await;
    watched
        .until("idle", |s| value(s, "queue_depth") == Some(0.0))
        .await;
    let clients = Clients::start(&server, 8);
    let full = watched
        .until("a queue and full slots", |s| {
            value(s, "queue_depth").is_some_and(|depth| (3.0..=8.0).contains(&depth))
                && value(s, "requests_in_flight") == Some(2.0)
        })
        .await;
    assert_eq!(value(&full, "batch_limit"), Some(2.0));
    let answered = clients.stop().await;
    assert!(answered > 0);
    watched
        .until("idle again", |s| {
            value(s, "queue_depth") == Some(0.0) && value(s, "requests_in_flight") == Some(0.0)
        })
        .await;
}
