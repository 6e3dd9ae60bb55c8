//! `external.metrics.k8s.io` for the real HPA: answers with the value of a PromQL query, by TLS on
//! loopback, registered by an `APIService` with an `ExternalName` service.

use std::{convert::Infallible, sync::Arc, time::Duration};

use anyhow::Context;
use http_body_util::Full;
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::{
    control_plane::{ControlPlane, self_signed},
    service::until,
};

/// Serves one external metric a service: the metric `arrivals-NAME` is the answer to
/// `sum(rate(http_requests_total{service="NAME"}[30s]))`.
pub async fn serve(
    plane: &ControlPlane,
    prometheus: &str,
) -> anyhow::Result<tokio::task::JoinHandle<()>> {
    let folder = plane.kubeconfig().parent().context("no folder")?.to_owned();
    let (key, certificate) = (folder.join("external.key"), folder.join("external.crt"));
    let extra = ["-addext", "subjectAltName=DNS:localhost"];
    self_signed("/CN=localhost", &extra, &key, &certificate)?;
    let chain = CertificateDer::pem_file_iter(&certificate)?.collect::<Result<Vec<_>, _>>()?;
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(&key)?)?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let port = listener.local_addr()?.port();
    let prometheus = Arc::new(prometheus.to_owned());
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, prometheus) = (acceptor.clone(), prometheus.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else {
                    return;
                };
                let answer = service_fn(|request| answer(request, prometheus.clone()));
                // A caller that goes away early is no concern of the metric.
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), answer)
                    .await;
            });
        }
    });
    plane.apply(&registration(port))?;
    until(
        "the external metrics API is available",
        Duration::from_mins(1),
        || async {
            Ok(plane
                .kubectl(&["get", "--raw", "/apis/external.metrics.k8s.io/v1beta1"])
                .is_ok())
        },
    )
    .await?;
    Ok(task)
}

fn registration(port: u16) -> String {
    format!(
        "apiVersion: v1
kind: Service
metadata: {{name: external-metrics, namespace: default}}
spec: {{type: ExternalName, externalName: localhost, ports: [{{port: {port}}}]}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {{name: v1beta1.external.metrics.k8s.io}}
spec:
  group: external.metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {{name: external-metrics, namespace: default, port: {port}}}
"
    )
}

async fn answer(
    request: Request<Incoming>,
    prometheus: Arc<String>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().trim_end_matches('/').to_owned();
    let metric = path.rsplit('/').next().unwrap_or_default();
    let body = match metric.strip_prefix("arrivals-") {
        Some(service) => value(service, metric, &prometheus).await,
        None => Some(serde_json::json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "external.metrics.k8s.io/v1beta1",
            "resources": [{"name": "externalmetrics", "singularName": "", "namespaced": true,
                           "kind": "ExternalMetricValueList", "verbs": ["get"]}]
        })),
    };
    let (status, body) = match body {
        Some(body) => (200, body.to_string()),
        None => (
            404,
            r#"{"kind":"Status","apiVersion":"v1","status":"Failure","code":404}"#.to_owned(),
        ),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or_default();
    response.headers_mut().insert(
        "content-type",
        hyper::header::HeaderValue::from_static("application/json"),
    );
    Ok(response)
}

async fn value(service: &str, metric: &str, prometheus: &str) -> Option<serde_json::Value> {
    let query = format!("sum(rate(http_requests_total{{service=\"{service}\"}}[30s]))");
    let response = reqwest::Client::new()
        .get(format!("{prometheus}/api/v1/query"))
        .query(&[("query", query)])
        .timeout(Duration::from_secs(5))
        .send()
        .await
        .ok()?;
    let answer: serde_json::Value = response.json().await.ok()?;
    let value: f64 = answer["data"]["result"][0]["value"][1]
        .as_str()?
        .parse()
        .ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "thousandths of a request")]
    let milli = (value * 1000.0).round() as i64;
    Some(serde_json::json!({
        "kind": "ExternalMetricValueList", "apiVersion": "external.metrics.k8s.io/v1beta1", "metadata": {},
        "items": [{"metricName": metric, "metricLabels": {}, "timestamp": timestamp(), "value": format!("{milli}m")}]
    }))
}

fn timestamp() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}
