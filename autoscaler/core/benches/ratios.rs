//! What the pure work costs, as ratios within one run, so that machines can be compared: a scrape, a
//! fit, a tick. Prints a Markdown table; asserts nothing, and never touches a network.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark reads the clock and prints"
)]

use std::{collections::BTreeMap, hint::black_box, time::Instant};

use autoscaler_core::{
    forecast::{Context, Rung, fit, fit_up_to},
    memory::Memory,
    observe::{self, Grid, Means, RawSeries, SignalInput, TargetInput},
    plan::plan,
    series::Series,
    snapshot::{Policy, ReplicaCounts, Snapshot},
    units::{Level, Replicas, TargetId, Timestamp},
};
use exporter_core::{
    collect::collect,
    exposition::text::render,
    simulated::{
        fleet::{Fleet, Spec},
        load::Day,
    },
};

/// Steps of a week of minutes: what the autoscaler reads by default.
const WEEK: u32 = 10_080;
/// The moment of every measurement, in unix seconds.
const NOW: i64 = 1_788_000_000;

/// Seconds of the median of `runs` calls.
fn seconds<T>(runs: usize, mut call: impl FnMut() -> T) -> f64 {
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            black_box(call());
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[runs / 2]
}

fn row(what: &str, time: f64, than: &str, base: f64) {
    let ratio = time / base;
    println!("| {what} | {:.3} ms | {ratio:.1} × {than} |", time * 1e3);
}

fn scrape() {
    let text = |gpus: usize| {
        let spec: Spec = format!("{gpus}xH100-SXM5-80GB").parse().unwrap();
        let mut fleet = Fleet::new(&spec, 1);
        fleet.advance(15.0, &vec![0.6; gpus]);
        let snapshot = fleet.snapshot(1.0, "node-1");
        move || render(&collect(&snapshot, "0"))
    };
    let (one, eight) = (text(1), text(8));
    let bytes = eight();
    let copy = seconds(2001, || black_box(&bytes).clone());
    let single = seconds(501, one);
    let time = seconds(501, eight);
    row("scrape of 8 GPUs", time, "a copy of its bytes", copy);
    row("scrape of 8 GPUs", time, "a scrape of 1 GPU", single);
}

/// A week of the generated load, different for each seed.
fn rates(seed: u64) -> impl Iterator<Item = (f64, f64)> {
    let day = Day::new(seed, 120.0);
    (0..WEEK).map(move |minute| {
        let time = Timestamp(NOW).plus(60 * (i64::from(minute) - i64::from(WEEK) + 1));
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        let time = time.0 as f64;
        (time, day.rate(time))
    })
}

fn forecast() {
    let now = Timestamp(NOW);
    let series = Series {
        start: now.plus(-60 * i64::from(WEEK)),
        step: 60,
        values: rates(1).map(|(_, rate)| Some(rate)).collect(),
    };
    let context = Context {
        time_zone: jiff::tz::TimeZone::UTC,
        exclude: vec![],
        horizon: 3600,
    };
    let levels = [0.05, 0.5, 0.95].map(|level| Level::new(level).unwrap());
    let fitted = fit(&series, now, &context);
    assert_eq!(fitted.rung, Rung::Regression);
    let predict = seconds(101, || fitted.predict(&series, now, 60, &levels));
    let naive = seconds(11, || {
        fit_up_to(&series, now, &context, Rung::SeasonalNaive).predict(&series, now, 60, &levels)
    });
    let cold = seconds(11, || {
        fit(&series, now, &context).predict(&series, now, 60, &levels)
    });
    let what = "cold fit and predict, 10,080 points";
    row(what, cold, "predict alone", predict);
    row(
        what,
        cold,
        "the seasonal naive, fitted and predicted",
        naive,
    );
}

fn target(seed: u64) -> TargetInput {
    TargetInput {
        id: TargetId {
            namespace: "bench".to_owned(),
            name: format!("target-{seed}"),
        },
        policy: Policy::new(2, 40, 12.0),
        problem: None,
        replicas: ReplicaCounts {
            desired: Replicas(9),
            current: Replicas(9),
            ready: Replicas(9),
            ..ReplicaCounts::default()
        },
        startups_seen: vec![60.0],
        signals: vec![SignalInput {
            name: "arrivals".to_owned(),
            means: Means::Arrivals,
            answer: Ok(vec![RawSeries {
                partial: None,
                labels: BTreeMap::new(),
                points: rates(seed).collect(),
            }]),
        }],
    }
}

fn snapshot(scalers: u64) -> Snapshot {
    let grid = Grid {
        step: 60,
        stale_after: 120,
        tick: 15,
    };
    let targets = (0..scalers).map(target).collect();
    observe::snapshot(Timestamp(NOW), grid, targets, vec![], Memory::default())
}

fn tick() {
    let mut first = None;
    for scalers in [1_u32, 100, 1000] {
        let mut seen = snapshot(u64::from(scalers));
        let mut memory = Memory::default();
        let cold = seconds(1, || memory = plan(&seen).memory);
        seen.memory = memory;
        // A tick makes a bounded number of fits: the rest comes in the ticks after it.
        let unfitted = |memory: &Memory| memory.targets.values().any(|one| one.fitted.is_none());
        while unfitted(&seen.memory) {
            seen.memory = plan(&seen).memory;
        }
        let warm = seconds(11, || plan(&seen));
        let (cold_one, warm_one) = *first.get_or_insert((cold, warm));
        let what = format!("tick, scalers: {scalers}");
        let one = "a tick with one";
        row(&format!("{what}, fits kept"), warm, one, warm_one);
        row(
            &format!("{what}, fitted anew as far as a tick allows"),
            cold,
            one,
            cold_one,
        );
    }
}

fn main() {
    // `cargo test --benches` starts this as well, with `--test`: it has nothing to measure there.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    println!("| what | time | ratio |\n| --- | --- | --- |");
    scrape();
    forecast();
    tick();
}
