//! Whole runs, judged by what queueing theory and bookkeeping say.

use super::*;
use crate::policy::{NAMES, named};

fn scenario(more: &str) -> Scenario {
    let text = format!(
        "
name: test
hours: 2
load: {{kind: day, peak: 10}}
server: {{kind: batching, most: 1, wait: 0, fixed: 0.05, each: 0.05}}
objective: {{metric: EndToEnd, seconds: 0.5}}
replicas: {{min: 1, max: 20, capacity: 7}}
startup: {{seconds: 120}}
{more}"
    );
    let scenario: Scenario = serde_yaml::from_str(&text).unwrap();
    scenario.check().unwrap();
    scenario
}

/// Two days of history and two hours that rise from 10 to 60 requests/s.
fn rates() -> Rates {
    let swing = |minute: f64| 35.0 - 25.0 * (minute / 1440.0 * std::f64::consts::TAU).cos();
    Rates {
        history: (0..2880_u32)
            .map(|minute| Some(swing(f64::from(minute))))
            .collect(),
        minutes: (0..120_u32)
            .map(|minute| 10.0 + f64::from(minute) / 2.4)
            .collect(),
    }
}

/// Always the same number.
struct Fixed(u32);

impl Policy for Fixed {
    fn decide(&mut self, _: &Seen<'_>) -> u32 {
        self.0
    }
}

#[test]
fn one_server_waits_as_an_m_d_1_queue_does() {
    // 7 requests/s of 0.1 s each: the mean wait is ρ·s/(2(1 − ρ)) = 0.117 s, the median of the whole about 0.17 s.
    let rates = Rates {
        history: Vec::new(),
        minutes: vec![7.0; 600],
    };
    let (score, _) = run(&scenario(""), &rates, &mut Fixed(1), 1);
    assert!((score.utilization - 0.7).abs() < 0.02, "{score:?}");
    let median = score.p50_seconds.unwrap();
    assert!((0.14..0.20).contains(&median), "{median}");
    assert!((score.gpu_hours - 10.0).abs() < 1e-6);
    assert!(score.answered <= score.arrived && score.arrived - score.answered < 100);
}

#[test]
fn every_policy_runs_and_repeats_itself() {
    let (scenario, rates) = (scenario("scrape: {lost: 0.05}"), rates());
    for name in NAMES {
        let once = || {
            let mut policy = named(name, &scenario, &rates.minutes, 3).unwrap();
            run(&scenario, &rates, policy.as_mut(), 3)
        };
        let (score, points) = once();
        assert_eq!((score.clone(), points.clone()), once(), "{name}");
        assert_eq!(points.len(), 120, "{name}");
        assert!(score.arrived > 200_000, "{name}: {score:?}");
        // This morning is not like yesterday's: who only knows that one drowns.
        let keeps_up = score.answered * 100 >= score.arrived * 90;
        assert!(keeps_up || name == "seasonal-naive", "{name}: {score:?}");
        assert!(
            points.iter().all(|point| (1..=20).contains(&point.desired)),
            "{name}"
        );
    }
}

#[test]
fn the_oracle_is_late_least_and_the_peak_costs_most() {
    let (scenario, rates) = (scenario(""), rates());
    let score = |name: &str| {
        let mut policy = named(name, &scenario, &rates.minutes, 3).unwrap();
        run(&scenario, &rates, policy.as_mut(), 3).0
    };
    let (oracle, hpa, peak) = (score("oracle"), score("hpa"), score("fixed-peak"));
    assert!(oracle.late < hpa.late, "{oracle:?} {hpa:?}");
    assert!(
        peak.gpu_hours > oracle.gpu_hours && peak.late_share() < 0.05,
        "{peak:?}"
    );
}

#[test]
fn without_scrapes_keda_by_default_falls_to_the_minimum_and_foresail_holds() {
    let scenario = scenario("scrape: {outages: [[1.0, 1.4]]}");
    let rates = rates();
    let lowest = |name: &str| {
        let mut policy = named(name, &scenario, &rates.minutes, 3).unwrap();
        let (_, points) = run(&scenario, &rates, policy.as_mut(), 3);
        points[62..84]
            .iter()
            .map(|point| point.desired)
            .min()
            .unwrap()
    };
    assert_eq!(lowest("keda"), 1);
    assert!(lowest("keda-fallback") >= 3);
    assert!(lowest("foresail") >= 5 && lowest("hpa") >= 5);
}

#[test]
fn a_lost_node_is_begun_again_and_its_requests_are_answered() {
    let scenario = scenario("losses: [{atHours: 1, replicas: 4}]");
    let rates = Rates {
        history: Vec::new(),
        minutes: vec![20.0; 120],
    };
    let (score, points) = run(&scenario, &rates, &mut Fixed(6), 6);
    assert_eq!(points.iter().map(|point| point.ready).min(), Some(2));
    assert_eq!(points.last().unwrap().ready, 6);
    assert!(
        score.late > 100 && score.arrived - score.answered < 100,
        "{score:?}"
    );
    assert!(score.violation_seconds >= 60.0);
}

#[test]
fn a_bad_scenario_names_its_key() {
    let mut bad = scenario("");
    bad.replicas.min = 30;
    assert!(
        bad.check()
            .unwrap_err()
            .to_string()
            .starts_with("replicas: min ≤ max")
    );
    let mut bad = scenario("");
    bad.startup.failed = 1.0;
    assert!(bad.check().is_err());
    let unknown = named("magic", &bad, &[], 1).err().unwrap().to_string();
    assert!(
        unknown.contains("'magic'") && unknown.contains("seasonal-naive"),
        "{unknown}"
    );
    assert!(named("hpa@-1", &bad, &[], 1).is_err() && named("foresail@2", &bad, &[], 1).is_err());
}
