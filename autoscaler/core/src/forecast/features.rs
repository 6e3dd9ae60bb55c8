//! What the regression sees at an origin: recent levels, the same time on earlier days, and the time
//! of day. All in the logarithm of the load, relative to the recent level, so that a coefficient of
//! zero means "it stays as it is". Reads nothing at or after the origin.

use std::f64::consts::TAU;

use crate::{series::clean, units::Timestamp};

const DAY: i64 = 86_400;
/// Half-lives of the exponential averages, in seconds. The third is the base.
const HALF_LIVES: [f64; 7] = [45.0, 150.0, 420.0, 1200.0, 3600.0, 10_800.0, 36_000.0];
const BASE: usize = 2;
/// Days of the lags.
const LAGS: [i64; 3] = [1, 2, 7];
/// Seconds on each side that a lag is averaged over.
const LAG_HALF_WINDOW: i64 = 450;
const HARMONICS: usize = 4;

/// Number of features: constant, averages without the base, and with the daily part two a lag and
/// two a harmonic.
pub(super) fn count(daily: bool) -> usize {
    let short = 1 + HALF_LIVES.len() - 1;
    if daily {
        short + 2 * LAGS.len() + 2 * HARMONICS
    } else {
        short
    }
}

/// A stretch of history prepared for features.
pub(super) struct Prepared {
    start: Timestamp,
    step: i64,
    /// Logarithms of the bridged values.
    logs: Vec<f64>,
    /// Sums of `logs` before each index, for averages over windows.
    sums: Vec<f64>,
    /// `averages[i][k]`: exponential average `k` of everything before `i`.
    averages: Vec<[f64; HALF_LIVES.len()]>,
    /// Seconds to add to UTC for the clock on the wall, at the end of the stretch.
    zone_offset: i64,
}

impl Prepared {
    /// Prepares `values` (gaps allowed, none after the origin). `None` when all are gaps.
    pub(super) fn new(
        start: Timestamp,
        step: i64,
        values: &[Option<f64>],
        offset: f64,
        zone: &jiff::tz::TimeZone,
    ) -> Option<Self> {
        let logs: Vec<f64> = clean::bridge(values, step)
            .iter()
            .map(|value| (value + offset).ln())
            .collect();
        let first = *logs.first()?;
        let mut sums = vec![0.0];
        let mut averages = vec![[first; HALF_LIVES.len()]];
        let decay = HALF_LIVES.map(|half_life| 0.5_f64.powf(step as f64 / half_life));
        let (mut sum, mut current) = (0.0, [first; HALF_LIVES.len()]);
        for log in &logs {
            sum += log;
            sums.push(sum);
            for (average, decay) in current.iter_mut().zip(decay) {
                *average = decay * *average + (1.0 - decay) * log;
            }
            averages.push(current);
        }
        let end = start.plus(step * i64::try_from(logs.len()).unwrap_or(0));
        Some(Self {
            start,
            step,
            logs,
            sums,
            averages,
            zone_offset: zone_offset(zone, end),
        })
    }

    /// Number of steps; the last origin that can be asked for is this one.
    pub(super) fn len(&self) -> usize {
        self.logs.len()
    }

    /// The recent level that targets are relative to.
    pub(super) fn base(&self, origin: usize) -> f64 {
        self.averages[origin][BASE]
    }

    /// Whether the lag of one day is there for an origin and a horizon.
    pub(super) fn has_day(&self, origin: usize) -> bool {
        self.lag(origin, 0, 1).is_some()
    }

    /// Mean log around `ahead` steps after the origin, `days` days before; windows never reach the origin.
    fn lag(&self, origin: usize, ahead: usize, days: i64) -> Option<f64> {
        let back = usize::try_from(days * DAY / self.step).ok()?;
        let half = usize::try_from(LAG_HALF_WINDOW / self.step).ok()?;
        let middle = (origin + ahead).checked_sub(back)?;
        let first = middle.checked_sub(half)?;
        let last = (middle + half + 1).min(origin);
        (first < last).then(|| (self.sums[last] - self.sums[first]) / (last - first) as f64)
    }

    /// The averages but the base, relative to it.
    pub(super) fn levels(&self, origin: usize) -> impl Iterator<Item = f64> {
        let base = self.base(origin);
        (0..HALF_LIVES.len())
            .filter(|k| *k != BASE)
            .map(move |k| self.averages[origin][k] - base)
    }

    /// Of each earlier day the change from the origin to the target, and the level at the origin
    /// relative to the base.
    pub(super) fn lags(&self, origin: usize, ahead: usize) -> impl Iterator<Item = f64> {
        let base = self.base(origin);
        let day = self.lag(origin, 0, 1).zip(self.lag(origin, ahead, 1));
        LAGS.into_iter().flat_map(move |days| {
            // A lag that is not there yet speaks with the voice of yesterday.
            let pair = self
                .lag(origin, 0, days)
                .zip(self.lag(origin, ahead, days))
                .or(day);
            let (at_origin, at_target) = pair.unwrap_or((base, base));
            [at_target - at_origin, at_origin - base]
        })
    }

    /// Features at `origin` for a target `ahead` steps later (0 is the step that starts at the origin).
    pub(super) fn features(&self, origin: usize, ahead: usize, daily: bool, row: &mut Vec<f64>) {
        row.clear();
        row.push(1.0);
        row.extend(self.levels(origin));
        if !daily {
            return;
        }
        row.extend(self.lags(origin, ahead));
        let (sin, cos) = (self.phase(origin + ahead) * TAU).sin_cos();
        // Each harmonic is the one before it turned by the first.
        let (mut s, mut c) = (sin, cos);
        for _ in 0..HARMONICS {
            row.extend([s, c]);
            (s, c) = (s * cos + c * sin, c * cos - s * sin);
        }
    }

    /// Share of the local day that has passed at a step.
    pub(super) fn phase(&self, index: usize) -> f64 {
        let local = self.start.0 + i64::try_from(index).unwrap_or(0) * self.step + self.zone_offset;
        local.rem_euclid(DAY) as f64 / DAY as f64
    }

    /// The log one day before the target, `None` where the history does not reach back so far.
    pub(super) fn yesterday(&self, origin: usize, ahead: usize) -> Option<f64> {
        let back = usize::try_from(DAY / self.step).ok()?;
        self.logs.get((origin + ahead).checked_sub(back)?).copied()
    }

    /// Seconds of a step.
    pub(super) fn step(&self) -> i64 {
        self.step
    }

    /// The largest bridged value, in the unit of the series, offset included.
    pub(super) fn peak(&self) -> f64 {
        self.logs
            .iter()
            .copied()
            .fold(f64::MIN, f64::max)
            .min(700.0)
            .exp()
    }
}

/// Seconds east of UTC in a zone at a time; 0 outside the calendar.
fn zone_offset(zone: &jiff::tz::TimeZone, at: Timestamp) -> i64 {
    jiff::Timestamp::from_second(at.0).map_or(0, |time| i64::from(zone.to_offset(time).seconds()))
}
