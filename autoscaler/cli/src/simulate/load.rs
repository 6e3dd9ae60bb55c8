//! The load of a scenario by minute: generated, or from a recorded series. A recorded one is scaled, so that
//! its shape counts and not its size.

use std::path::Path;

use anyhow::bail;
use autoscaler_core::{series::Series, units::Timestamp};
use autoscaler_sim::{
    replay::{BEGIN, Rates},
    scenario::{Load, Scenario},
};
use exporter_core::simulated::load::Day;

/// The load of the scenario, whose file lies in `folder`.
pub(super) fn rates(scenario: &Scenario, folder: &Path) -> anyhow::Result<Rates> {
    let (history, minutes) = (minutes(scenario.history_hours), minutes(scenario.hours));
    match &scenario.load {
        Load::Day { peak } => {
            let day = Day::new(scenario.seed, *peak);
            let rate = |minute: i64| day.rate((BEGIN + minute * 60) as f64 + 30.0);
            Ok(Rates {
                history: (-history..0).map(|minute| Some(rate(minute))).collect(),
                minutes: (0..minutes).map(rate).collect(),
            })
        }
        Load::Series {
            file,
            from_hours,
            mean,
        } => {
            let path = folder.join(file);
            let (_, series) = crate::backtest::input::series(&path)?;
            recorded(&series, self::minutes(*from_hours), history, minutes, *mean)
                .map_err(|error| error.context(path.display().to_string()))
        }
    }
}

fn minutes(hours: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "hours of a month at most")]
    let minutes = (hours * 60.0).round() as i64;
    minutes
}

fn recorded(
    series: &Series,
    from: i64,
    history: i64,
    minutes: i64,
    mean: f64,
) -> anyhow::Result<Rates> {
    let value = |minute: i64| {
        let time = Timestamp(series.start.0 + (from + minute) * 60);
        let place = time.since(series.start).div_euclid(series.step);
        usize::try_from(place)
            .ok()
            .and_then(|place| series.values.get(place).copied())
    };
    let Some(_) = value(minutes - 1).filter(|_| minutes > 0) else {
        let hours = series.end().since(series.start) as f64 / 3600.0;
        bail!("it has {hours:.1} h, which end before load.fromHours and hours do");
    };
    // A gap in what is simulated is filled with what was there before it: requests have to come somehow.
    let mut last = 0.0;
    let simulated: Vec<f64> = (0..minutes)
        .map(|minute| {
            last = value(minute).flatten().unwrap_or(last);
            last
        })
        .collect();
    let sum: f64 = simulated.iter().sum();
    if sum <= 0.0 {
        bail!("it has no load from load.fromHours on");
    }
    let scale = mean * simulated.len() as f64 / sum;
    let first = -history.min(from);
    Ok(Rates {
        history: (first..0)
            .map(|minute| value(minute).flatten().map(|value| value * scale))
            .collect(),
        minutes: simulated.into_iter().map(|value| value * scale).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_scaled_and_its_past_is_the_history() {
        let series = Series {
            start: Timestamp(600),
            step: 60,
            values: vec![Some(1.0), None, Some(2.0), None, Some(4.0)],
        };
        let rates = recorded(&series, 2, 10, 3, 8.0).unwrap();
        assert_eq!(rates.minutes, [6.0, 6.0, 12.0]);
        assert_eq!(rates.history, [Some(3.0), None]);
        let error = recorded(&series, 2, 10, 4, 8.0).unwrap_err().to_string();
        assert!(error.contains("it has 0.1 h"), "{error}");
    }
}
