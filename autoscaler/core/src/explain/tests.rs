//! Decisions in words, as a person reads them.

use super::*;
use crate::{
    plan::{
        plan,
        tests::{seen, signal},
    },
    series::Quality,
    snapshot::{Fallback, Mode, Paused, Snapshot},
};

/// The sentence about a target with 10 replicas of 12 req/s at 60 req/s, changed by `set`.
fn said(set: impl FnOnce(&mut Snapshot)) -> String {
    let mut snapshot = seen(&[60.0; 6]);
    snapshot.targets[0].policy.forecast = false;
    set(&mut snapshot);
    sentence(&plan(&snapshot).plan.decisions[0])
}

fn load(value: f64) -> impl FnOnce(&mut Snapshot) {
    move |snapshot| snapshot.targets[0].load = signal(vec![Some(value); 6], Quality::Ok)
}

#[test]
fn each_reason_has_its_sentence() {
    for (sentence, expected) in [
        (
            said(load(115.0)),
            "stays at 10 replicas (Enough): the load of 115 req/s needs 10, 10 are there",
        ),
        (
            said(load(125.0)),
            "stays at 10 replicas (WithinTolerance): the load of 125 req/s needs 11, \
          10 are there: too small a difference to act on",
        ),
        (
            said(load(150.0)),
            "10 → 13 replicas (LoadRise): the load of 150 req/s needs 13, 10 are there",
        ),
        (
            said(load(900.0)),
            "10 → 20 replicas (LoadRise): the load of 900 req/s needs 75, 10 are there; \
          limited to 20 by a policy of the behavior block",
        ),
        (
            said(|_| {}),
            "10 → 5 replicas (LoadFall): the load of 60 req/s needs 5 and there is no forecast",
        ),
        (
            said(|s| s.targets[0].replicas.rolling_out = true),
            "stays at 10 replicas (RollingOut): 5 \
          would be enough, held by the rollout in progress: nothing is lowered during it",
        ),
        (
            said(|s| s.targets[0].policy.paused = Paused::All),
            "stays at 10 replicas (Paused): paused, \
          5 are wanted",
        ),
        (
            said(|s| s.memory = crate::memory::Memory::default()),
            "stays at 10 replicas (WarmingUp): \
          5 would be enough, held by warming up: nothing is lowered before one window of data",
        ),
        (
            said(|s| s.targets[0].replicas.desired = Replicas(0)),
            "stays at 0 replicas \
          (ScalingDisabled): the target is at 0 replicas while minReplicas is not: it is switched \
          off by hand",
        ),
        (
            said(|s| s.targets[0].replicas.desired = Replicas(50)),
            "50 → 5 replicas (LoadFall): the \
          load of 60 req/s needs 5 and there is no forecast",
        ),
        (
            said(|s| s.targets[0].replicas.desired = Replicas(1)),
            "1 → 5 replicas (LoadRise): the load \
          of 60 req/s needs 5, 1 is there",
        ),
    ] {
        assert_eq!(sentence, expected);
    }
}

#[test]
fn without_data_the_detail_is_part_of_the_sentence() {
    let missing = |s: &mut Snapshot| s.targets[0].load = signal(vec![], Quality::Missing);
    assert_eq!(
        said(missing),
        "stays at 10 replicas (LoadMissing): no load data, nothing is changed: as the test wants"
    );
    let fallback = said(|s| {
        missing(s);
        s.targets[0].policy.fallback = Fallback::Higher(Replicas(12));
    });
    assert_eq!(
        fallback,
        "10 → 12 replicas (LoadMissing): no load data, the fallback counts: as the test wants"
    );
    let below = said(|s| {
        missing(s);
        s.targets[0].policy.min_replicas = Replicas(11);
    });
    assert_eq!(
        below,
        "10 → 11 replicas (LoadMissing): no load data, only minReplicas and maxReplicas count: as the \
         test wants"
    );
    let part = said(|s| s.targets[0].load = signal(vec![Some(60.0)], Quality::Partial));
    assert_eq!(
        part,
        "stays at 10 replicas (LoadPartial): part of the data is missing, so nothing is lowered: as \
         the test wants"
    );
}

#[test]
fn the_text_leads_from_the_inputs_to_the_decision() {
    let mut snapshot = seen(&[60.0; 6]);
    snapshot.targets[0].policy.mode = Mode::Recommend;
    let mut decision = plan(&snapshot).plan.decisions.remove(0);
    // As a forecast of the top rung would have it.
    decision.to = Replicas(11);
    decision.reason = Reason::ForecastRise;
    decision.basis.forecast = Some(ForecastBasis {
        rung: "Regression".to_owned(),
        horizon: 75,
        level: Level::new(0.95).unwrap(),
        load: 131.2,
        median: 118.04,
        need: Replicas(11),
        skill: Some(0.31),
        coverage: Some(0.89),
    });
    decision.limiters = vec![Limiter {
        kind: LimiterKind::Maximum,
        before: Replicas(12),
        after: Replicas(11),
    }];
    assert_eq!(
        text(&decision),
        "serving/chat at 2026-08-29T10:40:00Z
  decision   10 → 11 replicas (ForecastRise): the forecast of 131 req/s at the 95 % quantile in 75 s \
         needs 11 replicas, 10 are there; limited to 11 by maxReplicas
  written    no, mode is Recommend
  load       60 req/s, quality Ok
  capacity   12 req/s per replica
  start-up   60 s, assumed, none was observed yet
  forecast   median 118 req/s in 75 s, at most 131 req/s until then at the 95 % quantile; rung \
         Regression, skill 0.31, coverage 0.89
  need       by the load of now 5 replicas, by the forecast 11 replicas
  limited    12 → 11 by maxReplicas
"
    );
}
