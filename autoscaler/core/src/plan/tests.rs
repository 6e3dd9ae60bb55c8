//! Whole plans: worked examples.

mod fits;
mod learned;
mod properties;

use super::*;
use crate::{
    decide::reason::LimiterKind,
    memory::{ScaleEvent, TargetMemory},
    series::Series,
    snapshot::{self, Fallback, Mode, Paused, Policy, ReplicaCounts, Signal, Target},
};

const NOW: Timestamp = Timestamp(1_788_000_000);

/// An ordinary wish: 2 to 40 replicas of 12 requests per second.
pub(crate) fn policy() -> Policy {
    Policy::new(2, 40, 12.0)
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
        service: crate::capacity::learned::Service::default(),
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
fn a_dip_is_held_by_what_planning_itself_remembered() {
    let mut snapshot = seen(&[120.0; 6]);
    snapshot.targets[0].policy.forecast = false;
    let event = |age: i64| ScaleEvent {
        time: NOW.plus(-age),
        change: 1,
    };
    remembered(&mut snapshot).scale_events = vec![event(4000), event(10)];
    let high = plan(&snapshot);
    assert_eq!(only(&high).reason, Reason::Enough);
    snapshot.memory = high.memory;
    assert_eq!(
        remembered(&mut snapshot).recommendations,
        [(NOW, Replicas(10))],
        "what is older than the window goes"
    );
    assert_eq!(remembered(&mut snapshot).scale_events, [event(10)]);
    snapshot.targets[0].load = signal(vec![Some(24.0); 6], Quality::Ok);
    for (seconds, to, reason) in [
        (15, 10, Reason::StabilizationWindow),
        (299, 10, Reason::StabilizationWindow),
        (300, 2, Reason::LoadFall),
    ] {
        snapshot.now = NOW.plus(seconds);
        let planned = plan(&snapshot);
        assert_eq!(
            (only(&planned).to.0, only(&planned).reason),
            (to, reason),
            "{seconds} s"
        );
    }
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
