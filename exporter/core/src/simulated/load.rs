//! A generated day of requests: a daily swing, bursts, and one flash crowd a day. Its shape follows
//! published traces; it is not one of them.
//!
//! Sources of the shape. The rates that `ServeGen` publishes (Xiang et al., arXiv 2505.09999,
//! alibaba/ServeGen, language workload "m-small", 14 days in windows of 10 minutes) have: hourly means
//! with a peak 2.2 times the trough, peak at hour 20, trough at hour 5; changes from one window to the
//! next with a standard deviation of 14 % (17 % for "m-large"); and single windows of 2.7 ("m-large":
//! 3.3) times the median of their hour. All rounded below. That load comes in bursts beyond Poisson is
//! also the finding of `BurstGPT` (Wang et al., arXiv 2401.17644). How fast a flash crowd rises and
//! fades is our own choice: minutes up, most of an hour down.

use super::noise;

/// Seconds of a day.
const DAY: f64 = 86_400.0;
/// Highest over lowest hour of the swing.
const PEAK_TO_TROUGH: f64 = 2.2;
/// Hour of the highest rate.
const PEAK_HOUR: f64 = 20.0;
/// Hour of the lowest rate.
const TROUGH_HOUR: f64 = 5.0;
/// Standard deviation of bursts that last some ten minutes, as a share of the rate.
const BURSTS: f64 = 0.10;
/// The same for minutes.
const FLICKER: f64 = 0.05;
/// Rate at the top of a flash crowd over the swing's.
const FLASH: f64 = 2.7;
/// Seconds in which a flash crowd rises.
const FLASH_RISE: f64 = 240.0;
/// Seconds in which it fades to a third.
const FLASH_FADE: f64 = 1200.0;

/// A load that repeats its swing every day; bursts and flash crowds differ by day.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Day {
    seed: u64,
    peak_rps: f64,
}

impl Day {
    /// A load whose daily swing tops at `peak_rps` requests per second; bursts and the flash crowd
    /// go above it. The same seed gives the same load.
    pub fn new(seed: u64, peak_rps: f64) -> Self {
        Self { seed, peak_rps }
    }

    /// Requests per second at a time; never negative.
    pub fn rate(&self, unix_seconds: f64) -> f64 {
        let swing = self.peak_rps * swing(unix_seconds);
        let burst = 1.0
            + BURSTS * self.wave(1, unix_seconds / 600.0)
            + FLICKER * self.wave(2, unix_seconds / 60.0);
        swing * (burst.max(0.0) + (FLASH - 1.0) * self.flash(unix_seconds))
    }

    /// When the flash crowd of the day of `unix_seconds` starts, unix seconds: between hour 8 and 18,
    /// so that it and its end lie within the day.
    pub fn flash_start(&self, unix_seconds: f64) -> f64 {
        let day = (unix_seconds / DAY).floor();
        day * DAY + (8.0 + 10.0 * noise(self.seed, 3, bits(day))) * 3600.0
    }

    /// Share of a flash crowd that is present, 0 to 1.
    fn flash(&self, at: f64) -> f64 {
        let since = at - self.flash_start(at);
        if since < 0.0 {
            0.0
        } else if since < FLASH_RISE {
            since / FLASH_RISE
        } else {
            (-(since - FLASH_RISE) / FLASH_FADE).exp()
        }
    }

    /// Smooth noise with mean 0 and standard deviation near 1 that changes once a unit of `position`.
    fn wave(&self, stream: u64, position: f64) -> f64 {
        let whole = position.floor();
        let at = |node: f64| {
            let of = |k: u64| noise(self.seed, stream * 16 + k, bits(node));
            // Four uniform numbers: nearly normal, and bounded.
            ((0..4).map(of).sum::<f64>() - 2.0) * 3.0_f64.sqrt()
        };
        let share = position - whole;
        let smooth = share * share * (3.0 - 2.0 * share);
        at(whole) * (1.0 - smooth) + at(whole + 1.0) * smooth
    }
}

/// The daily swing by time of day, 1 at its top. A cosine whose two halves have their own length, since
/// the fall at night is shorter than the rise over the day.
fn swing(at: f64) -> f64 {
    let hour = (at / 3600.0).rem_euclid(24.0);
    let fall = (TROUGH_HOUR - PEAK_HOUR).rem_euclid(24.0);
    let since = (hour - PEAK_HOUR).rem_euclid(24.0);
    let phase = if since < fall {
        0.5 * since / fall
    } else {
        0.5 + 0.5 * (since - fall) / (24.0 - fall)
    };
    let low = 1.0 / PEAK_TO_TROUGH;
    low + (1.0 - low) * f64::midpoint(1.0, (phase * std::f64::consts::TAU).cos())
}

/// A whole number in a float as bits to seed with.
fn bits(whole: f64) -> u64 {
    whole.to_bits()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn minutes(day: &Day, from: f64, count: u32) -> Vec<f64> {
        (0..count)
            .map(|minute| day.rate(from + f64::from(minute) * 60.0))
            .collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn the_swing_has_its_hours_and_its_ratio() {
        assert!((swing(PEAK_HOUR * 3600.0) - 1.0).abs() < 1e-12);
        assert!((swing(TROUGH_HOUR * 3600.0) * PEAK_TO_TROUGH - 1.0).abs() < 1e-12);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-3;
        assert!(
            near(swing(86_399.9), swing(86_400.1)),
            "no jump at midnight"
        );
    }

    #[test]
    fn one_flash_crowd_a_day_stands_out() {
        for seed in 0..20 {
            let day = Day::new(seed, 100.0);
            let start = day.flash_start(0.0);
            let quiet = mean(&minutes(&day, start - 1800.0, 30));
            let top = day.rate(start + FLASH_RISE);
            assert!(top > 1.9 * quiet, "seed {seed}: {quiet} then {top}");
            let over = day.rate(start + 4.0 * 3600.0) / (100.0 * swing(start + 4.0 * 3600.0));
            assert!(over < 1.6, "seed {seed}: it ends");
        }
    }

    #[test]
    fn bursts_are_as_strong_as_their_source_says() {
        let day = Day::new(7, 100.0);
        let windows: Vec<f64> = (0..1000)
            .map(|window| f64::from(window) * 600.0)
            .filter(|at| day.flash(*at) < 0.01 && day.flash(*at - 600.0) < 0.01)
            .map(|at| day.rate(at) / day.rate(at - 600.0) - 1.0)
            .collect();
        let center = mean(&windows);
        let spread = mean(
            &windows
                .iter()
                .map(|w| (w - center).powi(2))
                .collect::<Vec<_>>(),
        )
        .sqrt();
        assert!((0.10..0.20).contains(&spread), "{spread}");
    }

    proptest! {
        #[test]
        fn a_rate_is_never_negative_and_bounded(seed in any::<u64>(), at in -1e9..4e9_f64) {
            let rate = Day::new(seed, 10.0).rate(at);
            prop_assert!((0.0..=10.0 * (FLASH + 1.0)).contains(&rate));
        }

        #[test]
        fn the_same_seed_gives_the_same_load(seed in any::<u64>(), at in 0.0..2e9_f64) {
            let rate = || Day::new(seed, 10.0).rate(at).to_bits();
            prop_assert_eq!(rate(), rate());
        }
    }
}
