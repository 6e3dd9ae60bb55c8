//! Curves learned from servers whose truth is known.

use proptest::prelude::*;

use super::*;

/// Numbers that look random, the same at each run; about normal with mean 0 and deviation 1.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        let mut sum = 0.0;
        for _ in 0..12 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            sum += (self.0 >> 11) as f64 / (1_u64 << 53) as f64;
        }
        sum - 6.0
    }
}

/// A day of minutes of a server with this latency at a rate, its rate swinging between the two.
fn day(curve: &mut Curve, (low, high): (f64, f64), noise: f64, latency: impl Fn(f64) -> f64) {
    let mut random = Noise(7);
    for minute in 0..1440_i32 {
        let phase = f64::from(minute) / 1440.0 * std::f64::consts::TAU;
        let rate = low + (high - low) * (0.5 - 0.5 * phase.cos());
        let seen = latency(rate) * (noise * random.next()).exp();
        curve.learn(i64::from(minute) * 60, rate, seen);
    }
}

fn near(found: f64, truth: f64, share: f64) {
    assert!(
        (found / truth - 1.0).abs() < share,
        "{found} instead of {truth}"
    );
}

#[test]
fn a_server_that_shares_its_processor_is_learned_from_half_its_load() {
    // 20 requests/s alone; a latency of 0.2 s is reached at 20 − 1/0.2 = 15.
    let mut curve = Curve::default();
    day(&mut curve, (4.0, 13.0), 0.2, |rate| 1.0 / (20.0 - rate));
    let learned = curve.capacity(0.2).unwrap();
    near(learned.middle, 15.0, 0.05);
    near(learned.per_replica, 15.0, 0.1);
    assert!(learned.per_replica <= learned.middle);
    assert_eq!(learned.bound, Bound::Curve);
}

#[test]
fn continuous_batching_is_learned() {
    // 200 steps of 12 ms + 0.2 ms a sequence: W = 2.4 / (1 − 0.04·x); 6 s at x = 15.
    let mut curve = Curve::default();
    day(&mut curve, (2.0, 13.0), 0.1, |rate| {
        2.4 / (1.0 - 0.04 * rate)
    });
    near(curve.capacity(6.0).unwrap().per_replica, 15.0, 0.1);
}

#[test]
fn a_queue_that_breaks_the_line_bounds_the_answer() {
    // Flat until its batch is full at 10 requests/s, then it runs away.
    let truth = |rate: f64| {
        if rate < 10.0 {
            0.05
        } else {
            0.05 + 2.0 * (rate - 10.0)
        }
    };
    let mut curve = Curve::default();
    day(&mut curve, (2.0, 12.0), 0.1, truth);
    let learned = curve.capacity(0.5).unwrap();
    assert!((9.0..10.9).contains(&learned.per_replica), "{learned:?}");
}

#[test]
fn nothing_is_promised_far_beyond_what_was_seen() {
    let mut curve = Curve::default();
    day(&mut curve, (1.0, 4.0), 0.05, |_| 0.05);
    let learned = curve.capacity(1.0).unwrap();
    assert!((4.4..=5.0).contains(&learned.per_replica), "{learned:?}");
    assert_eq!(learned.bound, Bound::NotSeenYet);
}

#[test]
fn too_slow_at_every_rate_gives_less_than_the_lowest() {
    let mut curve = Curve::default();
    day(&mut curve, (4.0, 8.0), 0.05, |_| 1.0);
    let learned = curve.capacity(0.5).unwrap();
    assert!(
        learned.per_replica < 4.5 && learned.bound == Bound::SeenTooSlow,
        "{learned:?}"
    );
}

#[test]
fn without_samples_or_with_useless_ones_nothing_is_known() {
    let mut curve = Curve::default();
    for (rate, latency) in [
        (0.0, 1.0),
        (1.0, 0.0),
        (f64::NAN, 1.0),
        (1.0, f64::INFINITY),
        (-1.0, 1.0),
    ] {
        curve.learn(0, rate, latency);
    }
    assert!(curve.is_empty());
    curve.learn(0, 1.0, 0.1);
    assert_eq!(curve.capacity(1.0), None, "one sample is none");
    assert_eq!(curve.capacity(0.0), None);
}

#[test]
fn a_server_that_became_slower_is_learned_anew() {
    let mut curve = Curve::default();
    day(&mut curve, (4.0, 13.0), 0.1, |rate| 1.0 / (20.0 - rate));
    let month = 30 * 86_400;
    for minute in 0..1440_i32 {
        let rate = 2.0 + 6.0 * f64::from(minute % 100) / 100.0;
        curve.learn(month + i64::from(minute) * 60, rate, 1.0 / (12.0 - rate));
    }
    near(curve.capacity(0.2).unwrap().per_replica, 7.0, 0.15);
}

#[test]
fn a_curve_survives_as_json_and_bad_bins_do_not() {
    let mut curve = Curve::default();
    day(&mut curve, (4.0, 13.0), 0.2, |rate| 1.0 / (20.0 - rate));
    let text = serde_json::to_string(&curve).unwrap();
    assert!(text.len() < 3000, "{} bytes", text.len());
    assert_eq!(serde_json::from_str::<Curve>(&text).unwrap(), curve);
    let bad = r#"{"at":1,"bins":[[1,5,-1,1,0],[2,5,1.5,2,0]]}"#;
    assert_eq!(serde_json::from_str::<Curve>(bad).unwrap().bins.len(), 1);
}

proptest! {
    #[test]
    fn whatever_is_seen_the_answer_is_a_number_and_bounded(
        seen in prop::collection::vec((0_i64..1_000_000, 1e-9..1e9_f64, 1e-9..1e9_f64), 0..200),
        objective in 1e-6..1e6_f64,
    ) {
        let mut curve = Curve::default();
        let mut highest = 0.0_f64;
        for (now, rate, latency) in seen {
            curve.learn(now, rate, latency);
            highest = highest.max(rate);
        }
        if let Some(learned) = curve.capacity(objective) {
            for value in [learned.per_replica, learned.middle] {
                prop_assert!(value.is_finite() && value >= 0.0);
                prop_assert!(value <= highest * BEYOND * (1.0 + 1e-9));
            }
        }
    }
}
