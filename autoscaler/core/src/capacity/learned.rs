//! A target's capacity from its own past: which latencies it has to keep, what was seen of them, and what
//! one replica serves within all of them. Learns only from steps in which nothing else moved.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::{
    capacity::curve::{Bound, Curve},
    units::{Level, Timestamp},
};

/// A latency that an objective is about; the names of `slo[].metric` of an `InferenceScaler`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Metric {
    /// From the request to the whole answer.
    EndToEnd,
    /// From the request to the first token.
    TimeToFirstToken,
    /// Between two tokens of one answer.
    TimePerOutputToken,
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// One entry of `slo`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// Which latency.
    pub metric: Metric,
    /// At which quantile.
    pub quantile: Level,
    /// At most, in seconds; above 0.
    pub seconds: f64,
}

impl Objective {
    /// Of which latency a curve is kept for it: another quantile is another curve.
    fn key(&self) -> String {
        format!("{} at {}", self.metric, self.quantile.get())
    }
}

/// Under which name the curve of the mean is kept.
const MEAN: &str = "mean";

/// What the replicas of a target did in the newest step; only what is known for sure.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Service {
    /// Requests per second that they answered.
    pub served: Option<f64>,
    /// Requests inside them, waiting or in work.
    pub inside: Option<f64>,
    /// Latencies in seconds, each at the quantile of its objective.
    pub latencies: Vec<(Metric, f64)>,
}

impl Service {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Where a capacity comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// The owner's number.
    Given,
    /// Learned: the curve of its latency meets the objective there.
    Curve,
    /// Learned: at a higher rate the objective was missed.
    SeenTooSlow,
    /// Learned: a little above the highest rate that was seen, which was fast enough.
    NotSeenYet,
    /// Nothing was given, and not enough was seen.
    Unknown,
}

impl Source {
    /// The name in the status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Given => "Given",
            Self::Curve => "Curve",
            Self::SeenTooSlow => "SeenTooSlow",
            Self::NotSeenYet => "NotSeenYet",
            Self::Unknown => "Unknown",
        }
    }
}

/// What one ready replica serves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capacity {
    /// Requests per second within all objectives, above 0; `None` while it is unknown.
    pub per_replica: Option<f64>,
    /// Where it comes from.
    pub source: Source,
    /// The objective that bounds it, where it was learned.
    pub bound_by: Option<Metric>,
}

impl Capacity {
    /// The owner's number.
    pub fn given(per_replica: f64) -> Self {
        Self {
            per_replica: Some(per_replica),
            source: Source::Given,
            bound_by: None,
        }
    }
}

/// The curves of one target.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Curves(BTreeMap<String, Curve>);

impl Curves {
    /// Whether nothing was learned.
    pub fn is_empty(&self) -> bool {
        self.0.values().all(Curve::is_empty)
    }

    /// Learns from one step in which `ready` replicas did what `service` says. Call it once a step, and
    /// only when no replica came or went: a start warms caches, an end drains.
    pub fn learn(
        &mut self,
        now: Timestamp,
        ready: u32,
        service: &Service,
        objectives: &[Objective],
    ) {
        let Some(served) = service.served.filter(|_| ready > 0) else {
            return;
        };
        let rate = served / f64::from(ready);
        for objective in objectives {
            let seen = service
                .latencies
                .iter()
                .find(|(metric, _)| *metric == objective.metric);
            if let Some((_, seconds)) = seen {
                let curve = self.0.entry(objective.key()).or_default();
                curve.learn(now.0, rate, *seconds);
            }
        }
        // Little's law: what is inside is what comes a second times the seconds that it stays.
        if let Some(inside) = service.inside {
            let curve = self.0.entry(MEAN.to_owned()).or_default();
            curve.learn(now.0, rate, inside / served);
        }
        let keys: Vec<String> = objectives.iter().map(Objective::key).collect();
        self.0.retain(|key, _| key == MEAN || keys.contains(key));
    }

    /// What one replica serves within all objectives: the least of what each leaves. An end-to-end
    /// objective without a latency of its own is read from the mean, as if latencies were spread
    /// exponentially: a quantile `q` is then `ln(1/(1 − q))` means, which real servers stay below.
    pub fn capacity(&self, objectives: &[Objective]) -> Capacity {
        let unknown = Capacity {
            per_replica: None,
            source: Source::Unknown,
            bound_by: None,
        };
        let of = |objective: &Objective| {
            let own = self.0.get(&objective.key());
            let found = own.and_then(|curve| curve.capacity(objective.seconds));
            let learned = found.or_else(|| {
                let means = -(1.0 - objective.quantile.get()).ln();
                let mean = self
                    .0
                    .get(MEAN)
                    .filter(|_| objective.metric == Metric::EndToEnd)?;
                mean.capacity(objective.seconds / means)
            })?;
            let source = match learned.bound {
                Bound::Curve => Source::Curve,
                Bound::SeenTooSlow => Source::SeenTooSlow,
                Bound::NotSeenYet => Source::NotSeenYet,
            };
            (learned.per_replica > 0.0).then_some(Capacity {
                per_replica: Some(learned.per_replica),
                source,
                bound_by: Some(objective.metric),
            })
        };
        let least = |a: &Capacity, b: &Capacity| {
            let number = |capacity: &Capacity| capacity.per_replica.unwrap_or(f64::INFINITY);
            number(a).total_cmp(&number(b))
        };
        objectives
            .iter()
            .filter_map(of)
            .min_by(least)
            .unwrap_or(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objective(metric: Metric, quantile: f64, seconds: f64) -> Objective {
        Objective {
            metric,
            quantile: Level::new(quantile).unwrap(),
            seconds,
        }
    }

    /// Two hours of five replicas, each a queue of 20 requests/s, at 4 to 14 requests/s each.
    fn learned(objectives: &[Objective], with: impl Fn(f64) -> Service) -> Curves {
        let mut curves = Curves::default();
        for minute in 0..120_i32 {
            let rate = 4.0 + f64::from(minute % 40) / 4.0;
            curves.learn(
                Timestamp(i64::from(minute) * 60),
                5,
                &with(rate),
                objectives,
            );
        }
        curves
    }

    #[test]
    fn littles_law_stands_in_for_a_latency_that_is_not_measured() {
        let objectives = [objective(Metric::EndToEnd, 0.95, 0.6)];
        let curves = learned(&objectives, |rate| Service {
            served: Some(5.0 * rate),
            inside: Some(5.0 * rate / (20.0 - rate)),
            latencies: vec![],
        });
        // Exponential: the mean may be 0.6/3.0 s, which is so at 15 requests/s.
        let capacity = curves.capacity(&objectives);
        let per_replica = capacity.per_replica.unwrap();
        assert!((per_replica - 15.0).abs() < 0.5, "{capacity:?}");
        let first = [objective(Metric::TimeToFirstToken, 0.95, 0.6)];
        assert_eq!(curves.capacity(&first).source, Source::Unknown);
    }

    #[test]
    fn the_strictest_objective_bounds_and_is_named() {
        let objectives = [
            objective(Metric::TimeToFirstToken, 0.95, 0.25),
            objective(Metric::TimePerOutputToken, 0.5, 0.02),
        ];
        let curves = learned(&objectives, |rate| Service {
            served: Some(5.0 * rate),
            inside: None,
            latencies: vec![
                (Metric::TimeToFirstToken, 2.0 / (20.0 - rate)),
                (Metric::TimePerOutputToken, 0.1 / (20.0 - rate)),
            ],
        });
        let capacity = curves.capacity(&objectives);
        assert_eq!(capacity.bound_by, Some(Metric::TimeToFirstToken));
        assert!(
            (capacity.per_replica.unwrap() - 12.0).abs() < 0.3,
            "{capacity:?}"
        );
    }

    #[test]
    fn another_quantile_is_learned_anew_and_nothing_without_replicas() {
        let (p99, p50) = (
            [objective(Metric::EndToEnd, 0.99, 1.0)],
            [objective(Metric::EndToEnd, 0.5, 1.0)],
        );
        let service = |rate: f64| Service {
            served: Some(rate),
            inside: None,
            latencies: vec![(Metric::EndToEnd, 0.5)],
        };
        let mut curves = learned(&p99, service);
        assert!(curves.capacity(&p99).per_replica.is_some());
        assert_eq!(curves.capacity(&p50).source, Source::Unknown);
        curves.learn(Timestamp(9000), 1, &service(3.0), &p50);
        assert_eq!(
            curves.capacity(&p99).source,
            Source::Unknown,
            "what nobody asks for goes"
        );
        let mut none = Curves::default();
        none.learn(Timestamp(0), 0, &service(3.0), &p99);
        assert!(none.is_empty());
    }
}
