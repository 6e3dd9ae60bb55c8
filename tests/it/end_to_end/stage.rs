//! Sets the stage: control plane, GPU nodes, deployments with their scalers and the real HPA, the load
//! with its past, Prometheus, the exporter.

use std::time::Duration;

use tests::{
    control_plane::ControlPlane,
    external_metrics, kwok,
    load::{self, Shifted, Trace, now},
    product,
    prometheus::Prometheus,
    service::{Service, until},
};

use super::{
    choose, replay,
    replay::{LATE, STARTUP, need},
    watch::Watch,
};

/// Seconds that it takes to start everything, at most; the run begins with the next full minute.
const LEAD: f64 = 75.0;
/// Replicas that a target needs at its highest.
const PEAK: f64 = 16.0;
/// Seconds into the run at which the rise of `rise` comes.
pub(crate) const RISE: f64 = 610.0;
/// The same for the fall of `restart`.
const RESTART: f64 = 150.0;
/// The same for the fall of `outage`.
const OUTAGE: f64 = 735.0;

/// One scaled service.
pub(crate) struct Target {
    /// Its load.
    pub(crate) load: Shifted,
    /// Requests per second of one replica.
    pub(crate) capacity: f64,
    /// `scaleDown.stabilizationWindowSeconds`.
    pub(crate) window: i64,
}

/// Everything that runs.
pub(crate) struct Stage {
    pub(crate) plane: ControlPlane,
    pub(crate) prometheus: Prometheus,
    /// Address of the exporter on simulated GPUs.
    pub(crate) exporter: String,
    /// The rise, the restart and the outage, in this order.
    pub(crate) targets: [Target; 3],
    /// Unix seconds at which the run begins.
    pub(crate) begin: f64,
    pub(crate) watch: Watch,
    _services: [Service; 2],
    _tasks: [tokio::task::JoinHandle<()>; 3],
}

/// One target whose load has this minute of the trace at `second` of the run.
fn target(
    trace: &Trace,
    name: &str,
    begin: f64,
    minute: usize,
    second: f64,
    window: i64,
) -> Target {
    let around = minute.saturating_sub(10)..minute + 10;
    let highest = trace.rates()[around].iter().copied().fold(1e-9, f64::max);
    let load = Shifted::new(name, trace, minute, begin + second);
    Target {
        load,
        capacity: highest / PEAK,
        window,
    }
}

/// The three targets, each on its own shift of the trace. The restart takes the steepest fall during
/// which the control run only lowers: there a reversal can only come from the restart.
fn targets(trace: &Trace, begin: f64) -> [Target; 3] {
    let rise = choose::steepest(trace, 1.0, 1)[0];
    let falls = choose::steepest(trace, -1.0, 12);
    let restart = falls[1..].iter().find_map(|minute| {
        let target = target(trace, "restart", begin, *minute, RESTART, 120);
        let run = control_run(&target, begin, 480);
        let only_lowers = run
            .windows(2)
            .all(|pair| pair[1].at <= 30 || pair[1].desired <= pair[0].desired);
        (only_lowers && replay::falls(&run).len() > 1).then_some(target)
    });
    [
        target(trace, "rise", begin, rise, RISE, 300),
        restart.unwrap_or_else(|| panic!("no fall of this load is only a fall")),
        target(trace, "outage", begin, falls[0], OUTAGE, 60),
    ]
}

/// What the core does on a target's load when nothing fails.
fn control_run(target: &Target, begin: f64, seconds: i64) -> Vec<replay::Moment> {
    #[expect(clippy::cast_possible_truncation, reason = "unix seconds")]
    let begin = begin as i64;
    replay::replay(&target.load, target.capacity, target.window, begin, seconds)
}

impl Stage {
    /// Sets everything up; returns shortly before the run begins, with every pod Ready.
    pub(crate) async fn set() -> anyhow::Result<Self> {
        let begin = ((now() + LEAD) / 60.0).ceil() * 60.0;
        let trace = Trace::load(400.0)?;
        let targets = targets(&trace, begin);
        let loads: Vec<Shifted> = targets.iter().map(|target| target.load.clone()).collect();
        let (address, serving) = load::serve(loads.clone()).await?;
        let plane = ControlPlane::whole().await?;
        plane.install_definitions().await?;
        let kwok = kwok::start(&plane)?;
        kwok::nodes(&plane, 12).await?;
        for target in &targets {
            plane.apply(&deployment(&target.load.service, target, begin))?;
            plane.apply(&scaler(target))?;
        }
        plane.apply(&deployment("rise-hpa", &targets[0], begin))?;
        let folder = plane.kubeconfig().with_file_name("");
        let (exporter, metrics) = product::exporter(&folder, "2xH100-SXM5-80GB").await?;
        let past = load::past(&loads, 14, now());
        let scraped = [("load", address), ("gpus", metrics.clone())];
        let prometheus = Prometheus::start(&scraped, Some(&past)).await?;
        let external = external_metrics::serve(&plane, &prometheus.url()).await?;
        let (watch, watching) = Watch::start(plane.client.clone());
        let names = ["rise", "restart", "outage", "rise-hpa"];
        until("every pod is Ready", Duration::from_mins(3), || async {
            let at = now();
            let ready = |name: &&str| {
                watch
                    .between(name, at - 5.0, at + 1.0)
                    .last()
                    .is_some_and(|seen| seen.ready == seen.desired && seen.ready > 0)
            };
            Ok(names.iter().all(ready))
        })
        .await?;
        plane.apply(&hpa(&targets[0]))?;
        eprintln!(
            "the stage is set {:.0} s before the run begins",
            begin - now()
        );
        Ok(Self {
            plane,
            prometheus,
            exporter: metrics,
            targets,
            begin,
            watch,
            _services: [kwok, exporter],
            _tasks: [serving, external, watching],
        })
    }

    /// The control run of a target: what the core does on this load when nothing fails.
    pub(crate) fn control_run(&self, index: usize, seconds: i64) -> Vec<replay::Moment> {
        control_run(&self.targets[index], self.begin, seconds)
    }
}

fn deployment(name: &str, target: &Target, begin: f64) -> String {
    let replicas = need(target.load.rate(begin), target.capacity) + 1;
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: default}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata:
      labels: {{app: {name}}}
      annotations: {{{}: {STARTUP}s}}
    spec:
      containers:
      - {{name: server, image: server, resources: {{limits: {{nvidia.com/gpu: '1'}}}}}}
",
        kwok::STARTUP
    )
}

fn scaler(target: &Target) -> String {
    let (name, window) = (&target.load.service, target.window);
    format!(
        "apiVersion: foresail.dev/v1alpha1
kind: InferenceScaler
metadata: {{name: {name}, namespace: default}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {name}}}
  minReplicas: 2
  maxReplicas: 60
  mode: Apply
  load:
    signals:
    - {{name: arrivals, promql: 'sum(rate(http_requests_total{{service=\"{name}\"}}[30s]))', means: Arrivals}}
  capacity: {{perReplica: '{:.3}'}}
  cost: {{late: {LATE}, idle: 1}}
  behavior: {{scaleDown: {{stabilizationWindowSeconds: {window}}}}}
",
        target.capacity
    )
}

fn hpa(target: &Target) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "thousandths of a request")]
    let milli = (target.capacity * 1000.0) as i64;
    format!(
        "apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: rise, namespace: default}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: rise-hpa}}
  minReplicas: 2
  maxReplicas: 60
  metrics:
  - type: External
    external: {{metric: {{name: arrivals-rise}}, target: {{type: AverageValue, averageValue: {milli}m}}}}
"
    )
}
