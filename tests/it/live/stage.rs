//! Sets the stage: exporters on simulated GPUs and on the driver library for tests, a server, the autoscaler with a
//! target that has a past, and a Prometheus with all rules for each dialect of the labels.

use std::{fs, path::Path};

use tests::{
    control_plane::ControlPlane,
    load::{self, Shifted, Trace, now},
    product::{self, Controller},
    prometheus::Prometheus,
    service::Service,
    vllm,
};

/// The dialects of dcgm-exporter's labels, with the label of the node's name.
pub(crate) const DIALECTS: [(&str, &str); 2] = [("4.8.2", "Hostname"), ("4.8.3", "hostname")];

/// Whole and partitioned boards of two generations.
const SIMULATED: &str = "2xH100-SXM5-80GB:mig=3g.40gb@4+2g.20gb@0,1xH100-SXM5-80GB,1xL40S";

/// Boards of the driver library: linked, partitioned, without links, and one without remapped rows.
const WORLD: &str = "gpu 0 board H100
gpu 0 workload host seed 1
gpu 0 process 41 compute used 900
gpu 1 board H100
gpu 1 mig on
gpu 1 instance 3g.40gb id 1 start 4 used 2000
gpu 2 board L40S
gpu 3 board T4
";

/// One dialect's exporters and the Prometheus that scrapes them.
pub(crate) struct Side {
    pub(crate) prometheus: Prometheus,
    /// Addresses of everything that is scraped.
    pub(crate) scraped: Vec<String>,
    _exporters: [Service; 2],
}

/// Everything that runs.
pub(crate) struct Stage {
    pub(crate) sides: Vec<Side>,
    _controller: Controller,
    _history: Prometheus,
    _plane: ControlPlane,
    _folder: tempfile::TempDir,
    _tasks: [tokio::task::JoinHandle<()>; 2],
}

impl Stage {
    /// Starts everything.
    pub(crate) async fn set() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("world"), WORLD)?;
        let (server, answering) = vllm::serve().await?;
        let loads = vec![Shifted::new("chat", &Trace::load(400.0)?, 600, now())];
        let past = load::past(&loads, 7, now());
        let (load, loading) = load::serve(loads).await?;
        let history = Prometheus::start(&[("load", load)], Some(&past)).await?;
        let plane = ControlPlane::api_server().await?;
        plane.install_definitions().await?;
        plane.apply(TARGET)?;
        let controller =
            Controller::start(&plane.kubeconfig(), &history.url(), &["--tick=2"]).await?;
        let address = controller.url.trim_start_matches("http://").to_owned();
        let mut sides = Vec::new();
        for (dialect, _) in DIALECTS {
            sides.push(Side::start(folder.path(), dialect, &server, &address).await?);
        }
        Ok(Self {
            sides,
            _controller: controller,
            _history: history,
            _plane: plane,
            _folder: folder,
            _tasks: [answering, loading],
        })
    }
}

impl Side {
    async fn start(
        folder: &Path,
        dialect: &str,
        server: &str,
        controller: &str,
    ) -> anyhow::Result<Self> {
        let config = folder.join(format!("{dialect}.yaml"));
        let text = format!(
            "intervalSeconds: 1\nservers:\n  - {{kind: vllm, url: \"http://{server}/metrics\", namespace: serving, pod: chat-0, batchLimit: 16}}\n"
        );
        fs::write(&config, text)?;
        let library = product::program("libtests_nvml.so")?;
        let common = [
            format!("--config={}", config.display()),
            format!("--dialect={dialect}"),
        ];
        let mut exporters = Vec::new();
        for own in [
            format!("--simulated={SIMULATED}"),
            format!("--nvml-library={}", library.display()),
        ] {
            let flags = [common.as_slice(), &[own]].concat();
            exporters.push(product::exporter_with(folder, &flags).await?);
        }
        let [(simulated, first), (driver, second)] =
            <[_; 2]>::try_from(exporters).map_err(|_| anyhow::anyhow!("two exporters"))?;
        let scraped = vec![first, second, controller.to_owned()];
        let jobs = ["simulated", "driver", "autoscaler"];
        let targets: Vec<_> = jobs.into_iter().zip(scraped.clone()).collect();
        Ok(Self {
            prometheus: Prometheus::with_rules(&targets).await?,
            scraped,
            _exporters: [simulated, driver],
        })
    }
}

/// A deployment that the autoscaler advises on.
const TARGET: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: default}
spec:
  replicas: 3
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      containers:
      - {name: server, image: server}
---
apiVersion: foresail.dev/v1alpha1
kind: InferenceScaler
metadata: {name: chat, namespace: default}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}
  minReplicas: 2
  maxReplicas: 60
  load:
    signals:
    - {name: arrivals, promql: 'sum(rate(http_requests_total{service="chat"}[30s]))', means: Arrivals}
  capacity: {perReplica: '12'}
"#;
