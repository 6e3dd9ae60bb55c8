//! Why a decision is what it is. One enum feeds the condition, the event, the metric label, the page
//! and the command line, so that all of them name the same reason.

use serde::{Deserialize, Serialize};

use crate::units::Replicas;

/// Why the replicas of a target change or stay. In tiers: of several reasons that apply, the one of
/// the earlier tier is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Reason {
    // Tier 1: it cannot be decided on.
    /// The target, or something it needs, is broken: see the problem.
    TargetProblem,
    /// `spec.replicas` of the target is 0 while `minReplicas` is not: HPA's manual off switch.
    ScalingDisabled,
    // Tier 2: its owner has stopped it.
    /// `paused` forbids the change.
    Paused,
    // Tier 3: the data does not carry a decision.
    /// No load data: held, or the fallback.
    LoadMissing,
    /// The newest load sample is too old: held, or the fallback.
    LoadStale,
    /// Part of the load data is missing: only an increase is allowed.
    LoadPartial,
    /// What one replica serves was not given and is not learned yet: held, or the fallback.
    CapacityUnknown,
    /// Not enough has been seen since the start to lower anything.
    WarmingUp,
    /// A rollout is in progress: nothing is lowered.
    RollingOut,
    // Tier 4: the bounds.
    /// More replicas than `maxReplicas`.
    AboveMaximum,
    /// Fewer replicas than `minReplicas`.
    BelowMinimum,
    // Tier 5: the load.
    /// The forecast needs more than what is there.
    ForecastRise,
    /// The load of now needs more than what is there.
    LoadRise,
    /// Neither the load of now nor the forecast needs what is there.
    LoadFall,
    /// Load of now would allow fewer, the forecast does not.
    ForecastHolds,
    /// HPA's tolerance: the difference is too small to act on.
    WithinTolerance,
    /// What is there is what is needed.
    Enough,
    // Tier 6: wanted, but limited.
    /// The stabilization window holds the change back.
    StabilizationWindow,
    /// A policy of the behavior block (or `selectPolicy: Disabled`) holds the change back.
    BehaviorPolicy,
}

impl Reason {
    /// The name in status, events and metric labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TargetProblem => "TargetProblem",
            Self::ScalingDisabled => "ScalingDisabled",
            Self::Paused => "Paused",
            Self::LoadMissing => "LoadMissing",
            Self::LoadStale => "LoadStale",
            Self::LoadPartial => "LoadPartial",
            Self::CapacityUnknown => "CapacityUnknown",
            Self::WarmingUp => "WarmingUp",
            Self::RollingOut => "RollingOut",
            Self::AboveMaximum => "AboveMaximum",
            Self::BelowMinimum => "BelowMinimum",
            Self::ForecastRise => "ForecastRise",
            Self::LoadRise => "LoadRise",
            Self::LoadFall => "LoadFall",
            Self::ForecastHolds => "ForecastHolds",
            Self::WithinTolerance => "WithinTolerance",
            Self::Enough => "Enough",
            Self::StabilizationWindow => "StabilizationWindow",
            Self::BehaviorPolicy => "BehaviorPolicy",
        }
    }
}

/// What changed a number on its way from the raw need to the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LimiterKind {
    /// `minReplicas`.
    Minimum,
    /// `maxReplicas`.
    Maximum,
    /// The forecast is worse than the seasonal naive on held-out history: it is left out.
    NoSkill,
    /// HPA's tolerance.
    Tolerance,
    /// Missing, stale or partial data: nothing is lowered.
    DataQuality,
    /// Warm-up after a start.
    WarmUp,
    /// A rollout in progress.
    Rollout,
    /// `paused`.
    Paused,
    /// The stabilization window.
    StabilizationWindow,
    /// A policy of the behavior block.
    BehaviorPolicy,
    /// The fallback for missing data.
    Fallback,
}

/// One limiter with the number before and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limiter {
    /// Which limiter.
    pub kind: LimiterKind,
    /// Replicas that were wanted.
    pub before: Replicas,
    /// Replicas that it left.
    pub after: Replicas,
}

/// Why a target cannot be decided on at all, in one line each: what, where, what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// CamelCase name for conditions and metric labels, for example `TargetNotFound`.
    pub kind: ProblemKind,
    /// The sentence for people.
    pub message: String,
}

/// Kinds of problems of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ProblemKind {
    /// The spec contradicts itself in a way that the schema could not refuse.
    InvalidSpec,
    /// `scaleTargetRef` names something that does not exist.
    TargetNotFound,
    /// The scale subresource could not be read.
    ScaleUnreadable,
}

impl ProblemKind {
    /// All of them.
    pub const ALL: [Self; 3] = [
        Self::InvalidSpec,
        Self::TargetNotFound,
        Self::ScaleUnreadable,
    ];

    /// The name in conditions and metric labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidSpec => "InvalidSpec",
            Self::TargetNotFound => "TargetNotFound",
            Self::ScaleUnreadable => "ScaleUnreadable",
        }
    }
}
