//! The slow expert: boosted trees on what a regression leaves over. Fitted off the hot path, and
//! mixed with the newest regression when a forecast is made. Sees nothing at or after its time.

use serde::{Deserialize, Serialize};

use super::{
    Fitted, Knot, Rung,
    fit::{self, Material},
    predict::center,
    trees::{Forest, LEVELS, Rows, Values},
};
use crate::{series::Series, units::Timestamp};

/// Rows that the trees see, at most: neighbours in time take turns in the horizons.
const ROWS: usize = 24_000;
/// Seconds of the two windows that describe the recent past.
const WINDOWS: [i64; 2] = [900, 3600];

/// Boosted trees on top of the regression that they were fitted with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Boosted {
    /// The regression whose errors the trees describe.
    base: Fitted,
    forest: Forest,
}

impl Boosted {
    /// Everything before it was known to the fit.
    pub fn at(&self) -> Timestamp {
        self.base.at
    }

    /// The regression that the trees stand on.
    pub(super) fn base(&self) -> &Fitted {
        &self.base
    }

    /// For each knot of the regression one logarithm a level of `levels`, at the end of `material`.
    pub(super) fn logs(&self, material: &Material, levels: &[f64]) -> Vec<Vec<f64>> {
        let origin = material.prepared.len();
        let recent = recent(material, origin);
        let mut row = Vec::new();
        let knots = self.base.knots.iter();
        knots
            .map(|knot| {
                let center = features(material, &self.base, knot, origin, &recent, &mut row);
                let values = self.forest.predict(&row);
                let log = |level: &f64| center + at(&values, knot, *level);
                levels.iter().map(log).collect()
            })
            .collect()
    }
}

/// See [`super::fit_boosted`].
pub(super) fn fit(history: &Series, base: &Fitted) -> Option<Boosted> {
    if base.rung < Rung::ShortRegression {
        return None;
    }
    let material = fit::material(history, base)?;
    let end = material.prepared.len();
    let stride = (end * base.knots.len()).div_ceil(ROWS).max(1);
    let (mut rows, mut row, mut columns) = (Rows::default(), Vec::new(), 0);
    for origin in 1..end {
        if base.rung == Rung::Regression && !material.prepared.has_day(origin) {
            continue;
        }
        let recent = recent(&material, origin);
        let turn = |(index, _): &(usize, &Knot)| (index + origin) % stride == 0;
        for (_, knot) in base.knots.iter().enumerate().filter(turn) {
            let Some(target) = material.target(origin + knot.ahead) else {
                continue;
            };
            let center = features(&material, base, knot, origin, &recent, &mut row);
            columns = row.len();
            rows.features.extend_from_slice(&row);
            rows.targets.push(narrow(target - center));
        }
    }
    Some(Boosted {
        base: base.clone(),
        forest: Forest::fit(&rows, columns)?,
    })
}

/// The residual at a level: between the learned levels interpolated, beyond them as far out as the
/// regression's own residuals reach.
fn at(values: &Values, knot: &Knot, level: f64) -> f64 {
    let learned = LEVELS.map(f64::from);
    let beyond =
        |end: usize| f64::from(values[end]) + knot.band.at(level) - knot.band.at(learned[end]);
    let next = learned.partition_point(|learned| *learned < level);
    if next == 0 {
        return beyond(0);
    }
    if next == learned.len() {
        return beyond(next - 1);
    }
    let (low, high) = (f64::from(values[next - 1]), f64::from(values[next]));
    let share = (level - learned[next - 1]) / (learned[next] - learned[next - 1]);
    low + share * (high - low)
}

/// What the measured values of the last windows say, gaps and drops left as they are; all relative
/// to the recent level: the newest, the mean step, the extremes, the spread.
fn recent(material: &Material, origin: usize) -> Vec<f32> {
    let base = material.prepared.base(origin);
    let mut row = vec![narrow(base)];
    for seconds in WINDOWS {
        let steps = usize::try_from(seconds / material.prepared.step()).unwrap_or(1);
        let window: Vec<f64> = (origin.saturating_sub(steps.max(3))..origin)
            .filter_map(|index| material.target(index))
            .map(|log| log - base)
            .collect();
        let count = window.len().max(1) as f64;
        let mean = window.iter().sum::<f64>() / count;
        let square = window.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / count;
        let walk: f64 = window
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).abs())
            .sum();
        let (low, high) = window.iter().fold((0.0_f64, 0.0_f64), |(low, high), log| {
            (low.min(*log), high.max(*log))
        });
        let newest = window.last().copied().unwrap_or(0.0);
        row.extend([newest, walk / count, low, high, square.sqrt()].map(narrow));
    }
    row
}

/// Fills `row` for one origin and one knot; returns what the regression says there.
fn features(
    material: &Material,
    base: &Fitted,
    knot: &Knot,
    origin: usize,
    recent: &[f32],
    row: &mut Vec<f32>,
) -> f64 {
    let prepared = &material.prepared;
    let center = center(prepared, base.rung, knot, origin);
    row.clear();
    row.extend_from_slice(recent);
    row.extend(prepared.levels(origin).map(narrow));
    if base.rung == Rung::Regression {
        row.extend(prepared.lags(origin, knot.ahead).map(narrow));
    }
    row.push(narrow(knot.ahead as f64));
    row.push(narrow(center - prepared.base(origin)));
    row.push(narrow(prepared.phase(origin + knot.ahead)));
    center
}

/// Trees need no more digits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "logarithms and shares are small"
)]
fn narrow(value: f64) -> f32 {
    value as f32
}
