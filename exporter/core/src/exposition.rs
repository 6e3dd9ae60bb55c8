//! Prometheus' text format 0.0.4, both ways.

use std::collections::BTreeMap;

pub mod parse;

pub mod text;

pub use parse::{ParseError, parse};

/// One sample of an exposition.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Metric name, for histograms with its suffix.
    pub name: String,
    /// Labels without the name.
    pub labels: BTreeMap<String, String>,
    /// May be NaN or infinite, as sources do send that.
    pub value: f64,
    /// Unix milliseconds, where the source stamps its samples.
    pub timestamp: Option<i64>,
}

/// Whether `name` may name a metric: letters, digits, `_` and `:`, no digit first.
pub(crate) fn is_metric_name(name: &str) -> bool {
    is_name(name, true)
}

/// Whether `name` may name a label: as a metric's, without `:`.
pub(crate) fn is_label_name(name: &str) -> bool {
    is_name(name, false)
}

fn is_name(name: &str, colon: bool) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || (colon && c == ':');
    !name.is_empty() && name.chars().all(allowed) && !name.starts_with(|c: char| c.is_ascii_digit())
}
