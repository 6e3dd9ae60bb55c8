//! Decisions on one target: which number, which reason, which limiters.

use super::*;
use crate::{
    plan::tests::policy,
    snapshot::{Fallback, Paused},
};

/// 10 of 2 to 40 replicas, complete data, nothing remembered; changed by `with`.
fn verdict(reactive: f64, forecast: Option<u32>, with: impl FnOnce(&mut Case)) -> Verdict {
    let mut case = Case {
        policy: policy(),
        replicas: ReplicaCounts {
            desired: Replicas(10),
            ..ReplicaCounts::default()
        },
        problem: false,
        quality: Quality::Ok,
        warming_up: false,
        recommendations: vec![],
        skilled: true,
        capacity: Some(12.0),
    };
    with(&mut case);
    let demand = reactive * 12.0;
    decide(
        &Situation {
            policy: &case.policy,
            replicas: case.replicas,
            problem: case.problem,
            quality: case.quality,
            warming_up: case.warming_up,
            recommendations: &case.recommendations,
            scale_events: &[],
            now: Timestamp(10_000),
        },
        &Needs {
            demand,
            capacity: case.capacity,
            reactive: crate::capacity::replicas_for(demand, 12.0),
            forecast: forecast.map(Replicas),
            skilled: case.skilled,
        },
    )
}

struct Case {
    policy: Policy,
    replicas: ReplicaCounts,
    problem: bool,
    quality: Quality,
    warming_up: bool,
    recommendations: Vec<(Timestamp, Replicas)>,
    skilled: bool,
    capacity: Option<f64>,
}

fn outcome(verdict: &Verdict) -> (u32, Reason) {
    (verdict.to.0, verdict.reason)
}

#[test]
fn the_load_decides_when_nothing_stands_in_the_way() {
    for (reactive, forecast, to, reason) in [
        (12.0, None, 12, Reason::LoadRise),
        (12.0, Some(11), 12, Reason::LoadRise),
        (8.0, Some(12), 12, Reason::ForecastRise),
        // Only both together lower.
        (6.0, Some(7), 7, Reason::LoadFall),
        (6.0, None, 6, Reason::LoadFall),
        (6.0, Some(10), 10, Reason::ForecastHolds),
        (10.0, Some(9), 10, Reason::Enough),
        (9.5, Some(3), 10, Reason::Enough),
        (10.8, None, 10, Reason::WithinTolerance),
        // A forecast need is an explicit number: it goes past the tolerance, both of it and the
        // reactive need.
        (10.8, Some(11), 11, Reason::ForecastRise),
        (0.0, Some(0), 2, Reason::LoadFall),
    ] {
        let verdict = verdict(reactive, forecast, |_| {});
        assert_eq!(outcome(&verdict), (to, reason), "{reactive} {forecast:?}");
    }
}

#[test]
fn what_cannot_be_decided_on_stays_as_it_is() {
    let broken = verdict(30.0, None, |case| case.problem = true);
    assert_eq!(outcome(&broken), (10, Reason::TargetProblem));
    let off = verdict(30.0, None, |case| case.replicas.desired = Replicas(0));
    assert_eq!(outcome(&off), (0, Reason::ScalingDisabled));
    assert_eq!(off.recommendation, None);
    // With `minReplicas: 0`, zero is a number like any other.
    let asleep = verdict(3.0, None, |case| {
        case.replicas.desired = Replicas(0);
        case.policy.min_replicas = Replicas(0);
    });
    assert_eq!(outcome(&asleep), (3, Reason::LoadRise));
}

#[test]
fn a_pause_comes_last_and_is_named_only_when_it_holds_something_back() {
    for (pause, rise, fall) in [
        (Paused::All, (10, Reason::Paused), (10, Reason::Paused)),
        (Paused::ScaleUp, (10, Reason::Paused), (6, Reason::LoadFall)),
        (
            Paused::ScaleDown,
            (12, Reason::LoadRise),
            (10, Reason::Paused),
        ),
    ] {
        let set = |case: &mut Case| case.policy.paused = pause;
        assert_eq!(outcome(&verdict(12.0, None, set)), rise, "{pause:?}");
        assert_eq!(outcome(&verdict(6.0, None, set)), fall, "{pause:?}");
        assert_eq!(
            outcome(&verdict(10.0, None, set)),
            (10, Reason::Enough),
            "{pause:?}"
        );
    }
}

#[test]
fn data_that_does_not_carry_a_decrease_never_lowers() {
    for (quality, reason) in [
        (Quality::Missing, Reason::LoadMissing),
        (Quality::Stale, Reason::LoadStale),
        (Quality::Partial, Reason::LoadPartial),
    ] {
        let held = verdict(0.0, Some(0), |case| case.quality = quality);
        assert_eq!(outcome(&held), (10, reason));
        // Without data nothing was recommended: the windows run empty rather than fill with guesses.
        let recommended = (quality == Quality::Partial).then_some(Replicas(0));
        assert_eq!(held.recommendation, recommended);
    }
    let rise = verdict(12.0, None, |case| case.quality = Quality::Partial);
    assert_eq!(outcome(&rise), (12, Reason::LoadRise));
    for (fallback, to) in [
        (Fallback::Higher(Replicas(8)), 10),
        (Fallback::Higher(Replicas(14)), 14),
        (Fallback::Replicas(Replicas(8)), 8),
        (Fallback::Replicas(Replicas(90)), 20),
    ] {
        let verdict = verdict(0.0, None, |case| {
            case.quality = Quality::Missing;
            case.policy.fallback = fallback;
        });
        // The last is limited by the default policy: twice as many at once.
        assert_eq!(outcome(&verdict), (to, Reason::LoadMissing), "{fallback:?}");
    }
}

#[test]
fn a_start_and_a_rollout_hold_a_decrease_and_nothing_else() {
    let starting = |case: &mut Case| case.warming_up = true;
    let rolling = |case: &mut Case| case.replicas.rolling_out = true;
    assert_eq!(
        outcome(&verdict(6.0, None, starting)),
        (10, Reason::WarmingUp)
    );
    assert_eq!(
        outcome(&verdict(6.0, None, rolling)),
        (10, Reason::RollingOut)
    );
    assert_eq!(
        outcome(&verdict(12.0, None, starting)),
        (12, Reason::LoadRise)
    );
    assert_eq!(
        outcome(&verdict(12.0, None, rolling)),
        (12, Reason::LoadRise)
    );
    // What is remembered for the windows is what the load asks for.
    assert_eq!(
        verdict(6.0, None, starting).recommendation,
        Some(Replicas(6))
    );
}

#[test]
fn the_bounds_hold_at_once_and_are_named_when_they_decide() {
    let at = |replicas: u32| move |case: &mut Case| case.replicas.desired = Replicas(replicas);
    assert_eq!(
        outcome(&verdict(60.0, None, at(50))),
        (40, Reason::AboveMaximum)
    );
    assert_eq!(
        outcome(&verdict(1.0, None, at(1))),
        (2, Reason::BelowMinimum)
    );
    assert_eq!(
        outcome(&verdict(60.0, None, at(40))),
        (40, Reason::AboveMaximum)
    );
    assert_eq!(
        outcome(&verdict(1.0, None, at(2))),
        (2, Reason::BelowMinimum)
    );
    // Even without data: the bounds are the owner's order, not a measurement.
    let blind = verdict(1.0, None, |case| {
        case.replicas.desired = Replicas(50);
        case.quality = Quality::Missing;
    });
    assert_eq!(blind.to, Replicas(40));
}

#[test]
fn windows_and_policies_are_named_with_what_they_left() {
    let window = verdict(6.0, None, |case| {
        case.recommendations = vec![(Timestamp(9_900), Replicas(10))];
    });
    assert_eq!(outcome(&window), (10, Reason::StabilizationWindow));
    let limiter = |kind, before, after| Limiter {
        kind,
        before: Replicas(before),
        after: Replicas(after),
    };
    assert_eq!(
        window.limiters,
        [limiter(LimiterKind::StabilizationWindow, 6, 10)]
    );
    let disabled = verdict(6.0, None, |case| {
        case.policy.behavior.scale_down.select_policy = behavior::SelectPolicy::Disabled;
    });
    assert_eq!(outcome(&disabled), (10, Reason::BehaviorPolicy));
    let steep = verdict(60.0, None, |_| {});
    assert_eq!(outcome(&steep), (20, Reason::LoadRise));
    assert_eq!(
        steep.limiters,
        [
            limiter(LimiterKind::Maximum, 60, 40),
            limiter(LimiterKind::BehaviorPolicy, 40, 20)
        ]
    );
    // Recommendations are remembered unstabilised and unbounded.
    assert_eq!(steep.recommendation, Some(Replicas(60)));
}

#[test]
fn a_forecast_without_skill_is_left_out_aloud() {
    let demoted = verdict(10.0, Some(30), |case| case.skilled = false);
    assert_eq!(outcome(&demoted), (10, Reason::Enough));
    assert_eq!(demoted.limiters[0].kind, LimiterKind::NoSkill);
    let falling = verdict(6.0, Some(30), |case| case.skilled = false);
    assert_eq!(outcome(&falling), (6, Reason::LoadFall));
}

#[test]
fn an_unknown_capacity_is_decided_as_missing_data_is() {
    let unknown = |case: &mut Case| case.capacity = None;
    for reactive in [0.0, 5.0, 30.0] {
        let held = verdict(reactive, None, unknown);
        assert_eq!(outcome(&held), (10, Reason::CapacityUnknown), "{reactive}");
        assert_eq!(held.recommendation, None);
    }
    let fallback = verdict(5.0, None, |case| {
        case.capacity = None;
        case.policy.fallback = Fallback::Higher(Replicas(14));
    });
    assert_eq!(outcome(&fallback), (14, Reason::CapacityUnknown));
}
