//! The charts, by real helm on a real API server: they render with any sensible values, refuse wrong
//! ones by name, and everything rendered is accepted. What they ship is what the repository tests.

use std::{fs, path::PathBuf, process::Command};

use serde_json::Value;
use tests::control_plane::ControlPlane;

mod exporter;
mod rules;

const MONITORING: [&str; 2] = [
    "--api-versions=monitoring.coreos.com/v1/ServiceMonitor",
    "--api-versions=monitoring.coreos.com/v1/PrometheusRule",
];
const PROMETHEUS: &str = "--set=prometheusUrl=http://prometheus:9090";

fn chart(name: &str) -> PathBuf {
    tests::root().join("charts").join(name)
}

fn helm(verb: &[&str], chart_name: &str, values: &[&str]) -> Result<String, String> {
    let output = Command::new(tests::peer("helm").unwrap().join("helm"))
        .args(verb)
        .arg(chart(chart_name))
        .args(values)
        .output()
        .unwrap();
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).unwrap())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn template(name: &str, values: &[&str]) -> Result<String, String> {
    helm(&["template", "test"], name, values)
}

/// The rendered objects.
fn objects(text: &str) -> Vec<Value> {
    text.split("\n---\n")
        .map(|part| serde_yaml::from_str::<Value>(part.trim_start_matches("---\n")).unwrap())
        .filter(|object| !object.is_null())
        .collect()
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Option<&'a Value> {
    objects.iter().find(|object| object["kind"] == kind)
}

#[test]
fn copies_in_the_charts_equal_what_is_tested() {
    for (copy, original) in [
        (
            "foresail-exporter/files/recording.yaml",
            "alerts/recording.yaml",
        ),
        (
            "foresail-exporter/files/exporter.yaml",
            "alerts/exporter.yaml",
        ),
        ("foresail-exporter/files/absent.yaml", "alerts/absent.yaml"),
        (
            "foresail-exporter/files/foresail.json",
            "dashboards/foresail.json",
        ),
        (
            "foresail-autoscaler/files/autoscaler.yaml",
            "alerts/autoscaler.yaml",
        ),
        (
            "foresail-autoscaler/files/foresail.json",
            "dashboards/foresail.json",
        ),
    ] {
        let original = fs::read(tests::root().join(original)).unwrap();
        assert!(
            fs::read(chart(copy)).unwrap() == original,
            "charts/{copy} is old: run `make generate`"
        );
    }
}

#[test]
fn helm_lints_both() {
    for (name, values) in [
        ("foresail-exporter", &[][..]),
        ("foresail-autoscaler", &[PROMETHEUS][..]),
    ] {
        let result = helm(&["lint", "--strict"], name, values);
        assert!(result.is_ok(), "{name}: {result:?}");
    }
}

#[test]
fn monitoring_is_rendered_only_where_its_kinds_exist() {
    for (name, values) in [
        ("foresail-exporter", &["--set=rules.bareNames=true"][..]),
        ("foresail-autoscaler", &[PROMETHEUS][..]),
    ] {
        let plain = objects(&template(name, values).unwrap());
        assert!(of_kind(&plain, "ServiceMonitor").is_none(), "{name}");
        assert!(of_kind(&plain, "PrometheusRule").is_none(), "{name}");
        let full = objects(&template(name, &[values, &MONITORING].concat()).unwrap());
        let monitor = of_kind(&full, "ServiceMonitor").unwrap();
        assert_eq!(
            monitor["spec"]["endpoints"][0]["honorLabels"], true,
            "{name}"
        );
        let service = of_kind(&full, "Service").unwrap();
        assert_eq!(
            monitor["spec"]["selector"]["matchLabels"], service["spec"]["selector"],
            "{name}: the monitor does not select the service's pods"
        );
        let rule = of_kind(&full, "PrometheusRule").unwrap();
        assert!(
            rule["spec"]["groups"].as_array().unwrap().len() >= 2,
            "{name}"
        );
    }
}

#[test]
fn wrong_values_are_refused_by_name() {
    for (name, value, expected) in [
        ("foresail-exporter", "--set=simulatd=x", "simulatd"),
        ("foresail-exporter", "--set=port=0", "/port"),
        ("foresail-exporter", "--set=servers[0].kind=vllm", "url"),
        ("foresail-exporter", "--set-string=dialect=5", "/dialect"),
        (
            "foresail-exporter",
            "--set=extraArgs[0]=no-hostname",
            "/extraArgs",
        ),
        (
            "foresail-exporter",
            "--set-json=rules.thresholds.gpuMemoryUsed=90",
            "/rules/thresholds/gpuMemoryUsed",
        ),
        (
            "foresail-exporter",
            "--set=rules.thresholds.batchEfficiency=70%",
            "/rules/thresholds/batchEfficiency",
        ),
        ("foresail-autoscaler", "--set=tick=0", "/tick"),
        (
            "foresail-autoscaler",
            "--set=prometheusUrl=host:9090",
            "/prometheusUrl",
        ),
        (
            "foresail-autoscaler",
            "--set=tick=15",
            "prometheusUrl is required",
        ),
    ] {
        let error = template(name, &[value]).expect_err(value);
        assert!(error.contains(expected), "{value}: {error}");
    }
}

#[test]
fn the_right_to_scale_is_that_of_the_listed_kinds() {
    let values = [
        PROMETHEUS,
        "--set=targetKinds[0].group=example.com,targetKinds[0].resource=servers",
    ];
    let rendered = objects(&template("foresail-autoscaler", &values).unwrap());
    let rules = &of_kind(&rendered, "ClusterRole").unwrap()["rules"];
    let mut updates = Vec::new();
    for rule in rules.as_array().unwrap() {
        let verbs = rule["verbs"].as_array().unwrap();
        assert!(!rule.to_string().contains('*'), "a star: {rule}");
        if verbs.iter().any(|verb| verb == "update") {
            updates.push((&rule["apiGroups"][0], &rule["resources"][0]));
        }
    }
    assert_eq!(updates, [(&"example.com".into(), &"servers/scale".into())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_server_accepts_everything_that_is_rendered() {
    let plane = ControlPlane::api_server().await.unwrap();
    plane.install_definitions().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (name, values) in [
        ("foresail-exporter", &[][..]),
        (
            "foresail-exporter",
            &["--set=simulated=2xH100-SXM5-80GB,nodeSelector=null,runtimeClassName=nvidia"][..],
        ),
        (
            "foresail-exporter",
            &["--set=cluster.enabled=true,attribution.processes=true"][..],
        ),
        (
            "foresail-exporter",
            &[
                "--set=cluster.enabled=true,webConfig.secretName=web,webConfig.tls=true,webConfig.probeAuthorization=Basic YTpi",
            ][..],
        ),
        (
            "foresail-autoscaler",
            &[PROMETHEUS, "--set=dashboard.enabled=true"][..],
        ),
    ] {
        let file = folder.path().join("objects.yaml");
        fs::write(&file, template(name, values).unwrap()).unwrap();
        let file = file.display().to_string();
        let words = ["apply", "--server-side", "--dry-run=server", "-f", &file];
        let result = plane.kubectl(&words);
        assert!(result.is_ok(), "{name} {values:?}: {result:?}");
    }
}
