//! Fits of many targets: a bounded number a tick, none forgotten.

use super::*;

/// Targets with twelve minutes of load each.
fn many(count: usize) -> Snapshot {
    let mut snapshot = seen(&[30.0; 12]);
    let target = snapshot.targets[0].clone();
    snapshot.targets = (0..count)
        .map(|index| {
            let mut target = target.clone();
            target.id.name = format!("target-{index:03}");
            target
        })
        .collect();
    snapshot.memory = Memory::default();
    snapshot
}

/// When each target was fitted, in seconds after [`NOW`]; `None` where it was not.
fn fitted(memory: &Memory) -> Vec<Option<i64>> {
    let targets = memory.targets.values();
    targets
        .map(|target| target.fitted.as_ref().map(|fitted| fitted.at.since(NOW)))
        .collect()
}

fn tick(snapshot: &mut Snapshot, at: i64) -> Plan {
    snapshot.now = NOW.plus(at);
    for target in &mut snapshot.targets {
        target.load.series.start = NOW.plus(at - 11 * 60);
    }
    let planned = plan(snapshot);
    snapshot.memory = planned.memory;
    planned.plan
}

#[test]
fn a_thousand_starts_are_spread_over_ticks() {
    let mut snapshot = many(ahead::FITS + 3);
    let first = tick(&mut snapshot, 0);
    let ahead_of = |plan: &Plan| {
        let decisions = plan.decisions.iter();
        decisions.filter(|one| one.basis.forecast.is_some()).count()
    };
    assert_eq!(ahead_of(&first), ahead::FITS);
    // Without a forecast a target is decided on by its load of now.
    assert!(
        first
            .decisions
            .iter()
            .all(|one| one.basis.reactive.is_some())
    );
    let second = tick(&mut snapshot, 15);
    assert_eq!(ahead_of(&second), ahead::FITS + 3);
    let times = fitted(&snapshot.memory);
    assert!(times[..ahead::FITS].iter().all(|at| *at == Some(60)));
    assert!(times[ahead::FITS..].iter().all(|at| *at == Some(75)));
}

#[test]
fn the_oldest_fits_are_made_again_first_and_the_others_still_forecast() {
    let mut snapshot = many(ahead::FITS + 3);
    tick(&mut snapshot, 0);
    tick(&mut snapshot, 15);
    // All are due; the three that are newest by fifteen seconds wait, and are not without a forecast.
    let later = tick(&mut snapshot, 3600);
    assert!(
        later
            .decisions
            .iter()
            .all(|one| one.basis.forecast.is_some())
    );
    let times = fitted(&snapshot.memory);
    assert!(times[..ahead::FITS].iter().all(|at| *at == Some(3660)));
    assert!(times[ahead::FITS..].iter().all(|at| *at == Some(75)));
    tick(&mut snapshot, 3615);
    let times = fitted(&snapshot.memory);
    assert!(times[ahead::FITS..].iter().all(|at| *at == Some(3675)));
}
