//! What was seen at one moment: all that a plan reads besides the memory. A snapshot is also a file
//! format (JSON, `version` 1): the same file gives the same plan, byte for byte.

mod sound;

use serde::{Deserialize, Serialize};

pub use sound::{Unsound, sound};

use crate::{
    capacity::learned::{Objective, Service},
    decide::{behavior::Behavior, reason::Problem},
    memory::Memory,
    series::{Quality, Series},
    units::{Level, Replicas, TargetId, Timestamp},
};

/// Version of the file format; a file of another version is refused.
pub const VERSION: u32 = 1;

/// Everything that was seen at `now`, and what was remembered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Version of the format.
    pub version: u32,
    /// The moment of the observation.
    pub now: Timestamp,
    /// Seconds between two decisions of the controller.
    pub tick: i64,
    /// One entry an `InferenceScaler`, ordered by id.
    pub targets: Vec<Target>,
    /// GPUs of the cluster by node, ordered by name.
    pub nodes: Vec<Node>,
    /// Windows, scale events, learned times and fits from before.
    pub memory: Memory,
}

/// One scaled object: what its owner wants, and what was seen of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Namespace and name of the `InferenceScaler`.
    pub id: TargetId,
    /// The validated wish.
    pub policy: Policy,
    /// Why this target cannot be decided on at all (a missing target, a bad query), if so.
    pub problem: Option<Problem>,
    /// Its replicas as seen.
    pub replicas: ReplicaCounts,
    /// Offered load in requests per second.
    pub load: Signal,
    /// Requests waiting in the servers' queues, where a signal gives it.
    pub waiting: Option<Signal>,
    /// What the replicas did in the newest step, to learn their capacity from.
    #[serde(default, skip_serializing_if = "Service::is_empty")]
    pub service: Service,
    /// Start-up times in seconds (created → Ready) of replicas that became Ready since the last
    /// snapshot: they are learned once, by the memory.
    pub startups_seen: Vec<f64>,
}

/// An owner's wish, parsed once at the edge; every value is sound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Never below; 0 is allowed.
    pub min_replicas: Replicas,
    /// Never above; at least 1 and at least `min_replicas`.
    pub max_replicas: Replicas,
    /// Whether decisions are carried out or only shown.
    pub mode: Mode,
    /// What is paused.
    pub paused: Paused,
    /// Requests per second that one ready replica serves within its SLO, above 0; `None`: learned from
    /// its own past, for `objectives`.
    pub capacity_per_replica: Option<f64>,
    /// The latencies that a replica has to keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives: Vec<Objective>,
    /// The quantile of the forecast to provide for: late / (late + idle).
    pub level: Level,
    /// Whether the forecast takes part.
    pub forecast: bool,
    /// Seconds to look ahead; `None` learns it: start-up time plus a tick, at most 3600.
    pub horizon: Option<i64>,
    /// IANA name of the zone whose days the load follows, for example `Europe/Berlin`.
    pub time_zone: String,
    /// Spans `[from, to)` of the history that are not learned from.
    pub exclude: Vec<(Timestamp, Timestamp)>,
    /// HPA's behavior block.
    pub behavior: Behavior,
    /// What to do when the load is stale or missing.
    pub fallback: Fallback,
}

impl Policy {
    /// Bounds and capacity as given, carried out; for the rest what an object has that says nothing else.
    pub fn new(min_replicas: u32, max_replicas: u32, capacity_per_replica: f64) -> Self {
        Self {
            min_replicas: Replicas(min_replicas),
            max_replicas: Replicas(max_replicas),
            mode: Mode::Apply,
            paused: Paused::None,
            capacity_per_replica: Some(capacity_per_replica),
            objectives: Vec::new(),
            level: Level::P95,
            forecast: true,
            horizon: None,
            time_zone: "UTC".to_owned(),
            exclude: Vec::new(),
            behavior: Behavior::default(),
            fallback: Fallback::Hold,
        }
    }
}

/// `mode` of an `InferenceScaler`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Decide and show; write nothing to the target.
    Recommend,
    /// Decide, show and write the scale subresource.
    Apply,
}

/// `paused` of an `InferenceScaler`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Paused {
    /// Nothing is paused.
    None,
    /// No change at all.
    All,
    /// No increase.
    ScaleUp,
    /// No decrease.
    ScaleDown,
}

/// What to do when the load is stale or missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fallback {
    /// Keep the replicas as they are.
    Hold,
    /// Go to this number.
    Replicas(Replicas),
    /// Go to this number when it is higher than what is there.
    Higher(Replicas),
}

/// Replicas of a target as seen at `now`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplicaCounts {
    /// `spec.replicas` of the scale subresource: what was last asked for.
    pub desired: Replicas,
    /// `status.replicas` of the scale subresource.
    pub current: Replicas,
    /// Pods that are Ready and not being deleted.
    pub ready: Replicas,
    /// Pods that exist but are not Ready yet: supply that is on its way.
    pub pending: Replicas,
    /// Pods that are being deleted.
    pub terminating: Replicas,
    /// Whether a rollout is in progress: surge pods are no capacity, and nothing is lowered.
    pub rolling_out: bool,
}

impl ReplicaCounts {
    /// What is asked for exists, `ready` of it Ready and the rest on its way.
    pub fn of(desired: u32, ready: u32) -> Self {
        Self {
            desired: Replicas(desired),
            current: Replicas(desired),
            ready: Replicas(ready),
            pending: Replicas(desired.saturating_sub(ready)),
            ..Self::default()
        }
    }
}

/// A signal with its quality.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    /// The values; empty when there are none.
    pub series: Series,
    /// How far they can be trusted.
    pub quality: Quality,
    /// Why the quality is not Ok, in words with the source named; empty when Ok.
    pub detail: String,
}

/// GPUs of one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Node name.
    pub name: String,
    /// Its GPUs in index order.
    pub gpus: Vec<Gpu>,
}

/// One GPU as its exporter reports it; what was not reported is absent, not zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Index on the node.
    pub index: u32,
    /// Model name, for example `NVIDIA H100 80GB HBM3`.
    pub model: String,
    /// Share of time in use, 0 to 1.
    pub utilization: Option<f64>,
    /// Bytes in use and in total.
    pub memory: Option<(f64, f64)>,
    /// The target that runs on it, where known.
    pub target: Option<TargetId>,
}
