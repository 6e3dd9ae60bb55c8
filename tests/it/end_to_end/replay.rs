//! The same load through the same core in no time: the control run without faults. It places what the
//! end-to-end test does, and tells what would have happened without it.

use autoscaler_core::{
    decide::behavior::Behavior,
    memory::Memory,
    observe::{Grid, Means, RawSeries, SignalInput, TargetInput, snapshot},
    plan::plan,
    snapshot::{Policy, ReplicaCounts},
    units::{Level, TargetId, Timestamp},
};
use tests::load::Shifted;

/// Seconds between two decisions, as the controller of the test has them.
pub(crate) const TICK: i64 = 5;
/// Seconds of a step of the history.
pub(crate) const STEP: i64 = 60;
/// Seconds from creation to Ready.
pub(crate) const STARTUP: i64 = 60;
/// Cost of a late replica against an idle one: the targets provide for the 99 % quantile.
pub(crate) const LATE: i32 = 99;
/// Days of history that a forecast sees.
const HISTORY: i64 = 7;

/// One moment of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// Seconds since the start of the run.
    pub(crate) at: i64,
    /// Requests per second.
    pub(crate) load: f64,
    /// Replicas asked for.
    pub(crate) desired: u32,
    /// Replicas that serve.
    pub(crate) ready: u32,
}

/// Times at which replicas are taken away, in seconds since the start of the run.
pub(crate) fn falls(run: &[Moment]) -> Vec<i64> {
    run.windows(2)
        .filter(|pair| pair[1].desired < pair[0].desired)
        .map(|pair| pair[1].at)
        .collect()
}

/// What the object of the test says, as the core sees it.
pub(crate) fn policy(capacity: f64, down_window: i64) -> Policy {
    let mut behavior = Behavior::default();
    behavior.scale_down.stabilization_window_seconds = down_window;
    Policy {
        level: Level::new(f64::from(LATE) / f64::from(LATE + 1)).unwrap(),
        behavior,
        ..Policy::new(2, 60, capacity)
    }
}

/// What `sum(rate(http_requests_total[30s]))` answers at a time.
fn rate(load: &Shifted, at: f64) -> f64 {
    (load.total(at - 2.0) - load.total(at - 32.0)) / 30.0
}

/// What Prometheus says of the days before `start`, one point a step.
fn history(load: &Shifted, start: i64) -> Vec<(f64, f64)> {
    let first = start - HISTORY * 86_400;
    (first.div_euclid(STEP)..=start.div_euclid(STEP))
        .map(|step| (step * STEP) as f64)
        .map(|at| (at, rate(load, at)))
        .collect()
}

/// Runs `seconds` from `start` (unix seconds) with the pods that the load of the start needs.
pub(crate) fn replay(
    load: &Shifted,
    capacity: f64,
    down_window: i64,
    start: i64,
    seconds: i64,
) -> Vec<Moment> {
    let id = TargetId {
        namespace: "default".to_owned(),
        name: load.service.clone(),
    };
    let mut points = history(load, start);
    let mut memory = Memory::default();
    // When each pod becomes Ready, oldest first.
    let mut pods = vec![start; need(load.rate(start as f64), capacity) as usize + 1];
    let mut moments = Vec::new();
    for at in (0..=seconds).step_by(usize::try_from(TICK).unwrap()) {
        let now = start + at;
        if now.rem_euclid(STEP) < TICK {
            let step = (now.div_euclid(STEP) * STEP) as f64;
            points.retain(|(time, _)| *time < step);
            points.push((step, rate(load, step)));
        }
        let mut answer = points.clone();
        answer.push((now as f64, rate(load, now as f64)));
        let ready = u32::try_from(pods.iter().filter(|ready| **ready <= now).count()).unwrap();
        let desired = u32::try_from(pods.len()).unwrap();
        let counts = ReplicaCounts::of(desired, ready);
        let startups = vec![STARTUP as f64; usize::from(at == 0)];
        let input = input(&id, policy(capacity, down_window), counts, startups, answer);
        let grid = Grid {
            step: STEP,
            stale_after: 60,
            tick: TICK,
        };
        let seen = snapshot(Timestamp(now), grid, vec![input], Vec::new(), memory);
        let mut planned = plan(&seen);
        let decision = &planned.plan.decisions[0];
        let to = decision.to.0 as usize;
        if decision.apply {
            planned
                .memory
                .record_scaled(&id, decision.from, decision.to, Timestamp(now));
            pods.truncate(to);
            pods.resize(to, now + STARTUP);
        }
        memory = planned.memory;
        moments.push(Moment {
            at,
            load: load.rate(now as f64),
            desired: u32::try_from(pods.len()).unwrap(),
            ready,
        });
    }
    moments
}

/// One target as it was seen.
fn input(
    id: &TargetId,
    policy: Policy,
    replicas: ReplicaCounts,
    startups_seen: Vec<f64>,
    points: Vec<(f64, f64)>,
) -> TargetInput {
    let answer = Ok(vec![RawSeries {
        points,
        ..RawSeries::default()
    }]);
    TargetInput {
        id: id.clone(),
        policy,
        problem: None,
        replicas,
        startups_seen,
        signals: vec![SignalInput {
            name: "arrivals".to_owned(),
            means: Means::Arrivals,
            answer,
        }],
    }
}

/// Replicas that a load needs.
pub(crate) fn need(load: f64, capacity: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small number"
    )]
    let need = (load / capacity).ceil() as u32;
    need
}
