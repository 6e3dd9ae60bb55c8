//! The autoscaler with the rights that its chart gives and no others: it watches, scales, writes its
//! status and an event, and the API server refuses it nothing.

use std::{fs, path::PathBuf, process::Command, time::Duration};

use tests::{control_plane::ControlPlane, product::Controller, service::until};

/// The account of a release called `test` in the namespace `default`.
const ACCOUNT: &str = "system:serviceaccount:default:test-foresail-autoscaler";
/// A deployment below the minimum of its scaler: it is raised even without data.
const OBJECTS: &str = r"
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec: {containers: [{name: server, image: none}]}
---
apiVersion: foresail.dev/v1alpha1
kind: InferenceScaler
metadata: {name: chat, namespace: default}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}
  minReplicas: 3
  maxReplicas: 5
  mode: Apply
  load: {signals: [{name: arrivals, promql: 'up', means: Arrivals}]}
  capacity: {perReplica: '1'}
";

/// A kubeconfig beside the administrator's that acts as the chart's account.
fn as_account(plane: &ControlPlane) -> PathBuf {
    let text = fs::read_to_string(plane.kubeconfig()).unwrap();
    let (mark, account) = (
        "user: {token: ",
        format!("user: {{as: '{ACCOUNT}', token: "),
    );
    assert!(text.contains(mark), "{text}");
    let path = plane.kubeconfig().with_file_name("account");
    fs::write(&path, text.replace(mark, &account)).unwrap();
    path
}

fn rendered() -> String {
    let output = Command::new(tests::peer("helm").unwrap().join("helm"))
        .args(["template", "test"])
        .arg(tests::root().join("charts/foresail-autoscaler"))
        .arg("--set=prometheusUrl=http://prometheus:9090")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_charts_rights_suffice() {
    let plane = ControlPlane::api_server().await.unwrap();
    plane.install_definitions().await.unwrap();
    plane.apply(&rendered()).unwrap();
    plane.apply(OBJECTS).unwrap();
    let nobody = format!("http://127.0.0.1:{}", tests::free_port().unwrap());
    let flags = ["--tick=1", "--query-timeout=1"];
    let mut controller = Controller::start(&as_account(&plane), &nobody, &flags)
        .await
        .unwrap();
    let get = |what: &[&str]| plane.kubectl(&[&["get"], what].concat()).unwrap();
    let waited = until("chat is raised", Duration::from_mins(1), || async {
        Ok(get(&["deployment", "chat", "-o", "jsonpath={.spec.replicas}"]) == "3")
    })
    .await;
    assert!(waited.is_ok(), "{waited:?}\n{}", controller.service.tail());
    let waited = until("it is told", Duration::from_mins(1), || async {
        let events = get(&["events", "-o", "jsonpath={.items[*].reason}"]);
        let path = "jsonpath={.status.lastDecision.reason}";
        let status = get(&["inferencescaler", "chat", "-o", path]);
        Ok(events.contains("LoadMissing") && !status.is_empty())
    })
    .await;
    let log = controller.service.tail();
    assert!(waited.is_ok(), "{waited:?}\n{log}");
    assert!(!log.contains("orbidden"), "{log}");
    controller.service.stop(Duration::from_secs(10)).unwrap();
}
