//! Logs, and the autoscaler's own metrics. Names are constants here; reasons and qualities are labels
//! with a bounded set of values.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError, atomic::AtomicU64},
    time::Duration,
};

use autoscaler_core::{
    decide::reason::ProblemKind,
    plan::{Decision, Plan},
    snapshot::{Snapshot, Target},
    units::TargetId,
};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};
use tracing_subscriber::EnvFilter;

use crate::{apply::Outcome, args::LogFormat};

/// Starts the logs; `RUST_LOG` overrides the level `info`.
pub fn start_logs(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // A second subscriber is refused; the first one goes on.
    let _ = match format {
        LogFormat::Text => logs.try_init(),
        LogFormat::Json => logs.json().try_init(),
    };
}

/// Results of a write of replicas.
const SCALED: &str = "Scaled";
const CONFLICT: &str = "Conflict";
const FAILED: &str = "Failed";

/// Labels of a target.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TargetLabels {
    namespace: String,
    name: String,
}

/// Labels of one number of replicas.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReplicaLabels {
    namespace: String,
    name: String,
    kind: &'static str,
}

/// Labels of the quality of a target's load.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QualityLabels {
    namespace: String,
    name: String,
    quality: &'static str,
}

/// One label with a bounded set of values.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabel {
    reason: String,
}

type Decimal = Gauge<f64, AtomicU64>;

/// The autoscaler's own metrics.
pub struct Metrics {
    registry: Registry,
    tick_seconds: Histogram,
    query_seconds: Histogram,
    query_failures: Counter,
    decisions: Family<ReasonLabel, Counter>,
    problems: Family<ReasonLabel, Counter>,
    scale_writes: Family<ReasonLabel, Counter>,
    status_writes: Counter,
    violations: Counter,
    replicas: Family<ReplicaLabels, Gauge>,
    load: Family<TargetLabels, Decimal>,
    quality: Family<QualityLabels, Gauge>,
    skill: Family<TargetLabels, Decimal>,
    coverage: Family<TargetLabels, Decimal>,
    startup: Family<TargetLabels, Decimal>,
    /// Serialises the clearing and setting of per-target series against a scrape in between.
    whole: Mutex<()>,
}

impl Default for Metrics {
    fn default() -> Self {
        let buckets = || Histogram::new(exponential_buckets(0.001, 4.0, 9));
        let mut metrics = Self {
            registry: Registry::with_prefix("foresail_autoscaler"),
            tick_seconds: buckets(),
            query_seconds: buckets(),
            query_failures: Counter::default(),
            decisions: Family::default(),
            problems: Family::default(),
            scale_writes: Family::default(),
            status_writes: Counter::default(),
            violations: Counter::default(),
            replicas: Family::default(),
            load: Family::default(),
            quality: Family::default(),
            skill: Family::default(),
            coverage: Family::default(),
            startup: Family::default(),
            whole: Mutex::new(()),
        };
        metrics.register();
        metrics.count_from_zero();
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let r = &mut self.registry;
        r.register_with_unit(
            "tick_duration",
            "Time of one pass over all targets",
            Unit::Seconds,
            self.tick_seconds.clone(),
        );
        r.register_with_unit(
            "query_duration",
            "Time of one Prometheus query with all its chunks",
            Unit::Seconds,
            self.query_seconds.clone(),
        );
        r.register(
            "query_failures",
            "Prometheus queries without a usable answer",
            self.query_failures.clone(),
        );
        r.register(
            "decisions",
            "Decisions by reason, also those to change nothing",
            self.decisions.clone(),
        );
        r.register(
            "target_problems",
            "Decisions that a broken target prevented, by kind",
            self.problems.clone(),
        );
        r.register(
            "scale_writes",
            "Writes of replicas by result",
            self.scale_writes.clone(),
        );
        r.register(
            "status_writes",
            "Writes of status",
            self.status_writes.clone(),
        );
        r.register(
            "invariant_violations",
            "Plans that broke an invariant and were not applied",
            self.violations.clone(),
        );
        self.register_targets();
    }

    /// Shows every reason that alerts look at before it first happens: a counter that appears with 1 has no increase,
    /// and one that is absent cannot be told from an autoscaler that is.
    fn count_from_zero(&self) {
        for result in [SCALED, CONFLICT, FAILED] {
            let reason = result.to_owned();
            drop(self.scale_writes.get_or_create(&ReasonLabel { reason }));
        }
        for kind in ProblemKind::ALL {
            let reason = kind.as_str().to_owned();
            drop(self.problems.get_or_create(&ReasonLabel { reason }));
        }
    }

    /// Series by target.
    fn register_targets(&mut self) {
        let r = &mut self.registry;
        r.register(
            "replicas",
            "Replicas of a target by kind: desired, ready, pending, forecast, reactive",
            self.replicas.clone(),
        );
        r.register(
            "load_requests_per_second",
            "Load of a target; absent without data",
            self.load.clone(),
        );
        r.register(
            "load_quality",
            "1 for the quality that the load of a target has now",
            self.quality.clone(),
        );
        r.register(
            "forecast_skill_ratio",
            "Skill of the forecast against the same time yesterday; absent until measured",
            self.skill.clone(),
        );
        r.register(
            "forecast_coverage_ratio",
            "Share of past values inside the 90 % interval; absent until measured",
            self.coverage.clone(),
        );
        r.register_with_unit(
            "startup",
            "Learned start-up time of a target; absent until observed",
            Unit::Seconds,
            self.startup.clone(),
        );
    }

    /// The exposition.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let _whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }

    /// One pass took so long.
    pub fn tick(&self, duration: Duration) {
        self.tick_seconds.observe(duration.as_secs_f64());
    }

    /// One query took so long, and was answered or not.
    pub fn query(&self, duration: Duration, answered: bool) {
        self.query_seconds.observe(duration.as_secs_f64());
        if !answered {
            self.query_failures.inc();
        }
    }

    /// A plan broke an invariant.
    pub fn violation(&self) {
        self.violations.inc();
    }

    /// A status was written.
    pub fn status_written(&self) {
        self.status_writes.inc();
    }

    /// What a pass decided. Series of targets that are gone, and numbers that are not known any more,
    /// disappear: absent beats old.
    pub fn plan(&self, snapshot: &Snapshot, plan: &Plan, outcomes: &BTreeMap<TargetId, Outcome>) {
        let _whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        self.replicas.clear();
        self.load.clear();
        self.quality.clear();
        self.skill.clear();
        self.coverage.clear();
        self.startup.clear();
        for (target, decision) in snapshot.targets.iter().zip(&plan.decisions) {
            self.target(target, decision);
        }
        for outcome in outcomes.values() {
            let result = match outcome {
                Outcome::Scaled => SCALED,
                Outcome::Conflict => CONFLICT,
                Outcome::Failed(_) => FAILED,
            };
            self.scale_writes
                .get_or_create(&ReasonLabel {
                    reason: result.to_owned(),
                })
                .inc();
        }
    }

    fn target(&self, target: &Target, decision: &Decision) {
        let reason = |reason: &str| ReasonLabel {
            reason: reason.to_owned(),
        };
        self.decisions
            .get_or_create(&reason(decision.reason.as_str()))
            .inc();
        if let Some(problem) = &decision.problem {
            self.problems
                .get_or_create(&reason(problem.kind.as_str()))
                .inc();
        }
        let (namespace, name) = (target.id.namespace.clone(), target.id.name.clone());
        let labels = TargetLabels {
            namespace: namespace.clone(),
            name: name.clone(),
        };
        let basis = &decision.basis;
        let forecast = basis.forecast.as_ref();
        let known = decision.problem.is_none();
        for (kind, value) in [
            ("desired", known.then_some(decision.to)),
            ("ready", known.then_some(target.replicas.ready)),
            ("pending", known.then_some(target.replicas.pending)),
            ("forecast", forecast.map(|forecast| forecast.need)),
            ("reactive", basis.reactive),
        ] {
            if let Some(value) = value {
                let labels = ReplicaLabels {
                    namespace: namespace.clone(),
                    name: name.clone(),
                    kind,
                };
                self.replicas.get_or_create(&labels).set(i64::from(value.0));
            }
        }
        let quality = QualityLabels {
            namespace,
            name,
            quality: basis.quality.as_str(),
        };
        self.quality.get_or_create(&quality).set(1);
        for (family, value) in [
            (&self.load, basis.load),
            (&self.skill, forecast.and_then(|forecast| forecast.skill)),
            (
                &self.coverage,
                forecast.and_then(|forecast| forecast.coverage),
            ),
            (
                &self.startup,
                basis.startup_learned.then_some(basis.startup_seconds),
            ),
        ] {
            if let Some(value) = value {
                family.get_or_create(&labels).set(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_that_alerts_look_at_are_there_before_anything_happens() {
        let text = Metrics::default().text().unwrap();
        for line in [
            "foresail_autoscaler_scale_writes_total{reason=\"Failed\"} 0",
            "foresail_autoscaler_target_problems_total{reason=\"TargetNotFound\"} 0",
            "foresail_autoscaler_invariant_violations_total 0",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
    }
}
