//! Pods in our own words.

use super::*;
use crate::queue::{servers as tables, vllm};

fn pod(annotations: &[(&str, &str)], containers: Vec<Container>) -> Pod {
    let pair = |(name, value): &(&str, &str)| ((*name).to_string(), (*value).to_string());
    Pod {
        namespace: "serving".into(),
        name: "chat-0".into(),
        ip: Some("10.0.0.5".into()),
        running: true,
        annotations: annotations.iter().map(pair).collect(),
        containers,
        ..Pod::default()
    }
}

fn container(image: &str, ports: &[u16]) -> Container {
    Container {
        image: image.into(),
        ports: ports.to_vec(),
        ..Container::default()
    }
}

/// Address, server and whether it is a guess, of each server.
fn found(pod: &Pod) -> Vec<(String, Option<&'static str>, bool)> {
    let one = |found: Found| {
        let server = found.target.server.map(|server| server.name);
        (found.target.url, server, found.guessed)
    };
    servers(pod).unwrap().into_iter().map(one).collect()
}

#[test]
fn annotations_say_where_and_what() {
    let full = [
        (PORT, "9000"),
        (PATH, "/m"),
        (SCHEME, "https"),
        (SERVER, "tgi"),
        (BATCH_LIMIT, "32"),
    ];
    let pod_found = servers(&pod(&full, vec![])).unwrap().remove(0);
    assert_eq!(pod_found.target.url, "https://10.0.0.5:9000/m");
    assert_eq!(pod_found.target.server, Some(&tables::TGI));
    assert_eq!(pod_found.target.batch_limit, Some(32));
    assert_eq!(pod_found.target.pod.as_deref(), Some("chat-0"));
    assert!(!pod_found.guessed);
    let short = pod(&[(SERVER, "trtllm-serve")], vec![]);
    let url = "http://10.0.0.5:8000/prometheus/metrics".to_string();
    assert_eq!(found(&short), [(url, Some("trtllm-serve"), false)]);
    let port_only = pod(&[(PORT, "9000")], vec![]);
    let url = "http://10.0.0.5:9000/metrics".to_string();
    assert_eq!(found(&port_only), [(url, None, false)]);
}

#[test]
fn scrape_annotations_count_where_the_image_names_a_server() {
    let scrape = [
        ("prometheus.io/scrape", "true"),
        ("prometheus.io/port", "8001"),
    ];
    let image = container("vllm/vllm-openai:v0.32.0", &[8000]);
    let url = "http://10.0.0.5:8001/metrics".to_string();
    assert_eq!(
        found(&pod(&scrape, vec![image])),
        [(url, Some("vllm"), false)]
    );
    assert_eq!(found(&pod(&scrape, vec![container("nginx", &[8001])])), []);
}

#[test]
fn images_and_ports_of_gpu_containers_are_guesses() {
    let triton = container(
        "nvcr.io/nvidia/tritonserver:26.10-trtllm-python-py3",
        &[8000, 8002],
    );
    let url = "http://10.0.0.5:8002/metrics".to_string();
    assert_eq!(
        found(&pod(&[], vec![triton])),
        [(url, Some("triton"), true)]
    );
    let silent = container("vllm/vllm-openai", &[]);
    let url = "http://10.0.0.5:8000/metrics".to_string();
    assert_eq!(found(&pod(&[], vec![silent])), [(url, Some("vllm"), true)]);
    let mut own = container("registry/chat:7", &[8000]);
    assert_eq!(
        found(&pod(&[], vec![own.clone()])),
        [],
        "a port alone is nothing"
    );
    own.gpus = true;
    let url = "http://10.0.0.5:8000/metrics".to_string();
    assert_eq!(found(&pod(&[], vec![own])), [(url, None, true)]);
}

#[test]
fn the_command_line_tells_the_limit() {
    let mut image = container("vllm/vllm-openai", &[8000]);
    image.words = ["--max-num-seqs", "64"].map(String::from).to_vec();
    let target = servers(&pod(&[], vec![image])).unwrap().remove(0).target;
    assert_eq!(
        (target.server, target.argument_limit),
        (Some(&vllm::VLLM), Some(64))
    );
}

#[test]
fn who_does_not_run_or_does_not_want_is_not_asked() {
    let image = || vec![container("vllm/vllm-openai", &[8000])];
    assert_eq!(found(&pod(&[(SERVER, "none")], image())), []);
    let mut waits = pod(&[(PORT, "9")], image());
    waits.running = false;
    assert_eq!(found(&waits), []);
    let mut nowhere = pod(&[(PORT, "9")], image());
    nowhere.ip = None;
    assert_eq!(found(&nowhere), []);
    let mut six = pod(&[(PORT, "9")], vec![]);
    six.ip = Some("fd00::5".into());
    assert_eq!(found(&six)[0].0, "http://[fd00::5]:9/metrics");
}

#[test]
fn wrong_annotations_are_named() {
    for (annotations, said) in [
        (
            &[(PORT, "x")][..],
            "foresail.dev/metrics-port is \"x\", not a port from 1 to 65535",
        ),
        (&[(PORT, "0")], "foresail.dev/metrics-port is \"0\""),
        (&[(SERVER, "auto")], "foresail.dev/metrics-port is missing"),
        (
            &[(SERVER, "vlm")],
            "foresail.dev/metrics-server is \"vlm\"; write auto, none or one of vllm",
        ),
        (
            &[(PORT, "1"), (PATH, "m")],
            "foresail.dev/metrics-path is \"m\", not a path",
        ),
        (
            &[(PORT, "1"), (SCHEME, "ftp")],
            "foresail.dev/metrics-scheme is \"ftp\"",
        ),
        (&[(BATCH_LIMIT, "0")], "foresail.dev/batch-limit is \"0\""),
    ] {
        let error = servers(&pod(annotations, vec![])).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}
