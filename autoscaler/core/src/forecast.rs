//! The load of the next hour as quantiles. A ladder of models from ten minutes of history upwards;
//! a forecast says which rung made it. Never sees anything at or after its origin.

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
    /// From a day and an hour: direct regression with the daily features.
    Regression,
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
}

/// Fits the best rung that the history before `at` allows.
pub fn fit(_history: &Series, at: Timestamp, _context: &Context) -> Fitted {
    Fitted {
        at,
        rung: Rung::Nothing,
        skill: None,
        coverage: None,
    }
}

impl Fitted {
    /// The forecast from `origin` for `steps` steps; `None` on the rung `Nothing`.
    /// Reads only what `history` says before `origin`. `levels` rise.
    pub fn predict(
        &self,
        _history: &Series,
        _origin: Timestamp,
        _steps: usize,
        _levels: &[Level],
    ) -> Option<Forecast> {
        None
    }
}
