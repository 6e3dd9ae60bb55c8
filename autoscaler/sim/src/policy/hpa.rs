//! The HPA on an external metric with `AverageValue`, by the same behavior code as Foresail's.
//! Source: kubernetes/kubernetes `pkg/controller/podautoscaler/replica_calculator.go`.

use autoscaler_core::{
    capacity::replicas_for,
    decide::{
        self, Needs, Situation,
        behavior::{RateKind, RatePolicy},
    },
    memory::TargetMemory,
    series::Quality,
    snapshot::{Policy, ReplicaCounts},
    units::{Replicas, Timestamp},
};

/// An HPA with its windows.
#[derive(Clone, Debug)]
pub struct Hpa {
    policy: Policy,
    average_value: f64,
    memory: TargetMemory,
}

impl Hpa {
    /// An HPA with these bounds and this behavior, and its `averageValue` in requests per second.
    pub fn new(policy: Policy, average_value: f64) -> Self {
        Self {
            average_value,
            policy,
            memory: TargetMemory::default(),
        }
    }

    /// An HPA as it was before its behavior block: no rate but doubling (at least 4), and no window up.
    pub fn without_behavior(mut policy: Policy, average_value: f64) -> Self {
        let rate = |kind, value| RatePolicy {
            kind,
            value,
            period_seconds: 1,
        };
        policy.behavior.scale_up.policies =
            vec![rate(RateKind::Pods, 4), rate(RateKind::Percent, 100)];
        policy.behavior.scale_down.policies = vec![rate(RateKind::Percent, 100)];
        Self::new(policy, average_value)
    }

    /// Replicas to ask for at `now` with `rate` requests per second over the last minute.
    pub fn decide_on(&mut self, now: Timestamp, rate: f64, desired: u32, ready: u32) -> u32 {
        let behavior = &self.policy.behavior;
        self.memory
            .prune(now, behavior.longest_window(), behavior.longest_period());
        let needs = Needs {
            demand: rate,
            capacity: Some(self.average_value),
            reactive: replicas_for(rate, self.average_value),
            forecast: None,
            skilled: true,
        };
        let verdict = decide::decide(
            &Situation {
                policy: &self.policy,
                replicas: ReplicaCounts::of(desired, ready),
                problem: false,
                quality: Quality::Ok,
                warming_up: false,
                recommendations: &self.memory.recommendations,
                scale_events: &self.memory.scale_events,
                now,
            },
            &needs,
        );
        if let Some(recommended) = verdict.recommendation {
            self.memory.recommend(now, recommended);
        }
        let to = verdict.to.0;
        if to != desired {
            self.memory
                .record_scaled(Replicas(desired), verdict.to, now);
        }
        to
    }
}

impl super::Policy for Hpa {
    /// Without a metric an HPA changes nothing.
    fn decide(&mut self, seen: &super::Seen<'_>) -> u32 {
        match seen.rate {
            Some(rate) => self.decide_on(seen.now, rate, seen.desired, seen.ready),
            None => seen.desired,
        }
    }
}
