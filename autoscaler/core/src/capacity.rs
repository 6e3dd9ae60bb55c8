//! How many ready replicas a load needs: by what the owner says that one of them serves, or by what was
//! learned of it. Never looks at what is there.

pub mod curve;
pub mod learned;
pub mod profile;
pub mod tokens;

use crate::units::Replicas;

/// Slack in replicas against rounding of floating point: 3.0000000001 replicas are 3.
const EPSILON: f64 = 1e-9;

/// Replicas that serve `load` requests per second at `per_replica` requests per second each.
/// No load (or one that is not a number) needs none; a capacity that is not above 0 serves nothing,
/// so that any load needs as many as there may be.
pub fn replicas_for(load: f64, per_replica: f64) -> Replicas {
    if load.is_nan() || load <= 0.0 {
        return Replicas(0);
    }
    if per_replica.is_nan() || per_replica <= 0.0 {
        return Replicas(u32::MAX);
    }
    Replicas(whole((load / per_replica - EPSILON).ceil()))
}

/// A number that is already whole as `u32`, saturating.
fn whole(value: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to the range of u32 before"
    )]
    let result = value.clamp(0.0, f64::from(u32::MAX)) as u32;
    result
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_load_is_rounded_up_to_whole_replicas() {
        for (load, per_replica, need) in [
            (0.0, 12.0, 0),
            (0.1, 12.0, 1),
            (12.0, 12.0, 1),
            (12.1, 12.0, 2),
            (131.0, 12.0, 11),
            // 0.1 + 0.2 is a little above 0.3 in floating point.
            (0.1 + 0.2, 0.1, 3),
            (-1.0, 12.0, 0),
            (f64::NAN, 12.0, 0),
            (f64::INFINITY, 12.0, u32::MAX),
            (1.0, 0.0, u32::MAX),
        ] {
            assert_eq!(
                replicas_for(load, per_replica),
                Replicas(need),
                "{load} at {per_replica}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_need_is_enough_and_not_one_more(load in 0.0..1e5_f64, per_replica in 0.01..1e3_f64) {
            let need = f64::from(replicas_for(load, per_replica).0);
            prop_assert!(need * per_replica >= load - per_replica * 1e-6);
            prop_assert!((need - 1.0) * per_replica < load);
        }
    }
}
