//! Physics that no seed and no load may break.

use proptest::prelude::*;

use super::*;
use crate::{
    device::{Memory, Partitioning},
    simulated::board::BOARDS,
};

const MIXED: &str = "2xH100-SXM5-80GB:mig=3g.40gb@4+2g.20gb@0+1g.10gb@2,1xA100-SXM4-80GB,1xL40S";

fn fleet(seed: u64) -> Fleet {
    Fleet::new(&MIXED.parse().unwrap(), seed)
}

fn adds_up(memory: &Memory) -> bool {
    memory.used + memory.free + memory.reserved.unwrap_or(0) == memory.total
}

proptest! {
    #[test]
    fn physics_holds(
        seed in any::<u64>(),
        steps in proptest::collection::vec((0.0..600.0, proptest::collection::vec(0.0..=1.0, 4)), 1..12),
    ) {
        let mut fleet = fleet(seed);
        let mut before = fleet.snapshot(0.0, "n");
        for (seconds, load) in steps {
            fleet.advance(seconds, &load);
            let now = fleet.snapshot(0.0, "n");
            for (gpu, earlier) in now.gpus.iter().zip(&before.gpus) {
                let board = BOARDS.iter().find(|b| b.model == gpu.identity.model).unwrap();
                let power = *gpu.readings.power.value().unwrap();
                prop_assert!(power >= board.power.0 && power <= board.power.1);
                let grown = *gpu.readings.energy.value().unwrap() as f64
                    - *earlier.readings.energy.value().unwrap() as f64;
                prop_assert!((grown - power * seconds * 1000.0).abs() <= 2.0, "energy is not the integral");
                let clock = *gpu.readings.sm_clock.value().unwrap();
                prop_assert!(clock >= board.sm_clock.0 && clock <= board.sm_clock.1);
                prop_assert!(adds_up(gpu.readings.memory.value().unwrap()));
                prop_assert!((35..=65).contains(gpu.readings.temperature.value().unwrap()));
                if let Partitioning::Mig(instances) = &gpu.partitioning {
                    prop_assert_eq!(instances.len(), 3);
                    for instance in instances {
                        prop_assert!(adds_up(instance.memory.value().unwrap()));
                    }
                    let used: u64 = instances.iter().map(|i| i.memory.value().unwrap().used).sum();
                    prop_assert_eq!(used, gpu.readings.memory.value().unwrap().used);
                    prop_assert_eq!(gpu.readings.utilization.value(), None);
                }
            }
            before = now;
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_values(seed in any::<u64>(), load in proptest::collection::vec(0.0..=1.0, 4)) {
        let run = |seed| {
            let mut fleet = fleet(seed);
            fleet.advance(15.0, &load);
            fleet.snapshot(1.0, "n")
        };
        prop_assert_eq!(run(seed), run(seed));
        prop_assert_ne!(run(seed), run(seed ^ 1));
    }
}

#[test]
fn busier_draws_more_power() {
    let power = |busy: f64| {
        let mut fleet = fleet(1);
        fleet.advance(10.0, &[0.0, 0.0, busy, busy]);
        *fleet.snapshot(0.0, "n").gpus[2]
            .readings
            .power
            .value()
            .unwrap()
    };
    assert!(power(0.0) < power(0.2) && power(0.2) < power(0.6) && power(0.6) < power(1.0));
    assert!(power(0.0) <= 60.0, "an idle board draws its idle power");
}

#[test]
fn temperature_lags_behind_power() {
    let mut fleet = fleet(1);
    let heat = |fleet: &Fleet| {
        *fleet.snapshot(0.0, "n").gpus[3]
            .readings
            .temperature
            .value()
            .unwrap()
    };
    let cold = heat(&fleet);
    fleet.advance(1.0, &[1.0; 4]);
    assert!(
        heat(&fleet) <= cold + 2,
        "a second is not enough to warm up"
    );
    fleet.advance(600.0, &[1.0; 4]);
    let hot = heat(&fleet);
    assert!(hot >= cold + 15, "{cold} then {hot}");
    fleet.advance(1.0, &[0.0; 4]);
    assert!(heat(&fleet) >= hot - 2, "nor to cool down");
}

#[test]
fn odd_input_is_idle_time() {
    let mut one = fleet(1);
    one.advance(f64::NAN, &[f64::NAN, -3.0]);
    one.advance(-5.0, &[]);
    let energy = |fleet: &Fleet| {
        *fleet.snapshot(0.0, "n").gpus[0]
            .readings
            .energy
            .value()
            .unwrap()
    };
    assert_eq!(energy(&one), 0);
}
