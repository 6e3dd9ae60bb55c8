//! When requests arrive: a Poisson stream whose rate is constant within each minute. Draws from a seed, so
//! that every policy meets the same requests.

/// The rate by minute, and the stream drawn from it.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// Requests per second of each minute.
    rates: Vec<f64>,
    random: fastrand::Rng,
    now: f64,
}

impl Arrivals {
    /// A stream with these rates by minute, beginning at 0.
    pub fn new(rates: Vec<f64>, seed: u64) -> Self {
        Self {
            rates,
            random: fastrand::Rng::with_seed(seed),
            now: 0.0,
        }
    }
}

impl Iterator for Arrivals {
    type Item = f64;

    /// The next arrival in seconds; `None` after the last minute.
    fn next(&mut self) -> Option<f64> {
        loop {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a time from 0 on"
            )]
            let minute = (self.now / 60.0) as usize;
            let rate = *self.rates.get(minute)?;
            let end = (minute + 1) as f64 * 60.0;
            let gap = if rate > 0.0 {
                -(1.0 - self.random.f64()).ln() / rate
            } else {
                f64::INFINITY
            };
            // A Poisson stream has no memory: at a change of the rate it begins anew.
            if self.now + gap >= end {
                self.now = end;
            } else {
                self.now += gap;
                return Some(self.now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_rise_and_keep_their_rates() {
        let rates = vec![5.0, 0.0, 20.0];
        let times: Vec<f64> = Arrivals::new(rates.clone(), 4).collect();
        assert!(times.is_sorted());
        for (minute, rate) in rates.iter().enumerate() {
            let (from, to) = (minute as f64 * 60.0, (minute + 1) as f64 * 60.0);
            let count = times
                .iter()
                .filter(|time| (from..to).contains(*time))
                .count() as f64;
            // Four deviations of a Poisson number.
            assert!(
                (count - rate * 60.0).abs() <= 4.0 * (rate * 60.0).sqrt(),
                "{count} {rate}"
            );
        }
        assert_eq!(times, Arrivals::new(rates, 4).collect::<Vec<_>>());
    }
}
