//! What is true of every plan.

use proptest::prelude::*;

use super::*;
use crate::{
    capacity::learned::{Metric, Objective, Service},
    check::check,
    decide::reason::ProblemKind,
};

fn any_policy() -> impl Strategy<Value = Policy> {
    let paused = prop_oneof![
        6 => Just(Paused::None),
        1 => Just(Paused::All),
        1 => Just(Paused::ScaleUp),
        1 => Just(Paused::ScaleDown)
    ];
    let fallback = prop_oneof![
        Just(Fallback::Hold),
        (0..60_u32).prop_map(|n| Fallback::Replicas(Replicas(n))),
        (0..60_u32).prop_map(|n| Fallback::Higher(Replicas(n)))
    ];
    (
        0..10_u32,
        0..40_u32,
        paused,
        fallback,
        0..600_i64,
        0..120_i64,
        any::<bool>(),
    )
        .prop_map(|(min, more, paused, fallback, down, up, forecast)| {
            let mut policy = policy();
            policy.min_replicas = Replicas(min);
            policy.max_replicas = Replicas((min + more).max(1));
            policy.paused = paused;
            policy.fallback = fallback;
            policy.forecast = forecast;
            policy.behavior.scale_down.stabilization_window_seconds = down;
            policy.behavior.scale_up.stabilization_window_seconds = up;
            policy
        })
}

fn any_quality() -> impl Strategy<Value = Quality> {
    prop_oneof![
        5 => Just(Quality::Ok),
        1 => Just(Quality::Partial),
        1 => Just(Quality::Stale),
        1 => Just(Quality::Missing)
    ]
}

fn any_memory() -> impl Strategy<Value = TargetMemory> {
    let pairs = prop::collection::vec((0..700_i64, 0..60_u32), 0..8);
    let events = prop::collection::vec((0..60_i64, -9..9_i64), 0..4);
    (pairs, events, prop::option::of(0..1000_i64)).prop_map(|(mut pairs, events, since)| {
        pairs.sort_by_key(|pair| -pair.0);
        TargetMemory {
            recommendations: pairs
                .into_iter()
                .map(|(age, n)| (NOW.plus(-age), Replicas(n)))
                .collect(),
            scale_events: events
                .into_iter()
                .map(|(age, change)| ScaleEvent {
                    time: NOW.plus(-age),
                    change,
                })
                .collect(),
            since: since.map(|age| NOW.plus(-age)),
            ..TargetMemory::default()
        }
    })
}

fn any_snapshot() -> impl Strategy<Value = Snapshot> {
    let load = prop::collection::vec(prop::option::weighted(0.9, 0.0..600.0_f64), 1..40);
    let broken = prop::bool::weighted(0.05);
    let counts = (0..60_u32, any::<bool>());
    (
        any_policy(),
        load,
        any_quality(),
        any_memory(),
        counts,
        broken,
    )
        .prop_map(
            |(policy, load, quality, memory, (desired, rolling_out), broken)| {
                let mut snapshot = seen(&[1.0]);
                *remembered(&mut snapshot) = memory;
                let target = &mut snapshot.targets[0];
                target.policy = policy;
                target.problem = broken.then(|| Problem {
                    kind: ProblemKind::TargetNotFound,
                    message: "Deployment `chat` does not exist".to_owned(),
                });
                target.replicas.desired = Replicas(desired);
                target.replicas.rolling_out = rolling_out;
                if desired % 3 == 0 {
                    target.policy.capacity_per_replica = None;
                    target.policy.objectives = vec![Objective {
                        metric: Metric::EndToEnd,
                        quantile: Level::P95,
                        seconds: 0.5,
                    }];
                    target.service = Service {
                        served: Some(f64::from(desired) * 3.0),
                        inside: Some(f64::from(desired)),
                        latencies: vec![],
                    };
                }
                let load = if quality == Quality::Missing {
                    vec![]
                } else {
                    load
                };
                target.load = signal(load, quality);
                snapshot
            },
        )
}

proptest! {
    #[test]
    fn every_plan_passes_the_check_and_is_the_same_again(snapshot in any_snapshot()) {
        let planned = plan(&snapshot);
        prop_assert_eq!(check(&snapshot, &planned.plan), vec![]);
        prop_assert_eq!(plan(&snapshot), planned);
    }

    #[test]
    fn planning_again_from_what_was_planned_changes_nothing(snapshot in any_snapshot()) {
        let planned = plan(&snapshot);
        let decision = only(&planned);
        let mut next = snapshot.clone();
        next.memory = planned.memory.clone();
        let (id, from, to) = (decision.target.clone(), decision.from, decision.to);
        if to != from {
            next.memory.record_scaled(&id, from, to, NOW);
        }
        next.targets[0].replicas.desired = to;
        let again = plan(&next);
        prop_assert_eq!(only(&again).to, to, "{}", crate::explain::text(only(&again)));
    }

    #[test]
    fn missing_data_never_lowers(mut snapshot in any_snapshot()) {
        let target = &mut snapshot.targets[0];
        if target.load.quality.may_lower() {
            target.load = signal(vec![], Quality::Missing);
        }
        if let Fallback::Replicas(asked) = target.policy.fallback {
            target.policy.fallback = Fallback::Higher(asked);
        }
        let most = target.policy.max_replicas;
        let planned = plan(&snapshot);
        prop_assert!(only(&planned).to >= only(&planned).from.min(most));
    }

    #[test]
    fn snapshot_and_plan_survive_as_json(snapshot in any_snapshot()) {
        let json = serde_json::to_string(&snapshot).unwrap();
        let back: Snapshot = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&back, &snapshot);
        let planned = plan(&snapshot).plan;
        let text = serde_json::to_string(&planned).unwrap();
        prop_assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), planned);
        // The file gives the same bytes as the memory did.
        prop_assert_eq!(serde_json::to_string(&plan(&back).plan).unwrap(), text);
    }
}
