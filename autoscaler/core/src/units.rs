//! Units and identifiers as types of their own, so that seconds are never added to replicas.
//! Values are checked where they enter; inside the core they are always sound.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A point in time: whole seconds since 1970-01-01T00:00:00Z.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// This time `seconds` later (earlier when negative); saturates at the ends of `i64`.
    #[must_use]
    pub fn plus(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds))
    }

    /// Seconds from `earlier` to this time; negative when `earlier` is later.
    pub fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC; the bare number when it lies outside the calendar.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_second(self.0) {
            Ok(time) => write!(f, "{time}"),
            Err(_) => write!(f, "{}", self.0),
        }
    }
}

/// A number of replicas of a target.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Replicas(pub u32);

impl fmt::Display for Replicas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One scaled object, by its `InferenceScaler`: shown as `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TargetId {
    /// Namespace of the `InferenceScaler` and of what it scales.
    pub namespace: String,
    /// Name of the `InferenceScaler`.
    pub name: String,
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A quantile level, strictly between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Level(f64);

impl Level {
    /// One half.
    pub const MEDIAN: Self = Self(0.5);
    /// Nineteen of twenty: what a late request at 19 times the cost of an idle replica asks for.
    pub const P95: Self = Self(0.95);

    /// `None` unless `0 < level < 1`.
    pub fn new(level: f64) -> Option<Self> {
        (level > 0.0 && level < 1.0).then_some(Self(level))
    }

    /// The level as a number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Level {
    type Error = String;

    fn try_from(level: f64) -> Result<Self, String> {
        Self::new(level)
            .ok_or_else(|| format!("a quantile level lies between 0 and 1, not {level}"))
    }
}

impl From<Level> for f64 {
    fn from(level: Level) -> f64 {
        level.0
    }
}
