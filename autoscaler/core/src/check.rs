//! Invariants that every plan keeps, checked before it is applied: a mistake anywhere in the
//! deciding is caught here rather than in a cluster. Never repairs anything.

use thiserror::Error;

use crate::{
    decide::reason::Reason,
    plan::{Decision, Plan},
    series::Quality,
    snapshot::{Fallback, Mode, Paused, Snapshot, Target},
    units::{Replicas, TargetId},
};

/// One broken invariant.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Violation {
    /// The decisions are not one for each target, in order.
    #[error("the plan decides about {decided:?}, the snapshot holds {seen:?}")]
    Targets {
        /// Targets of the decisions.
        decided: Vec<TargetId>,
        /// Targets of the snapshot.
        seen: Vec<TargetId>,
    },
    /// The plan or a decision belongs to another moment.
    #[error("{target}: the decision is of another time or starts from other replicas")]
    Stray {
        /// Whom it is about.
        target: TargetId,
    },
    /// Outside `minReplicas` and `maxReplicas`.
    #[error("{target}: {to} replicas lie outside {min} to {max}")]
    Bounds {
        /// Whom it is about.
        target: TargetId,
        /// Replicas decided on.
        to: Replicas,
        /// `minReplicas`.
        min: Replicas,
        /// `maxReplicas`.
        max: Replicas,
    },
    /// Lowered although something forbids it.
    #[error("{target}: lowered from {from} to {to} although {why}")]
    Lowered {
        /// Whom it is about.
        target: TargetId,
        /// Replicas before.
        from: Replicas,
        /// Replicas decided on.
        to: Replicas,
        /// What forbids it.
        why: &'static str,
    },
    /// Changed although that is paused, switched off or impossible.
    #[error("{target}: changed from {from} to {to} although {why}")]
    Changed {
        /// Whom it is about.
        target: TargetId,
        /// Replicas before.
        from: Replicas,
        /// Replicas decided on.
        to: Replicas,
        /// What forbids it.
        why: &'static str,
    },
    /// Marked to be written although it must not be, or the other way round.
    #[error("{target}: apply is {apply}, which does not follow from mode and change")]
    Apply {
        /// Whom it is about.
        target: TargetId,
        /// The mark.
        apply: bool,
    },
    /// A number that is not finite, or a chain of limiters that does not end at the decision.
    #[error("{target}: {what}")]
    Unsound {
        /// Whom it is about.
        target: TargetId,
        /// What is wrong.
        what: &'static str,
    },
}

impl Violation {
    /// Whom it is about; `None` when it is about the whole plan.
    pub fn target(&self) -> Option<&TargetId> {
        match self {
            Self::Targets { .. } => None,
            Self::Stray { target }
            | Self::Bounds { target, .. }
            | Self::Lowered { target, .. }
            | Self::Changed { target, .. }
            | Self::Apply { target, .. }
            | Self::Unsound { target, .. } => Some(target),
        }
    }
}

/// Every invariant that `plan` breaks for `snapshot`; empty when it is sound.
pub fn check(snapshot: &Snapshot, plan: &Plan) -> Vec<Violation> {
    let decided: Vec<TargetId> = plan
        .decisions
        .iter()
        .map(|one| one.target.clone())
        .collect();
    let seen: Vec<TargetId> = snapshot.targets.iter().map(|one| one.id.clone()).collect();
    if decided != seen {
        return vec![Violation::Targets { decided, seen }];
    }
    let pairs = snapshot.targets.iter().zip(&plan.decisions);
    pairs
        .flat_map(|(target, decision)| {
            let stray = decision.time != snapshot.now
                || plan.now != snapshot.now
                || decision.from != target.replicas.desired;
            let stray = stray.then(|| Violation::Stray {
                target: target.id.clone(),
            });
            let rules = [
                stray,
                bounds(target, decision),
                lowered(target, decision),
                changed(target, decision),
                apply(target, decision),
                unsound(target, decision),
            ];
            rules.into_iter().flatten()
        })
        .collect()
}

fn bounds(target: &Target, decision: &Decision) -> Option<Violation> {
    let (min, max) = (target.policy.min_replicas, target.policy.max_replicas);
    let to = decision.to;
    // What is not changed at all may lie outside: a broken, switched off or paused target.
    let outside = to != decision.from && (to < min || to > max);
    // A pause of one direction keeps what is outside the bounds on that side.
    let unmoved = to == decision.from
        && (to < min || to > max)
        && !matches!(
            decision.reason,
            Reason::TargetProblem | Reason::ScalingDisabled | Reason::Paused
        );
    (outside || unmoved).then(|| Violation::Bounds {
        target: target.id.clone(),
        to,
        min,
        max,
    })
}

/// Nothing is lowered below what is there, or `maxReplicas`, without data, during a rollout, or
/// under a pause.
fn lowered(target: &Target, decision: &Decision) -> Option<Violation> {
    let policy = &target.policy;
    let there = decision.from.min(policy.max_replicas);
    let floor = match (target.load.quality, policy.fallback) {
        (Quality::Ok | Quality::Idle | Quality::Partial, _) | (_, Fallback::Hold) => there,
        (_, Fallback::Replicas(asked) | Fallback::Higher(asked)) => there.min(asked),
    };
    let queue = target
        .waiting
        .as_ref()
        .is_none_or(|waiting| waiting.quality.may_lower());
    let why = if decision.to < floor && !target.load.quality.may_lower() {
        "the load data does not carry it"
    } else if decision.to < floor && !queue {
        "the queue data does not carry it"
    } else if decision.to < there && target.replicas.rolling_out {
        "a rollout is in progress"
    } else if decision.to < decision.from && policy.paused == Paused::ScaleDown {
        "scaling down is paused"
    } else {
        return None;
    };
    Some(Violation::Lowered {
        target: target.id.clone(),
        from: decision.from,
        to: decision.to,
        why,
    })
}

fn changed(target: &Target, decision: &Decision) -> Option<Violation> {
    let (from, to) = (decision.from, decision.to);
    let off = from == Replicas(0) && target.policy.min_replicas > Replicas(0);
    let why = match target.policy.paused {
        _ if from == to => return None,
        _ if target.problem.is_some() => "it cannot be decided on",
        _ if off => "it is switched off",
        Paused::All => "everything is paused",
        Paused::ScaleUp if to > from => "scaling up is paused",
        _ => return None,
    };
    Some(Violation::Changed {
        target: target.id.clone(),
        from,
        to,
        why,
    })
}

fn apply(target: &Target, decision: &Decision) -> Option<Violation> {
    let right = target.policy.mode == Mode::Apply && decision.from != decision.to;
    (decision.apply != right).then(|| Violation::Apply {
        target: target.id.clone(),
        apply: decision.apply,
    })
}

fn unsound(target: &Target, decision: &Decision) -> Option<Violation> {
    let basis = &decision.basis;
    let forecast = basis.forecast.iter().flat_map(|forecast| {
        [
            Some(forecast.load),
            Some(forecast.median),
            forecast.skill,
            forecast.coverage,
        ]
    });
    let numbers = [
        basis.load,
        basis.capacity.per_replica,
        Some(basis.startup_seconds),
    ];
    let finite = numbers
        .into_iter()
        .chain(forecast)
        .flatten()
        .all(f64::is_finite);
    let limiters = &decision.limiters;
    let chained = limiters
        .windows(2)
        .all(|pair| pair[0].after == pair[1].before)
        && limiters.last().is_none_or(|last| last.after == decision.to);
    let what = if !finite {
        "a number of its basis is not finite"
    } else if !chained {
        "its limiters do not lead to the decision"
    } else {
        return None;
    };
    Some(Violation::Unsound {
        target: target.id.clone(),
        what,
    })
}

#[cfg(test)]
mod tests;
