//! Dynamo planner's predictors on the rate of its adjustment interval, one interval ahead. Source: ai-dynamo/dynamo
//! `components/src/dynamo/planner`: constant is the last value; kalman a local linear trend with its noises 1.0, 0.1 and 10,
//! from five points on.

use super::{Policy, Seen, rules::Bounds};

/// Seconds of the adjustment interval.
const INTERVAL: f64 = 180.0;
const Q_LEVEL: f64 = 1.0;
const Q_TREND: f64 = 0.1;
const R: f64 = 10.0;
const LEAST: u32 = 5;

/// The planner with one of its predictors.
pub struct Dynamo {
    bounds: Bounds,
    capacity: f64,
    trend: Option<Trend>,
}

/// Level and trend with their covariance.
#[derive(Default)]
struct Trend {
    level: f64,
    slope: f64,
    /// Of the level, of both, of the slope.
    covariance: (f64, f64, f64),
    points: u32,
}

impl Trend {
    /// Takes in one measured value.
    fn update(&mut self, value: f64) {
        self.points += 1;
        if self.points == 1 {
            self.level = value;
            self.covariance = (1000.0, 0.0, 1000.0);
            return;
        }
        let (ll, ls, ss) = self.covariance;
        self.level += self.slope;
        let (ll, ls, ss) = (ll + 2.0 * ls + ss + Q_LEVEL, ls + ss, ss + Q_TREND);
        let innovation = value - self.level;
        let (gain, drift) = (ll / (ll + R), ls / (ll + R));
        self.level += gain * innovation;
        self.slope += drift * innovation;
        self.covariance = (ll * (1.0 - gain), ls * (1.0 - gain), ss - drift * ls);
    }
}

impl Dynamo {
    /// The last interval comes again.
    pub fn constant(bounds: Bounds, capacity: f64) -> Self {
        Self {
            bounds,
            capacity,
            trend: None,
        }
    }

    /// The trend goes on.
    pub fn kalman(bounds: Bounds, capacity: f64) -> Self {
        Self {
            trend: Some(Trend::default()),
            ..Self::constant(bounds, capacity)
        }
    }
}

impl Policy for Dynamo {
    fn period(&self) -> f64 {
        INTERVAL
    }

    fn decide(&mut self, seen: &Seen<'_>) -> u32 {
        let Some(rate) = seen.rate.map(|_| (seen.counted)(INTERVAL)) else {
            return seen.desired;
        };
        let predicted = match &mut self.trend {
            None => rate,
            Some(trend) => {
                // Its unit is requests of an interval; with few points it says what it saw.
                trend.update(rate * INTERVAL);
                if trend.points < LEAST {
                    rate
                } else {
                    ((trend.level + trend.slope) / INTERVAL).max(0.0)
                }
            }
        };
        self.bounds.replicas(predicted, self.capacity)
    }
}
