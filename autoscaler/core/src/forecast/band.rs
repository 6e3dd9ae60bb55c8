//! The band around a central forecast: quantiles of held-out residuals (split conformal), stored as
//! a small table of levels so that any level can be asked for.

use serde::{Deserialize, Serialize};

/// Levels at which the quantiles are stored; between them is interpolated, beyond them held.
const LEVELS: [f64; 15] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995,
];

/// Residual quantiles of one horizon, rising.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Band(Vec<f64>);

impl Band {
    /// From residuals; `None` with fewer than 10 of them.
    pub fn from_residuals(mut residuals: Vec<f64>) -> Option<Self> {
        if residuals.len() < 10 {
            return None;
        }
        residuals.sort_by(f64::total_cmp);
        Some(Self(
            LEVELS
                .iter()
                .map(|level| conformal(&residuals, *level))
                .collect(),
        ))
    }

    /// A normal law with this standard deviation, where there are no residuals yet.
    pub fn normal(deviation: f64) -> Self {
        Self(
            LEVELS
                .iter()
                .map(|level| deviation * normal_quantile(*level))
                .collect(),
        )
    }

    /// The residual at a level.
    pub fn at(&self, level: f64) -> f64 {
        let next = LEVELS.partition_point(|stored| *stored < level);
        match next {
            0 => self.0[0],
            next if next >= LEVELS.len() => self.0[LEVELS.len() - 1],
            next => {
                let share = (level - LEVELS[next - 1]) / (LEVELS[next] - LEVELS[next - 1]);
                self.0[next - 1] + share * (self.0[next] - self.0[next - 1])
            }
        }
    }
}

/// The quantile of sorted residuals with the finite-sample step outwards of conformal prediction:
/// rank (n+1)·level, interpolated.
fn conformal(sorted: &[f64], level: f64) -> f64 {
    let count = sorted.len() as f64;
    let position = ((count + 1.0) * level - 1.0).clamp(0.0, count - 1.0);
    let (low, high) = (position.floor(), position.ceil());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to the length above"
    )]
    let (left, right) = (sorted[low as usize], sorted[high as usize]);
    left + (position - low) * (right - left)
}

/// Quantile of the standard normal law; error below 4.5e-4 (Abramowitz and Stegun 26.2.23).
pub fn normal_quantile(level: f64) -> f64 {
    let tail = level.min(1.0 - level).max(1e-9);
    let t = (-2.0 * tail.ln()).sqrt();
    let size = t
        - (2.515_517 + 0.802_853 * t + 0.010_328 * t * t)
            / (1.0 + 1.432_788 * t + 0.189_269 * t * t + 0.001_308 * t * t * t);
    if level < 0.5 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_known_law_come_back() {
        let band =
            Band::from_residuals((0..=1000).map(|i| f64::from(i) / 1000.0).collect()).unwrap();
        for level in [0.05, 0.2, 0.5, 0.9, 0.95] {
            assert!(
                (band.at(level) - level).abs() < 0.002,
                "{level}: {}",
                band.at(level)
            );
        }
        assert!(band.at(0.73) > band.at(0.72));
    }

    #[test]
    fn the_normal_quantile_is_the_published_one() {
        assert!((normal_quantile(0.95) - 1.6449).abs() < 5e-4);
        assert!((normal_quantile(0.05) + 1.6449).abs() < 5e-4);
        assert!(Band::from_residuals(vec![0.0; 9]).is_none());
    }
}
