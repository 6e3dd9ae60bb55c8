//! Plans whose capacity is learned while they run.

use super::*;
use crate::capacity::learned::{Metric, Objective, Service, Source};

/// A minute of replicas that each are a queue of 20 requests/s, with a load of `load` in all.
fn minute(snapshot: &mut Snapshot, at: i64, load: f64) -> Decision {
    let target = &mut snapshot.targets[0];
    let ready = f64::from(target.replicas.ready.0);
    let each = (load / ready).min(19.0);
    snapshot.now = NOW.plus(at);
    target.load = signal(vec![Some(load); 6], Quality::Ok);
    target.load.series.start = snapshot.now.plus(-300);
    target.service = Service {
        served: Some(each * ready),
        inside: Some(ready * each / (20.0 - each)),
        latencies: vec![(Metric::EndToEnd, 3.0 / (20.0 - each))],
    };
    let planned = plan(snapshot);
    snapshot.memory = planned.memory.clone();
    let decision = only(&planned).clone();
    if decision.from != decision.to {
        let (id, from, to) = (&decision.target, decision.from, decision.to);
        snapshot.memory.record_scaled(id, from, to, snapshot.now);
        let replicas = &mut snapshot.targets[0].replicas;
        (replicas.desired, replicas.current, replicas.ready) = (to, to, to);
    }
    decision
}

/// Ten replicas whose capacity nobody knows; their 95 % quantile has to keep 0.3 s.
fn unknown() -> Snapshot {
    let mut snapshot = seen(&[1.0]);
    let policy = &mut snapshot.targets[0].policy;
    policy.forecast = false;
    policy.capacity_per_replica = None;
    policy.objectives = vec![Objective {
        metric: Metric::EndToEnd,
        quantile: Level::P95,
        seconds: 0.3,
    }];
    snapshot
}

#[test]
fn what_a_replica_serves_is_found_by_trying_a_little_more_each_time() {
    let mut snapshot = unknown();
    let first = minute(&mut snapshot, 0, 30.0);
    assert_eq!(
        (first.to, first.reason),
        (Replicas(10), Reason::CapacityUnknown)
    );
    let mut last = first;
    for at in 1..240 {
        // The truth: 3/(20 − x) ≤ 0.3 up to 10 requests/s, so 60 requests/s need six.
        last = minute(&mut snapshot, at * 60, 60.0);
        assert!(last.to >= Replicas(6), "{}", crate::explain::text(&last));
    }
    assert_eq!(last.to, Replicas(6), "{}", crate::explain::text(&last));
    let text = crate::explain::text(&last);
    assert!(
        text.contains("req/s per replica, learned: EndToEnd"),
        "{text}"
    );
}

#[test]
fn too_slow_is_answered_with_more_replicas() {
    let mut snapshot = unknown();
    let grown = (0..10)
        .map(|at| minute(&mut snapshot, at * 60, 150.0))
        .last()
        .unwrap();
    assert_eq!(grown.basis.capacity.source, Source::SeenTooSlow);
    assert!(grown.to >= Replicas(15), "{}", crate::explain::text(&grown));
}

#[test]
fn nothing_is_learned_while_replicas_come_and_go() {
    let mut snapshot = unknown();
    snapshot.targets[0].replicas.pending = Replicas(1);
    for at in 0..20 {
        minute(&mut snapshot, at * 60, 60.0);
    }
    assert!(remembered(&mut snapshot).curves.is_empty());
}

#[test]
fn an_owners_number_comes_first() {
    let mut snapshot = unknown();
    snapshot.targets[0].policy.capacity_per_replica = Some(12.0);
    let decision = (0..10)
        .map(|at| minute(&mut snapshot, at * 60, 120.0))
        .last()
        .unwrap();
    assert_eq!(decision.basis.capacity.source, Source::Given);
    assert_eq!(decision.basis.reactive, Some(Replicas(10)));
}
