//! In dcgm-exporter's place: its counters files, flags and environment variables, as its manifests give them.

use std::{fs, path::PathBuf};

use exporter_core::exposition::{Sample, parse};
use tempfile::TempDir;

use crate::exporter::{Exporter, command, output, text, value};
use crate::server::fake_server;

const SIMULATED: [&str; 3] = ["--once", "--simulated", "1xL4,1xA30:mig=2g.12gb@0"];

fn samples(args: &[&str], variables: &[(&str, &str)]) -> (Vec<Sample>, String) {
    let mut command = command();
    command
        .args(SIMULATED)
        .args(args)
        .envs(variables.iter().copied());
    let output = command.output().unwrap();
    let log = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{log}");
    (parse(&text(&output.stdout)).unwrap(), log)
}

fn counters(content: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("custom.csv");
    fs::write(&file, content).unwrap();
    (folder, file)
}

fn dcgm(samples: &[Sample]) -> Vec<&Sample> {
    let mine =
        |sample: &&Sample| sample.name.starts_with("DCGM_") || sample.name.starts_with("dcgm_");
    samples.iter().filter(mine).collect()
}

#[test]
fn a_counters_file_replaces_the_default_set() {
    let (_folder, file) = counters(
        "# comment\nDCGM_FI_DEV_GPU_TEMP ,  gauge, Heat.\ndcgm_power_usage, counter, Watts.\n\
         DCGM_FI_DEV_FB_TOTAL, gauge, All.\nDCGM_FI_PROF_NVLINK_TX_BYTES, gauge, Links.\n",
    );
    let path = file.to_str().unwrap();
    let by_flag = samples(&["-f", path], &[]);
    let by_variable = samples(&[], &[("DCGM_EXPORTER_COLLECTORS", path)]);
    for (samples, log) in [by_flag, by_variable] {
        let mut names: Vec<&str> = dcgm(&samples).iter().map(|s| s.name.as_str()).collect();
        names.dedup();
        let expected = [
            "DCGM_FI_DEV_GPU_TEMP",
            "dcgm_power_usage",
            "DCGM_FI_DEV_FB_TOTAL",
        ];
        assert_eq!(names, expected, "in the order of DCGM's numbers");
        assert!(
            dcgm(&samples)
                .iter()
                .all(|s| !s.labels.contains_key("DCGM_FI_DRIVER_VERSION"))
        );
        assert!(
            log.contains("line=5") && log.contains("DCGM_FI_PROF_NVLINK_TX_BYTES"),
            "{log}"
        );
    }
}

#[test]
fn a_misspelt_field_is_a_start_error_with_line_and_name() {
    let (_folder, file) = counters("# comment\n\nDCGM_FI_DEV_GPU_TMP, gauge, Heat.\n");
    let path = file.to_str().unwrap();
    let output = output(&["--once", "--simulated", "1xL4", "--collectors", path]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    let expected =
        format!("foresail-exporter: {path}: line 3: DCGM has no field \"DCGM_FI_DEV_GPU_TMP\"");
    assert!(
        error.starts_with(&expected) && error.lines().count() == 1,
        "{error}"
    );
}

#[test]
fn files_of_dcgm_exporters_image_are_the_default_set() {
    for file in [
        "/etc/dcgm-exporter/default-counters.csv",
        "/etc/dcgm-exporter/dcp-metrics-included.csv",
    ] {
        let (built_in, _) = samples(&["-f", file], &[]);
        let (default, _) = samples(&[], &[]);
        let names = |samples: &[Sample]| -> Vec<String> {
            dcgm(samples)
                .iter()
                .map(|sample| sample.name.clone())
                .collect()
        };
        assert_eq!(names(&built_in), names(&default));
    }
}

#[test]
fn labels_follow_the_dialect() {
    let labels = |args: &[&str], variables: &[(&str, &str)]| -> Vec<String> {
        let (samples, _) = samples(args, variables);
        let temperature = samples
            .iter()
            .find(|sample| sample.name == "DCGM_FI_DEV_GPU_TEMP");
        temperature.unwrap().labels.keys().cloned().collect()
    };
    let has = |labels: &[String], name: &str| labels.iter().any(|label| label == name);
    let upper = labels(&[], &[]);
    assert!(has(&upper, "Hostname") && has(&upper, "UUID"));
    let lower = labels(&["--dialect", "4.8.3"], &[]);
    assert!(has(&lower, "hostname") && !has(&lower, "Hostname"));
    for (args, variables) in [
        (&["-n", "-o"][..], &[][..]),
        (
            &[],
            &[
                ("DCGM_EXPORTER_NO_HOSTNAME", "true"),
                ("DCGM_EXPORTER_USE_OLD_NAMESPACE", "1"),
            ],
        ),
    ] {
        let old = labels(args, variables);
        assert!(
            has(&old, "uuid") && !has(&old, "UUID") && !has(&old, "Hostname"),
            "{old:?}"
        );
    }
    let (samples, _) = samples(&["--rbmn"], &[]);
    let model = |sample: &Sample| sample.labels.get("modelName").cloned();
    assert_eq!(samples.iter().find_map(model).as_deref(), Some("NVIDIA-L4"));
}

#[test]
fn devices_are_chosen() {
    let shown = |devices: &str| -> Vec<(String, bool)> {
        let (samples, _) = samples(&["-d", devices], &[]);
        let used = samples
            .into_iter()
            .filter(|s| s.name == "DCGM_FI_DEV_FB_USED");
        used.map(|s| (s.labels["gpu"].clone(), s.labels.contains_key("GPU_I_ID")))
            .collect()
    };
    let of = |all: &[(&str, bool)]| -> Vec<(String, bool)> {
        all.iter()
            .map(|(gpu, instance)| ((*gpu).to_string(), *instance))
            .collect()
    };
    assert_eq!(shown("f"), of(&[("0", false), ("1", false), ("1", true)]));
    assert_eq!(shown("g:1"), of(&[("1", false)]));
    assert_eq!(shown("i"), of(&[("1", true)]));
}

#[test]
fn flags_without_use_are_taken_and_said() {
    let variables = [
        ("DCGM_EXPORTER_INTERVAL", "15000"),
        ("DCGM_EXPORTER_DEBUG", ""),
        ("DCGM_EXPORTER_ENABLE_DCGM_LOG", "true"),
        ("DCGM_EXPORTER_CPU_DEVICES_STR", ""),
    ];
    let (_, log) = samples(
        &["-r", "localhost:5555", "--fake-gpus", "-c", "30000"],
        &variables,
    );
    for flag in ["remote-hostengine-info", "fake-gpus", "enable-dcgm-log"] {
        assert!(
            log.contains(&format!("without effect here flag=\"{flag}\"")),
            "{flag}: {log}"
        );
    }
    assert!(!log.contains("cpu-devices"), "{log}");
    let output = output(&["-c", "10"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("write milliseconds from 1000 to 300000"));
}

#[test]
fn its_health_page_and_its_form_of_address_are_there() {
    let exporter = Exporter::start(&["--simulated", "1xL4", "--log-format", "text"]);
    let (head, body) = exporter.ask("GET", "/health", "");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(text(&body), "OK");
    let taken = exporter.address.port();
    let output = output(&["-a", &format!(":{taken}"), "--simulated", "1xL4"]);
    let error = text(&output.stderr);
    assert!(
        error.contains(&format!("cannot serve on 0.0.0.0:{taken}")),
        "{error}"
    );
}

#[test]
fn a_comparison_ends_with_0_when_nothing_is_lost_and_3_otherwise() {
    let exporter = Exporter::start(&["--simulated", "1xL4"]);
    exporter.ready();
    let url = format!("http://{}", exporter.address);
    let mut args = vec!["--simulated", "1xL4", "--compare", &url];
    let same = output(&args);
    assert_eq!(same.status.code(), Some(0), "{}", text(&same.stderr));
    let report = text(&same.stdout);
    let head = format!("compared with {url}/metrics\nlost 0\nrelabelled 0\nretyped 0\n");
    assert!(report.starts_with(&head), "{report}");
    args.extend(["--dialect", "4.8.3"]);
    let other = output(&args);
    assert_eq!(other.status.code(), Some(3));
    assert!(text(&other.stdout).contains("    Hostname -> hostname\n"));
}

#[test]
fn a_comparison_without_an_exporter_is_status_1_and_shows_no_password() {
    let page = fake_server("200 OK", "<html>hello</html>");
    for (url, said) in [
        (
            "http://me:hunter2@127.0.0.1:9/metrics",
            "http://127.0.0.1:9/metrics: cannot be read",
        ),
        (&page, "the answer is not an exposition: line 1"),
    ] {
        let output = output(&["--simulated", "1xL4", "--compare", url]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(
            error.contains(said) && !error.contains("hunter2"),
            "{error}"
        );
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let wrong = output(&["--compare", "node-1:9400"]);
    assert_eq!(wrong.status.code(), Some(2));
}

const ENGINE: &str = "DCGM_FI_PROF_GR_ENGINE_ACTIVE";

/// One exposition of a board whose engines the driver does not measure, its log too.
fn borrowing(more: &[&str]) -> (Vec<Sample>, String) {
    let before_hopper = ["--once", "--simulated", "1xL40S"];
    let output = output(&[&before_hopper[..], more].concat());
    (parse(&text(&output.stdout)).unwrap(), text(&output.stderr))
}

fn lender_up(samples: &[Sample]) -> Option<f64> {
    value(samples, "foresail_source_up", ("source", "dcgm-exporter"))
}

#[test]
fn a_running_dcgm_exporter_lends_what_the_driver_does_not_measure() {
    let (own, _) = borrowing(&[]);
    assert!(own.iter().all(|sample| sample.name != ENGINE));
    let heat = "DCGM_FI_DEV_GPU_TEMP";
    let board = own.iter().find(|sample| sample.name == heat).unwrap();
    let uuid = &board.labels["UUID"];
    let there = format!("{ENGINE}{{UUID=\"{uuid}\"}} 0.625\n{heat}{{UUID=\"{uuid}\"}} 99\n");
    let url = fake_server("200 OK", Box::leak(there.into_boxed_str()));
    let (lent, _) = borrowing(&["--dcgm-exporter-url", &url]);
    assert_eq!(value(&lent, ENGINE, ("UUID", uuid)), Some(0.625));
    assert_ne!(value(&lent, heat, ("UUID", uuid)), Some(99.0));
    assert_eq!(lender_up(&lent), Some(1.0));
}

#[test]
fn a_lender_that_has_nothing_leaves_rows_absent_and_is_told() {
    for (url, up, said) in [
        (
            fake_server("200 OK", "<html>"),
            1.0,
            "not an exposition: line 1",
        ),
        (
            fake_server("200 OK", "DCGM_FI_DEV_GPU_TEMP 1\n"),
            1.0,
            "it serves no DCGM_FI_PROF_ field",
        ),
        (
            fake_server("500 Oops", ""),
            0.0,
            "cannot be read; is a dcgm-exporter there?",
        ),
        (
            "http://me:hunter2@127.0.0.1:9".to_owned(),
            0.0,
            "http://127.0.0.1:9/metrics",
        ),
    ] {
        let (samples, log) = borrowing(&["--dcgm-exporter-url", &url]);
        assert!(
            samples.iter().all(|sample| sample.name != ENGINE),
            "absent, not zero"
        );
        assert_eq!(lender_up(&samples), Some(up), "{log}");
        assert!(log.contains(said) && !log.contains("hunter2"), "{log}");
    }
    assert_eq!(
        output(&["--dcgm-exporter-url", "node"]).status.code(),
        Some(2)
    );
}
