//! From needs to a number of replicas: the reactive need, the forecast need, what guards them, and
//! HPA's behavior block. Never reads a signal itself.

pub mod reason;

pub mod behavior;

pub mod guard;

use crate::{
    decide::{
        behavior::{lower_limit, stabilise, upper_limit},
        guard::Hold,
        reason::{Limiter, LimiterKind, Reason},
    },
    memory::ScaleEvent,
    series::Quality,
    snapshot::{Policy, ReplicaCounts},
    units::{Replicas, Timestamp},
};

/// What a target needs, by its load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Needs {
    /// Requests per second to serve now, the queue included.
    pub demand: f64,
    /// Requests per second that one ready replica serves; `None` while that is not known.
    pub capacity: Option<f64>,
    /// Replicas that `demand` needs.
    pub reactive: Replicas,
    /// Replicas that the forecast needs, when there is one.
    pub forecast: Option<Replicas>,
    /// Whether the forecast may take part: false when it was measured to be worse than the seasonal
    /// naive.
    pub skilled: bool,
}

/// What a target needs is decided in.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The owner's wish.
    pub policy: &'a Policy,
    /// Replicas as seen.
    pub replicas: ReplicaCounts,
    /// Whether the target cannot be decided on at all.
    pub problem: bool,
    /// Quality of all that the needs rest on.
    pub quality: Quality,
    /// Whether the target has been looked at for less than one window.
    pub warming_up: bool,
    /// Recommendations of before, unstabilised.
    pub recommendations: &'a [(Timestamp, Replicas)],
    /// Changes of before.
    pub scale_events: &'a [ScaleEvent],
    /// The moment of the decision.
    pub now: Timestamp,
}

/// The decision with its reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Replicas to ask for.
    pub to: Replicas,
    /// Why.
    pub reason: Reason,
    /// Every step between the raw need and `to`.
    pub limiters: Vec<Limiter>,
    /// What to remember for the windows; `None` when nothing was recommended.
    pub recommendation: Option<Replicas>,
}

/// A number on its way, and what changed it.
struct Trail {
    value: Replicas,
    limiters: Vec<Limiter>,
}

impl Trail {
    fn to(&mut self, kind: LimiterKind, after: Replicas) {
        if after != self.value {
            let before = self.value;
            self.limiters.push(Limiter {
                kind,
                before,
                after,
            });
            self.value = after;
        }
    }
}

/// Decides on one target. The order is HPA's: need, tolerance, bounds, windows, policies; with the
/// guards before the windows and the pause last.
pub fn decide(situation: &Situation<'_>, needs: &Needs) -> Verdict {
    let (policy, from) = (situation.policy, situation.replicas.desired);
    let held = |reason| Verdict {
        to: from,
        reason,
        limiters: Vec::new(),
        recommendation: None,
    };
    if situation.problem {
        return held(Reason::TargetProblem);
    }
    if from == Replicas(0) && policy.min_replicas > Replicas(0) {
        return held(Reason::ScalingDisabled);
    }
    // What is outside the bounds is brought inside at once, without a metric, as HPA does.
    let bounded = |replicas: Replicas| replicas.max(policy.min_replicas).min(policy.max_replicas);
    let current = bounded(from);
    let known = situation.quality <= Quality::Partial && needs.capacity.is_some();
    let (mut trail, recommendation) = if known {
        let trail = wish(situation, needs, current);
        let wanted = trail.value;
        (trail, Some(wanted))
    } else {
        fallback(situation, current)
    };
    trail.to(LimiterKind::Minimum, trail.value.max(policy.min_replicas));
    trail.to(LimiterKind::Maximum, trail.value.min(policy.max_replicas));
    if let Some(kind) = hold(situation).kind() {
        trail.to(kind, trail.value.max(current));
    }
    let past = situation.recommendations;
    let stable = stabilise(&policy.behavior, past, situation.now, current, trail.value);
    trail.to(LimiterKind::StabilizationWindow, stable);
    trail.to(
        LimiterKind::BehaviorPolicy,
        allowed(situation, current, trail.value),
    );
    trail.to(
        LimiterKind::Paused,
        guard::paused(policy.paused, from, trail.value),
    );
    Verdict {
        to: trail.value,
        reason: reason(situation, needs, current, &trail),
        limiters: trail.limiters,
        recommendation,
    }
}

/// What the load wants: the higher of both needs. Tolerance belongs to the load of now; a forecast
/// need is an explicit number and goes past it (57 of 60 would otherwise never become 60).
fn wish(situation: &Situation<'_>, needs: &Needs, current: Replicas) -> Trail {
    let forecast = needs.forecast.unwrap_or_default();
    let mut trail = Trail {
        value: needs.reactive.max(forecast),
        limiters: Vec::new(),
    };
    let forecast = if needs.skilled { forecast } else { Replicas(0) };
    trail.to(LimiterKind::NoSkill, needs.reactive.max(forecast));
    if tolerated(situation, needs, current) {
        trail.to(LimiterKind::Tolerance, current.max(forecast));
    }
    trail
}

/// Whether the load of now is too close to what `current` replicas serve to act on.
fn tolerated(situation: &Situation<'_>, needs: &Needs, current: Replicas) -> bool {
    let there = f64::from(current.0) * needs.capacity.unwrap_or(0.0);
    there > 0.0 && situation.policy.behavior.tolerates(needs.demand / there)
}

/// Without data: what the owner asks for then. Nothing is recommended while nothing changes.
fn fallback(situation: &Situation<'_>, current: Replicas) -> (Trail, Option<Replicas>) {
    let mut trail = Trail {
        value: current,
        limiters: Vec::new(),
    };
    let wanted = guard::fallback(situation.policy.fallback, current);
    trail.to(LimiterKind::Fallback, wanted);
    (trail, (wanted != current).then_some(wanted))
}

/// What forbids to lower. An owner's explicit number for missing data is not held by missing data.
fn hold(situation: &Situation<'_>) -> Hold {
    Hold {
        quality: match situation.quality {
            Quality::Stale | Quality::Missing => Quality::Ok,
            quality => quality,
        },
        warming_up: situation.warming_up,
        rolling_out: situation.replicas.rolling_out,
    }
}

/// How far towards `wanted` the rate policies let go.
fn allowed(situation: &Situation<'_>, current: Replicas, wanted: Replicas) -> Replicas {
    let behavior = &situation.policy.behavior;
    let (events, now) = (situation.scale_events, situation.now);
    if wanted > current {
        wanted.min(upper_limit(&behavior.scale_up, events, now, current))
    } else {
        wanted.max(lower_limit(&behavior.scale_down, events, now, current))
    }
}

fn reason(situation: &Situation<'_>, needs: &Needs, current: Replicas, trail: &Trail) -> Reason {
    let (policy, from, to) = (situation.policy, situation.replicas.desired, trail.value);
    let paused = trail
        .limiters
        .iter()
        .any(|limiter| limiter.kind == LimiterKind::Paused);
    let forecast = needs.forecast.filter(|_| needs.skilled);
    let tolerated = tolerated(situation, needs, current);
    let reactive = if tolerated { current } else { needs.reactive };
    match situation.quality {
        _ if paused => Reason::Paused,
        Quality::Missing => Reason::LoadMissing,
        Quality::Stale => Reason::LoadStale,
        _ if needs.capacity.is_none() => Reason::CapacityUnknown,
        _ if from < policy.min_replicas && to == policy.min_replicas => Reason::BelowMinimum,
        _ if from > policy.max_replicas && to == policy.max_replicas => Reason::AboveMaximum,
        _ if to > from && forecast > Some(reactive) => Reason::ForecastRise,
        _ if to > from => Reason::LoadRise,
        _ if to < from => Reason::LoadFall,
        _ => held_by(trail).unwrap_or(if needs.reactive < current && forecast >= Some(current) {
            Reason::ForecastHolds
        } else {
            Reason::Enough
        }),
    }
}

/// Why nothing changes although something was wanted: the limiter that led back to what is there.
fn held_by(trail: &Trail) -> Option<Reason> {
    let last = trail
        .limiters
        .iter()
        .rfind(|limiter| limiter.after == trail.value)?;
    match last.kind {
        LimiterKind::Minimum => Some(Reason::BelowMinimum),
        LimiterKind::Maximum => Some(Reason::AboveMaximum),
        LimiterKind::Tolerance => Some(Reason::WithinTolerance),
        LimiterKind::DataQuality => Some(Reason::LoadPartial),
        LimiterKind::WarmUp => Some(Reason::WarmingUp),
        LimiterKind::Rollout => Some(Reason::RollingOut),
        LimiterKind::Paused => Some(Reason::Paused),
        LimiterKind::StabilizationWindow => Some(Reason::StabilizationWindow),
        LimiterKind::BehaviorPolicy => Some(Reason::BehaviorPolicy),
        LimiterKind::NoSkill | LimiterKind::Fallback => None,
    }
}

#[cfg(test)]
mod tests;
