//! What is written into the status, and when it is worth a write.

use std::collections::BTreeMap;

use autoscaler_api::InferenceScalerSpec;
use autoscaler_core::{
    memory::Memory,
    observe::{self, Grid, Means, RawSeries, SignalInput, TargetInput},
    plan::plan,
    snapshot::{Policy, ReplicaCounts},
    units::Replicas,
};

use super::*;

const NOW: Timestamp = Timestamp(1_788_000_000);
const GRID: Grid = Grid {
    step: 60,
    stale_after: 120,
    tick: 15,
};

fn scaler() -> InferenceScaler {
    let spec: InferenceScalerSpec = serde_json::from_value(serde_json::json!({
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "chat"},
        "minReplicas": 2, "maxReplicas": 40, "capacity": {"perReplica": "12"},
        "load": {"signals": [{"name": "arrivals", "promql": "x", "means": "Arrivals"}]},
    }))
    .unwrap();
    let mut scaler = InferenceScaler::new("chat", spec);
    scaler.metadata.generation = Some(3);
    scaler
}

/// What is seen of a target with an hour of this load, and 9 replicas.
fn seen(load: Result<f64, &str>) -> Snapshot {
    let answer = load.map_err(str::to_owned).map(|load| {
        let point = |minute: i32| (1_788_000_000.0 - 60.0 * f64::from(minute), load);
        vec![RawSeries {
            partial: None,
            labels: BTreeMap::new(),
            points: (0..60).rev().map(point).collect(),
        }]
    });
    let target = TargetInput {
        id: TargetId {
            namespace: "serving".to_owned(),
            name: "chat".to_owned(),
        },
        policy: Policy::new(2, 40, 12.0),
        problem: None,
        replicas: ReplicaCounts {
            desired: Replicas(9),
            current: Replicas(9),
            ready: Replicas(9),
            ..ReplicaCounts::default()
        },
        startups_seen: vec![61.0],
        signals: vec![SignalInput {
            name: "arrivals".to_owned(),
            means: Means::Arrivals,
            answer,
        }],
    };
    observe::snapshot(NOW, GRID, vec![target], vec![], Memory::default())
}

fn status_of(
    snapshot: &Snapshot,
    outcome: Option<&Outcome>,
    before: &InferenceScalerStatus,
) -> InferenceScalerStatus {
    let planned = plan(snapshot);
    let memory = planned.memory.targets.values().next();
    let (target, decision) = (&snapshot.targets[0], &planned.plan.decisions[0]);
    status::status(&scaler(), target, decision, memory, outcome, before)
}

fn condition<'a>(status: &'a InferenceScalerStatus, kind: &str) -> &'a autoscaler_api::Condition {
    let mut all = status.conditions.iter();
    all.find(|condition| condition.kind == kind).unwrap()
}

#[test]
fn a_pass_that_changes_nothing_is_not_written() {
    let first = status_of(&seen(Ok(90.0)), None, &InferenceScalerStatus::default());
    assert!(status::differs(&first, &InferenceScalerStatus::default()));
    let mut later = seen(Ok(90.0));
    later.memory = plan(&later).memory;
    later.now = NOW.plus(15);
    later.targets[0].startups_seen.clear();
    let second = status_of(&later, None, &first);
    assert_ne!(first, second, "the times moved");
    assert!(!status::differs(&second, &first));
}

/// Makes a status differ in one thing.
type Change = fn(&mut InferenceScalerStatus);

#[test]
fn everything_that_somebody_acts_on_is_written() {
    let before = status_of(&seen(Ok(90.0)), None, &InferenceScalerStatus::default());
    let changes: [(&str, Change); 8] = [
        ("generation", |status| status.observed_generation = Some(4)),
        ("ready", |status| status.ready_replicas = Some(8)),
        ("forecast", |status| status.forecast_replicas = Some(30)),
        ("rung", |status| status.rung = Some("SeasonalNaive".into())),
        ("reason", |status| {
            status.last_decision.as_mut().unwrap().reason = "Paused".into();
        }),
        ("quality", |status| {
            status.data_quality[0].quality = "Stale".into();
        }),
        ("condition", |status| {
            status.conditions[0].status = "Unknown".into();
        }),
        ("memory", |status| status.memory = None),
    ];
    for (what, change) in changes {
        let mut after = before.clone();
        change(&mut after);
        assert!(status::differs(&after, &before), "{what} is not written");
    }
    let mut after = before.clone();
    after.last_decision.as_mut().unwrap().message = "other words".into();
    after.skill = Some("0.99".into());
    assert!(!status::differs(&after, &before), "words alone are written");
}

#[test]
fn conditions_follow_the_data_and_keep_their_time_while_they_stay() {
    let good = status_of(&seen(Ok(90.0)), None, &InferenceScalerStatus::default());
    assert_eq!(condition(&good, "ScalingActive").status, "True");
    let mut silent = seen(Err("the query found no series"));
    silent.now = NOW.plus(60);
    let bad = status_of(&silent, None, &good);
    let active = condition(&bad, "ScalingActive");
    assert_eq!(
        (active.status.as_str(), active.reason.as_str()),
        ("False", "LoadMissing")
    );
    assert_eq!(active.last_transition_time, NOW.plus(60).to_string());
    let able = condition(&bad, "AbleToScale");
    assert_eq!(able.last_transition_time, NOW.to_string());
    assert_eq!(able.observed_generation, Some(3));
}

#[test]
fn a_write_that_failed_is_a_condition_and_a_conflict_is_none() {
    let before = InferenceScalerStatus::default();
    let failed = Outcome::Failed("forbidden".to_owned());
    let status = status_of(&seen(Ok(300.0)), Some(&failed), &before);
    let able = condition(&status, "AbleToScale");
    assert_eq!(
        (
            able.status.as_str(),
            able.reason.as_str(),
            able.message.as_str()
        ),
        ("False", "ScaleFailed", "forbidden")
    );
    let status = status_of(&seen(Ok(300.0)), Some(&Outcome::Conflict), &before);
    assert_eq!(condition(&status, "AbleToScale").status, "True");
}

#[test]
fn what_is_absent_is_removed_by_the_patch() {
    let status = InferenceScalerStatus::default();
    let patch = status::with_absent_fields(&status);
    for field in [
        "rung",
        "skill",
        "forecastReplicas",
        "dataQuality",
        "conditions",
    ] {
        assert!(
            patch.get(field).is_some_and(|value| {
                value.is_null() || value.as_array().is_some_and(Vec::is_empty)
            }),
            "{field}: {patch}"
        );
    }
}

#[test]
fn a_limiter_of_an_earlier_decision_does_not_stay() {
    let status = status_of(&seen(Ok(108.0)), None, &InferenceScalerStatus::default());
    let last = status.last_decision.as_ref().unwrap();
    assert!(last.limiters.is_empty(), "{last:?}");
    let patch = status::with_absent_fields(&status);
    assert_eq!(patch["lastDecision"]["limiters"], serde_json::json!([]));
}
