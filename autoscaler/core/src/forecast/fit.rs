//! Fitting: which rung the history allows, the regression at each horizon knot, and its band from
//! held-out residuals. Deterministic; sees nothing at or after `at`.

use std::ops::Range;

use super::{
    Context, Fitted, Knot, Rung,
    backtest::WIDER,
    band::Band,
    features::{self, Prepared},
    predict::center,
    ridge::{self, Rows},
};
use crate::{
    series::{Series, clean},
    units::Timestamp,
};

/// Horizon knots as shares of the horizon, denser where the load changes fastest.
const KNOTS: [f64; 11] = [
    0.0, 0.017, 0.034, 0.067, 0.117, 0.184, 0.3, 0.45, 0.634, 0.817, 1.0,
];
/// Training origins at most; more gain under 1 % and cost time.
const ORIGINS: usize = 1100;
/// Half-life of a training origin's weight, in seconds (facts: 7 d beats 1.5 d by 2 %).
const HALF_LIFE: f64 = 7.0 * 86_400.0;
/// Share of the origins, the oldest, that the held-out part is judged by.
const FIT_SHARE: f64 = 2.0 / 3.0;

/// Everything that a fit looks at.
pub(super) struct Material {
    /// Measured values before `at`; gaps are gaps.
    pub(super) values: Vec<Option<f64>>,
    /// The same, prepared for features.
    pub(super) prepared: Prepared,
    /// See [`Fitted::offset`].
    pub(super) offset: f64,
}

impl Material {
    /// The logarithm of a measured target; `None` in a gap.
    pub(super) fn target(&self, index: usize) -> Option<f64> {
        self.values
            .get(index)
            .copied()
            .flatten()
            .map(|value| (value + self.offset).ln())
    }
}

/// See [`super::fit`].
pub(super) fn best(history: &Series, at: Timestamp, context: &Context, highest: Rung) -> Fitted {
    let values = clean::mask(history, at, &context.exclude);
    let median = clean::median(&values);
    let peak = values.iter().copied().flatten().fold(0.0, f64::max);
    // Half the median keeps quiet hours from dominating the logarithm; of an idle series any small
    // positive number will do.
    let offset = if median > 0.0 {
        median / 2.0
    } else {
        (peak / 20.0).max(1e-3)
    };
    let mut fitted = Fitted {
        at,
        rung: Rung::Nothing,
        skill: None,
        coverage: None,
        step: history.step,
        offset,
        peak,
        zone: context.time_zone.iana_name().map(str::to_owned),
        exclude: context.exclude.clone(),
        scale: (1.0, 1.0),
        knots: Vec::new(),
    };
    let zone = zone(fitted.zone.as_deref());
    let Some(prepared) = Prepared::new(history.start, history.step, &values, offset, &zone) else {
        return fitted;
    };
    let ceiling = allowed(&values, history.step).min(highest);
    let material = Material {
        values,
        prepared,
        offset,
    };
    let aheads = knots(context.horizon, history.step);
    for rung in [
        Rung::Regression,
        Rung::ShortRegression,
        Rung::SeasonalNaive,
        Rung::Level,
    ] {
        if rung <= ceiling && fit_rung(&mut fitted, &material, rung, &aheads) {
            break;
        }
    }
    fitted
}

/// What a fit saw, for those who build on it.
pub(super) fn material(history: &Series, fitted: &Fitted) -> Option<Material> {
    let values = clean::mask(history, fitted.at, &fitted.exclude);
    let prepared = Prepared::new(
        history.start,
        history.step,
        &values,
        fitted.offset,
        &zone(fitted.zone.as_deref()),
    )?;
    Some(Material {
        values,
        prepared,
        offset: fitted.offset,
    })
}

/// The zone by name, UTC when there is none.
pub(super) fn zone(name: Option<&str>) -> jiff::tz::TimeZone {
    name.and_then(|name| jiff::tz::TimeZone::get(name).ok())
        .unwrap_or(jiff::tz::TimeZone::UTC)
}

/// The highest rung for this much history.
fn allowed(values: &[Option<f64>], step: i64) -> Rung {
    const HOUR: i64 = 3600;
    let count = values.iter().flatten().count();
    let valid = i64::try_from(count)
        .unwrap_or(i64::MAX)
        .saturating_mul(step);
    let first = values
        .iter()
        .position(Option::is_some)
        .unwrap_or(values.len());
    let span = i64::try_from(values.len() - first)
        .unwrap_or(0)
        .saturating_mul(step);
    match () {
        () if count < 3 || valid < HOUR / 6 => Rung::Nothing,
        () if valid < 6 * HOUR => Rung::Level,
        () if span >= 36 * HOUR && valid >= 24 * HOUR => Rung::Regression,
        () => Rung::ShortRegression,
    }
}

/// Steps ahead of the knots, rising and different.
fn knots(horizon: i64, step: i64) -> Vec<usize> {
    let steps = usize::try_from((horizon + step - 1) / step)
        .unwrap_or(1)
        .max(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a small count"
    )]
    let mut aheads: Vec<usize> = KNOTS
        .iter()
        .map(|share| (share * (steps - 1) as f64).round() as usize)
        .collect();
    aheads.dedup();
    aheads
}

/// Fits one rung into `fitted`; false when there is too little material for it.
fn fit_rung(fitted: &mut Fitted, material: &Material, rung: Rung, aheads: &[usize]) -> bool {
    let mut score = super::backtest::HeldOut::default();
    let mut knots = Vec::new();
    for ahead in aheads {
        let knot = match rung {
            Rung::Regression | Rung::ShortRegression => {
                regression(material, rung, *ahead, &mut score)
            }
            _ => plain(material, rung, *ahead),
        };
        let Some(knot) = knot else { return false };
        knots.push(knot);
    }
    fitted.rung = rung;
    fitted.knots = knots;
    fitted.skill = score.skill();
    fitted.coverage = score.coverage();
    if matches!(rung, Rung::Regression | Rung::ShortRegression) {
        let stride = stride(material.prepared.len());
        // Of a day the band is as wide as the errors of a day make it: wider was worse.
        let start = if rung == Rung::Regression { WIDER } else { 1.0 };
        fitted.scale = score.scale(start, stride as f64 * fitted.step as f64 / 3600.0);
    }
    true
}

/// Steps between two training origins.
fn stride(steps: usize) -> usize {
    (steps / ORIGINS).max(1)
}

/// Origins with a measured target `ahead` steps later, thinned evenly from the newest backwards.
fn origins(material: &Material, daily: bool, ahead: usize) -> Vec<usize> {
    let end = material.prepared.len().saturating_sub(ahead);
    let mut origins: Vec<usize> = (1..end)
        .rev()
        .step_by(stride(material.prepared.len()))
        .filter(|origin| material.target(origin + ahead).is_some())
        .filter(|origin| !daily || material.prepared.has_day(*origin))
        .collect();
    origins.reverse();
    origins
}

/// Rows of these origins; the weight halves each [`HALF_LIFE`] into the past.
fn rows(material: &Material, daily: bool, ahead: usize, step: i64, origins: &[usize]) -> Rows {
    let mut rows = Rows::default();
    let mut row = Vec::new();
    for origin in origins {
        let Some(target) = material.target(origin + ahead) else {
            continue;
        };
        material.prepared.features(*origin, ahead, daily, &mut row);
        rows.features.extend_from_slice(&row);
        rows.targets.push(target - material.prepared.base(*origin));
        let age = (material.prepared.len() - origin) as f64 * step as f64;
        rows.weights.push(0.5_f64.powf(age / HALF_LIFE));
    }
    rows
}

/// The regression of one knot. The band is made of residuals of the newest third by a fit on the rest
/// (held out), joined by that fit's own; the final coefficients see everything.
fn regression(
    material: &Material,
    rung: Rung,
    ahead: usize,
    score: &mut super::backtest::HeldOut,
) -> Option<Knot> {
    let daily = rung == Rung::Regression;
    let columns = features::count(daily);
    let step = material.prepared.step();
    let all = origins(material, daily, ahead);
    if all.len() < 5 * columns {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a length"
    )]
    let cut = all[(all.len() as f64 * FIT_SHARE) as usize];
    // Both are in order of time: what the older fit may know is a beginning, the held-out an end.
    let until = all.partition_point(|origin| origin + ahead < cut);
    let from = all.partition_point(|origin| *origin < cut);
    let (old, new) = (&all[..until], &all[from..]);
    let rows = rows(material, daily, ahead, step, &all);
    let past = Knot {
        ahead,
        coefficients: ridge::solve(&rows, columns, 0..until)?,
        band: Band::normal(0.0),
    };
    let residuals = |range: Range<usize>| -> Vec<f64> {
        let features =
            rows.features[range.start * columns..range.end * columns].chunks_exact(columns);
        let pairs = features.zip(&rows.targets[range]);
        pairs
            .map(|(row, target)| target - ridge::apply(&past.coefficients, row))
            .collect()
    };
    let (inside, held_out) = (residuals(0..until), residuals(from..all.len()));
    let old_band = Band::from_residuals(inside.clone());
    if let Some(band) = &old_band {
        score.reach(band, new.iter().copied().zip(held_out.iter().copied()));
    }
    if daily && let Some(band) = old_band {
        score.add(
            material,
            &Knot {
                band,
                ..past.clone()
            },
            old,
            new,
        );
    }
    let band = Band::from_residuals(inside.into_iter().chain(held_out).collect())?;
    let coefficients = ridge::solve(&rows, columns, 0..all.len())?;
    Some(Knot {
        ahead,
        coefficients,
        band,
    })
}

/// A knot without a regression: the level of now, or yesterday's value, with the residuals that it
/// had so far; a normal law where these are too few.
fn plain(material: &Material, rung: Rung, ahead: usize) -> Option<Knot> {
    let knot = Knot {
        ahead,
        coefficients: Vec::new(),
        band: Band::normal(0.0),
    };
    let residuals: Vec<f64> = origins(material, false, ahead)
        .into_iter()
        .filter(|origin| {
            rung != Rung::SeasonalNaive || material.prepared.yesterday(*origin, ahead).is_some()
        })
        .filter_map(|origin| {
            Some(material.target(origin + ahead)? - center(&material.prepared, rung, &knot, origin))
        })
        .collect();
    if rung == Rung::SeasonalNaive {
        return Some(Knot {
            band: Band::from_residuals(residuals)?,
            ..knot
        });
    }
    // Of a short history the errors seen are too few and too kind: a tenth of the level at least, and
    // growing as a random walk does.
    let count = residuals.len().max(1) as f64;
    let square = residuals
        .iter()
        .map(|residual| residual * residual)
        .sum::<f64>()
        / count;
    let minutes = ahead as f64 * material.prepared.step() as f64 / 60.0;
    let deviation = 1.2 * square.sqrt().clamp(0.1, 2.0) * (1.0 + minutes / 30.0).sqrt();
    Some(Knot {
        band: Band::normal(deviation),
        ..knot
    })
}
