//! HPA v2's behavior block, field for field, with HPA's bounds as schema rules.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rules for both directions; what is absent has HPA's default.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Behavior {
    /// Rules for more replicas. Default: no window; the larger of 4 pods and 100 % in 15 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale_up: Option<ScalingRules>,
    /// Rules for fewer replicas. Default: a window of 300 s; 100 % in 15 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale_down: Option<ScalingRules>,
}

/// Rules of one direction.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ScalingRules {
    /// Seconds of past recommendations to consider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 3600))]
    pub stabilization_window_seconds: Option<i32>,
    /// Max (default), Min or Disabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select_policy: Option<SelectPolicy>,
    /// Rate policies; at least one when given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 10))]
    pub policies: Option<Vec<ScalingPolicy>>,
    /// Relative difference that is not acted on, as a decimal number such as "0.1" (the default).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self.matches('^[0-9]+([.][0-9]+)?$')").message("tolerance must be a decimal number of at least 0, for example \"0.1\""))]
    #[schemars(length(max = 20))]
    pub tolerance: Option<String>,
}

/// At most `value` pods or per cent in `periodSeconds`.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ScalingPolicy {
    /// Pods or Percent.
    #[serde(rename = "type")]
    pub kind: PolicyType,
    /// Above 0.
    #[schemars(range(min = 1, max = 100_000))]
    pub value: i32,
    /// Length of the period.
    #[schemars(range(min = 1, max = 1800))]
    pub period_seconds: i32,
}

/// `type` of a policy.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyType {
    /// A number of pods.
    Pods,
    /// A share of the replicas at the start of the period.
    Percent,
}

/// Which of several policies counts.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectPolicy {
    /// The one that allows the largest change.
    Max,
    /// The one that allows the smallest change.
    Min,
    /// No change in this direction.
    Disabled,
}
