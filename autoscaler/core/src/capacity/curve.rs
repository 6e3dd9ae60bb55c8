//! What one replica serves within its objective, learned from the target's own past: how its latency
//! grows with its rate. Needs pairs of (rate, latency) and nothing else. Never looks ahead.
//!
//! The model: `1/latency = u − v·rate`. It is exact for three kinds of servers that differ in all else:
//! - processor sharing (M/M/1-PS): `W = 1/(μ − x)`;
//! - continuous batching, a step of `a + b·B` seconds for `B` requests and `n` steps a request: with
//!   Little's `B = x·W` the latency is `W = n·a / (1 − n·b·x)`;
//! - dynamic batching, a batch of `B` in `a + b·B` seconds, always full of what came meanwhile:
//!   `t = a / (1 − b·x)`.
//!
//! Beyond some rate queues make every server worse than the model says, so what was seen to be too slow
//! bounds the answer, and nothing is promised far beyond the highest rate that was seen.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Bins of the rate for each doubling.
const BINS: f64 = 6.0;
/// Seconds in which what was seen loses half of its weight: a week, so that all hours of one count.
const HALF_LIFE: f64 = 7.0 * 86_400.0;
/// Weight of a bin that counts, and the weight above which more of the same says nothing new.
const LEAST: f64 = 3.0;
const MOST: f64 = 60.0;
/// How far beyond the highest rate that was good a promise may go.
const BEYOND: f64 = 1.25;
/// Standard errors that the promise keeps away from the curve: one in ten is too high.
const CAUTION: f64 = 1.28;

/// What was seen of the latency at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
struct Bin {
    /// How much was seen, decayed.
    weight: f64,
    /// Mean rate of a replica, requests per second.
    rate: f64,
    /// Mean of 1/latency, 1/s.
    speed: f64,
    /// Weighted sum of squares of 1/latency around its mean.
    spread: f64,
}

impl Bin {
    fn add(&mut self, rate: f64, speed: f64) {
        self.weight += 1.0;
        let change = speed - self.speed;
        self.rate += (rate - self.rate) / self.weight;
        self.speed += change / self.weight;
        self.spread += change * (speed - self.speed);
    }

    fn counts(&self) -> bool {
        self.weight >= LEAST
    }

    /// Both bins as one.
    fn joined(self, other: Self) -> Self {
        let weight = self.weight + other.weight;
        let share = other.weight / weight;
        let apart = other.speed - self.speed;
        Self {
            weight,
            rate: self.rate + (other.rate - self.rate) * share,
            speed: self.speed + apart * share,
            spread: self.spread + other.spread + apart * apart * self.weight * share,
        }
    }
}

/// Latency by rate of one target's replicas, as far as it was seen.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Curve {
    /// By the logarithm of the rate.
    bins: BTreeMap<i32, Bin>,
    /// When the weights were true, in unix seconds.
    at: i64,
}

/// As it is kept: `[bin, weight, rate, speed, spread]`.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Stored {
    at: i64,
    bins: Vec<(i32, f64, f64, f64, f64)>,
}

impl From<Curve> for Stored {
    fn from(curve: Curve) -> Self {
        let row = |(index, bin): (i32, Bin)| (index, bin.weight, bin.rate, bin.speed, bin.spread);
        Self {
            at: curve.at,
            bins: curve.bins.into_iter().map(row).collect(),
        }
    }
}

impl From<Stored> for Curve {
    /// Bins that could not have been learned are left out.
    fn from(stored: Stored) -> Self {
        let sound = |values: [f64; 4]| {
            values
                .iter()
                .all(|value| value.is_finite() && *value >= 0.0)
        };
        let bin = |(index, weight, rate, speed, spread)| {
            let bin = Bin {
                weight,
                rate,
                speed,
                spread,
            };
            sound([weight, rate, speed, spread]).then_some((index, bin))
        };
        Self {
            at: stored.at,
            bins: stored.bins.into_iter().filter_map(bin).collect(),
        }
    }
}

/// What one replica serves within the objective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    /// Requests per second, with caution.
    pub per_replica: f64,
    /// The same without caution: where the middle of the curve meets the objective.
    pub middle: f64,
    /// What bounds it.
    pub bound: Bound,
}

/// What bounds a learned capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bound {
    /// The curve meets the objective there.
    Curve,
    /// At the next higher rate that was seen the objective was missed.
    SeenTooSlow,
    /// No higher rate was seen: it may be able to do more.
    NotSeenYet,
}

impl Curve {
    /// Whether nothing was learned.
    pub fn is_empty(&self) -> bool {
        self.bins.is_empty()
    }

    /// Learns from one step: the rate of a ready replica in requests per second, and the latency in
    /// seconds (the mean, or the objective's quantile: always the same of the two). What is not above 0
    /// and finite teaches nothing.
    pub fn learn(&mut self, now: i64, rate: f64, latency: f64) {
        let usable = |value: f64| value.is_finite() && value > 0.0;
        if !usable(rate) || !usable(latency) || !usable(1.0 / latency) {
            return;
        }
        let age = now.saturating_sub(self.at).max(0) as f64;
        if age > 0.0 {
            let share = 0.5_f64.powf(age / HALF_LIFE);
            for bin in self.bins.values_mut() {
                bin.weight *= share;
                bin.spread *= share;
            }
            self.bins.retain(|_, bin| bin.weight > 0.05);
            self.at = now;
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a logarithm of a finite number"
        )]
        let index = (rate.log2() * BINS).floor() as i32;
        self.bins.entry(index).or_default().add(rate, 1.0 / latency);
    }

    /// What one replica serves within `objective` seconds; `None` before anything was seen often enough.
    pub fn capacity(&self, objective: f64) -> Option<Learned> {
        let needed = 1.0 / objective;
        if !needed.is_finite() || needed <= 0.0 {
            return None;
        }
        let seen = falling(self.bins.values().filter(|bin| bin.counts()).copied());
        let good = seen.iter().rfind(|bin| bin.speed >= needed);
        let slow = seen.iter().find(|bin| bin.speed < needed);
        let lowest = seen.first()?;
        let Some(good) = good else {
            // Too slow at every rate that was seen: by the model's steepest case, down to nothing.
            let per_replica = lowest.rate * lowest.speed / needed;
            return Some(Learned {
                per_replica,
                middle: per_replica,
                bound: Bound::SeenTooSlow,
            });
        };
        let line = Line::through(&seen, needed);
        let (most, far) = match slow {
            // Between the two, where a straight line from one to the other meets the objective.
            Some(slow) => {
                let share = (good.speed - needed) / (good.speed - slow.speed);
                let rate = good.rate + (slow.rate - good.rate) * share;
                (rate, Bound::SeenTooSlow)
            }
            None => (good.rate * BEYOND, Bound::NotSeenYet),
        };
        let least = lowest.rate.min(good.rate);
        let middle = line.meets(needed, 0.0, least, most);
        let per_replica = line.meets(needed, CAUTION, least, most);
        // Less by rounding alone is not less.
        let bound = if per_replica < most * (1.0 - 1e-9) {
            Bound::Curve
        } else {
            far
        };
        Some(Learned {
            per_replica,
            middle,
            bound,
        })
    }
}

/// Neighbours joined until the speed falls from bin to bin: a server is not faster when it has more to do.
fn falling(bins: impl Iterator<Item = Bin>) -> Vec<Bin> {
    let mut kept: Vec<Bin> = Vec::new();
    for mut bin in bins {
        while let Some(before) = kept.pop_if(|before| before.speed < bin.speed) {
            bin = before.joined(bin);
        }
        kept.push(bin);
    }
    kept
}

/// The line `speed = top − slope·rate` with its uncertainty.
struct Line {
    top: f64,
    slope: f64,
    /// Mean rate, weight, sum of squares of the rate around its mean, and variance of the noise.
    center: f64,
    weight: f64,
    width: f64,
    noise: f64,
}

impl Line {
    /// Least squares over what is fast enough, or nearly: beyond that, queues rule and not the line.
    fn through(seen: &[Bin], needed: f64) -> Self {
        let near: Vec<(f64, &Bin)> = (seen.iter())
            .filter(|bin| bin.speed >= 0.5 * needed)
            .map(|bin| (bin.weight.min(MOST), bin))
            .collect();
        let weight: f64 = near.iter().map(|(weight, _)| weight).sum();
        let mean = |pick: fn(&Bin) -> f64| {
            near.iter()
                .map(|(weight, bin)| weight * pick(bin))
                .sum::<f64>()
                / weight
        };
        let (center, height) = (mean(|bin| bin.rate), mean(|bin| bin.speed));
        let mut width = 0.0;
        let mut along = 0.0;
        for (weight, bin) in &near {
            width += weight * (bin.rate - center).powi(2);
            along += weight * (bin.rate - center) * (bin.speed - height);
        }
        let slope = if width > 0.0 {
            (-along / width).max(0.0)
        } else {
            0.0
        };
        let top = height + slope * center;
        let residual: f64 = (near.iter())
            .map(|(weight, bin)| {
                let miss = bin.speed - (top - slope * bin.rate);
                weight * (miss * miss + bin.spread / bin.weight)
            })
            .sum();
        Self {
            top,
            slope,
            center,
            weight,
            width,
            noise: residual / (weight - 2.0).max(1.0),
        }
    }

    /// The highest rate between `least` and `most` at which the speed, less `caution` standard errors of
    /// the line, is `needed`.
    fn meets(&self, needed: f64, caution: f64, least: f64, most: f64) -> f64 {
        let enough = |rate: f64| {
            let off = (rate - self.center).powi(2);
            let apart = if self.width > 0.0 {
                off / self.width
            } else {
                0.0
            };
            let error = (self.noise * (1.0 / self.weight + apart)).sqrt();
            self.top - self.slope * rate - caution * error >= needed
        };
        if enough(most) {
            return most;
        }
        let (mut low, mut high) = (least, most);
        if !enough(low) {
            return low;
        }
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if enough(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests;
