//! Where the load of a target is read from: a server's own metrics by adapter name, or PromQL.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Either `server` or `signals`.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.server) != has(self.signals)").message("spec.load must have exactly one of server and signals"),
    validation = Rule::new("!has(self.signals) || self.signals.exists(s, s.means == 'Arrivals' || s.means == 'Served')").message("spec.load.signals must have a signal that means Arrivals or Served")
)]
pub struct Load {
    /// An inference server whose metrics are known: vllm. Its pods are joined by name, no query is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Server>,
    /// Own PromQL queries, each with one series as its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 8))]
    #[x_kube(validation = Rule::new("self.all(a, self.exists_one(b, a.name == b.name))").message("spec.load.signals must have different names"))]
    pub signals: Option<Vec<Signal>>,
    /// IANA name of the zone whose days the load follows, for example Europe/Berlin; UTC when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub time_zone: Option<String>,
    /// Spans of the past that are not learned from, such as an incident.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub exclude: Vec<Exclude>,
}

/// Inference servers whose metrics are known.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Server {
    /// vLLM, V1 engine.
    Vllm,
}

/// One signal.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Signal {
    /// A name for messages.
    #[x_kube(validation = Rule::new("self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')").message("spec.load.signals[].name must be lower case letters, digits and dashes, starting with a letter"))]
    #[schemars(length(max = 63))]
    pub name: String,
    /// The query; its answer must be one series.
    #[x_kube(validation = Rule::new("self.matches('[^ ]')").message("spec.load.signals[].promql must not be empty"))]
    #[schemars(length(min = 1, max = 2048))]
    pub promql: String,
    /// What the number means: Arrivals, Served and Rejected are requests per second, Waiting and `InFlight` (in work, without those that wait) are requests; the names of `spec.slo[].metric` are that latency in seconds, at the quantile of its objective.
    pub means: SignalMeans,
}

/// What a signal means.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalMeans {
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
    /// Seconds from the request to the whole answer.
    EndToEnd,
    /// Seconds from the request to the first token.
    TimeToFirstToken,
    /// Seconds between two tokens of one answer.
    TimePerOutputToken,
}

/// A span `[from, to)` of the past.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("timestamp(self.from) < timestamp(self.to)").message("spec.load.exclude[].from must be before its to"))]
pub struct Exclude {
    /// Start, RFC 3339.
    #[schemars(extend("format" = "date-time"), length(max = 40))]
    pub from: String,
    /// End, RFC 3339.
    #[schemars(extend("format" = "date-time"), length(max = 40))]
    pub to: String,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub why: Option<String>,
}
