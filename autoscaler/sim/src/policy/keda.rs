//! KEDA with a Prometheus trigger: an HPA on an external metric, and KEDA's own ways without data.
//! Source: kedacore/keda `pkg/scalers/prometheus_scaler.go` (`ignoreNullValues` is true by default: no series
//! counts as 0) and `pkg/fallback/fallback.go`.

use autoscaler_core::snapshot::Policy as Wish;

use super::{Policy, Seen, hpa::Hpa};

/// Failures in a row after which the fallback counts (`failureThreshold` of KEDA's examples).
const THRESHOLD: u32 = 3;

/// An HPA fed by KEDA.
pub struct Keda {
    hpa: Hpa,
    average_value: f64,
    fallback: Option<u32>,
    failures: u32,
}

impl Keda {
    /// With `fallback` replicas and `ignoreNullValues: false`, or with KEDA's defaults.
    pub fn new(wish: Wish, average_value: f64, fallback: Option<u32>) -> Self {
        Self {
            hpa: Hpa::new(wish, average_value),
            average_value,
            fallback,
            failures: 0,
        }
    }
}

impl Policy for Keda {
    fn decide(&mut self, seen: &Seen<'_>) -> u32 {
        self.failures = if seen.rate.is_some() {
            0
        } else {
            self.failures + 1
        };
        let metric = match (seen.rate, self.fallback) {
            (Some(rate), _) => Some(rate),
            (None, None) => Some(0.0),
            (None, Some(replicas)) => {
                (self.failures > THRESHOLD).then(|| f64::from(replicas) * self.average_value)
            }
        };
        let Some(metric) = metric else {
            return seen.desired;
        };
        self.hpa
            .decide_on(seen.now, metric, seen.desired, seen.ready)
    }
}
