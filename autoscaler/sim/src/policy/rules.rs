//! Simple rules that every comparison needs: fixed peak, the maximum of the last quarter of an hour, the
//! same time yesterday, and the oracle. Source of the rules: the closed-loop comparison of forecasts.

use autoscaler_core::capacity::replicas_for;

use super::{Policy, Seen};
use crate::replay::BEGIN;

/// Fewest and most replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// At least.
    pub min: u32,
    /// At most.
    pub max: u32,
}

impl Bounds {
    /// Replicas for a rate within the bounds.
    pub fn replicas(self, rate: f64, capacity: f64) -> u32 {
        replicas_for(rate, capacity).0.clamp(self.min, self.max)
    }
}

/// What the highest minute needs, always.
pub struct FixedPeak(u32);

impl FixedPeak {
    /// Knows the rates to come.
    pub fn new(bounds: Bounds, capacity: f64, rates: &[f64]) -> Self {
        let highest = rates.iter().copied().fold(0.0, f64::max);
        Self(bounds.replicas(highest, capacity))
    }
}

impl Policy for FixedPeak {
    fn decide(&mut self, _: &Seen<'_>) -> u32 {
        self.0
    }
}

/// The highest minute of the last fifteen.
pub struct ReactiveMax {
    bounds: Bounds,
    capacity: f64,
}

impl ReactiveMax {
    /// With what one replica is filled with.
    pub fn new(bounds: Bounds, capacity: f64) -> Self {
        Self { bounds, capacity }
    }
}

impl Policy for ReactiveMax {
    fn decide(&mut self, seen: &Seen<'_>) -> u32 {
        let last = seen.minutes.iter().rev().take(15).flatten().copied();
        let highest = last.chain(seen.rate).fold(f64::NAN, f64::max);
        if highest.is_nan() {
            return seen.desired;
        }
        self.bounds.replicas(highest, self.capacity)
    }
}

/// The highest minute of yesterday's next quarter of an hour, beginning when a start would end.
pub struct SeasonalNaive {
    bounds: Bounds,
    capacity: f64,
    startup: f64,
}

impl SeasonalNaive {
    /// With the seconds that a start takes.
    pub fn new(bounds: Bounds, capacity: f64, startup: f64) -> Self {
        Self {
            bounds,
            capacity,
            startup,
        }
    }
}

impl Policy for SeasonalNaive {
    fn decide(&mut self, seen: &Seen<'_>) -> u32 {
        let from = (seen.minutes.len() + minutes(self.startup)).checked_sub(1440);
        let yesterday = from
            .and_then(|from| seen.minutes.get(from..))
            .unwrap_or_default();
        let highest = yesterday
            .iter()
            .take(15)
            .flatten()
            .copied()
            .fold(f64::NAN, f64::max);
        match (highest.is_nan(), seen.rate) {
            (false, _) => self.bounds.replicas(highest, self.capacity),
            (true, Some(rate)) => self.bounds.replicas(rate, self.capacity),
            (true, None) => seen.desired,
        }
    }
}

/// Sees the future: what the highest minute needs from now until a start that begins now would end.
pub struct Oracle {
    bounds: Bounds,
    capacity: f64,
    rates: Vec<f64>,
    startup: f64,
}

impl Oracle {
    /// Knows the rates to come.
    pub fn new(bounds: Bounds, capacity: f64, rates: &[f64], startup: f64) -> Self {
        Self {
            bounds,
            capacity,
            rates: rates.to_vec(),
            startup,
        }
    }
}

impl Policy for Oracle {
    fn decide(&mut self, seen: &Seen<'_>) -> u32 {
        let minute = usize::try_from((seen.now.0 - BEGIN) / 60).unwrap_or(0);
        let end = (minute + minutes(self.startup) + 2).min(self.rates.len());
        let ahead = self.rates.get(minute.min(end)..end).unwrap_or_default();
        let highest = ahead.iter().copied().fold(0.0, f64::max);
        self.bounds.replicas(highest, self.capacity)
    }
}

/// Whole minutes that hold so many seconds.
fn minutes(seconds: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be 0 to a day"
    )]
    let minutes = (seconds / 60.0).ceil() as usize;
    minutes
}
