//! The custom resources of Foresail, group `foresail.dev`. Types and schema rules only: the API
//! server enforces the rules (CEL), no webhook is needed.

#![expect(
    unreachable_pub,
    reason = "the derive of the schema copies each type into a function body"
)]

pub mod behavior;
pub mod load;
pub mod status;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use behavior::{Behavior, ScalingPolicy, ScalingRules};
pub use load::{Exclude, Load, Server, Signal, SignalMeans};
pub use status::{Condition, DataQuality, InferenceScalerStatus, LastDecision};

/// What the owner of a target wants: how many replicas it may have, and where its load is read from.
#[expect(
    clippy::duplicated_attributes,
    reason = "each printcolumn has a type of its own"
)]
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "foresail.dev",
    version = "v1alpha1",
    kind = "InferenceScaler",
    plural = "inferencescalers",
    singular = "inferencescaler",
    shortname = "isc",
    category = "autoscaling",
    namespaced,
    status = "InferenceScalerStatus",
    derive = "PartialEq",
    doc = "Scales one target ahead of its load, and says why.",
    printcolumn(
        name = "Desired",
        type_ = "integer",
        json_path = ".status.desiredReplicas",
        description = "Replicas that the last decision asks for"
    ),
    printcolumn(
        name = "Ready",
        type_ = "integer",
        json_path = ".status.readyReplicas",
        description = "Replicas that serve"
    ),
    printcolumn(
        name = "Forecast",
        type_ = "integer",
        json_path = ".status.forecastReplicas",
        description = "Replicas that the forecast needs"
    ),
    printcolumn(
        name = "Data",
        type_ = "string",
        json_path = ".status.loadQuality",
        description = "Quality of the load data"
    ),
    printcolumn(
        name = "Mode",
        type_ = "string",
        json_path = ".spec.mode",
        description = "Recommend or Apply"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.lastDecision.reason",
        description = "Why",
        priority = 1
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Age"
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.minReplicas <= self.maxReplicas").message("spec.minReplicas must not be greater than spec.maxReplicas"),
    validation = Rule::new("has(self.capacity) || has(self.slo)").message("spec must have capacity, or slo to learn it for"),
    validation = Rule::new("has(self.capacity) || !has(self.load.signals) || (has(self.slo) && self.slo.all(o, self.load.signals.exists(s, s.means == o.metric || (o.metric == 'EndToEnd' && s.means == 'InFlight'))))").message("spec.load.signals must have a signal for each metric of spec.slo (for EndToEnd one that means InFlight will do) when spec.capacity is absent"),
    validation = Rule::new("!has(self.fallback) || !has(self.fallback.replicas) || self.fallback.replicas <= self.maxReplicas").message("spec.fallback.replicas must not be greater than spec.maxReplicas")
)]
pub struct InferenceScalerSpec {
    /// What is scaled: anything in the same namespace that has a scale subresource.
    pub scale_target_ref: ScaleTargetRef,
    /// Never fewer replicas than this; 0 is allowed.
    #[schemars(range(min = 0, max = 100_000))]
    pub min_replicas: i32,
    /// Never more replicas than this.
    #[schemars(range(min = 1, max = 100_000))]
    pub max_replicas: i32,
    /// Recommend (default) decides and shows; Apply also writes the scale subresource.
    #[serde(default)]
    pub mode: Mode,
    /// What is paused; nothing by default.
    #[serde(default)]
    pub paused: Paused,
    /// Where the load is read from.
    pub load: Load,
    /// Latencies that every replica has to keep. Without `capacity` what one replica serves within them is learned from its own past.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 3))]
    #[x_kube(validation = Rule::new("self.all(a, self.exists_one(b, a.metric == b.metric))").message("spec.slo must name each metric once"))]
    pub slo: Option<Vec<Slo>>,
    /// What one ready replica serves; absent: learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// What being late and being idle cost; their ratio gives the quantile that is provided for.
    #[serde(default)]
    pub cost: Cost,
    /// The forecast's part.
    #[serde(default)]
    pub forecast: ForecastSpec,
    /// HPA v2's behavior block, with HPA's defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behavior: Option<Behavior>,
    /// What to do while the load data is stale or missing; nothing is ever lowered for it unless Replicas says so.
    #[serde(default)]
    pub fallback: Fallback,
}

/// `scaleTargetRef`, as in HPA.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ScaleTargetRef {
    /// For example `apps/v1`.
    #[x_kube(validation = Rule::new("self != ''").message("spec.scaleTargetRef.apiVersion must not be empty"))]
    #[schemars(length(max = 253))]
    pub api_version: String,
    /// For example `Deployment`.
    #[x_kube(validation = Rule::new("self != ''").message("spec.scaleTargetRef.kind must not be empty"))]
    #[schemars(length(max = 63))]
    pub kind: String,
    /// Name in the namespace of the scaler.
    #[x_kube(validation = Rule::new("self != ''").message("spec.scaleTargetRef.name must not be empty"))]
    #[schemars(length(max = 253))]
    pub name: String,
}

/// Whether decisions are carried out.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Decide and show; write nothing to the target.
    #[default]
    Recommend,
    /// Decide, show and write the scale subresource.
    Apply,
}

/// What is paused.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paused {
    /// Nothing is paused.
    #[default]
    None,
    /// No change at all.
    All,
    /// No increase.
    ScaleUp,
    /// No decrease.
    ScaleDown,
}

/// One latency to keep.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Slo {
    /// Which latency.
    pub metric: SloMetric,
    /// At which quantile, a decimal number between 0 and 1 such as "0.99"; "0.95" when absent.
    #[serde(default = "Slo::default_quantile")]
    #[x_kube(validation = Rule::new("self.matches('^0?[.][0-9]+$') && double(self) > 0.0").message("spec.slo[].quantile must be a decimal number between 0 and 1, for example \"0.95\""))]
    #[schemars(length(max = 10))]
    pub quantile: String,
    /// At most so many seconds: a decimal number such as "0.08".
    #[x_kube(validation = Rule::new("self.matches('^[0-9]*[.]?[0-9]+$') && double(self) > 0.0").message("spec.slo[].seconds must be a decimal number above 0, for example \"0.08\""))]
    #[schemars(length(max = 20))]
    pub seconds: String,
}

impl Slo {
    fn default_quantile() -> String {
        "0.95".to_owned()
    }
}

/// Latencies that an objective can be about.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SloMetric {
    /// From the request to the whole answer.
    EndToEnd,
    /// From the request to the first token.
    TimeToFirstToken,
    /// Between two tokens of one answer.
    TimePerOutputToken,
}

/// What one ready replica serves.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Capacity {
    /// Requests per second that one ready replica serves within the SLO: a decimal number such as "12" or "0.5".
    #[x_kube(validation = Rule::new("self.matches('^[0-9]+([.][0-9]+)?$') && double(self) > 0.0").message("spec.capacity.perReplica must be a decimal number above 0, for example \"12\" or \"0.5\""))]
    #[schemars(length(max = 20))]
    pub per_replica: String,
}

/// Weights of the two ways to be wrong.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// Cost of a replica that is missing, above 0; 19 to 1 provides for the 95 % quantile.
    #[serde(default = "Cost::default_late")]
    #[schemars(range(min = 1, max = 100_000))]
    pub late: i32,
    /// Cost of a replica that is idle, above 0.
    #[serde(default = "Cost::default_idle")]
    #[schemars(range(min = 1, max = 100_000))]
    pub idle: i32,
}

impl Cost {
    fn default_late() -> i32 {
        19
    }

    fn default_idle() -> i32 {
        1
    }
}

impl Default for Cost {
    fn default() -> Self {
        Self {
            late: Self::default_late(),
            idle: Self::default_idle(),
        }
    }
}

/// The forecast's part.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ForecastSpec {
    /// false leaves the reactive part alone.
    #[serde(default = "ForecastSpec::default_enabled")]
    pub enabled: bool,
    /// How far to look ahead: Auto (default; the learned start-up time plus a tick) or a duration in seconds, minutes or hours, such as 90s, 5m or 1h; at most 1h.
    #[serde(default = "ForecastSpec::default_horizon")]
    #[x_kube(validation = Rule::new("self == 'Auto' || (self.matches('^[1-9][0-9]{0,3}(s|m|h)$') && duration(self) <= duration('1h'))").message("spec.forecast.horizon must be Auto or a duration of at most 1h, such as 90s, 5m or 1h"))]
    #[schemars(length(max = 8))]
    pub horizon: String,
}

impl ForecastSpec {
    fn default_enabled() -> bool {
        true
    }

    fn default_horizon() -> String {
        "Auto".to_owned()
    }
}

impl Default for ForecastSpec {
    fn default() -> Self {
        Self {
            enabled: Self::default_enabled(),
            horizon: Self::default_horizon(),
        }
    }
}

/// What to do while the load data is stale or missing.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.onMissingData) || self.onMissingData == 'Hold' || has(self.replicas)").message("spec.fallback.replicas is needed when spec.fallback.onMissingData is Replicas or Higher"),
    validation = Rule::new("!has(self.replicas) || (has(self.onMissingData) && self.onMissingData != 'Hold')").message("spec.fallback.replicas has no meaning when spec.fallback.onMissingData is Hold")
)]
pub struct Fallback {
    /// Hold (default), Replicas or Higher.
    #[serde(default)]
    pub on_missing_data: OnMissingData,
    /// The number for Replicas and Higher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100_000))]
    pub replicas: Option<i32>,
}

/// `fallback.onMissingData`.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMissingData {
    /// Keep the replicas as they are.
    #[default]
    Hold,
    /// Go to `replicas`.
    Replicas,
    /// Go to `replicas` when that is more than what is there.
    Higher,
}

#[cfg(test)]
mod tests {
    use kube::CustomResourceExt;

    use super::InferenceScaler;

    #[test]
    fn the_checked_in_definition_is_what_crdgen_prints() {
        let checked_in =
            include_str!("../../../charts/foresail-autoscaler/crds/inferencescalers.yaml");
        let printed = serde_yaml::to_string(&InferenceScaler::crd()).unwrap();
        let (_, body) = checked_in.split_once('\n').unwrap();
        assert_eq!(body, printed, "run `make generate`");
    }
}
