//! Scores of quantile forecasts against what came: pinball loss, coverage, skill. Used inside a fit
//! (held-out origins) and by `foresail backtest` (rolling origins).

use super::{Context, Forecast, Knot, Rung, band::Band, fit::Material, fit_up_to, predict::center};
use crate::{
    series::Series,
    units::{Level, Timestamp},
};

/// Levels of the weighted quantile loss.
pub const LOSS_LEVELS: [f64; 3] = [0.5, 0.9, 0.95];

/// Loss of a quantile forecast for one value: `max(level·(y−q), (level−1)·(y−q))`.
pub fn pinball(level: f64, forecast: f64, actual: f64) -> f64 {
    let miss = actual - forecast;
    (level * miss).max((level - 1.0) * miss)
}

/// Losses on held-out origins during a fit.
#[derive(Default)]
pub(super) struct HeldOut {
    model: f64,
    naive: f64,
    inside: usize,
    count: usize,
}

impl HeldOut {
    /// Adds the held-out origins `new` of one knot, fitted on the origins `old`.
    pub(super) fn add(&mut self, material: &Material, knot: &Knot, old: &[usize], new: &[usize]) {
        let miss = |origin: usize| {
            Some(
                material.target(origin + knot.ahead)?
                    - material.prepared.yesterday(origin, knot.ahead)?,
            )
        };
        let Some(naive_band) =
            Band::from_residuals(old.iter().filter_map(|origin| miss(*origin)).collect())
        else {
            return;
        };
        let natural = |log: f64| (log.min(50.0).exp() - material.offset).max(0.0);
        for origin in new {
            let index = origin + knot.ahead;
            let (Some(Some(actual)), Some(naive)) = (
                material.values.get(index),
                material.prepared.yesterday(*origin, knot.ahead),
            ) else {
                continue;
            };
            let middle = center(&material.prepared, Rung::Regression, knot, *origin);
            for level in LOSS_LEVELS {
                self.model += pinball(level, natural(middle + knot.band.at(level)), *actual);
                self.naive += pinball(level, natural(naive + naive_band.at(level)), *actual);
            }
            let (low, high) = (
                natural(middle + knot.band.at(0.05)),
                natural(middle + knot.band.at(0.95)),
            );
            self.inside += usize::from(low <= *actual && *actual <= high);
            self.count += 1;
        }
    }

    /// 1 − loss/loss of the seasonal naive; `None` without held-out values or with a perfect naive.
    pub(super) fn skill(&self) -> Option<f64> {
        (self.count > 0 && self.naive > 0.0).then(|| 1.0 - self.model / self.naive)
    }

    /// Share of values inside the 90 % interval.
    pub(super) fn coverage(&self) -> Option<f64> {
        (self.count > 0).then(|| self.inside as f64 / self.count as f64)
    }
}

/// What a backtest is asked for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Seconds of history that each origin sees.
    pub history: i64,
    /// Seconds ahead.
    pub horizon: i64,
    /// Levels of the forecast, rising.
    pub levels: Vec<Level>,
    /// The highest rung that may be used.
    pub highest: Rung,
    /// Zone of the load's days.
    pub time_zone: jiff::tz::TimeZone,
}

/// The forecast at one origin, fitted on what was known then and nothing else.
pub fn at_origin(series: &Series, origin: Timestamp, plan: &Plan) -> Option<Forecast> {
    let from = origin.plus(-plan.history).max(series.start);
    let skipped = series.between(series.start, from).len();
    let known = series.between(series.start, origin).len();
    let history = Series {
        start: series.time(skipped),
        step: series.step,
        values: series.values.get(skipped..known)?.to_vec(),
    };
    let context = Context {
        time_zone: plan.time_zone.clone(),
        exclude: Vec::new(),
        horizon: plan.horizon,
    };
    let fitted = fit_up_to(&history, origin, &context, plan.highest);
    let steps = usize::try_from(plan.horizon / series.step).ok()?;
    fitted.predict(&history, origin, steps, &plan.levels)
}

/// Scores of one series over its origins.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// Sum of the pinball losses over [`LOSS_LEVELS`].
    loss: f64,
    /// Sum of |y| of the values scored.
    size: f64,
    /// Sum of |error| of the median.
    error: f64,
    inside: usize,
    count: usize,
    /// Forecasts made.
    pub origins: usize,
}

impl Score {
    /// Adds a forecast; values that never came are not scored. Levels that the forecast lacks are
    /// taken from the nearest one it has.
    pub fn add(&mut self, forecast: &Forecast, series: &Series) {
        let end = forecast
            .origin
            .plus(forecast.step * i64::try_from(forecast.values.len()).unwrap_or(0));
        let actual = series.between(forecast.origin, end);
        self.origins += 1;
        for (row, actual) in forecast.values.iter().zip(actual) {
            let Some(actual) = actual else { continue };
            let at = |level: f64| {
                let nearest = |(_, left): &(usize, &Level), (_, right): &(usize, &Level)| {
                    (left.get() - level)
                        .abs()
                        .total_cmp(&(right.get() - level).abs())
                };
                let index = forecast
                    .levels
                    .iter()
                    .enumerate()
                    .min_by(nearest)
                    .map_or(0, |(index, _)| index);
                row.get(index).copied().unwrap_or(0.0)
            };
            self.loss += LOSS_LEVELS
                .iter()
                .map(|level| 2.0 * pinball(*level, at(*level), *actual))
                .sum::<f64>();
            self.size += actual.abs();
            self.error += (actual - at(0.5)).abs();
            self.inside += usize::from(at(0.05) <= *actual && *actual <= at(0.95));
            self.count += 1;
        }
    }

    /// Weighted quantile loss: mean over the levels of 2·Σpinball/Σ|y|.
    pub fn wql(&self) -> Option<f64> {
        (self.size > 0.0).then(|| self.loss / LOSS_LEVELS.len() as f64 / self.size)
    }

    /// Mean absolute error of the median, in the unit of the series.
    pub fn mean_error(&self) -> Option<f64> {
        (self.count > 0).then(|| self.error / self.count as f64)
    }

    /// Share of values inside the 5 % … 95 % levels.
    pub fn coverage(&self) -> Option<f64> {
        (self.count > 0).then(|| self.inside as f64 / self.count as f64)
    }
}
