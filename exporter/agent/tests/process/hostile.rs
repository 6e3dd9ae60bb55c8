//! Clients that are broken or mean harm: they say nothing, never read, or send what is no request. The exporter goes on
//! serving others.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use crate::exporter::Exporter;

#[test]
fn malformed_requests_hurt_nobody_else() {
    let exporter = Exporter::start(&["--simulated", "1xL4"]);
    exporter.ready();
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(200_000));
    for request in [
        "\r\n\r\n\0\0\0",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        &long,
    ] {
        let (head, _) = exporter.raw(request);
        assert!(!head.starts_with("HTTP/1.1 200"), "{head}");
    }
    assert!(!exporter.metrics().is_empty());
}

#[test]
fn clients_that_say_nothing_make_room() {
    let exporter = Exporter::start(&["--simulated", "1xL4"]);
    exporter.ready();
    // More than are served at once: without making room, an answer would come after their time is over.
    let open = exporter.silent(200);
    let started = Instant::now();
    assert!(!exporter.metrics().is_empty());
    assert!(started.elapsed() < Duration::from_secs(4));
    drop(open);
}

#[test]
fn clients_that_never_read_make_room() {
    let exporter = Exporter::start(&["--simulated", "64xH100-SXM5-80GB"]);
    exporter.ready();
    let open = exporter.silent(130);
    // More than the kernel keeps, so that the exporter must wait for its clients.
    let requests = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".repeat(6);
    for mut client in &open {
        client.write_all(requests.as_bytes()).unwrap();
    }
    assert!(!exporter.metrics().is_empty());
    drop(open);
}
