//! Stabilization windows on recommendations, as HPA has them: a decrease goes no lower than the
//! highest recommendation of its window, an increase no higher than the lowest of its own.

use crate::{
    decide::behavior::Behavior,
    units::{Replicas, Timestamp},
};

/// `current`, moved as far towards `desired` as the recommendations of both windows allow.
/// Never above `current` while `desired` is below it, and the other way round.
///
/// `recommendations` are those of before, unstabilised; only those later than `now − window` count.
pub fn stabilise(
    behavior: &Behavior,
    recommendations: &[(Timestamp, Replicas)],
    now: Timestamp,
    current: Replicas,
    desired: Replicas,
) -> Replicas {
    let within = |window: i64| {
        recommendations
            .iter()
            .filter(move |(time, _)| *time > now.plus(-window))
            .map(|(_, replicas)| *replicas)
    };
    let up = within(behavior.scale_up.stabilization_window_seconds).fold(desired, Replicas::min);
    let down =
        within(behavior.scale_down.stabilization_window_seconds).fold(desired, Replicas::max);
    current.max(up).min(down)
}
