//! The world: it repeats, it counts, and the core in it sees what arrives.

use autoscaler_core::{check::check, series::Quality};
use exporter_core::simulated::load::Day;

use super::*;

const MODEL: Model = Model {
    capacity: 10.0,
    startup: 180.0,
    patience: 2.0,
};
const START: i64 = 1_764_547_200;

fn policy() -> Policy {
    Policy::new(1, 40, MODEL.capacity)
}

fn run(seed: u64, steps: i64) -> (Vec<(String, Score)>, Vec<Moment>) {
    let day = Day::new(seed, 80.0);
    let target = TargetId {
        namespace: "serving".to_owned(),
        name: "chat".to_owned(),
    };
    let mut world = World::new(target, policy(), MODEL, START, 8);
    world.add_hpa("hpa", policy(), MODEL.capacity, MODEL, 8);
    world.add_fixed("fixed", MODEL, 20);
    world.remember(3 * 1440, |at| day.rate(at)).unwrap();
    let moments = (0..steps)
        .map(|step| {
            world
                .step(day.rate((START + step * STEP) as f64), Vec::new())
                .unwrap()
        })
        .collect();
    (world.scores(), moments)
}

#[test]
fn the_same_seed_gives_the_same_decisions_and_scores() {
    let (first, second) = (run(7, 240), run(7, 240));
    assert_eq!(first.0, second.0);
    for (left, right) in first.1.iter().zip(&second.1) {
        assert_eq!(left.pass.plan, right.pass.plan);
    }
    assert_ne!(first.0, run(8, 240).0);
}

#[test]
fn the_core_sees_the_load_as_it_arrives_and_every_plan_passes_the_check() {
    let (_, moments) = run(3, 240);
    for moment in &moments[8..] {
        let decision = &moment.pass.plan.decisions[0];
        assert_eq!(
            decision.basis.quality,
            Quality::Ok,
            "{}",
            decision.basis.detail
        );
        assert!((decision.basis.load.unwrap() - moment.rate).abs() < 0.4 * moment.rate + 1.0);
        assert!(check(&moment.pass.snapshot, &moment.pass.plan).is_empty());
    }
    assert!(
        moments.last().unwrap().pass.plan.decisions[0]
            .basis
            .forecast
            .is_some()
    );
}

#[test]
fn everybody_gets_the_same_requests_and_fixed_costs_what_it_is() {
    let (scores, _) = run(5, 480);
    for (name, score) in &scores {
        assert!((score.arrived - scores[0].1.arrived).abs() < 1e-6, "{name}");
    }
    assert!((scores[2].1.gpu_hours() - 20.0 * 2.0).abs() < 1e-6);
}
