//! What is shown of a target: the last decision with its reason, the data it rests on, and the small
//! memory that survives a restart. Written by the controller alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Status of an `InferenceScaler`. Absent means not known, never zero.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct InferenceScalerStatus {
    /// `metadata.generation` that the status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Replicas that exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_replicas: Option<i32>,
    /// Replicas that serve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Replicas that the last decision asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired_replicas: Option<i32>,
    /// Replicas that the forecast needs at the horizon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forecast_replicas: Option<i32>,
    /// Which rung of the forecast's ladder made the forecast.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rung: Option<String>,
    /// Skill of the forecast against the same time yesterday: 1 is perfect, 0 no better, below 0 worse. A decimal number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// Share of past values inside the 90 % interval. A decimal number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<String>,
    /// Learned start-up time from creation to Ready, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_seconds: Option<i64>,
    /// Requests per second that one ready replica serves. A decimal number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_per_replica: Option<String>,
    /// Where the capacity comes from: Given; learned as Curve, `SeenTooSlow` or `NotSeenYet`; Unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_source: Option<String>,
    /// Quality of the load: Ok, Idle, Partial, Stale or Missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_quality: Option<String>,
    /// Quality by signal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data_quality: Vec<DataQuality>,
    /// The last decision, also when it was to change nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_decision: Option<LastDecision>,
    /// Conditions by type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Windows, scale events and learned times for the next controller, as compact JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
}

/// Quality of one signal.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct DataQuality {
    /// Name of the signal.
    pub signal: String,
    /// Ok, Idle, Partial, Stale or Missing.
    pub quality: String,
    /// Why it is not Ok, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// The last decision.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct LastDecision {
    /// When, RFC 3339.
    pub time: String,
    /// Replicas before.
    pub from: i32,
    /// Replicas asked for.
    pub to: i32,
    /// The reason's name.
    pub reason: String,
    /// The reason in words.
    pub message: String,
    /// What changed the number on its way, as `Kind before→after`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limiters: Vec<String>,
}

/// A condition, as in every Kubernetes API.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// True, False or Unknown.
    pub status: String,
    /// CamelCase name of the cause.
    pub reason: String,
    /// The cause in words.
    pub message: String,
    /// When `status` last changed, RFC 3339.
    pub last_transition_time: String,
    /// `metadata.generation` that it speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
