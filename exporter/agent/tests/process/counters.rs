//! Where counters come from besides a file that is read once: a `ConfigMap`, and the same file anew on SIGHUP.

use std::{fs, process::Command};

use crate::exporter::{Exporter, output, text};
use crate::server::fake_server;

const SIMULATED: [&str; 2] = ["--simulated", "1xL4"];

/// A configuration whose API server gives that answer; its folder.
fn server(status: &'static str, body: &'static str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let url = fake_server(status, body);
    let url = url.trim_end_matches("/metrics");
    let file = folder.path().join("config.yaml");
    fs::write(&file, format!("kubernetes: {{apiServer: \"{url}\"}}\n")).unwrap();
    (folder, file.display().to_string())
}

fn families(exposition: &str) -> Vec<&str> {
    let heads = exposition
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE DCGM_"));
    heads.collect()
}

#[test]
fn a_config_map_holds_the_counters() {
    let body = r#"{"kind":"ConfigMap","data":{"metrics":"DCGM_FI_DEV_GPU_TEMP, gauge, Heat.\n"}}"#;
    let (_folder, file) = server("200 OK", body);
    let args = [
        &SIMULATED[..],
        &["--once", "--config", &file, "-m", "monitoring:counters"],
    ]
    .concat();
    let output = output(&args);
    let log = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{log}");
    assert_eq!(families(&text(&output.stdout)), ["FI_DEV_GPU_TEMP gauge"]);
}

#[test]
fn a_config_map_that_cannot_be_read_leaves_the_counters_file() {
    for (status, body, said) in [
        (
            "403 Forbidden",
            "{}",
            "answered 403 for /api/v1/namespaces/monitoring/configmaps/counters",
        ),
        (
            "200 OK",
            "{}",
            "has no key metrics; put the counters file under it",
        ),
        ("200 OK", "<html>", "is not what was asked for"),
    ] {
        let (_folder, file) = server(status, body);
        let map = ["--once", "--config", &file, "-m", "monitoring:counters"];
        let output = output(&[&SIMULATED[..], &map].concat());
        let log = text(&output.stderr);
        assert!(output.status.success() && log.contains(said), "{log}");
        assert!(
            families(&text(&output.stdout)).len() > 10,
            "the default set"
        );
    }
    let outside = output(&[&SIMULATED[..], &["--once", "-m", "monitoring:counters"]].concat());
    let log = text(&outside.stderr);
    assert!(log.contains("KUBERNETES_SERVICE_HOST is not set"), "{log}");
    assert!(outside.status.success());
}

#[test]
fn a_wrong_row_of_a_config_map_ends_the_start_and_a_wrong_name_is_usage() {
    let body = r#"{"data":{"metrics":"DCGM_FI_DEV_GPU_TMP, gauge, Heat.\n"}}"#;
    let (_folder, file) = server("200 OK", body);
    let args = [
        &SIMULATED[..],
        &["--once", "--config", &file, "-m", "monitoring:counters"],
    ]
    .concat();
    let wrong = output(&args);
    let error = text(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(1), "{error}");
    let expected =
        "ConfigMap monitoring:counters: line 1: DCGM has no field \"DCGM_FI_DEV_GPU_TMP\"";
    assert!(
        error.contains(expected) && error.lines().count() == 1,
        "{error}"
    );
    for name in ["counters", "a:b:c", "../x:y", "a:"] {
        let usage = output(&["-m", name]);
        assert_eq!(usage.status.code(), Some(2), "{name}");
        assert!(text(&usage.stderr).contains("write NAMESPACE:NAME"));
    }
    let none = output(&[&SIMULATED[..], &["--once", "-m", "none"]].concat());
    assert!(none.status.success());
}

#[test]
fn counters_are_read_anew_on_a_hangup_and_wrong_ones_are_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counters.csv");
    let becomes = |rows: &str| fs::write(&file, rows).unwrap();
    becomes("DCGM_FI_DEV_GPU_TEMP, gauge, x\n");
    let path = file.display().to_string();
    let exporter = Exporter::start(&[&SIMULATED[..], &["-f", &path]].concat());
    exporter.ready();
    let served = || -> Vec<String> {
        let metrics = exporter.metrics().into_iter().map(|sample| sample.name);
        metrics.filter(|name| name.starts_with("DCGM_")).collect()
    };
    let hang_up = || {
        let pid = exporter.child.id().to_string();
        let sent = Command::new("kill").args(["-HUP", &pid]).status().unwrap();
        assert!(sent.success());
    };
    assert_eq!(served(), ["DCGM_FI_DEV_GPU_TEMP"]);
    becomes("DCGM_FI_DEV_SM_CLOCK, gauge, x\n");
    hang_up();
    exporter.until(|_| (served() == ["DCGM_FI_DEV_SM_CLOCK"]).then_some(()));
    becomes("DCGM_FI_DEV_SM_CLOK, gauge, x\n");
    hang_up();
    exporter
        .until(|exporter| exporter.said("cannot use the counters; those from before are served"));
    assert_eq!(served(), ["DCGM_FI_DEV_SM_CLOCK"]);
    becomes("DCGM_FI_DEV_MEM_CLOCK, gauge, x\n");
    hang_up();
    exporter.until(|_| (served() == ["DCGM_FI_DEV_MEM_CLOCK"]).then_some(()));
}
