//! The load of the next hour as quantiles. A ladder of models from ten minutes of history upwards;
//! a forecast says which rung made it. Never sees anything at or after its origin.

pub mod backtest;
pub mod band;
mod boosted;
mod features;
mod fit;
mod predict;
mod ridge;
mod trees;

use band::Band;
pub use boosted::Boosted;
use serde::{Deserialize, Serialize};

use crate::{
    series::Series,
    units::{Level, Timestamp},
};

/// A model by how much history it needs; a later rung is better. The order is the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Rung {
    /// Under ten minutes of history: no forecast is made.
    Nothing,
    /// From ten minutes: the recent level with a wide band.
    Level,
    /// The same time yesterday (and its errors), where the regression cannot be fitted.
    SeasonalNaive,
    /// From a few hours: direct regression without the daily features.
    ShortRegression,
    /// From a day and a half: direct regression with the daily features.
    Regression,
    /// A regression mixed with boosted trees, where these were fitted.
    Mixture,
}

impl Rung {
    /// The name in status, metrics and pages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "Nothing",
            Self::Level => "Level",
            Self::SeasonalNaive => "SeasonalNaive",
            Self::ShortRegression => "ShortRegression",
            Self::Regression => "Regression",
            Self::Mixture => "Mixture",
        }
    }
}

/// What a fit needs to know besides the history.
#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    /// Zone whose days the load follows.
    pub time_zone: jiff::tz::TimeZone,
    /// Spans `[from, to)` that are not learned from.
    pub exclude: Vec<(Timestamp, Timestamp)>,
    /// Seconds of the longest horizon asked for, at most 3600.
    pub horizon: i64,
}

/// A forecast: for every step of the horizon one value a level, in the unit of the history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// Everything before it was known; the first step starts here.
    pub origin: Timestamp,
    /// Length of a step in seconds.
    pub step: i64,
    /// The levels, rising.
    pub levels: Vec<Level>,
    /// `values[step][level]`: finite, not negative, not falling with the level.
    pub values: Vec<Vec<f64>>,
    /// Which rung made it.
    pub rung: Rung,
}

/// A fitted model of one series; it can be stored and predicts without refitting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fitted {
    /// Everything before it was known to the fit.
    pub at: Timestamp,
    /// Which rung it stands on.
    pub rung: Rung,
    /// Skill against the seasonal naive on held-out origins before `at`; absent until measured.
    pub skill: Option<f64>,
    /// Share of held-out values inside the 90 % interval; absent until measured.
    pub coverage: Option<f64>,
    /// Seconds of a step that it was fitted on.
    pub step: i64,
    /// What is added to a value before its logarithm is taken, in the unit of the series.
    offset: f64,
    /// Largest value seen, in the unit of the series: a forecast stays within a multiple of it.
    peak: f64,
    /// IANA name of the zone; the features of the time of day need it.
    zone: Option<String>,
    /// Spans that features do not look at either.
    exclude: Vec<(Timestamp, Timestamp)>,
    /// What the distance to the median is multiplied by below and above it: how much wider than its
    /// residuals the band must be, as held-out values told.
    scale: (f64, f64),
    /// Models by horizon, rising; between them is interpolated.
    knots: Vec<Knot>,
}

/// The model of one horizon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Knot {
    /// Steps after the step that starts at the origin.
    ahead: usize,
    /// Coefficients of the regression; empty on the rungs without one.
    coefficients: Vec<f64>,
    /// Residuals in the logarithm.
    band: Band,
}

/// Fits the best rung that the history before `at` allows.
pub fn fit(history: &Series, at: Timestamp, context: &Context) -> Fitted {
    fit::best(history, at, context, Rung::Regression)
}

/// Fits the best rung up to `highest`: for comparisons in a backtest.
pub fn fit_up_to(history: &Series, at: Timestamp, context: &Context, highest: Rung) -> Fitted {
    fit::best(history, at, context, highest.min(Rung::Regression))
}

/// Fits boosted trees on top of `base`, from the history before `base.at`: a second of work, so not
/// on the path of a decision. `None` when `base` is no regression.
pub fn fit_boosted(history: &Series, base: &Fitted) -> Option<Boosted> {
    boosted::fit(history, base)
}

impl Fitted {
    /// The forecast from `origin` for `steps` steps; `None` on the rung `Nothing`, or when the history
    /// has no value before `origin` any more. Reads only what `history` says before `origin`.
    /// `levels` rise.
    pub fn predict(
        &self,
        history: &Series,
        origin: Timestamp,
        steps: usize,
        levels: &[Level],
    ) -> Option<Forecast> {
        predict::forecast(self, None, history, origin, steps, levels)
    }

    /// The same, mixed in quantile space with boosted trees that were fitted earlier.
    pub fn predict_mixed(
        &self,
        boosted: &Boosted,
        history: &Series,
        origin: Timestamp,
        steps: usize,
        levels: &[Level],
    ) -> Option<Forecast> {
        predict::forecast(self, Some(boosted), history, origin, steps, levels)
    }
}

#[cfg(test)]
mod tests;
