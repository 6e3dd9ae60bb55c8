//! Who decides: Foresail's core and its rivals, all by what a scrape shows and nothing else. The oracle alone
//! sees the future.

pub mod dynamo;
pub mod foresail;
pub mod hpa;
pub mod keda;
pub mod kpa;
pub mod rules;

use autoscaler_core::{
    snapshot::Policy as Wish,
    units::{Level, TargetId, Timestamp},
};
use thiserror::Error;

use crate::scenario::Scenario;

/// What a policy is shown.
pub struct Seen<'a> {
    /// Unix seconds.
    pub now: Timestamp,
    /// Requests per second that arrived over the last minute; `None` without fresh scrapes.
    pub rate: Option<f64>,
    /// Requests per second over so many trailing seconds, as a proxy in front of the service counts them.
    pub counted: &'a dyn Fn(f64) -> f64,
    /// Requests per second by minute until now, the oldest first; a gap is a minute without scrapes.
    pub minutes: &'a [Option<f64>],
    /// Replicas that are asked for.
    pub desired: u32,
    /// Replicas that serve.
    pub ready: u32,
    /// Start-up times in seconds since the last look.
    pub startups: &'a [f64],
    /// The exposition of this scrape; `None` when it was lost.
    pub exposition: Option<&'a str>,
}

/// Decides on a number of replicas.
pub trait Policy {
    /// Seconds between two looks.
    fn period(&self) -> f64 {
        15.0
    }

    /// Replicas to ask for.
    fn decide(&mut self, seen: &Seen<'_>) -> u32;
}

/// Why there is no such policy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no policy '{0}'; there are {names}, each with @ and a knob behind it if need be, such as hpa@0.8", names = NAMES.join(", "))]
pub struct UnknownPolicy(pub String);

/// Every policy by name.
pub const NAMES: [&str; 12] = [
    "foresail",
    "hpa",
    "hpa-no-behavior",
    "keda",
    "keda-fallback",
    "kpa",
    "dynamo-constant",
    "dynamo-kalman",
    "reactive-max",
    "seasonal-naive",
    "fixed-peak",
    "oracle",
];

/// A policy by its name: `NAME` or `NAME@KNOB`. The knob of Foresail is the quantile that it provides for (0.95),
/// of all others the share of a replica's capacity that they fill (1, of KPA 0.7). `rates` are the true requests per second by
/// minute of what is simulated, for those that may know them.
pub fn named(
    text: &str,
    scenario: &Scenario,
    rates: &[f64],
    begin: u32,
) -> Result<Box<dyn Policy>, UnknownPolicy> {
    let unknown = || UnknownPolicy(text.to_owned());
    let (name, knob) = match text.split_once('@') {
        None => (text, None),
        Some((name, knob)) => {
            let knob: f64 = knob.parse().map_err(|_| unknown())?;
            (
                name,
                Some(knob).filter(|knob| *knob > 0.0 && knob.is_finite()),
            )
        }
    };
    if text.contains('@') && knob.is_none() {
        return Err(unknown());
    }
    let (min, max, capacity) = (
        scenario.replicas.min,
        scenario.replicas.max,
        scenario.replicas.capacity,
    );
    let mut wish = Wish::new(min, max, capacity);
    let share = |usual: f64| capacity * knob.unwrap_or(usual);
    let bounds = rules::Bounds { min, max };
    let startup = scenario.startup.seconds;
    Ok(match name {
        "foresail" => {
            if let Some(knob) = knob {
                wish.level = Level::new(knob).ok_or_else(unknown)?;
            }
            Box::new(foresail::Simulated::new(wish))
        }
        "hpa" => Box::new(hpa::Hpa::new(wish, share(1.0))),
        "hpa-no-behavior" => Box::new(hpa::Hpa::without_behavior(wish, share(1.0))),
        "keda" => Box::new(keda::Keda::new(wish, share(1.0), None)),
        "keda-fallback" => Box::new(keda::Keda::new(wish, share(1.0), Some(begin))),
        "kpa" => Box::new(kpa::Kpa::new(bounds, share(0.7))),
        "dynamo-constant" => Box::new(dynamo::Dynamo::constant(bounds, share(1.0))),
        "dynamo-kalman" => Box::new(dynamo::Dynamo::kalman(bounds, share(1.0))),
        "reactive-max" => Box::new(rules::ReactiveMax::new(bounds, share(1.0))),
        "seasonal-naive" => Box::new(rules::SeasonalNaive::new(bounds, share(1.0), startup)),
        "fixed-peak" => Box::new(rules::FixedPeak::new(bounds, share(1.0), rates)),
        "oracle" => Box::new(rules::Oracle::new(bounds, share(1.0), rates, startup)),
        _ => return Err(unknown()),
    })
}

/// The simulated target.
pub(crate) fn target() -> TargetId {
    TargetId {
        namespace: "simulated".to_owned(),
        name: "service".to_owned(),
    }
}
