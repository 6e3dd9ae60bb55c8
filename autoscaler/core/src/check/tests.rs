//! Every invariant is broken once, and noticed.

use super::*;
use crate::{
    plan::{
        plan,
        tests::{seen, signal},
    },
    units::Timestamp,
};

fn broken(set: impl FnOnce(&mut Snapshot), spoil: impl FnOnce(&mut Plan)) -> Vec<String> {
    let mut snapshot = seen(&[60.0; 6]);
    snapshot.targets[0].policy.forecast = false;
    set(&mut snapshot);
    let mut plan = plan(&snapshot).plan;
    assert_eq!(check(&snapshot, &plan), [], "the plan itself is sound");
    spoil(&mut plan);
    check(&snapshot, &plan)
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// As if the deciding had come to `to`.
fn to(replicas: u32) -> impl FnOnce(&mut Plan) {
    move |plan| {
        let decision = &mut plan.decisions[0];
        decision.to = Replicas(replicas);
        decision.apply = decision.to != decision.from;
        decision.limiters.clear();
        decision.reason = Reason::LoadFall;
    }
}

fn names(found: &[String], words: &str) {
    assert!(
        found.len() == 1 && found[0].contains(words),
        "{found:?} is not only: {words}"
    );
}

#[test]
fn a_plan_of_something_else_is_noticed() {
    names(
        &broken(|_| {}, |plan| plan.decisions.clear()),
        "the plan decides about []",
    );
    names(
        &broken(|_| {}, |plan| plan.now = Timestamp(5)),
        "another time",
    );
    names(
        &broken(|_| {}, |plan| plan.decisions[0].time = Timestamp(5)),
        "another time",
    );
}

#[test]
fn replicas_outside_the_bounds_are_noticed() {
    names(&broken(|_| {}, to(1)), "1 replicas lie outside 2 to 40");
    names(&broken(|_| {}, to(41)), "41 replicas lie outside 2 to 40");
    let high = |snapshot: &mut Snapshot| snapshot.targets[0].replicas.desired = Replicas(50);
    names(&broken(high, to(50)), "50 replicas lie outside 2 to 40");
}

#[test]
fn a_decrease_that_nothing_carries_is_noticed() {
    for quality in [Quality::Partial, Quality::Stale, Quality::Missing] {
        let set = |s: &mut Snapshot| s.targets[0].load = signal(vec![Some(1.0)], quality);
        names(&broken(set, to(9)), "the load data does not carry it");
    }
    let queue = |s: &mut Snapshot| {
        s.targets[0].waiting = Some(signal(vec![], Quality::Missing));
    };
    names(&broken(queue, to(9)), "the queue data does not carry it");
    let rollout = |s: &mut Snapshot| s.targets[0].replicas.rolling_out = true;
    names(&broken(rollout, to(9)), "a rollout is in progress");
    let paused = |s: &mut Snapshot| s.targets[0].policy.paused = Paused::ScaleDown;
    names(&broken(paused, to(9)), "scaling down is paused");
    let asked = |s: &mut Snapshot| {
        s.targets[0].load = signal(vec![], Quality::Missing);
        s.targets[0].policy.fallback = Fallback::Replicas(Replicas(6));
    };
    names(&broken(asked, to(5)), "the load data does not carry it");
    assert_eq!(
        broken(asked, to(6)),
        Vec::<String>::new(),
        "its owner asks for it"
    );
}

#[test]
fn a_change_that_is_forbidden_is_noticed() {
    let paused = |s: &mut Snapshot| s.targets[0].policy.paused = Paused::All;
    names(&broken(paused, to(12)), "everything is paused");
    let up = |s: &mut Snapshot| s.targets[0].policy.paused = Paused::ScaleUp;
    names(&broken(up, to(12)), "scaling up is paused");
    let off = |s: &mut Snapshot| s.targets[0].replicas.desired = Replicas(0);
    names(&broken(off, to(12)), "it is switched off");
}

#[test]
fn a_write_that_does_not_follow_is_noticed() {
    names(
        &broken(|_| {}, |plan| plan.decisions[0].apply ^= true),
        "apply is",
    );
    let recommend = |s: &mut Snapshot| s.targets[0].policy.mode = Mode::Recommend;
    names(&broken(recommend, to(9)), "apply is true");
}

#[test]
fn numbers_and_chains_that_make_no_sense_are_noticed() {
    let nan = |plan: &mut Plan| plan.decisions[0].basis.load = Some(f64::NAN);
    names(&broken(|_| {}, nan), "not finite");
    let steep = |s: &mut Snapshot| {
        s.targets[0].load = signal(vec![Some(900.0)], Quality::Ok);
    };
    let torn = |plan: &mut Plan| {
        plan.decisions[0].limiters.remove(1);
    };
    names(&broken(steep, torn), "do not lead to the decision");
}
