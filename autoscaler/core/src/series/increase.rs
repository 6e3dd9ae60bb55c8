//! Increase and rate of counters that start again from zero when their process does. Never
//! extrapolates beyond the samples: the first sample of a counter gives no rate, a reset counts from
//! zero.

/// Sum of the increases between neighbouring samples `(unix seconds, counter value)` in rising time;
/// `None` with fewer than two usable samples. A value below the one before is a reset.
pub fn increase(points: &[(f64, f64)]) -> Option<f64> {
    let steps = steps(points);
    (!steps.is_empty()).then(|| steps.iter().map(|step| step.gain).sum())
}

/// Rate per second between neighbouring samples, stamped with the later of the two.
/// Samples that are not finite, negative or not later than the one before are passed over.
pub fn rates(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    steps(points)
        .iter()
        .map(|step| (step.time, step.gain / step.seconds))
        .collect()
}

/// From one usable sample to the next.
struct Step {
    time: f64,
    seconds: f64,
    gain: f64,
}

fn steps(points: &[(f64, f64)]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut last: Option<(f64, f64)> = None;
    for &(time, value) in points {
        if !time.is_finite() || !value.is_finite() || value < 0.0 {
            continue;
        }
        if let Some((before, counted)) = last {
            let seconds = time - before;
            if seconds <= 0.0 {
                continue;
            }
            let gain = if value < counted {
                value
            } else {
                value - counted
            };
            steps.push(Step {
                time,
                seconds,
                gain,
            });
        }
        last = Some((time, value));
    }
    steps
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_sample_gives_no_rate() {
        assert_eq!(increase(&[]), None);
        assert_eq!(increase(&[(0.0, 500.0)]), None);
        assert_eq!(rates(&[(0.0, 500.0)]), []);
    }

    #[test]
    fn a_reset_counts_from_zero() {
        let points = [(0.0, 100.0), (15.0, 130.0), (30.0, 6.0), (45.0, 36.0)];
        assert_eq!(increase(&points), Some(30.0 + 6.0 + 30.0));
        assert_eq!(rates(&points), [(15.0, 2.0), (30.0, 0.4), (45.0, 2.0)]);
    }

    #[test]
    fn what_is_no_sample_is_passed_over() {
        let points = [
            (0.0, 10.0),
            (15.0, f64::NAN),
            (15.0, -1.0),
            (30.0, 40.0),
            (30.0, 90.0),
        ];
        assert_eq!(rates(&points), [(30.0, 1.0)]);
    }

    proptest! {
        #[test]
        fn resets_lose_nothing_that_was_counted(
            gains in prop::collection::vec((0.0..100.0_f64, any::<bool>()), 1..50),
        ) {
            // After a reset the counter shows only what was counted since.
            let (mut time, mut counter, mut counted) = (0.0, 50.0, 0.0);
            let mut points = vec![(time, counter)];
            for (gain, reset) in gains {
                time += 15.0;
                // A restart shows as one only when the new value is lower than the old.
                counter = if reset && gain < counter { gain } else { counter + gain };
                counted += gain;
                points.push((time, counter));
            }
            let total = increase(&points).unwrap();
            prop_assert!((total - counted).abs() < 1e-6);
            prop_assert!(rates(&points).iter().all(|(_, rate)| rate.is_finite() && *rate >= 0.0));
        }
    }
}
