//! One target: what it needs now and at the horizon, decided and remembered.

use crate::{
    capacity::{learned::Capacity, replicas_for},
    decide::{self, Needs, Situation, guard},
    memory::TargetMemory,
    plan::{Basis, Decision, ForecastBasis, ahead},
    series::Quality,
    snapshot::{Mode, Target},
    units::Timestamp,
};

/// Seconds in which a queue is worked off on top of the load.
const DRAIN_SECONDS: f64 = 60.0;

/// Seconds after a change in which rates over a trailing window still show what was before it.
const SETTLING: i64 = 120;

/// The decision about one target; its memory is brought up to date.
pub(super) fn decide(
    seen: &Target,
    memory: &mut TargetMemory,
    now: Timestamp,
    tick: i64,
) -> Decision {
    let policy = &seen.policy;
    memory.learn_startups(&seen.startups_seen);
    let (window, period) = (
        policy.behavior.longest_window(),
        policy.behavior.longest_period(),
    );
    memory.prune(now, window, period);
    let cooldown = policy.behavior.scale_down.stabilization_window_seconds;
    let since = guard::since(memory, now, cooldown, tick);
    memory.since = Some(since);
    if steady(seen, memory, now) {
        let objectives = &policy.objectives;
        memory
            .curves
            .learn(now, seen.replicas.ready.0, &seen.service, objectives);
        memory.taught = Some(now);
    }

    let (basis, needs) = needs(seen, memory, now, tick);
    let verdict = decide::decide(
        &Situation {
            policy,
            replicas: seen.replicas,
            problem: seen.problem.is_some(),
            quality: basis.quality,
            warming_up: now.since(since) < cooldown,
            recommendations: &memory.recommendations,
            scale_events: &memory.scale_events,
            now,
        },
        &needs,
    );
    if let Some(recommended) = verdict.recommendation {
        memory.recommend(now, recommended);
    }
    let from = seen.replicas.desired;
    Decision {
        target: seen.id.clone(),
        time: now,
        from,
        to: verdict.to,
        apply: policy.mode == Mode::Apply && verdict.to != from,
        reason: verdict.reason,
        problem: seen.problem.clone(),
        basis,
        limiters: verdict.limiters,
    }
}

/// Whether what the replicas do now says what they can: all are Ready and none came or went within the
/// last minutes, and a step has passed since they were last learned from.
fn steady(seen: &Target, memory: &TargetMemory, now: Timestamp) -> bool {
    let replicas = &seen.replicas;
    let settled = replicas.ready == replicas.desired
        && replicas.pending.0 == 0
        && replicas.terminating.0 == 0
        && !replicas.rolling_out;
    let changed = memory.scale_events.last().map(|event| event.time);
    let long_ago =
        |time: Option<Timestamp>, seconds| time.is_none_or(|time| now.since(time) >= seconds);
    settled
        && seen.load.quality.may_lower()
        && long_ago(changed, SETTLING)
        && long_ago(memory.taught, seen.load.series.step.max(1))
}

/// The numbers that the decision rests on, and the needs that follow from them.
fn needs(seen: &Target, memory: &mut TargetMemory, now: Timestamp, tick: i64) -> (Basis, Needs) {
    let policy = &seen.policy;
    let (quality, detail) = quality(seen);
    let usable = quality <= Quality::Partial;
    let load = seen
        .load
        .series
        .latest()
        .map(|(_, value)| value)
        .filter(|_| usable);
    // The newest value, not an average: a level shift is answered at once. The queue comes on top.
    let demand = load.map(|load| load + queue(seen) / DRAIN_SECONDS);
    let capacity = policy.capacity_per_replica.map_or_else(
        || memory.curves.capacity(&policy.objectives),
        Capacity::given,
    );
    let per_replica = capacity.per_replica;
    let reactive = demand
        .zip(per_replica)
        .map(|(demand, each)| replicas_for(demand, each));
    let (startup_seconds, startup_learned) = ahead::startup(memory);
    let horizon = ahead::horizon(policy, startup_seconds, tick);
    let forecast = per_replica.filter(|_| usable).and_then(|per_replica| {
        ahead::look(policy, per_replica, &seen.load.series, memory, now, horizon)
    });
    let needs = Needs {
        demand: demand.unwrap_or(0.0),
        capacity: per_replica,
        reactive: reactive.unwrap_or_default(),
        forecast: forecast.as_ref().map(|forecast| forecast.need),
        skilled: forecast.as_ref().is_none_or(ForecastBasis::skilled),
    };
    let basis = Basis {
        load,
        quality,
        detail,
        reactive,
        forecast,
        capacity,
        startup_seconds,
        startup_learned,
    };
    (basis, needs)
}

/// Quality of all that the decision rests on: the load, and the queue where it is asked for. An
/// unknown queue beside a known load makes the whole Partial: only an increase may follow.
fn quality(seen: &Target) -> (Quality, String) {
    let (load, detail) = (seen.load.quality, seen.load.detail.clone());
    match &seen.waiting {
        Some(waiting) if load.may_lower() && !waiting.quality.may_lower() => {
            (Quality::Partial, waiting.detail.clone())
        }
        _ => (load, detail),
    }
}

/// Requests that wait, as far as that is known.
fn queue(seen: &Target) -> f64 {
    let known = seen
        .waiting
        .as_ref()
        .filter(|signal| signal.quality <= Quality::Partial);
    known
        .and_then(|signal| signal.series.latest())
        .map_or(0.0, |(_, value)| value)
}
