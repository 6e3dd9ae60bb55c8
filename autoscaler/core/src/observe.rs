//! From samples to a snapshot: the one pure function that the controller (samples from Prometheus)
//! and the demo (samples from exposition text) both call. It puts samples on a grid, judges their
//! quality and never takes an empty answer for zero.

mod load;
mod sample;
mod service;

use std::collections::BTreeMap;

use crate::{
    capacity::learned::Metric,
    decide::reason::Problem,
    memory::Memory,
    observe::sample::Look,
    snapshot::{Node, Policy, ReplicaCounts, Snapshot, Target},
    units::{TargetId, Timestamp},
};

/// One series of an answer: labels, and points `(unix seconds, value)` in rising time.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RawSeries {
    /// Its labels, without the metric name.
    pub labels: BTreeMap<String, String>,
    /// Its samples; a value may be NaN or infinite, as sources do send that.
    pub points: Vec<(f64, f64)>,
    /// Why a part of what it sums up may be missing, as the source says; `None`: nothing is.
    pub partial: Option<String>,
}

/// What a signal means; see `load.signals[].means` of an `InferenceScaler`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// Requests per second that arrive.
    Arrivals,
    /// Requests per second that are answered.
    Served,
    /// Requests that wait.
    Waiting,
    /// Requests per second that are turned away.
    Rejected,
    /// Requests in work.
    InFlight,
    /// A latency in seconds, at the quantile of the objective for it.
    Latency(Metric),
}

/// The answer to one signal's query.
#[derive(Clone, Debug, PartialEq)]
pub struct SignalInput {
    /// Its name in the object, for messages.
    pub name: String,
    /// What it means.
    pub means: Means,
    /// The series of the answer, or why there is none (one line: what, where, what would be right).
    pub answer: Result<Vec<RawSeries>, String>,
}

/// All that was read about one target.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetInput {
    /// Namespace and name.
    pub id: TargetId,
    /// The validated wish.
    pub policy: Policy,
    /// What stands in the way of deciding at all.
    pub problem: Option<Problem>,
    /// Replicas as seen.
    pub replicas: ReplicaCounts,
    /// Start-up times in seconds of replicas that became Ready since the last snapshot.
    pub startups_seen: Vec<f64>,
    /// Answers to the load signals.
    pub signals: Vec<SignalInput>,
}

/// How samples become series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Seconds of a step; 60 in production.
    pub step: i64,
    /// Seconds after which the newest sample is stale.
    pub stale_after: i64,
    /// Seconds between two decisions.
    pub tick: i64,
}

/// Everything read at `now`, as a snapshot; targets and nodes in the order of their names.
pub fn snapshot(
    now: Timestamp,
    grid: Grid,
    targets: Vec<TargetInput>,
    mut nodes: Vec<Node>,
    memory: Memory,
) -> Snapshot {
    let mut targets: Vec<Target> = targets
        .into_iter()
        .map(|input| target(now, grid, input))
        .collect();
    targets.sort_by(|a, b| a.id.cmp(&b.id));
    nodes.sort_by(|a, b| a.name.cmp(&b.name));
    Snapshot {
        version: crate::snapshot::VERSION,
        now,
        tick: grid.tick,
        targets,
        nodes,
        memory,
    }
}

fn target(now: Timestamp, grid: Grid, input: TargetInput) -> Target {
    let look = Look {
        now,
        step: grid.step.max(1),
        stale_after: grid.stale_after,
        recent: recent_steps(&input.policy, grid.step.max(1)),
    };
    let (load, waiting) = load::signals(look, &input.signals);
    let service = service::seen(look, &input.signals, waiting.as_ref());
    Target {
        id: input.id,
        policy: input.policy,
        problem: input.problem,
        replicas: input.replicas,
        load,
        waiting,
        service,
        startups_seen: input.startups_seen,
    }
}

/// Steps of the past that have to be complete before anything is lowered: those of the window over
/// which HPA would look back before it lowers, at least 2 and at most 10.
fn recent_steps(policy: &Policy, step: i64) -> usize {
    let window = policy.behavior.scale_down.stabilization_window_seconds;
    usize::try_from(window / step).unwrap_or(0).clamp(2, 10)
}

#[cfg(test)]
mod tests;
