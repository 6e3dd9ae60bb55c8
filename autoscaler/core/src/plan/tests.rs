//! Whole plans: worked examples, and the properties that every plan has.

use proptest::prelude::*;

use super::*;
use crate::{
    check::check,
    decide::{
        behavior::Behavior,
        reason::{LimiterKind, ProblemKind},
    },
    memory::{ScaleEvent, TargetMemory},
    series::Series,
    snapshot::{self, Fallback, Mode, Paused, Policy, ReplicaCounts, Signal, Target},
};

const NOW: Timestamp = Timestamp(1_788_000_000);

/// An ordinary wish: 2 to 40 replicas of 12 requests per second.
pub(crate) fn policy() -> Policy {
    Policy {
        min_replicas: Replicas(2),
        max_replicas: Replicas(40),
        mode: Mode::Apply,
        paused: Paused::None,
        capacity_per_replica: 12.0,
        level: Level::new(0.95).unwrap(),
        forecast: true,
        horizon: None,
        time_zone: "UTC".to_owned(),
        exclude: vec![],
        behavior: Behavior::default(),
        fallback: Fallback::Hold,
    }
}

pub(crate) fn signal(values: Vec<Option<f64>>, quality: Quality) -> Signal {
    let steps = i64::try_from(values.len()).unwrap();
    Signal {
        series: Series {
            start: NOW.plus(-60 * (steps - 1)),
            step: 60,
            values,
        },
        quality,
        detail: if quality.may_lower() {
            String::new()
        } else {
            "as the test wants".to_owned()
        },
    }
}

/// One target with this load at present, minute by minute, and 10 replicas.
pub(crate) fn seen(load: &[f64]) -> Snapshot {
    let values = load.iter().copied().map(Some).collect();
    let target = Target {
        id: TargetId {
            namespace: "serving".to_owned(),
            name: "chat".to_owned(),
        },
        policy: policy(),
        problem: None,
        replicas: ReplicaCounts {
            desired: Replicas(10),
            current: Replicas(10),
            ready: Replicas(10),
            ..ReplicaCounts::default()
        },
        load: signal(values, Quality::Ok),
        waiting: None,
        startups_seen: vec![],
    };
    let mut snapshot = Snapshot {
        version: snapshot::VERSION,
        now: NOW,
        tick: 15,
        targets: vec![target],
        nodes: vec![],
        memory: Memory::default(),
    };
    remembered(&mut snapshot).since = Some(NOW.plus(-600));
    remembered(&mut snapshot).recommend(NOW.plus(-310), Replicas(10));
    snapshot
}

pub(crate) fn remembered(snapshot: &mut Snapshot) -> &mut TargetMemory {
    let id = snapshot.targets[0].id.clone();
    snapshot.memory.targets.entry(id).or_default()
}

fn only(planned: &Planned) -> &Decision {
    &planned.plan.decisions[0]
}

#[test]
fn the_first_look_at_a_target_lowers_nothing_until_a_window_has_passed() {
    let mut snapshot = seen(&[20.0]);
    snapshot.targets[0].policy.forecast = false;
    snapshot.memory = Memory::default();
    let mut lowered = Vec::new();
    for tick in 0..=21 {
        snapshot.now = NOW.plus(15 * tick);
        snapshot.targets[0].load.series.start = snapshot.now;
        let planned = plan(&snapshot);
        let decision = only(&planned);
        lowered.push((tick, decision.reason));
        if decision.to < decision.from {
            break;
        }
        assert_eq!(decision.reason, Reason::WarmingUp);
        snapshot.memory = planned.memory;
    }
    assert_eq!(
        lowered.last(),
        Some(&(20, Reason::LoadFall)),
        "300 s at 15 s a tick"
    );
}

#[test]
fn a_restart_with_the_small_memory_does_not_lower_within_the_window() {
    let mut snapshot = seen(&[20.0]);
    snapshot.targets[0].policy.forecast = false;
    remembered(&mut snapshot).recommend(NOW.plus(-100), Replicas(9));
    let before = plan(&snapshot);
    let kept = crate::memory::Persisted::from(remembered(&mut snapshot) as &TargetMemory);
    *remembered(&mut snapshot) = TargetMemory::from(kept);
    let after = plan(&snapshot);
    assert_eq!(only(&after), only(&before));
    assert_eq!(only(&after).to, Replicas(9));
    assert_eq!(
        only(&after).limiters[0].kind,
        LimiterKind::StabilizationWindow
    );
}

#[test]
fn startup_times_are_learned_and_move_the_horizon() {
    let mut snapshot = seen(&[20.0; 30]);
    snapshot.targets[0].startups_seen = vec![118.2];
    let planned = plan(&snapshot);
    let basis = &only(&planned).basis;
    assert_eq!(
        (basis.startup_seconds, basis.startup_learned),
        (118.2, true)
    );
    assert_eq!(basis.forecast.as_ref().unwrap().horizon, 134);
    assert_eq!(
        planned.memory.targets.values().next().unwrap().startups,
        [118.2]
    );
}

#[test]
fn a_queue_is_drained_and_an_unknown_one_forbids_to_lower() {
    let mut snapshot = seen(&[60.0; 6]);
    snapshot.targets[0].policy.forecast = false;
    assert_eq!(only(&plan(&snapshot)).basis.reactive, Some(Replicas(5)));
    snapshot.targets[0].waiting = Some(signal(vec![Some(720.0)], Quality::Ok));
    // 720 requests in 60 s are one more replica of 12 requests per second.
    assert_eq!(only(&plan(&snapshot)).basis.reactive, Some(Replicas(6)));
    snapshot.targets[0].waiting = Some(signal(vec![], Quality::Missing));
    let planned = plan(&snapshot);
    assert_eq!(only(&planned).reason, Reason::LoadPartial);
    assert_eq!(only(&planned).to, Replicas(10));
}

#[test]
fn a_daily_rise_is_met_before_it_comes() {
    // Two days of a step from 60 to 240 requests per second at the same minute, with a ripple; the
    // next step is due in two minutes.
    let minute = |index: usize| {
        let ripple = f64::from(u32::try_from(index * 7 % 13).unwrap()) * 0.4;
        let day = (index + 720) % 1440;
        if (720..1200).contains(&day) {
            240.0 + ripple
        } else {
            60.0 + ripple
        }
    };
    let load: Vec<f64> = (0..3 * 1440 - 2).map(minute).collect();
    assert!(load.last().unwrap() < &70.0);
    let mut snapshot = seen(&load);
    snapshot.targets[0].policy.horizon = Some(300);
    let planned = plan(&snapshot);
    let decision = only(&planned);
    assert_eq!(
        decision.reason,
        Reason::ForecastRise,
        "{}",
        crate::explain::text(decision)
    );
    assert!(
        decision.to >= Replicas(18),
        "{}",
        crate::explain::text(decision)
    );
    assert!(
        planned
            .memory
            .targets
            .values()
            .next()
            .unwrap()
            .fitted
            .is_some()
    );
}

#[test]
fn a_mode_that_only_recommends_applies_nothing() {
    let mut snapshot = seen(&[300.0; 6]);
    assert!(only(&plan(&snapshot)).apply);
    snapshot.targets[0].policy.mode = Mode::Recommend;
    let planned = plan(&snapshot);
    assert!(only(&planned).to > Replicas(10) && !only(&planned).apply);
}

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
            startups: vec![],
            fitted: None,
            since: since.map(|age| NOW.plus(-age)),
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
