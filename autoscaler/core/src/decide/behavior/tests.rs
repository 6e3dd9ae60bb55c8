//! HPA's behavior block against examples worked by hand, and its properties.

use proptest::prelude::*;

use super::*;
use crate::{
    memory::ScaleEvent,
    units::{Replicas, Timestamp},
};

const NOW: Timestamp = Timestamp(10_000);

fn policy(kind: RateKind, value: u32, period_seconds: i64) -> RatePolicy {
    RatePolicy {
        kind,
        value,
        period_seconds,
    }
}

fn rules(select_policy: SelectPolicy, policies: &[RatePolicy]) -> Rules {
    Rules {
        stabilization_window_seconds: 300,
        select_policy,
        policies: policies.to_vec(),
        tolerance: 0.1,
    }
}

fn event(age: i64, change: i64) -> ScaleEvent {
    ScaleEvent {
        time: NOW.plus(-age),
        change,
    }
}

#[test]
fn up_policies_as_worked_by_hand() {
    use RateKind::{Percent, Pods};
    use SelectPolicy::{Disabled, Max, Min};
    let defaults = [policy(Pods, 4, 15), policy(Percent, 100, 15)];
    for (select, policies, events, current, limit) in [
        // The defaults: 4 more or twice as many, the larger counts.
        (Max, &defaults[..], &[][..], 1, 5),
        (Max, &defaults, &[], 10, 20),
        (Min, &defaults, &[], 10, 14),
        (Disabled, &defaults, &[], 10, 10),
        // From zero a share of nothing is nothing, four pods are four.
        (Max, &defaults, &[], 0, 4),
        (Min, &defaults, &[], 0, 0),
        // A share is rounded up: 10 % of 11 is 12.1, so 13.
        (Max, &[policy(Percent, 10, 60)], &[], 11, 13),
        (Max, &[policy(Percent, 10, 60)], &[], 1, 2),
        // HPA counts in floating point: 100 × 1.1 lies just above 110.
        (Max, &[policy(Percent, 10, 60)], &[], 100, 111),
        // 6 were there when the minute began; 4 a minute are used up.
        (Max, &[policy(Pods, 4, 60)], &[event(30, 4)], 10, 10),
        (Max, &[policy(Pods, 4, 60)], &[event(30, 3)], 9, 10),
        // An event leaves exactly when it is as old as the period.
        (Max, &[policy(Pods, 4, 60)], &[event(60, 4)], 10, 14),
        (Max, &[policy(Pods, 4, 60)], &[event(59, 4)], 10, 10),
        // What was removed in the period comes back on top: 12 were there.
        (Max, &[policy(Pods, 4, 60)], &[event(30, -2)], 10, 16),
        // More was added than a policy allows now: never below what is there.
        (Max, &[policy(Pods, 1, 60)], &[event(30, 8)], 10, 10),
    ] {
        let rules = rules(select, policies);
        assert_eq!(
            upper_limit(&rules, events, NOW, Replicas(current)),
            Replicas(limit),
            "{select:?} {policies:?} {events:?} from {current}"
        );
    }
}

#[test]
fn down_policies_as_worked_by_hand() {
    use RateKind::{Percent, Pods};
    use SelectPolicy::{Disabled, Max, Min};
    let both = [policy(Pods, 4, 60), policy(Percent, 10, 60)];
    for (select, policies, events, current, limit) in [
        // The example of the Kubernetes documentation: at 80, 10 % are 8 pods; below 40, 4 pods are
        // more.
        (Max, &both[..], &[][..], 80, 72),
        (Max, &both, &[], 30, 26),
        (Min, &both, &[], 80, 76),
        (Disabled, &both, &[], 80, 80),
        // A share is truncated: 10 % of 9 leaves 8.1, so 8; of 1 it leaves 0.9, so 0.
        (Max, &[policy(Percent, 10, 60)], &[], 9, 8),
        (Max, &[policy(Percent, 10, 60)], &[], 1, 0),
        (Max, &[policy(Percent, 100, 15)], &[], 7, 0),
        // 14 were there when the minute began; 4 are gone, so no more.
        (Max, &[policy(Pods, 4, 60)], &[event(20, -4)], 10, 10),
        (Max, &[policy(Pods, 4, 60)], &[event(20, -1)], 10, 7),
        // HPA counts in floating point: 10 × (1 − 0.9) lies just below 1.
        (Max, &[policy(Percent, 90, 60)], &[], 10, 0),
        // More than is there.
        (Max, &[policy(Pods, 12, 60)], &[], 10, 0),
        // More was removed than the policy allows now: never above what is there.
        (Max, &[policy(Pods, 1, 60)], &[event(20, -8)], 10, 10),
    ] {
        let rules = rules(select, policies);
        assert_eq!(
            lower_limit(&rules, events, NOW, Replicas(current)),
            Replicas(limit),
            "{select:?} {policies:?} {events:?} from {current}"
        );
    }
}

#[test]
fn windows_as_worked_by_hand() {
    let recommend = |pairs: &[(i64, u32)]| -> Vec<(Timestamp, Replicas)> {
        pairs
            .iter()
            .map(|&(age, n)| (NOW.plus(-age), Replicas(n)))
            .collect()
    };
    for (up, down, past, current, desired, result) in [
        // Nothing remembered: straight to it.
        (0, 300, &[][..], 10, 3, 3),
        // The highest of the last 300 s holds.
        (0, 300, &[(200, 9), (100, 5)], 10, 3, 9),
        // It leaves exactly at the end of the window.
        (0, 300, &[(300, 9), (100, 5)], 10, 3, 5),
        (0, 300, &[(299, 9), (100, 5)], 10, 3, 9),
        // k8s #98174: a higher recommendation in the window does not raise while load falls.
        (0, 300, &[(200, 15)], 10, 3, 10),
        // An up window takes the lowest.
        (60, 300, &[(30, 12)], 10, 20, 12),
        (60, 300, &[(30, 8)], 10, 20, 10),
        (60, 300, &[(60, 8)], 10, 20, 20),
        // Zero takes the same path as any other number.
        (0, 300, &[(100, 1)], 1, 0, 1),
    ] {
        let mut behavior = Behavior::default();
        behavior.scale_up.stabilization_window_seconds = up;
        behavior.scale_down.stabilization_window_seconds = down;
        assert_eq!(
            stabilise(
                &behavior,
                &recommend(past),
                NOW,
                Replicas(current),
                Replicas(desired)
            ),
            Replicas(result),
            "windows {up}/{down} {past:?} from {current} to {desired}"
        );
    }
}

#[test]
fn tolerance_is_a_band_of_its_own_in_each_direction() {
    let mut behavior = Behavior::default();
    assert!(behavior.tolerates(1.1) && behavior.tolerates(0.9));
    assert!(!behavior.tolerates(1.101) && !behavior.tolerates(0.899));
    behavior.scale_up.tolerance = 0.0;
    assert!(!behavior.tolerates(1.001) && behavior.tolerates(0.9));
}

fn any_rules() -> impl Strategy<Value = Rules> {
    let kind = prop_oneof![Just(RateKind::Pods), Just(RateKind::Percent)];
    let one = (kind, 1..200_u32, 1..1800_i64)
        .prop_map(|(kind, value, period)| policy(kind, value, period));
    let select = prop_oneof![
        Just(SelectPolicy::Max),
        Just(SelectPolicy::Min),
        Just(SelectPolicy::Disabled)
    ];
    (select, prop::collection::vec(one, 1..4))
        .prop_map(|(select, policies)| rules(select, &policies))
}

fn any_events() -> impl Strategy<Value = Vec<ScaleEvent>> {
    prop::collection::vec((0..2000_i64, -20..20_i64), 0..8).prop_map(|events| {
        events
            .into_iter()
            .map(|(age, change)| event(age, change))
            .collect()
    })
}

proptest! {
    #[test]
    fn limits_enclose_what_is_there(
        rules in any_rules(),
        events in any_events(),
        current in 0..500_u32,
    ) {
        let current = Replicas(current);
        prop_assert!(upper_limit(&rules, &events, NOW, current) >= current);
        prop_assert!(lower_limit(&rules, &events, NOW, current) <= current);
    }

    #[test]
    fn going_to_a_limit_uses_it_up(
        rules in any_rules(),
        events in any_events(),
        current in 0..500_u32,
    ) {
        // k8s #108354: whatever the period, a second decision at the same moment gets nothing more.
        let current = Replicas(current);
        for limit in [upper_limit, lower_limit] {
            let reached = limit(&rules, &events, NOW, current);
            let mut events = events.clone();
            events.push(event(0, i64::from(reached.0) - i64::from(current.0)));
            prop_assert_eq!(limit(&rules, &events, NOW, reached), reached);
        }
    }

    #[test]
    fn a_window_never_turns_the_direction(
        past in prop::collection::vec((0..600_i64, 0..50_u32), 0..20),
        up in 0..600_i64,
        down in 0..600_i64,
        current in 0..50_u32,
        desired in 0..50_u32,
    ) {
        let mut behavior = Behavior::default();
        behavior.scale_up.stabilization_window_seconds = up;
        behavior.scale_down.stabilization_window_seconds = down;
        let past: Vec<_> =
            past.into_iter().map(|(age, n)| (NOW.plus(-age), Replicas(n))).collect();
        let (current, desired) = (Replicas(current), Replicas(desired));
        let result = stabilise(&behavior, &past, NOW, current, desired);
        prop_assert!(result >= current.min(desired) && result <= current.max(desired));
    }
}
