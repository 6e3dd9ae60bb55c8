//! Whether a snapshot that comes from outside keeps what the types promise. Types refuse most of
//! what is wrong while it is read; this is the rest. Never repairs anything.

use thiserror::Error;

use crate::{
    series::Series,
    snapshot::{Policy, Signal, Snapshot, Target, VERSION},
    units::Replicas,
};

/// Seconds of a step at most: a day.
const LONGEST_STEP: i64 = 86_400;
/// Unix seconds of the year 10,000, after which no calendar goes on.
const LAST_SECOND: i64 = 253_402_300_800;

/// What is wrong, where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {what}")]
pub struct Unsound {
    /// Path of the field, for example `targets[0].policy`.
    pub place: String,
    /// What stands there and what would be right.
    pub what: String,
}

/// The first thing in `snapshot` that no plan may rest on.
pub fn sound(snapshot: &Snapshot) -> Result<(), Unsound> {
    let version = snapshot.version;
    refuse(version != VERSION, "version", || {
        format!("is {version}, only {VERSION} can be read")
    })?;
    refuse(snapshot.tick < 1, "tick", || {
        format!("is {} s, it has to be at least 1", snapshot.tick)
    })?;
    let now = snapshot.now.0;
    refuse(!(0..LAST_SECOND).contains(&now), "now", || {
        format!("is {now}, it has to be unix seconds")
    })?;
    for (index, pair) in snapshot.targets.windows(2).enumerate() {
        refuse(
            pair[0].id >= pair[1].id,
            &format!("targets[{}].id", index + 1),
            || format!("{} follows {}, ids have to rise", pair[1].id, pair[0].id),
        )?;
    }
    for (index, target) in snapshot.targets.iter().enumerate() {
        target_sound(&format!("targets[{index}]"), target)?;
    }
    Ok(())
}

fn target_sound(place: &str, target: &Target) -> Result<(), Unsound> {
    policy_sound(&format!("{place}.policy"), &target.policy)?;
    signal_sound(&format!("{place}.load"), &target.load)?;
    if let Some(waiting) = &target.waiting {
        signal_sound(&format!("{place}.waiting"), waiting)?;
    }
    Ok(())
}

fn policy_sound(place: &str, policy: &Policy) -> Result<(), Unsound> {
    let (min, max) = (policy.min_replicas, policy.max_replicas);
    refuse(min > max || max == Replicas(0), place, || {
        format!("min_replicas is {min} and max_replicas {max}, it has to be min ≤ max and max ≥ 1")
    })?;
    let capacity = policy.capacity_per_replica;
    refuse(capacity.is_some_and(|value| !above_0(value)), place, || {
        format!(
            "capacity_per_replica is {}, it has to be above 0",
            capacity.unwrap_or_default()
        )
    })?;
    let objectives = &policy.objectives;
    refuse(capacity.is_none() && objectives.is_empty(), place, || {
        "it has to hold capacity_per_replica or objectives to learn it for".to_owned()
    })?;
    let bad = objectives
        .iter()
        .find(|objective| !above_0(objective.seconds));
    refuse(bad.is_some(), place, || {
        "seconds of an objective have to be above 0".to_owned()
    })?;
    let zone = &policy.time_zone;
    refuse(jiff::tz::TimeZone::get(zone).is_err(), place, || {
        format!("time_zone `{zone}` is no IANA name, for example Europe/Berlin")
    })?;
    for (name, rules) in [
        ("scale_up", &policy.behavior.scale_up),
        ("scale_down", &policy.behavior.scale_down),
    ] {
        let place = format!("{place}.behavior.{name}");
        let window = rules.stabilization_window_seconds;
        refuse(!(0..=3600).contains(&window), &place, || {
            format!("stabilization_window_seconds is {window}, it has to be 0 to 3600")
        })?;
        refuse(
            !(rules.tolerance.is_finite() && rules.tolerance >= 0.0),
            &place,
            || format!("tolerance is {}, it has to be at least 0", rules.tolerance),
        )?;
        let bad = rules
            .policies
            .iter()
            .any(|policy| policy.value == 0 || !(1..=1800).contains(&policy.period_seconds));
        refuse(bad || rules.policies.is_empty(), &place, || {
            "it has to hold at least one policy, each with a value above 0 and a period_seconds \
             of 1 to 1800"
                .to_owned()
        })?;
    }
    Ok(())
}

fn signal_sound(place: &str, signal: &Signal) -> Result<(), Unsound> {
    let Series {
        start,
        step,
        values,
    } = &signal.series;
    refuse(
        !(1..=LONGEST_STEP).contains(step),
        &format!("{place}.series.step"),
        || format!("is {step} s, it has to be 1 to {LONGEST_STEP}"),
    )?;
    refuse(
        !(0..LAST_SECOND).contains(&start.0),
        &format!("{place}.series.start"),
        || format!("is {}, it has to be unix seconds", start.0),
    )?;
    let bad = values
        .iter()
        .position(|value| value.is_some_and(|value| !value.is_finite() || value < 0.0));
    let index = bad.unwrap_or_default();
    refuse(
        bad.is_some(),
        &format!("{place}.series.values[{index}]"),
        || {
            format!(
                "is {:?}, it has to be finite and not negative",
                values[index].unwrap_or_default()
            )
        },
    )
}

fn above_0(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

fn refuse(wrong: bool, place: &str, what: impl FnOnce() -> String) -> Result<(), Unsound> {
    if wrong {
        Err(Unsound {
            place: place.to_owned(),
            what: what(),
        })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{plan::tests::seen, units::Timestamp};

    /// Makes one thing in a sound snapshot wrong.
    type Spoil = fn(&mut Snapshot);

    const CASES: [(Spoil, &str); 15] = [
        (|s| s.version = 2, "version: is 2, only 1 can be read"),
        (|s| s.tick = 0, "tick: is 0 s"),
        (
            |s| s.now = Timestamp(i64::MAX),
            "now: is 9223372036854775807",
        ),
        (
            |s| s.targets[0].load.series.step = 1 << 62,
            "targets[0].load.series.step: is 4611686018427387904 s",
        ),
        (
            |s| s.targets[0].load.series.start = Timestamp(-1),
            "targets[0].load.series.start: is -1",
        ),
        (
            |s| s.targets.push(s.targets[0].clone()),
            "targets[1].id: serving/chat follows",
        ),
        (
            |s| s.targets[0].policy.min_replicas = Replicas(50),
            "targets[0].policy: min_replicas",
        ),
        (
            |s| s.targets[0].policy.capacity_per_replica = Some(0.0),
            "capacity_per_replica is 0",
        ),
        (
            |s| s.targets[0].policy.capacity_per_replica = None,
            "or objectives to learn it for",
        ),
        (
            |s| s.targets[0].policy.time_zone = "Mars/Base".to_owned(),
            "`Mars/Base` is no IANA",
        ),
        (
            |s| s.targets[0].policy.behavior.scale_up.policies.clear(),
            "targets[0].policy.behavior.scale_up: it has to hold at least one policy",
        ),
        (
            |s| s.targets[0].policy.behavior.scale_down.tolerance = -0.1,
            "scale_down: tolerance is -0.1",
        ),
        (
            |s| {
                s.targets[0]
                    .policy
                    .behavior
                    .scale_down
                    .stabilization_window_seconds = 4000;
            },
            "stabilization_window_seconds is 4000",
        ),
        (
            |s| s.targets[0].load.series.step = 0,
            "targets[0].load.series.step: is 0 s",
        ),
        (
            |s| s.targets[0].load.series.values = vec![None, Some(-2.0)],
            "targets[0].load.series.values[1]: is -2.0",
        ),
    ];

    #[test]
    fn what_no_plan_may_rest_on_is_named_with_its_place() {
        assert_eq!(sound(&seen(&[1.0])), Ok(()));
        for (spoil, words) in CASES {
            let mut snapshot = seen(&[1.0]);
            spoil(&mut snapshot);
            let error = sound(&snapshot).unwrap_err().to_string();
            assert!(error.contains(words), "{error} lacks {words}");
        }
    }
}
