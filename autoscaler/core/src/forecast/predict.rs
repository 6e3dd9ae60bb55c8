//! From a fitted model and the newest history to quantiles. Reads nothing at or after the origin.

use super::{Fitted, Forecast, Knot, Rung, features::Prepared, ridge};
use crate::{
    series::{Series, clean},
    units::{Level, Timestamp},
};

/// Seconds of history that features look back on: the longest lag and its window, and a day for the
/// averages to forget where they began.
const LOOK_BACK: i64 = 8 * 86_400;
/// A forecast never exceeds this multiple of the largest value seen: the logarithm would let it.
const CEILING: f64 = 4.0;

/// See [`Fitted::predict`].
pub(super) fn forecast(
    fitted: &Fitted,
    history: &Series,
    origin: Timestamp,
    steps: usize,
    levels: &[Level],
) -> Option<Forecast> {
    if fitted.rung == Rung::Nothing || fitted.knots.is_empty() || fitted.step != history.step {
        return None;
    }
    let prepared = prepare(fitted, history, origin)?;
    let ceiling = CEILING * fitted.peak.max(prepared.peak());
    let centers: Vec<f64> = fitted
        .knots
        .iter()
        .map(|knot| center(&prepared, fitted.rung, knot, prepared.len()))
        .collect();
    let values = (0..steps)
        .map(|ahead| {
            let mut floor = 0.0_f64;
            levels
                .iter()
                .map(|level| {
                    let log = between(&fitted.knots, &centers, ahead, level.get());
                    let value = (log.min(50.0).exp() - fitted.offset).clamp(0.0, ceiling);
                    floor = floor.max(value);
                    floor
                })
                .collect()
        })
        .collect();
    Some(Forecast {
        origin,
        step: history.step,
        levels: levels.to_vec(),
        values,
        rung: fitted.rung,
    })
}

/// The newest stretch of history before the origin.
fn prepare(fitted: &Fitted, history: &Series, origin: Timestamp) -> Option<Prepared> {
    let masked = clean::mask(history, origin, &fitted.exclude);
    let known = masked.len();
    // A history that ends before the origin is continued by gaps, which the features bridge.
    let wanted = usize::try_from(origin.since(history.start).div_euclid(history.step)).ok()?;
    let first = wanted.saturating_sub(usize::try_from(LOOK_BACK / history.step).ok()?);
    let mut values = masked.get(first.min(known)..)?.to_vec();
    values.resize(wanted.checked_sub(first)?, None);
    let zone = super::fit::zone(fitted.zone.as_deref());
    Prepared::new(
        history.time(first),
        history.step,
        &values,
        fitted.offset,
        &zone,
    )
}

/// The central forecast in the logarithm at one knot.
pub(super) fn center(prepared: &Prepared, rung: Rung, knot: &Knot, origin: usize) -> f64 {
    match rung {
        Rung::Regression | Rung::ShortRegression => {
            let mut row = Vec::new();
            prepared.features(origin, knot.ahead, rung == Rung::Regression, &mut row);
            prepared.base(origin) + ridge::apply(&knot.coefficients, &row)
        }
        Rung::SeasonalNaive => prepared
            .yesterday(origin, knot.ahead)
            .unwrap_or_else(|| prepared.base(origin)),
        Rung::Level | Rung::Nothing => prepared.base(origin),
    }
}

/// Center plus residual at a level, interpolated between the two knots around `ahead`.
fn between(knots: &[Knot], centers: &[f64], ahead: usize, level: f64) -> f64 {
    let at = |index: usize| centers[index] + knots[index].band.at(level);
    let next = knots.partition_point(|knot| knot.ahead < ahead);
    if next == 0 {
        return at(0);
    }
    if next >= knots.len() {
        return at(knots.len() - 1);
    }
    let (left, right) = (knots[next - 1].ahead, knots[next].ahead);
    let share = (ahead - left) as f64 / (right - left) as f64;
    at(next - 1) + share * (at(next) - at(next - 1))
}
