//! `foresail simulate` as a whole process: its table, its JSON, and how it refuses scenarios that are none.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scenarios")
}

fn simulate(scenario: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_foresail"))
        .arg("simulate")
        .arg(scenario)
        .args(more)
        .output()
        .unwrap()
}

#[test]
fn a_table_and_json_of_the_same_scores() {
    let vision = scenarios().join("vision.good.yaml");
    let policies = ["--policy", "foresail,hpa@0.8,fixed-peak"];
    let result = simulate(&vision, &policies);
    assert!(
        result.status.success(),
        "{}",
        String::from_utf8_lossy(&result.stderr)
    );
    let table = String::from_utf8(result.stdout).unwrap();
    assert!(table.starts_with("vision: 6 h, seed 3\npolicy "), "{table}");
    assert_eq!(table.lines().count(), 5, "{table}");
    let json = simulate(&vision, &[policies[0], policies[1], "--format", "json"]).stdout;
    let report: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(report["version"], 1);
    let hours = report["policies"][1]["gpuHours"].as_f64().unwrap();
    assert!(
        table.contains(&format!("hpa@0.8 {hours:>22.1}")),
        "{hours} {table}"
    );
    let again = simulate(&vision, &[policies[0], policies[1], "--format", "json"]).stdout;
    assert_eq!(json, again);
    let other = simulate(
        &vision,
        &[policies[0], policies[1], "--format", "json", "--seed", "4"],
    )
    .stdout;
    assert_ne!(json, other);
}

#[test]
fn bad_scenarios_name_what_is_wrong() {
    let mut seen = 0;
    for entry in fs::read_dir(scenarios()).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_string_lossy().ends_with(".bad.yaml") {
            continue;
        }
        seen += 1;
        let text = fs::read_to_string(&path).unwrap();
        let expected = text
            .lines()
            .next()
            .unwrap()
            .strip_prefix("# expect: ")
            .unwrap();
        let result = simulate(&path, &[]);
        let message = String::from_utf8(result.stderr).unwrap();
        assert_eq!(result.status.code(), Some(1), "{message}");
        assert!(message.contains(expected), "{message} lacks {expected}");
        assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    }
    assert!(seen >= 2);
    let usage = simulate(
        &scenarios().join("vision.good.yaml"),
        &["--policy", "magic"],
    );
    assert_eq!(usage.status.code(), Some(2));
    assert!(
        String::from_utf8(usage.stderr)
            .unwrap()
            .contains("there is no policy 'magic'")
    );
}

#[test]
fn a_recorded_series_is_replayed_with_its_keys_in_camel_case() {
    let folder = tempfile::tempdir().unwrap();
    let row = |minute: i32| format!("{},{}", minute * 60, 5 + minute % 60);
    let rows = (0..600).map(row).collect::<Vec<_>>().join("\n");
    fs::write(
        folder.path().join("load.csv"),
        format!("timestamp,value\n{rows}"),
    )
    .unwrap();
    let text = fs::read_to_string(scenarios().join("vision.good.yaml")).unwrap();
    let series = "load: {kind: series, file: load.csv, fromHours: 4, mean: 100}";
    let path = folder.path().join("series.yaml");
    fs::write(&path, text.replace("load: {kind: day, peak: 400}", series)).unwrap();
    let result = simulate(&path, &["--policy", "hpa"]);
    let message = String::from_utf8_lossy(&result.stderr).into_owned();
    assert!(result.status.success(), "{message}");
    assert!(String::from_utf8(result.stdout).unwrap().contains("hpa "));
}
