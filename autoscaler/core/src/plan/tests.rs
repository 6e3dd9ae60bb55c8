//! Whole plans: worked examples, and the properties that every plan has.

use crate::{
    decide::behavior::Behavior,
    snapshot::{Fallback, Mode, Paused, Policy},
    units::{Level, Replicas},
};

/// An ordinary wish: 2 to 40 replicas of 12 requests per second.
pub(crate) fn policy() -> Policy {
    Policy {
        min_replicas: Replicas(2),
        max_replicas: Replicas(40),
        mode: Mode::Apply,
        paused: Paused::None,
        capacity_per_replica: 12.0,
        level: Level::new(0.95).unwrap(),
        forecast: true,
        horizon: None,
        time_zone: "UTC".to_owned(),
        exclude: vec![],
        behavior: Behavior::default(),
        fallback: Fallback::Hold,
    }
}
