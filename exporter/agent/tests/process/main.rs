//! The program itself, as a process: what it prints, serves and refuses, and how it ends.

#[cfg(test)]
mod counters;

#[cfg(test)]
mod dropin;

#[cfg(test)]
mod exporter;

#[cfg(test)]
mod hostile;

#[cfg(test)]
mod inputs;

#[cfg(test)]
mod web;

#[cfg(test)]
#[path = "../stand_in/server.rs"]
mod server;

use std::{
    fs,
    io::Read,
    net::TcpListener,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use exporter_core::exposition::parse;

use exporter::{Exporter, output, text, value};
use server::fake_server;

#[test]
fn once_prints_one_exposition() {
    let output = output(&[
        "--once",
        "--simulated",
        "2xH100-SXM5-80GB:mig=3g.40gb@4,1xL40S",
    ]);
    assert_eq!(output.status.code(), Some(0));
    let samples = parse(&text(&output.stdout)).unwrap();
    for gpu in ["0", "1", "2"] {
        assert_eq!(value(&samples, "foresail_gpu_up", ("gpu", gpu)), Some(1.0));
    }
    assert_eq!(
        value(&samples, "foresail_source_success", ("source", "simulated")),
        Some(1.0)
    );
    assert!(samples.iter().any(|s| {
        s.labels
            .get("GPU_I_PROFILE")
            .is_some_and(|p| p == "3g.40gb")
    }));
    assert_eq!(
        samples
            .iter()
            .filter(|s| s.name == "DCGM_FI_DEV_POWER_USAGE")
            .count(),
        3
    );
    assert!(
        samples
            .iter()
            .all(|s| s.labels.get("Hostname").is_none_or(|name| name == "node-1"))
    );
}

#[test]
fn wrong_usage_is_status_2() {
    for (args, said) in [
        (&["--adress", "x"][..], "--adress"),
        (
            &["--address", "x"],
            "not an address and port such as 0.0.0.0:9400",
        ),
        (
            &["--simulated", "1xH1000"],
            "no board is named \"H1000\"; known are H100-SXM5-80GB",
        ),
        (
            &["--simulated", "1xA30:mig=2g.12gb@0+2g.12gb@0"],
            "2g.12gb@0 overlaps 2g.12gb@0",
        ),
        (&["stray"], "stray"),
    ] {
        let output = output(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let error = text(&output.stderr);
        assert!(error.contains(said), "{args:?}: {error}");
    }
}

#[test]
fn a_taken_address_is_status_1() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let output = output(&["--address", &address, "--simulated", "1xL4"]);
    assert_eq!(output.status.code(), Some(1));
    let error = text(&output.stderr);
    assert!(
        error.contains(&format!("cannot serve on {address}; choose a free one")),
        "{error}"
    );
}

#[test]
fn serves_its_pages() {
    let exporter = Exporter::start(&["--simulated", "1xL40S"]);
    exporter.ready();
    let (head, body) = exporter.ask("GET", "/metrics", "");
    assert!(
        head.to_lowercase()
            .contains("content-type: text/plain; version=0.0.4; charset=utf-8"),
        "{head}"
    );
    assert!(text(&body).contains("# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"));
    let page = text(&exporter.ask("GET", "/", "").1);
    assert!(
        page.contains("simulated") && page.contains("GPUs: 1"),
        "{page}"
    );
    for (method, path, status) in [
        ("GET", "/healthz", "200"),
        ("HEAD", "/metrics", "200"),
        ("POST", "/metrics", "405"),
        ("GET", "/metric", "404"),
        ("GET", "/metrics?x=1", "200"),
    ] {
        let (head, body) = exporter.ask(method, path, "");
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status} ")),
            "{method} {path}: {head}"
        );
        assert_eq!(body.is_empty(), method == "HEAD", "{method} {path}");
    }
}

#[test]
fn gzip_comes_when_asked_for() {
    let exporter = Exporter::start(&["--simulated", "8xH100-SXM5-80GB"]);
    exporter.ready();
    let (head, body) = exporter.ask(
        "GET",
        "/metrics",
        "Accept-Encoding: deflate, gzip;q=0.5\r\n",
    );
    assert!(
        head.to_lowercase().contains("content-encoding: gzip"),
        "{head}"
    );
    let mut plain = String::new();
    flate2::read::GzDecoder::new(&body[..])
        .read_to_string(&mut plain)
        .unwrap();
    assert!(parse(&plain).unwrap().len() > 100 && body.len() * 4 < plain.len());
    let (head, body) = exporter.ask("GET", "/metrics", "Accept-Encoding: gzip;q=0\r\n");
    assert!(!head.to_lowercase().contains("content-encoding"), "{head}");
    assert!(parse(&text(&body)).is_ok());
}

#[test]
fn no_driver_is_served_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    fs::write(&file, "nvmlLibrary: /nonexistent/libnvidia-ml.so.1\n").unwrap();
    let exporter = Exporter::start(&["--config", file.to_str().unwrap()]);
    exporter.ready();
    let samples = exporter.metrics();
    let nvml = |name| value(&samples, name, ("source", "nvml"));
    assert_eq!(nvml("foresail_source_up"), Some(0.0));
    assert_eq!(nvml("foresail_source_failures_total"), Some(1.0));
    assert_eq!(nvml("foresail_source_last_success_timestamp_seconds"), None);
    assert!(
        samples
            .iter()
            .all(|sample| !sample.name.starts_with("DCGM_"))
    );
    let page = text(&exporter.ask("GET", "/", "").1);
    assert!(page.contains("not reached: "), "{page}");
}

#[test]
fn inference_servers_are_asked_each_for_itself() {
    let good = fake_server(
        "200 OK",
        "# TYPE vllm:num_requests_running gauge\n\
         vllm:num_requests_running{engine=\"0\",model_name=\"chat\"} 12.0\n\
         vllm:num_requests_waiting{engine=\"0\",model_name=\"chat\"} 5.0\n",
    );
    let broken = fake_server("500 Internal Server Error", "oops");
    let page = fake_server("200 OK", "<html>hello</html>");
    // A listener that never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_url = format!("http://{}/metrics", silent.local_addr().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    let others: Vec<String> = [&broken, &page, &silent_url]
        .map(|url| format!("  - {{kind: vllm, url: \"{url}\", deadlineSeconds: 0.3}}\n"))
        .to_vec();
    let first = format!(
        "  - {{kind: vllm, url: \"{good}\", namespace: serving, pod: chat-0, batchLimit: 16}}\n"
    );
    fs::write(&file, format!("servers:\n{first}{}", others.concat())).unwrap();
    let output = output(&[
        "--once",
        "--simulated",
        "1xL4",
        "--config",
        file.to_str().unwrap(),
    ]);
    let samples = parse(&text(&output.stdout)).unwrap();
    let of = |name| value(&samples, name, ("pod", "chat-0"));
    assert_eq!(of("foresail_inference_queue_depth"), Some(5.0));
    assert_eq!(of("foresail_inference_requests_in_flight"), Some(12.0));
    assert_eq!(of("foresail_inference_batch_limit"), Some(16.0));
    assert_eq!(of("foresail_inference_batch_efficiency_ratio"), Some(0.75));
    for (url, up, success) in [
        (&good, 1.0, 1.0),
        (&broken, 1.0, 0.0),
        (&page, 1.0, 0.0),
        (&silent_url, 0.0, 0.0),
    ] {
        let of = |name| value(&samples, name, ("target", url.as_str()));
        assert_eq!(of("foresail_source_up"), Some(up), "{url}");
        assert_eq!(of("foresail_source_success"), Some(success), "{url}");
    }
    assert_eq!(value(&samples, "foresail_gpu_up", ("gpu", "0")), Some(1.0));
    let log = text(&output.stderr);
    assert!(log.contains("answered 500 instead of 200"), "{log}");
    assert!(
        log.contains("line 1: \\\"<html>hello</html>\\\" is not a metric name"),
        "{log}"
    );
}

#[test]
fn many_scrapes_at_once_all_get_all() {
    let exporter = Exporter::start(&["--simulated", "8xH100-SXM5-80GB"]);
    exporter.ready();
    let counts: Vec<usize> = thread::scope(|scope| {
        let scrapes: Vec<_> = (0..32)
            .map(|_| scope.spawn(|| exporter.metrics().len()))
            .collect();
        scrapes
            .into_iter()
            .map(|scrape| scrape.join().unwrap())
            .collect()
    });
    assert!(
        counts
            .iter()
            .all(|count| *count == counts[0] && *count > 100),
        "{counts:?}"
    );
}

#[test]
fn signals_end_it_cleanly_and_soon() {
    for signal in ["TERM", "INT"] {
        let mut exporter = Exporter::start(&["--simulated", "1xL4"]);
        exporter.ready();
        // Silent connections do not hold up the end, even when they are all that may be open.
        let open = exporter.silent(150);
        let started = Instant::now();
        let pid = exporter.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(exporter.child.wait().unwrap().code(), Some(0), "{signal}");
        assert!(started.elapsed() < Duration::from_secs(10), "{signal}");
        drop(open);
    }
}
