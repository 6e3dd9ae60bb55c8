//! The exporter's chart: what its pods may do, who may read them, and that its files are ones that the exporter takes.

use std::{fs, process::Command};

use serde_json::Value;

use super::{MONITORING, objects, of_kind, template};

#[test]
fn the_exporter_has_one_capability_for_mig_and_none_without() {
    let context = |values: &[&str]| {
        let rendered = objects(&template("foresail-exporter", values).unwrap());
        let set = of_kind(&rendered, "DaemonSet").unwrap();
        let pod = set["spec"]["template"]["spec"].clone();
        let container = pod["containers"][0]["securityContext"].clone();
        (pod["securityContext"].clone(), container)
    };
    let (pod, container) = context(&[]);
    assert_eq!(
        pod["runAsUser"], 0,
        "capabilities take effect for root only"
    );
    let wanted = serde_json::json!({"drop": ["ALL"], "add": ["SYS_ADMIN"]});
    assert_eq!(container["capabilities"], wanted);
    assert_eq!(container["allowPrivilegeEscalation"], false);
    assert_eq!(container["readOnlyRootFilesystem"], true);
    assert!(container["privileged"].is_null());
    let (pod, container) = context(&["--set=migPlacement=false,attribution.enabled=false"]);
    assert_eq!(pod["runAsNonRoot"], true);
    assert_eq!(
        container["capabilities"],
        serde_json::json!({"drop": ["ALL"]})
    );
}

#[test]
fn the_exporter_may_only_list_what_it_is_told_to() {
    let rights = |values: &[&str]| -> Vec<String> {
        let rendered = objects(&template("foresail-exporter", values).unwrap());
        let bound = rendered.iter().filter(|one| one["kind"] == "ClusterRole");
        let rules = bound.flat_map(|role| role["rules"].as_array().unwrap());
        let right = |rule: &Value| {
            assert_eq!(rule["verbs"], serde_json::json!(["list"]), "{rule}");
            rule["resources"][0].as_str().unwrap().to_owned()
        };
        rules.map(right).collect()
    };
    assert_eq!(rights(&[]), ["pods", "resourceslices"]);
    assert_eq!(rights(&["--set=attribution.enabled=false"]), ["pods"]);
    let cluster = ["--set=cluster.enabled=true,discovery.enabled=false"];
    assert_eq!(rights(&cluster), ["jobs", "workloads"]);
    assert_eq!(rights(&["--set=discovery.enabled=false"]), [""; 0]);
}

#[test]
fn one_dialect_holds_for_the_nodes_and_the_cluster() {
    let values = ["--set=cluster.enabled=true", "--set=dialect=4.8.3"];
    let rendered = objects(&template("foresail-exporter", &values).unwrap());
    let cluster = of_kind(&rendered, "Deployment").unwrap();
    let container = &cluster["spec"]["template"]["spec"]["containers"][0];
    let flags = container["args"].as_array().unwrap();
    assert!(flags.contains(&"--dialect=4.8.3".into()), "{flags:?}");
    let file = of_kind(&rendered, "ConfigMap").unwrap()["data"]["config.yaml"].to_string();
    assert!(file.contains("dialect: \\\"4.8.3\\\""), "{file}");
}

#[test]
fn root_and_the_nodes_folders_are_for_attribution_alone() {
    let pod = |values: &[&str]| {
        let rendered = objects(&template("foresail-exporter", values).unwrap());
        of_kind(&rendered, "DaemonSet").unwrap()["spec"]["template"]["spec"].clone()
    };
    let without =
        pod(&["--set=attribution.enabled=false,discovery.enabled=false,migPlacement=false"]);
    assert_eq!(without["securityContext"]["runAsNonRoot"], true);
    assert!(!without.to_string().contains("hostPath"));
    assert_eq!(without["automountServiceAccountToken"], false);
    let with = pod(&[]);
    assert_eq!(with["securityContext"]["runAsUser"], 0);
    assert!(with.to_string().contains("/var/lib/kubelet/pod-resources"));
    assert!(!with.to_string().contains("/host/proc"));
    assert!(
        pod(&["--set=attribution.processes=true"])
            .to_string()
            .contains("/host/proc")
    );
}

#[test]
fn a_guarded_port_is_asked_as_it_is_guarded() {
    let values = [
        "--set=cluster.enabled=true,webConfig.secretName=web,webConfig.tls=true",
        "--set=webConfig.probeAuthorization=Basic YTpi,serviceMonitor.tlsConfig.insecureSkipVerify=true",
    ];
    let rendered =
        objects(&template("foresail-exporter", &[&values[..], &MONITORING].concat()).unwrap());
    for kind in ["DaemonSet", "Deployment"] {
        let pod = &of_kind(&rendered, kind).unwrap()["spec"]["template"]["spec"];
        for probe in ["livenessProbe", "readinessProbe"] {
            let get = &pod["containers"][0][probe]["httpGet"];
            assert_eq!(get["scheme"], "HTTPS", "{kind} {probe}");
            assert_eq!(
                get["httpHeaders"][0]["value"], "Basic YTpi",
                "{kind} {probe}"
            );
        }
        assert!(
            pod["volumes"].to_string().contains(r#""secretName":"web""#),
            "{kind}"
        );
    }
    for monitor in rendered
        .iter()
        .filter(|object| object["kind"] == "ServiceMonitor")
    {
        let endpoint = &monitor["spec"]["endpoints"][0];
        assert_eq!(
            (&endpoint["scheme"], &endpoint["honorLabels"]),
            (&"https".into(), &true.into())
        );
        assert_eq!(endpoint["tlsConfig"]["insecureSkipVerify"], true);
    }
    let open = objects(&template("foresail-exporter", &MONITORING).unwrap());
    assert!(of_kind(&open, "ServiceMonitor").unwrap()["spec"]["endpoints"][0]["scheme"].is_null());
    assert!(
        !of_kind(&open, "DaemonSet")
            .unwrap()
            .to_string()
            .contains("foresail-web")
    );
}

#[test]
fn the_exporters_file_is_one_that_the_exporter_takes() {
    let values = [
        "--set=simulated=1xL40S,discovery.enabled=false,maxSeries=5000,dialect=4.8.3",
        "--set-literal=customMetrics=DCGM_FI_DEV_GPU_UTIL, gauge,\"Use, in %.\"",
        concat!(
            r#"--set-json=servers=[{"kind":"vllm","url":"http://127.0.0.1:9/metrics","#,
            r#""namespace":"s","batchLimit":256,"deadlineSeconds":0.5}]"#
        ),
    ];
    let rendered = objects(&template("foresail-exporter", &values).unwrap());
    let text = rendered
        .iter()
        .find_map(|object| object["data"]["config.yaml"].as_str())
        .unwrap();
    let counters = rendered
        .iter()
        .find_map(|object| object["data"]["counters.csv"].as_str())
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    let path = folder.path().join("counters.csv");
    fs::write(&path, counters).unwrap();
    // The one thing that differs: where a pod finds what is mounted.
    let text = text.replace("/etc/foresail/counters.csv", path.to_str().unwrap());
    fs::write(&file, text).unwrap();
    let output = Command::new(tests::product::program("foresail-exporter").unwrap())
        .arg("--once")
        .arg("--config")
        .arg(&file)
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(shown.contains("DCGM_FI_DEV_GPU_UTIL{"), "{shown}");
    assert!(
        shown.contains("Use, in %.") && shown.contains("hostname="),
        "{shown}"
    );
    assert!(!shown.contains("DCGM_FI_DEV_GPU_TEMP"), "{shown}");
}
