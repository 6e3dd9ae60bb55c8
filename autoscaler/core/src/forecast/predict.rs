//! From fitted models and the newest history to quantiles. Reads nothing at or after the origin.

use super::{
    Boosted, Fitted, Forecast, Knot, Rung,
    features::Prepared,
    fit::{self, Material},
    ridge,
};
use crate::{
    series::{Series, clean},
    units::{Level, Timestamp},
};

/// Seconds of history that features look back on: the longest lag and its window, and a day for the
/// averages to forget where they began.
const LOOK_BACK: i64 = 8 * 86_400;
/// A forecast never exceeds this multiple of the largest value seen: the logarithm would let it.
const CEILING: f64 = 4.0;
/// Share of the boosted trees in a mixture. Weights found on held-out days were worse than this one.
const BOOSTED: f64 = 0.6;

/// `quantiles[step][level]` in the unit of the series.
type Table = Vec<Vec<f64>>;

/// See [`Fitted::predict`] and [`Fitted::predict_mixed`].
pub(super) fn forecast(
    fitted: &Fitted,
    boosted: Option<&Boosted>,
    history: &Series,
    origin: Timestamp,
    steps: usize,
    levels: &[Level],
) -> Option<Forecast> {
    let numbers: Vec<f64> = levels.iter().map(|level| level.get()).collect();
    let material = prepare(fitted, history, origin)?;
    let logs = |levels: &[f64]| regression_logs(fitted, &material, levels);
    let mut values = table(fitted, fitted.scale, &material, steps, &numbers, logs);
    let mut rung = fitted.rung;
    if let Some(boosted) = boosted
        && let Some(material) = prepare(boosted.base(), history, origin)
    {
        let logs = |levels: &[f64]| boosted.logs(&material, levels);
        let other = table(
            boosted.base(),
            fitted.scale,
            &material,
            steps,
            &numbers,
            logs,
        );
        for (value, other) in values.iter_mut().flatten().zip(other.iter().flatten()) {
            *value += BOOSTED * (other - *value);
        }
        rung = Rung::Mixture;
    }
    Some(Forecast {
        origin,
        step: history.step,
        levels: levels.to_vec(),
        values,
        rung,
    })
}

/// The newest stretch of history before the origin, as the fit saw its own.
fn prepare(fitted: &Fitted, history: &Series, origin: Timestamp) -> Option<Material> {
    if fitted.rung == Rung::Nothing || fitted.knots.is_empty() || fitted.step != history.step {
        return None;
    }
    let masked = clean::mask(history, origin, &fitted.exclude);
    let known = masked.len();
    // A history that ends before the origin is continued by gaps, which the features bridge.
    let wanted = usize::try_from(origin.since(history.start).div_euclid(history.step)).ok()?;
    let first = wanted.saturating_sub(usize::try_from(LOOK_BACK / history.step).ok()?);
    let mut values = masked.get(first.min(known)..)?.to_vec();
    values.resize(wanted.checked_sub(first)?, None);
    let zone = fit::zone(fitted.zone.as_deref());
    let start = history.time(first);
    Some(Material {
        prepared: Prepared::new(start, history.step, &values, fitted.offset, &zone)?,
        values,
        offset: fitted.offset,
    })
}

/// For each knot one logarithm a level.
fn regression_logs(fitted: &Fitted, material: &Material, levels: &[f64]) -> Table {
    let knots = fitted.knots.iter();
    knots
        .map(|knot| {
            let origin = material.prepared.len();
            let center = center(&material.prepared, fitted.rung, knot, origin);
            levels
                .iter()
                .map(|level| center + knot.band.at(*level))
                .collect()
        })
        .collect()
}

/// Widens the band by `scale`, interpolates between knots and leaves the logarithm.
fn table(
    fitted: &Fitted,
    scale: (f64, f64),
    material: &Material,
    steps: usize,
    levels: &[f64],
    logs: impl Fn(&[f64]) -> Table,
) -> Table {
    let ceiling = CEILING * fitted.peak.max(material.prepared.peak());
    let with_median: Vec<f64> = levels.iter().copied().chain([0.5]).collect();
    let mut knots = logs(&with_median);
    for row in &mut knots {
        let median = row.pop().unwrap_or(0.0);
        for log in row {
            let side = if *log < median { scale.0 } else { scale.1 };
            *log = median + side * (*log - median);
        }
    }
    (0..steps)
        .map(|ahead| {
            let mut floor = 0.0_f64;
            (0..levels.len())
                .map(|level| {
                    let log = between(&fitted.knots, &knots, ahead, level);
                    let value = (log.min(700.0).exp() - fitted.offset).clamp(0.0, ceiling);
                    floor = floor.max(value);
                    floor
                })
                .collect()
        })
        .collect()
}

/// The central forecast in the logarithm at one knot.
pub(super) fn center(prepared: &Prepared, rung: Rung, knot: &Knot, origin: usize) -> f64 {
    match rung {
        Rung::Mixture | Rung::Regression | Rung::ShortRegression => {
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

/// The logarithm at a level, interpolated between the two knots around `ahead`.
fn between(knots: &[Knot], logs: &Table, ahead: usize, level: usize) -> f64 {
    let next = knots.partition_point(|knot| knot.ahead < ahead);
    if next == 0 || next >= knots.len() {
        return logs[next.min(knots.len() - 1)][level];
    }
    let (left, right) = (knots[next - 1].ahead, knots[next].ahead);
    let share = (ahead - left) as f64 / (right - left) as f64;
    let (from, to) = (logs[next - 1][level], logs[next][level]);
    from + share * (to - from)
}
