//! Scores of quantile forecasts against what came: pinball loss, coverage, skill. Used inside a fit
//! (held-out origins) and by `foresail backtest` (rolling origins).

use super::{Context, Forecast, Knot, Rung, band::Band, fit::Material, fit_up_to, predict::center};
use crate::{
    series::Series,
    units::{Level, Timestamp},
};

/// Levels of the weighted quantile loss.
pub const LOSS_LEVELS: [f64; 3] = [0.5, 0.9, 0.95];

/// What a band of past residuals is multiplied by before anything is known: the future differs from
/// the past by more than the past does from itself.
pub(super) const WIDER: f64 = 1.15;
/// At most by this.
const WIDEST: f64 = 1.6;
/// Step an hour of the logarithm of the factor, for each share of values missed.
const RATE: f64 = 0.02;

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
    /// Origin, and how far a held-out value lay under and over the median, in distances from the
    /// median to the 5 % and the 95 % level.
    reaches: Vec<(usize, f64, f64)>,
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

    /// Notes how far the held-out residuals of a band of older ones reach.
    pub(super) fn reach(&mut self, band: &Band, held_out: impl Iterator<Item = (usize, f64)>) {
        let median = band.at(0.5);
        let (below, above) = (median - band.at(0.05), band.at(0.95) - median);
        if below <= 0.0 || above <= 0.0 {
            return;
        }
        self.reaches.extend(held_out.map(|(origin, residual)| {
            (
                origin,
                (median - residual) / below,
                (residual - median) / above,
            )
        }));
    }

    /// What the band is to be multiplied by below and above the median: from `start` it
    /// goes a small step out after an origin whose values were missed and in after one whose were
    /// not (adaptive conformal inference, Gibbs and Candès 2021). `hours` lie between two origins.
    pub(super) fn scale(&mut self, start: f64, hours: f64) -> (f64, f64) {
        self.reaches.sort_by_key(|(origin, _, _)| *origin);
        let mut scale = (start, start);
        for group in self.reaches.chunk_by(|left, right| left.0 == right.0) {
            let missed = |out: &dyn Fn(&(usize, f64, f64)) -> bool| {
                group.iter().filter(|reach| out(reach)).count() as f64 / group.len() as f64
            };
            let (below, above) = (
                missed(&|reach| reach.1 > scale.0),
                missed(&|reach| reach.2 > scale.1),
            );
            let step = |missed: f64| (RATE * hours * (missed - 0.05)).exp();
            scale = (scale.0 * step(below), scale.1 * step(above));
        }
        (scale.0.clamp(1.0, WIDEST), scale.1.clamp(1.0, WIDEST))
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
    if plan.highest == Rung::Mixture
        && let Some(boosted) = super::fit_boosted(&history, &fitted)
    {
        return fitted.predict_mixed(&boosted, &history, origin, steps, &plan.levels);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The factors after `hours` of held-out values that all lay at this residual.
    fn scale(residual: f64, hours: usize) -> (f64, f64) {
        let band = Band::normal(1.0);
        let mut held_out = HeldOut::default();
        held_out.reach(&band, (0..hours).map(|hour| (hour, residual)));
        held_out.scale(WIDER, 1.0)
    }

    #[test]
    fn the_band_widens_where_it_was_missed_and_never_shrinks_below_its_residuals() {
        let (below, above) = scale(5.0, 10);
        assert!(above > WIDER && below < WIDER, "{below} {above}");
        let (below, above) = scale(-5.0, 10);
        assert!(below > WIDER && above < WIDER, "{below} {above}");
        assert_eq!(scale(0.0, 10_000), (1.0, 1.0));
        assert!(scale(50.0, 1000).1 <= WIDEST);
        assert_eq!(scale(0.0, 0), (WIDER, WIDER));
    }
}
