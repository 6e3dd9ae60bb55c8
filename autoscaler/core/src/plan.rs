//! The plan: one decision a target, complete, with its reasons. Nothing is left to choose when it is
//! applied, and planning cannot fail.

mod ahead;
mod target;

use serde::{Deserialize, Serialize};

use crate::{
    capacity::learned::Capacity,
    decide::reason::{Limiter, Problem, Reason},
    memory::Memory,
    series::Quality,
    snapshot::Snapshot,
    units::{Level, Replicas, TargetId, Timestamp},
};

/// What to do, for all targets, decided at `now`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of the JSON shape.
    pub version: u32,
    /// The moment of the decision.
    pub now: Timestamp,
    /// One decision a target, in the order of the snapshot.
    pub decisions: Vec<Decision>,
}

/// The decision about one target; there is one even when nothing changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// Whom it is about.
    pub target: TargetId,
    /// When it was made.
    pub time: Timestamp,
    /// Replicas asked for before.
    pub from: Replicas,
    /// Replicas to ask for now.
    pub to: Replicas,
    /// Whether `to` is written to the target (mode Apply, and different from `from`).
    pub apply: bool,
    /// Why.
    pub reason: Reason,
    /// What stands in the way, when the reason is `TargetProblem`.
    pub problem: Option<Problem>,
    /// What it rests on.
    pub basis: Basis,
    /// Every step between the raw need and `to`.
    pub limiters: Vec<Limiter>,
}

/// The numbers that a decision rests on; absent where there was no data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Basis {
    /// Load of now in requests per second.
    pub load: Option<f64>,
    /// Quality of the load signal.
    pub quality: Quality,
    /// Detail of the quality, empty when Ok.
    pub detail: String,
    /// Replicas that the load of now needs.
    pub reactive: Option<Replicas>,
    /// The forecast part, when there was a forecast.
    pub forecast: Option<ForecastBasis>,
    /// What one ready replica serves.
    pub capacity: Capacity,
    /// Start-up time in seconds that the horizon rests on, and whether it was learned.
    pub startup_seconds: f64,
    /// Whether `startup_seconds` was observed on this target rather than assumed.
    pub startup_learned: bool,
}

/// What the forecast said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForecastBasis {
    /// Name of the rung of the ladder.
    pub rung: String,
    /// Seconds ahead.
    pub horizon: i64,
    /// The quantile level provided for.
    pub level: Level,
    /// Load in requests per second at that level: the maximum over the steps up to the horizon.
    pub load: f64,
    /// The median at the horizon, in requests per second.
    pub median: f64,
    /// Replicas that `load` needs.
    pub need: Replicas,
    /// Skill against the seasonal naive, 1 − loss/loss; absent until it was measured.
    pub skill: Option<f64>,
    /// Share of past values inside the 90 % interval; absent until it was measured.
    pub coverage: Option<f64>,
}

impl ForecastBasis {
    /// Whether the forecast takes part: not when it was measured to be worse than the seasonal naive.
    pub fn skilled(&self) -> bool {
        self.skill.is_none_or(|skill| skill >= 0.0)
    }
}

/// A plan together with what is remembered for the next one.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// The memory after it; scale events are added only once a write succeeded.
    pub memory: Memory,
}

/// Version of the JSON shape of a plan.
pub const VERSION: u32 = 1;

/// Decides for every target of the snapshot. Never fails: what cannot be decided on is held, with
/// the reason.
pub fn plan(snapshot: &Snapshot) -> Planned {
    let mut memory = snapshot.memory.clone();
    ahead::refit(snapshot, &mut memory);
    let decisions = snapshot
        .targets
        .iter()
        .map(|seen| {
            let remembered = memory.targets.entry(seen.id.clone()).or_default();
            target::decide(seen, remembered, snapshot.now, snapshot.tick)
        })
        .collect();
    Planned {
        plan: Plan {
            version: VERSION,
            now: snapshot.now,
            decisions,
        },
        memory,
    }
}

#[cfg(test)]
pub(crate) mod tests;
