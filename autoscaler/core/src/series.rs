//! A signal over time on an even grid, and how far it can be trusted. A gap is `None`, never zero.

pub mod clean;
pub mod increase;

use serde::{Deserialize, Serialize};

use crate::units::Timestamp;

/// Values on an even grid. `values[i]` belongs to the step that starts at `start + i * step`.
/// A value is finite and not negative; `None` is a gap (no data, which is not zero).
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Series {
    /// Start of the first step.
    pub start: Timestamp,
    /// Length of a step in seconds, at least 1.
    pub step: i64,
    /// One value a step, in the unit of the signal (load: requests per second).
    pub values: Vec<Option<f64>>,
}

impl Series {
    /// Start of step `index`.
    pub fn time(&self, index: usize) -> Timestamp {
        self.start.plus(
            i64::try_from(index)
                .unwrap_or(i64::MAX)
                .saturating_mul(self.step),
        )
    }

    /// End of the last step: the first moment about which the series says nothing.
    pub fn end(&self) -> Timestamp {
        self.time(self.values.len())
    }

    /// The newest value that is not a gap, with the start of its step.
    pub fn latest(&self) -> Option<(Timestamp, f64)> {
        let index = self.values.iter().rposition(Option::is_some)?;
        Some((self.time(index), self.values[index]?))
    }

    /// Values whose step starts in `[from, to)`, gaps included.
    pub fn between(&self, from: Timestamp, to: Timestamp) -> &[Option<f64>] {
        let index = |time: Timestamp| {
            let steps = time.since(self.start).div_euclid(self.step.max(1))
                + i64::from(time.since(self.start).rem_euclid(self.step.max(1)) != 0);
            usize::try_from(steps).unwrap_or(0).min(self.values.len())
        };
        let (first, last) = (index(from), index(to));
        &self.values[first..last.max(first)]
    }
}

/// How far a signal can be trusted at the moment of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Quality {
    /// Fresh, and complete enough to decide on.
    Ok,
    /// Fresh, and truly zero: the source is alive and reports no traffic.
    Idle,
    /// Fresh, but part of it is missing: only an increase may follow from it.
    Partial,
    /// The newest sample is older than the limit: nothing may be lowered.
    Stale,
    /// There is no sample at all, or the source failed: nothing may be lowered.
    Missing,
}

impl Quality {
    /// Whether a decision to lower anything may rest on this signal.
    pub fn may_lower(self) -> bool {
        matches!(self, Self::Ok | Self::Idle)
    }

    /// The name as it stands in status, metrics and pages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "Ok",
            Self::Idle => "Idle",
            Self::Partial => "Partial",
            Self::Stale => "Stale",
            Self::Missing => "Missing",
        }
    }
}
