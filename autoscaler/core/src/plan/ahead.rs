//! What the forecast says about the time until a replica that is asked for now is Ready. Fits when
//! that is due, a bounded number a tick, and keeps the fits in the memory.

use crate::{
    capacity::replicas_for,
    forecast::{self, Context, Fitted, Rung},
    memory::{Memory, TargetMemory},
    plan::ForecastBasis,
    series::{Quality, Series},
    snapshot::{Policy, Snapshot, Target},
    units::{Level, Timestamp},
};

/// Seconds assumed for a start-up before one was observed: images and weights in a local cache. Too
/// short a time only makes the first rises as late as a reactive autoscaler's.
const ASSUMED_STARTUP: f64 = 60.0;

/// Seconds ahead that are ever looked at.
const LONGEST: i64 = 3600;

/// Seconds after which a fit is made again.
const FIT_AGE: i64 = 3600;

/// The same below the top rung, where more history soon allows a better model.
const FIT_AGE_BELOW: i64 = 600;

/// Fits a tick at most. One takes about ten milliseconds, so the others keep their beat.
pub(super) const FITS: usize = 100;

/// Levels besides the policy's own, for the band on pages.
const LEVELS: [f64; 4] = [0.05, 0.5, 0.9, 0.95];

/// Start-up time in seconds, and whether it was observed.
pub(super) fn startup(memory: &TargetMemory) -> (f64, bool) {
    memory
        .startup()
        .map_or((ASSUMED_STARTUP, false), |seconds| (seconds, true))
}

/// Seconds to look ahead: the owner's, else the start-up time and a tick in which nothing is decided.
pub(super) fn horizon(policy: &Policy, startup: f64, tick: i64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "at most an hour")]
    let startup = startup.ceil().clamp(0.0, LONGEST as f64) as i64;
    policy
        .horizon
        .unwrap_or(startup.saturating_add(tick))
        .clamp(1, LONGEST)
}

/// Makes the fits that are due, those without one first, then the oldest, [`FITS`] at most.
pub(super) fn refit(snapshot: &Snapshot, memory: &mut Memory) {
    let mut due: Vec<(Option<Timestamp>, &Target)> = snapshot
        .targets
        .iter()
        .filter(|target| target.policy.forecast && target.load.quality <= Quality::Partial)
        .filter(|target| !target.load.series.values.is_empty())
        .filter_map(|target| {
            let known = memory.targets.get(&target.id);
            let fitted = known.and_then(|memory| memory.fitted.as_ref());
            let step = target.load.series.step.max(1);
            match fitted {
                Some(fitted) if fresh(fitted, snapshot.now, step) => None,
                Some(fitted) if usable(fitted, snapshot.now, step) => {
                    Some((Some(fitted.at), target))
                }
                _ => Some((None, target)),
            }
        })
        .collect();
    due.sort_by_key(|(at, _)| *at);
    for (_, target) in due.into_iter().take(FITS) {
        let (policy, load) = (&target.policy, &target.load.series);
        let zone = jiff::tz::TimeZone::get(&policy.time_zone);
        let context = Context {
            time_zone: zone.unwrap_or(jiff::tz::TimeZone::UTC),
            exclude: policy.exclude.clone(),
            horizon: LONGEST,
        };
        let remembered = memory.targets.entry(target.id.clone()).or_default();
        remembered.fitted = Some(forecast::fit(load, load.end(), &context));
    }
}

/// The forecast over the next `horizon` seconds, or `None` while there is none.
pub(super) fn look(
    policy: &Policy,
    per_replica: f64,
    load: &Series,
    memory: &TargetMemory,
    now: Timestamp,
    horizon: i64,
) -> Option<ForecastBasis> {
    if !policy.forecast || load.values.is_empty() {
        return None;
    }
    // All that is in the series is known, the newest step included: the forecast starts after it.
    let origin = load.end();
    let step = load.step.max(1);
    // A fit whose renewal waits for its turn still predicts from the newest data.
    let fitted = memory
        .fitted
        .as_ref()
        .filter(|fitted| usable(fitted, now, step))?;
    let levels = levels(policy.level);
    let steps = steps(now.plus(horizon).since(origin), step);
    let predicted = fitted.predict(load, origin, steps, &levels)?;
    let column = |level: Level| {
        let index = levels.iter().position(|other| *other == level).unwrap_or(0);
        predicted
            .values
            .iter()
            .filter_map(move |row| row.get(index).copied())
    };
    let wanted = column(policy.level).fold(0.0, f64::max);
    let median = Level::new(0.5).and_then(|level| column(level).next_back())?;
    Some(ForecastBasis {
        rung: predicted.rung.as_str().to_owned(),
        horizon,
        level: policy.level,
        load: wanted,
        median,
        need: replicas_for(wanted, per_replica),
        skill: fitted.skill.filter(|skill| skill.is_finite()),
        coverage: fitted.coverage.filter(|share| share.is_finite()),
    })
}

/// Steps of the forecast when the horizon ends `ahead` seconds after its origin: up to the step that
/// holds the end, and one more, since a rate over a trailing window shows a rise up to a step late.
fn steps(ahead: i64, step: i64) -> usize {
    let steps = (ahead.div_euclid(step) + 2).clamp(1, (LONGEST / step).max(1));
    usize::try_from(steps).unwrap_or(1)
}

/// Whether a fit need not be made again.
fn fresh(fitted: &Fitted, now: Timestamp, step: i64) -> bool {
    let most = match fitted.rung {
        Rung::Regression => FIT_AGE,
        Rung::Nothing => step,
        _ => FIT_AGE_BELOW,
    };
    usable(fitted, now, step) && now.since(fitted.at) < most
}

/// Whether a fit may be predicted with. What it knew may end up to one step after `now`.
fn usable(fitted: &Fitted, now: Timestamp, step: i64) -> bool {
    fitted.step == step && now.since(fitted.at) >= -2 * step
}

/// The policy's level and those of the band, rising, each once.
fn levels(own: Level) -> Vec<Level> {
    let mut levels: Vec<Level> = LEVELS.into_iter().filter_map(Level::new).collect();
    levels.push(own);
    levels.sort_by(|a, b| a.get().total_cmp(&b.get()));
    levels.dedup();
    levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::policy;

    #[test]
    fn the_horizon_is_the_startup_time_and_a_tick() {
        let mut memory = TargetMemory::default();
        assert_eq!(startup(&memory), (60.0, false));
        memory.learn_startups(&[89.2]);
        assert_eq!(startup(&memory), (89.2, true));
        let mut policy = policy();
        assert_eq!(horizon(&policy, 89.2, 15), 105);
        assert_eq!(horizon(&policy, 9000.0, 15), 3600);
        policy.horizon = Some(600);
        assert_eq!(horizon(&policy, 89.2, 15), 600);
    }

    #[test]
    fn the_forecast_covers_the_horizon_and_the_delay_of_a_rate() {
        // The origin lies up to a step after now, the end of the horizon perhaps before it.
        for (ahead, count) in [
            (-75, 1),
            (-15, 1),
            (0, 2),
            (59, 2),
            (60, 3),
            (75, 3),
            (3600, 60),
        ] {
            assert_eq!(steps(ahead, 60), count, "{ahead} s after the origin");
        }
        assert_eq!(steps(10, 7200), 1);
    }

    #[test]
    fn the_own_level_is_asked_for_once_and_in_order() {
        let numbers = |own: f64| -> Vec<f64> {
            levels(Level::new(own).unwrap())
                .into_iter()
                .map(Level::get)
                .collect()
        };
        assert_eq!(numbers(0.95), [0.05, 0.5, 0.9, 0.95]);
        assert_eq!(numbers(0.8), [0.05, 0.5, 0.8, 0.9, 0.95]);
    }

    #[test]
    fn a_fit_lives_an_hour_and_less_below_the_top() {
        let context = Context {
            time_zone: jiff::tz::TimeZone::UTC,
            exclude: vec![],
            horizon: 3600,
        };
        let empty = Series {
            step: 60,
            ..Series::default()
        };
        let mut fitted = forecast::fit(&empty, Timestamp(10_000), &context);
        for (rung, age, usable) in [
            (Rung::Regression, 3599, true),
            (Rung::Regression, 3600, false),
            (Rung::ShortRegression, 599, true),
            (Rung::ShortRegression, 600, false),
            (Rung::Nothing, 59, true),
            (Rung::Nothing, 60, false),
            (Rung::Regression, -60, true),
            (Rung::Regression, -600, false),
        ] {
            let now = Timestamp(10_000 + age);
            fitted.rung = rung;
            assert_eq!(fresh(&fitted, now, 60), usable, "{rung:?} after {age} s");
        }
    }
}
