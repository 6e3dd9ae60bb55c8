//! HPA's behavior block with exactly HPA's semantics: tolerance, stabilization windows on
//! recommendations, and rate policies on what was carried out.
//! Source: kubernetes/kubernetes pkg/controller/podautoscaler/horizontal.go, pkg/apis/autoscaling/v2/defaults.go.

mod rate;
mod window;

use serde::{Deserialize, Serialize};

pub use rate::{lower_limit, upper_limit};
pub use window::stabilise;

/// Both directions. The default is HPA's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Behavior {
    /// Rules for more replicas.
    pub scale_up: Rules,
    /// Rules for fewer replicas.
    pub scale_down: Rules,
}

impl Behavior {
    /// Whether a ratio of what is needed to what is there is too close to 1 to act on.
    pub fn tolerates(&self, ratio: f64) -> bool {
        1.0 - self.scale_down.tolerance <= ratio && ratio <= 1.0 + self.scale_up.tolerance
    }

    /// Seconds for which recommendations are kept.
    pub fn longest_window(&self) -> i64 {
        self.scale_up
            .stabilization_window_seconds
            .max(self.scale_down.stabilization_window_seconds)
    }

    /// Seconds for which scale events are kept.
    pub fn longest_period(&self) -> i64 {
        let policies = self
            .scale_up
            .policies
            .iter()
            .chain(&self.scale_down.policies);
        policies
            .map(|policy| policy.period_seconds)
            .max()
            .unwrap_or(0)
    }
}

/// Rules of one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Seconds of recommendations to look back on, 0 to 3600.
    pub stabilization_window_seconds: i64,
    /// Which of several policies counts.
    pub select_policy: SelectPolicy,
    /// At least one.
    pub policies: Vec<RatePolicy>,
    /// Relative difference that is not acted on, for example 0.1; at least 0.
    pub tolerance: f64,
}

/// `selectPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SelectPolicy {
    /// The policy that allows the largest change.
    Max,
    /// The policy that allows the smallest change.
    Min,
    /// No change in this direction.
    Disabled,
}

/// One rate policy: at most `value` pods or per cent in `period_seconds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatePolicy {
    /// Pods or per cent.
    pub kind: RateKind,
    /// Above 0.
    pub value: u32,
    /// 1 to 1800.
    pub period_seconds: i64,
}

/// `type` of a rate policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RateKind {
    /// A number of pods.
    Pods,
    /// A share of the replicas at the start of the period.
    Percent,
}

impl Default for Behavior {
    fn default() -> Self {
        let policy = |kind, value| RatePolicy {
            kind,
            value,
            period_seconds: 15,
        };
        Self {
            scale_up: Rules {
                stabilization_window_seconds: 0,
                select_policy: SelectPolicy::Max,
                policies: vec![policy(RateKind::Pods, 4), policy(RateKind::Percent, 100)],
                tolerance: 0.1,
            },
            scale_down: Rules {
                stabilization_window_seconds: 300,
                select_policy: SelectPolicy::Max,
                policies: vec![policy(RateKind::Percent, 100)],
                tolerance: 0.1,
            },
        }
    }
}

#[cfg(test)]
mod tests;
