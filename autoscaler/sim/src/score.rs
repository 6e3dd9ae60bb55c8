//! What came of a run: latencies, lateness, what it cost, and how restless it was.

use serde::Serialize;

/// Buckets of latency for each factor of ten, from 0.1 ms.
const FINE: f64 = 100.0;
const LEAST: f64 = 1e-4;
const BUCKETS: usize = 900;

/// Latencies by count, 2.3 % wide each: enough for a quantile, and of one size whatever comes.
#[derive(Clone, Debug)]
pub struct Latencies {
    counts: Vec<u64>,
    total: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        Self {
            counts: vec![0; BUCKETS],
            total: 0,
        }
    }
}

impl Latencies {
    /// Counts one latency in seconds.
    pub fn add(&mut self, seconds: f64) {
        let place = ((seconds / LEAST).max(1.0).log10() * FINE).floor();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small number above 0"
        )]
        let place = (place as usize).min(BUCKETS - 1);
        self.counts[place] += 1;
        self.total += 1;
    }

    /// The latency in seconds that a share of `level` stays below; `None` without any.
    pub fn quantile(&self, level: f64) -> Option<f64> {
        let rank = level * self.total as f64;
        let mut below = 0;
        for (place, count) in self.counts.iter().enumerate() {
            below += count;
            if below > 0 && below as f64 >= rank {
                return Some(LEAST * 10_f64.powf((place as f64 + 0.5) / FINE));
            }
        }
        None
    }
}

/// The score of one policy; shapes and units are part of the output of `foresail simulate --format json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Score {
    /// Requests that arrived.
    pub arrived: u64,
    /// Requests that were answered before the end.
    pub answered: u64,
    /// Requests that were answered after the objective, or not at all though it had passed.
    pub late: u64,
    /// Seconds of ticks in which more than one in a hundred answers was late.
    pub violation_seconds: f64,
    /// Median latency in seconds.
    pub p50_seconds: Option<f64>,
    /// 99 % quantile of the latency in seconds.
    pub p99_seconds: Option<f64>,
    /// Hours of GPUs held, start-up and drain included; one GPU a replica.
    pub gpu_hours: f64,
    /// Share of the held time in which replicas worked.
    pub utilization: f64,
    /// Energy in kWh, by idle and busy power.
    pub energy_kwh: f64,
    /// Changes of the number that is asked for.
    pub changes: u32,
    /// Changes against the one before it within ten minutes.
    pub reversals: u32,
    /// Events of the simulation.
    pub events: u64,
}

impl Score {
    /// Late requests among those that arrived; 0 before the first.
    pub fn late_share(&self) -> f64 {
        if self.arrived == 0 {
            0.0
        } else {
            self.late as f64 / self.arrived as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_bucket() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.quantile(0.5), None);
        for millisecond in 1..=1000 {
            latencies.add(f64::from(millisecond) / 1000.0);
        }
        for (level, expected) in [(0.5, 0.5), (0.99, 0.99), (1.0, 1.0)] {
            let found = latencies.quantile(level).unwrap();
            assert!((found / expected - 1.0).abs() < 0.024, "{level}: {found}");
        }
        latencies.add(0.0);
        latencies.add(1e12);
    }
}
