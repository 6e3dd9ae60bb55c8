//! One target: what it needs now and at the horizon, decided and remembered.

use crate::{
    capacity::replicas_for,
    decide::{self, Needs, Situation, guard},
    memory::TargetMemory,
    plan::{Basis, Decision, ForecastBasis, ahead},
    series::Quality,
    snapshot::{Mode, Target},
    units::Timestamp,
};

/// Seconds in which a queue is worked off on top of the load.
const DRAIN_SECONDS: f64 = 60.0;

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
    let reactive = demand.map(|demand| replicas_for(demand, policy.capacity_per_replica));
    let (startup_seconds, startup_learned) = ahead::startup(memory);
    let horizon = ahead::horizon(policy, startup_seconds, tick);
    let forecast = if usable {
        ahead::look(policy, &seen.load.series, memory, now, horizon)
    } else {
        None
    };
    let needs = Needs {
        demand: demand.unwrap_or(0.0),
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
        capacity_per_replica: policy.capacity_per_replica,
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
