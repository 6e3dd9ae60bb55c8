//! What is remembered between two plans: recommendation windows, scale events, learned start-up
//! times and fitted models. The small part survives a restart in the object's status; fits are
//! made again from history.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    forecast::Fitted,
    units::{Replicas, TargetId, Timestamp},
};

/// Memory of all targets. As JSON a list of pairs, since an id is not a string.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(
    from = "Vec<(TargetId, TargetMemory)>",
    into = "Vec<(TargetId, TargetMemory)>"
)]
pub struct Memory {
    /// One entry a target that was decided on before.
    pub targets: BTreeMap<TargetId, TargetMemory>,
}

impl From<Vec<(TargetId, TargetMemory)>> for Memory {
    fn from(pairs: Vec<(TargetId, TargetMemory)>) -> Self {
        Self {
            targets: pairs.into_iter().collect(),
        }
    }
}

impl From<Memory> for Vec<(TargetId, TargetMemory)> {
    fn from(memory: Memory) -> Self {
        memory.targets.into_iter().collect()
    }
}

/// Memory of one target.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetMemory {
    /// Recommendations before stabilisation, oldest first, no older than the longest window.
    pub recommendations: Vec<(Timestamp, Replicas)>,
    /// Changes that were carried out, oldest first, no older than the longest policy period.
    pub scale_events: Vec<ScaleEvent>,
    /// The newest observed start-up times in seconds, oldest first, at most 32.
    pub startups: Vec<f64>,
    /// The fitted forecast model; absent until there is history enough.
    pub fitted: Option<Fitted>,
    /// When this target was first decided on: nothing is lowered before one window of data.
    pub since: Option<Timestamp>,
}

/// A change of replicas that was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScaleEvent {
    /// When the write succeeded.
    pub time: Timestamp,
    /// Replicas added; negative when removed.
    pub change: i64,
}

impl Memory {
    /// Notes that the replicas of `target` were changed at `time`: call it only after the write
    /// succeeded, as HPA does.
    pub fn record_scaled(
        &mut self,
        target: &TargetId,
        from: Replicas,
        to: Replicas,
        time: Timestamp,
    ) {
        let change = i64::from(to.0) - i64::from(from.0);
        self.targets
            .entry(target.clone())
            .or_default()
            .scale_events
            .push(ScaleEvent { time, change });
    }
}
