//! The rules that the charts render are those that promtool tests, save for the thresholds that a value changes.

use std::fs;

use serde_json::Value;

use super::{MONITORING, PROMETHEUS, objects, of_kind, template};

/// The groups of the rule that a chart renders.
fn rendered_groups(name: &str, values: &[&str]) -> Vec<Value> {
    let text = template(name, &[&MONITORING[..], values].concat()).unwrap();
    let rule = of_kind(&objects(&text), "PrometheusRule").unwrap().clone();
    rule["spec"]["groups"].as_array().unwrap().clone()
}

#[test]
fn rules_are_rendered_as_they_are_tested_unless_a_threshold_is_changed() {
    let original = |files: &[&str]| {
        let mut groups = Vec::new();
        for file in files {
            let text = fs::read_to_string(tests::root().join("alerts").join(file)).unwrap();
            let file: Value = serde_yaml::from_str(&text).unwrap();
            groups.extend(file["groups"].as_array().unwrap().clone());
        }
        groups
    };
    let mut expected = original(&["exporter.yaml", "absent.yaml", "recording.yaml"]);
    let with_names = rendered_groups("foresail-exporter", &["--set=rules.bareNames=true"]);
    assert_eq!(with_names, expected);
    let autoscaler = rendered_groups("foresail-autoscaler", &[PROMETHEUS]);
    assert_eq!(autoscaler, original(&["autoscaler.yaml"]));

    let changed = rendered_groups(
        "foresail-exporter",
        &[
            "--set=rules.bareNames=true,rules.thresholds.gpuUtilizationLow=0.35,rules.thresholds.latencyP99Seconds=12",
            "--set-json=rules.thresholds.gpuUtilizationHigh=0.85",
            "--set-json=rules.thresholds.gpuMemoryUsed=1",
            "--set=rules.thresholds.batchEfficiency=.5",
        ],
    );
    let mut seen = 0;
    for rule in expected
        .iter_mut()
        .flat_map(|group| group["rules"].as_array_mut().unwrap())
    {
        let query = match rule["alert"].as_str() {
            Some("ForesailGpuUnderused") => {
                "avg_over_time(foresail:gpu_utilization_ratio[1h]) < 0.35"
            }
            Some("ForesailGpuSaturated") => {
                "avg_over_time(foresail:gpu_utilization_ratio[1h]) > 0.85"
            }
            Some("ForesailGpuMemoryHigh") => "foresail:gpu_memory_used_ratio >= 1",
            Some("ForesailLatencyHigh") => "foresail:request_duration_p99_seconds > 12",
            Some("ForesailBatchEfficiencyLow") => {
                "avg_over_time(foresail:batch_efficiency_ratio[30m]) < .5"
            }
            _ => continue,
        };
        rule["expr"] = query.into();
        seen += 1;
    }
    assert_eq!((changed, seen), (expected, 5));
}

#[test]
fn bare_names_come_only_when_asked_for() {
    let groups = |value: &str| {
        let text = template("foresail-exporter", &[&MONITORING[..], &[value]].concat()).unwrap();
        of_kind(&objects(&text), "PrometheusRule").unwrap()["spec"]["groups"].to_string()
    };
    assert!(!groups("--set=rules.bareNames=false").contains("\"gpu_util\""));
    assert!(groups("--set=rules.bareNames=true").contains("\"gpu_util\""));
}
