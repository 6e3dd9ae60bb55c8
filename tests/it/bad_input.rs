//! The controller on a Prometheus that answers badly and on targets that are not there: each gives a
//! condition and a metric, nothing crashes, nothing is scaled.

use std::time::Duration;

use tests::{control_plane::ControlPlane, product::Controller, service::until};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// Query (and name of the scaler), quality that follows, and what the detail must say.
const FAULTS: [(&str, &str, &str); 8] = [
    ("empty", "Missing", "arrivals"),
    ("two-series", "Missing", "2 series"),
    ("text", "Missing", "answered with text"),
    ("nan", "Missing", "NaN"),
    ("error-500", "Missing", "answered 500"),
    ("html", "Missing", "HTML"),
    ("slow", "Missing", "longer than"),
    ("broken", "Missing", "Prometheus at"),
];

#[tokio::test(flavor = "multi_thread")]
async fn bad_answers_and_missing_targets_are_told_and_change_nothing() {
    let plane = ControlPlane::api_server().await.unwrap();
    plane.install_definitions().await.unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let prometheus = format!("http://{}", listener.local_addr().unwrap());
    let answering = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    for (name, _, _) in FAULTS {
        plane.apply(&deployment(name)).unwrap();
        plane.apply(&scaler(name, name)).unwrap();
    }
    plane.apply(&scaler("nobody", "empty")).unwrap();
    let flags = ["--tick=1", "--query-timeout=1"];
    let mut controller = Controller::start(&plane.kubeconfig(), &prometheus, &flags)
        .await
        .unwrap();

    for (name, quality, detail) in FAULTS {
        told(&plane, name, quality, detail).await;
    }
    nobody_is_told(&plane);
    counted(&controller.url).await;
    assert!(controller.service.runs(), "{}", controller.service.tail());
    assert_eq!(
        controller.service.stop(Duration::from_secs(10)).unwrap(),
        Some(0)
    );
    answering.abort();
}

/// The status names the fault, scaling is not active, and the replicas stay.
async fn told(plane: &ControlPlane, name: &str, quality: &str, detail: &str) {
    until(
        &format!("{name} is told"),
        Duration::from_mins(1),
        || async { Ok(status(plane, name, "loadQuality") == quality) },
    )
    .await
    .unwrap();
    let told = status(plane, name, "dataQuality[0].detail");
    assert!(
        told.contains(detail) && !told.contains('\n'),
        "{name}: '{detail}' is not in: {told}"
    );
    let active = status(
        plane,
        name,
        "conditions[?(@.type==\"ScalingActive\")].status",
    );
    assert_eq!(active, "False", "{name}");
    let replicas = plane
        .kubectl(&["get", "deployment", name, "-o", "jsonpath={.spec.replicas}"])
        .unwrap();
    assert_eq!(replicas, "5", "{name} was scaled");
}

/// A target that does not exist is said to be so.
fn nobody_is_told(plane: &ControlPlane) {
    let able = status(
        plane,
        "nobody",
        "conditions[?(@.type==\"AbleToScale\")].reason",
    );
    assert_eq!(able, "TargetNotFound");
    let message = status(
        plane,
        "nobody",
        "conditions[?(@.type==\"AbleToScale\")].message",
    );
    assert!(
        message.contains("Deployment default/nobody does not exist"),
        "{message}"
    );
}

/// The metrics count the faults.
async fn counted(url: &str) {
    let metrics = reqwest::get(format!("{url}/metrics"))
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    for expected in [
        "foresail_autoscaler_load_quality{namespace=\"default\",name=\"html\",quality=\"Missing\"} 1",
        "foresail_autoscaler_target_problems_total{reason=\"TargetNotFound\"}",
        "foresail_autoscaler_decisions_total{reason=\"LoadMissing\"}",
        "foresail_autoscaler_query_failures_total",
    ] {
        assert!(
            metrics.contains(expected),
            "{expected} is not in:\n{metrics}"
        );
    }
}

#[test]
fn a_bad_address_or_flag_is_usage() {
    let program = tests::product::program("foresail-autoscaler").unwrap();
    for (flags, expected) in [
        (
            vec!["--prometheus-url=prometheus"],
            "http://host:9090 would be right",
        ),
        (
            vec!["--prometheus-url=http://127.0.0.1:1", "--tick=0"],
            "--tick",
        ),
        (vec!["--nonsense"], "--nonsense"),
    ] {
        let output = std::process::Command::new(&program)
            .args(&flags)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(expected), "{text}");
    }
}

/// A part of a scaler's status.
fn status(plane: &ControlPlane, name: &str, path: &str) -> String {
    plane.status(name, path).unwrap()
}

fn deployment(name: &str) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: default}}
spec:
  replicas: 5
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec: {{containers: [{{name: server, image: server}}]}}
"
    )
}

fn scaler(name: &str, query: &str) -> String {
    format!(
        "apiVersion: foresail.dev/v1alpha1
kind: InferenceScaler
metadata: {{name: {name}, namespace: default}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {name}}}
  minReplicas: 1
  maxReplicas: 9
  mode: Apply
  load: {{signals: [{{name: arrivals, promql: '{query}', means: Arrivals}}]}}
  capacity: {{perReplica: '10'}}
  behavior: {{scaleDown: {{stabilizationWindowSeconds: 0}}}}
"
    )
}

/// Answers one request with the fault that its query names.
async fn answer(mut stream: TcpStream) {
    let mut request = vec![0; 8192];
    let Ok(length) = stream.read(&mut request).await else {
        return;
    };
    let request = String::from_utf8_lossy(&request[..length]).into_owned();
    let asks = |fault: &str| request.contains(&format!("query={fault}&"));
    let matrix = |result: &str| {
        format!(r#"{{"status":"success","data":{{"resultType":"matrix","result":[{result}]}}}}"#)
    };
    // The stamps of a range's end are those of now, so that the samples are fresh.
    let now = tests::load::now();
    let (status, body) = match () {
        () if asks("two-series") => {
            let series =
                |pod: &str| format!(r#"{{"metric":{{"pod":"{pod}"}},"values":[[{now},"1"]]}}"#);
            (200, matrix(&format!("{},{}", series("a"), series("b"))))
        }
        () if asks("text") => (
            200,
            r#"{"status":"success","data":{"resultType":"string","result":[1,"x"]}}"#.to_owned(),
        ),
        () if asks("nan") => (
            200,
            matrix(&format!(r#"{{"metric":{{}},"values":[[{now},"NaN"]]}}"#)),
        ),
        () if asks("error-500") => (
            500,
            r#"{"status":"error","errorType":"internal","error":"out of disk"}"#.to_owned(),
        ),
        () if asks("html") => (200, "<html><body>Sign in</body></html>".to_owned()),
        () if asks("slow") => {
            tokio::time::sleep(Duration::from_secs(5)).await;
            (200, matrix(""))
        }
        () if asks("broken") => return,
        () => (200, matrix("")),
    };
    let head = format!(
        "HTTP/1.1 {status} Answer\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // A caller that gave up is what the slow answer is for.
    let _ = stream.write_all((head + &body).as_bytes()).await;
}
