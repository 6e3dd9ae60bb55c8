//! Knative's pod autoscaler on requests per second. Source: knative/serving
//! `pkg/autoscaler/scaling/autoscaler.go`: a look every 2 s, a stable window of 60 s, a panic window of a tenth of it.

use autoscaler_core::capacity::replicas_for;

use super::{Policy, Seen, rules::Bounds};

const STABLE: f64 = 60.0;
const PANIC: f64 = 6.0;
/// Panic when the short window asks for so many times what is Ready.
const THRESHOLD: f64 = 2.0;

/// The autoscaler with its panic.
pub struct Kpa {
    bounds: Bounds,
    target: f64,
    /// When the panic was last renewed, in unix seconds, and the most that was asked for in it.
    panic: Option<(i64, u32)>,
}

impl Kpa {
    /// With the requests per second that a pod is filled with (70 % of what it can).
    pub fn new(bounds: Bounds, target: f64) -> Self {
        Self {
            bounds,
            target,
            panic: None,
        }
    }
}

impl Policy for Kpa {
    fn period(&self) -> f64 {
        2.0
    }

    fn decide(&mut self, seen: &Seen<'_>) -> u32 {
        let ready = seen.ready.max(1);
        // At most a thousandfold up and half down.
        let (most, least) = (ready.saturating_mul(1000), ready / 2);
        let pods = |seconds: f64| {
            replicas_for((seen.counted)(seconds), self.target)
                .0
                .clamp(least, most)
        };
        let (stable, short) = (pods(STABLE), pods(PANIC));
        if f64::from(short) / f64::from(ready) >= THRESHOLD {
            let most = self.panic.map_or(0, |(_, most)| most);
            self.panic = Some((seen.now.0, most));
        } else if self
            .panic
            .is_some_and(|(since, _)| (seen.now.0 - since) as f64 > STABLE)
        {
            self.panic = None;
        }
        let wanted = match &mut self.panic {
            Some((_, most)) => {
                *most = (*most).max(stable).max(short);
                *most
            }
            None => stable,
        };
        wanted.clamp(self.bounds.min.max(1), self.bounds.max)
    }
}
