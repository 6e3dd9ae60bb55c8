//! The status of a target from its decision, and whether it is worth a write. Needs no client.

use autoscaler_api::{DataQuality, InferenceScaler, InferenceScalerStatus, LastDecision};
use autoscaler_core::{
    explain,
    memory::{Persisted, TargetMemory},
    plan::Decision,
    snapshot::Target,
    units::Replicas,
};

use super::conditions;
use crate::apply::Outcome;

/// The status after a decision.
pub(super) fn status(
    scaler: &InferenceScaler,
    target: &Target,
    decision: &Decision,
    memory: Option<&TargetMemory>,
    outcome: Option<&Outcome>,
    before: &InferenceScalerStatus,
) -> InferenceScalerStatus {
    let generation = scaler.metadata.generation;
    let known = decision.problem.is_none();
    let forecast = decision.basis.forecast.as_ref();
    let decimal = |value: f64| format!("{value:.2}");
    InferenceScalerStatus {
        observed_generation: generation,
        current_replicas: known.then(|| count(target.replicas.current)),
        ready_replicas: known.then(|| count(target.replicas.ready)),
        desired_replicas: known.then(|| count(decision.to)),
        forecast_replicas: forecast.map(|forecast| count(forecast.need)),
        rung: forecast.map(|forecast| forecast.rung.clone()),
        skill: forecast.and_then(|forecast| forecast.skill).map(decimal),
        coverage: forecast.and_then(|forecast| forecast.coverage).map(decimal),
        #[expect(clippy::cast_possible_truncation, reason = "seconds of a start-up")]
        startup_seconds: decision
            .basis
            .startup_learned
            .then(|| decision.basis.startup_seconds.round() as i64),
        capacity_per_replica: (decision.basis.capacity.per_replica).map(decimal),
        capacity_source: Some(decision.basis.capacity.source.as_str().to_owned()),
        load_quality: Some(decision.basis.quality.as_str().to_owned()),
        data_quality: quality(target),
        last_decision: Some(LastDecision {
            time: decision.time.to_string(),
            from: count(decision.from),
            to: count(decision.to),
            reason: decision.reason.as_str().to_owned(),
            message: explain::sentence(decision),
            limiters: decision
                .limiters
                .iter()
                .map(|limiter| {
                    format!(
                        "{} {}→{}",
                        conditions::kind(limiter.kind),
                        limiter.before,
                        limiter.after
                    )
                })
                .collect(),
        }),
        conditions: conditions::conditions(decision, outcome, generation, &before.conditions),
        memory: memory.and_then(|memory| serde_json::to_string(&Persisted::from(memory)).ok()),
    }
}

fn count(replicas: Replicas) -> i32 {
    i32::try_from(replicas.0).unwrap_or(i32::MAX)
}

fn quality(target: &Target) -> Vec<DataQuality> {
    let entry = |signal: &str, seen: &autoscaler_core::snapshot::Signal| DataQuality {
        signal: signal.to_owned(),
        quality: seen.quality.as_str().to_owned(),
        detail: seen.detail.clone(),
    };
    let waiting = target.waiting.iter().map(|seen| entry("waiting", seen));
    std::iter::once(entry("load", &target.load))
        .chain(waiting)
        .collect()
}

/// Whether a status differs in what a person or a next controller would act on: the decision, the data,
/// the rung, counts, conditions, recommendations. Sentences and times move at every tick and do not count.
pub(super) fn differs(new: &InferenceScalerStatus, old: &InferenceScalerStatus) -> bool {
    let decision = |status: &InferenceScalerStatus| {
        status
            .last_decision
            .as_ref()
            .map(|last| (last.from, last.to, last.reason.clone()))
    };
    let conditions = |status: &InferenceScalerStatus| -> Vec<(String, String, String)> {
        let key = |condition: &autoscaler_api::Condition| {
            (
                condition.kind.clone(),
                condition.status.clone(),
                condition.reason.clone(),
            )
        };
        status.conditions.iter().map(key).collect()
    };
    let qualities = |status: &InferenceScalerStatus| -> Vec<(String, String)> {
        let key = |entry: &DataQuality| (entry.signal.clone(), entry.quality.clone());
        status.data_quality.iter().map(key).collect()
    };
    let numbers = |status: &InferenceScalerStatus| {
        (
            status.observed_generation,
            status.current_replicas,
            status.ready_replicas,
            status.desired_replicas,
            status.forecast_replicas,
            status.startup_seconds,
        )
    };
    decision(new) != decision(old)
        || numbers(new) != numbers(old)
        || new.rung != old.rung
        || new.capacity_source != old.capacity_source
        || qualities(new) != qualities(old)
        || conditions(new) != conditions(old)
        || remembered(new) != remembered(old)
}

/// What of the memory matters for windows: which numbers were recommended in which order, and what was
/// carried out. The time of the newest recommendation moves at every tick.
fn remembered(status: &InferenceScalerStatus) -> (Vec<Replicas>, usize, usize) {
    let persisted: Persisted = status
        .memory
        .as_deref()
        .and_then(|memory| serde_json::from_str(memory).ok())
        .unwrap_or_default();
    let numbers = persisted
        .recommendations
        .iter()
        .map(|(_, replicas)| *replicas)
        .collect();
    (
        numbers,
        persisted.scale_events.len(),
        persisted.startups.len(),
    )
}

/// The status as JSON in which absent fields are null, so that a merge patch removes them: also inside
/// the last decision, where a limiter of an earlier one would stay otherwise.
pub(super) fn with_absent_fields(status: &InferenceScalerStatus) -> serde_json::Value {
    let mut value = serde_json::to_value(status).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        for field in [
            "currentReplicas",
            "readyReplicas",
            "desiredReplicas",
            "forecastReplicas",
            "rung",
            "skill",
            "coverage",
            "startupSeconds",
            "capacityPerReplica",
            "dataQuality",
            "conditions",
            "memory",
        ] {
            fields.entry(field).or_insert(serde_json::Value::Null);
        }
        let last = fields
            .get_mut("lastDecision")
            .and_then(|last| last.as_object_mut());
        if let Some(last) = last {
            last.entry("limiters")
                .or_insert_with(|| serde_json::json!([]));
        }
    }
    value
}
