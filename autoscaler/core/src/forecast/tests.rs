//! Tests of the forecast: the ladder, what it may read, and that no input breaks it.

use proptest::prelude::*;

use super::*;

fn context() -> Context {
    Context {
        time_zone: jiff::tz::TimeZone::UTC,
        exclude: Vec::new(),
        horizon: 3600,
    }
}

fn levels() -> Vec<Level> {
    [0.05, 0.5, 0.9, 0.95]
        .into_iter()
        .filter_map(Level::new)
        .collect()
}

/// A day's swing of a service with a little deterministic noise, in steps of a minute.
fn daily(minutes: usize) -> Series {
    let values = (0..minutes)
        .map(|minute| {
            let phase = minute as f64 / 1440.0 * std::f64::consts::TAU;
            let noise = ((minute * 7919) % 101) as f64 / 101.0 - 0.5;
            Some(100.0 - 60.0 * phase.cos() + 10.0 * noise)
        })
        .collect();
    Series {
        start: Timestamp(0),
        step: 60,
        values,
    }
}

#[test]
fn the_ladder_climbs_with_history() {
    let rung = |minutes| {
        let series = daily(minutes);
        fit(&series, series.end(), &context()).rung
    };
    assert_eq!(rung(9), Rung::Nothing);
    assert_eq!(rung(10), Rung::Level);
    assert_eq!(rung(7 * 60), Rung::ShortRegression);
    assert_eq!(rung(37 * 60), Rung::Regression);
}

#[test]
fn sparse_history_of_a_day_falls_back_to_yesterday() {
    let mut series = daily(30 * 60);
    for (index, value) in series.values.iter_mut().enumerate() {
        if index % 20 != 0 {
            *value = None;
        }
    }
    let fitted = fit_up_to(&series, series.end(), &context(), Rung::SeasonalNaive);
    assert!(fitted.rung <= Rung::SeasonalNaive);
}

#[test]
fn the_morning_is_forecast_before_it_comes() {
    let series = daily(7 * 1440 + 360);
    let fitted = fit(&series, series.end(), &context());
    let forecast = fitted
        .predict(&series, series.end(), 60, &levels())
        .unwrap();
    let actual = daily(7 * 1440 + 420).values[7 * 1440 + 419].unwrap();
    let (low, middle, high) = (
        forecast.values[59][0],
        forecast.values[59][1],
        forecast.values[59][3],
    );
    assert!((middle - actual).abs() < 8.0, "{middle} for {actual}");
    assert!(low < actual && actual < high, "{low} {actual} {high}");
    assert!(
        fitted.skill.unwrap() > -0.2 && fitted.coverage.unwrap() > 0.8,
        "{fitted:?}"
    );
}

#[test]
fn nothing_at_or_after_the_origin_is_read() {
    let mut series = daily(3 * 1440);
    let origin = Timestamp(2 * 86_400);
    let before = fit(&series, origin, &context());
    let forecast = before.predict(&series, origin, 60, &levels());
    for value in &mut series.values[2 * 1440..] {
        *value = Some(1e6);
    }
    let after = fit(&series, origin, &context());
    assert_eq!(before, after);
    assert_eq!(forecast, after.predict(&series, origin, 60, &levels()));
}

#[test]
fn the_mixture_reads_nothing_at_or_after_the_origin_either() {
    let mut series = daily(3 * 1440);
    let origin = Timestamp(2 * 86_400);
    let mixed = |series: &Series| {
        let fitted = fit(series, origin, &context());
        let boosted = fit_boosted(series, &fitted).unwrap();
        let forecast = fitted.predict_mixed(&boosted, series, origin, 60, &levels());
        (boosted, forecast.unwrap())
    };
    let before = mixed(&series);
    assert_eq!(before.1.rung, Rung::Mixture);
    assert_eq!(before.0.at(), origin);
    for value in &mut series.values[2 * 1440..] {
        *value = Some(1e6);
    }
    assert_eq!(mixed(&series), before);
}

#[test]
fn trees_learn_a_pattern_that_no_line_follows() {
    // Every ten minutes a minute of double load: the next steps depend on the last ones, not linearly.
    let mut series = daily(2 * 1440);
    for (minute, value) in series.values.iter_mut().enumerate() {
        if minute % 10 == 0 {
            *value = value.map(|value| 2.0 * value);
        }
    }
    let (mut mixed, mut alone) = (0.0, 0.0);
    let fitted = fit(&series, Timestamp(40 * 3600), &context());
    let boosted = fit_boosted(&series, &fitted).unwrap();
    for hour in 40..47 {
        let origin = Timestamp(hour * 3600);
        let actual = series.between(origin, origin.plus(3600));
        let loss = |forecast: Forecast| -> f64 {
            let rows = forecast.values.iter().zip(actual);
            rows.map(|(row, actual)| backtest::pinball(0.95, row[3], actual.unwrap()))
                .sum()
        };
        mixed += loss(
            fitted
                .predict_mixed(&boosted, &series, origin, 60, &levels())
                .unwrap(),
        );
        alone += loss(fitted.predict(&series, origin, 60, &levels()).unwrap());
    }
    assert!(mixed < 0.95 * alone, "{mixed} {alone}");
}

#[test]
fn an_excluded_incident_teaches_nothing() {
    let clean = daily(2 * 1440);
    let mut dirty = clean.clone();
    for value in &mut dirty.values[1000..1100] {
        *value = Some(5000.0);
    }
    let mut context = context();
    context.exclude = vec![(Timestamp(60_000), Timestamp(66_000))];
    let from = |series: &Series| {
        let fitted = fit(series, series.end(), &context);
        fitted.predict(series, series.end(), 60, &levels())
    };
    assert_eq!(from(&clean), from(&dirty));
}

#[test]
fn a_fit_survives_being_stored() {
    let series = daily(2 * 1440);
    let fitted = fit(&series, series.end(), &context());
    let stored = serde_json::to_string(&fitted).unwrap();
    assert_eq!(serde_json::from_str::<Fitted>(&stored).unwrap(), fitted);
    assert!(stored.len() < 20_000, "{} bytes", stored.len());
}

fn value() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        6 => (0.0..1e4).prop_map(Some),
        1 => Just(None),
        1 => Just(Some(0.0)),
        1 => prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(-3.0), Just(1e300), Just(1e-300)].prop_map(Some),
    ]
}

fn shape() -> impl Strategy<Value = Vec<Option<f64>>> {
    prop_oneof![
        prop::collection::vec(value(), 0..400),
        (value(), 0_usize..3000).prop_map(|(value, count)| vec![value; count]),
        (prop::collection::vec(value(), 1..50), 0_usize..60)
            .prop_map(|(day, times)| day.repeat(times)),
    ]
}

fn sound(forecast: Option<&Forecast>) {
    for row in forecast.iter().flat_map(|forecast| &forecast.values) {
        assert!(
            row.iter().all(|value| value.is_finite() && *value >= 0.0),
            "{row:?}"
        );
        assert!(row.is_sorted(), "{row:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_input_breaks_a_forecast(
        values in shape(),
        step in prop_oneof![Just(10_i64), Just(60), Just(300), Just(600), Just(3600)],
        start in -1_000_000_i64..2_000_000_000,
    ) {
        let series = Series { start: Timestamp(start), step, values };
        let fitted = fit(&series, series.end(), &context());
        let steps = usize::try_from(3600 / step).unwrap_or(1);
        let forecast = fitted.predict(&series, series.end(), steps, &levels());
        prop_assert_eq!(forecast.is_none(), fitted.rung == Rung::Nothing);
        sound(forecast.as_ref());
    }
}

proptest! {
    // Trees take their time.
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn no_input_breaks_a_mixture(values in shape(), step in prop_oneof![Just(300_i64), Just(600)]) {
        let series = Series { start: Timestamp(0), step, values };
        let fitted = fit(&series, series.end(), &context());
        if let Some(boosted) = fit_boosted(&series, &fitted) {
            let steps = usize::try_from(3600 / step).unwrap_or(1);
            sound(fitted.predict_mixed(&boosted, &series, series.end(), steps, &levels()).as_ref());
        }
    }
}
