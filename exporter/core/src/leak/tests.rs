//! Days without a leak and days with one, made from seeds: loads with a daily wave and noise, caches that grow with load,
//! warm up and are given back, restarts, models that are loaded, replicas that come and go.

use super::*;
use crate::{
    device::{Memory, Process, ProcessUtilization},
    reading::Reading,
};

const TOTAL: u64 = 80 << 30;
const HOUR: f64 = 3600.0;
const MINUTE: f64 = 60.0;

/// Numbers that look random and are the same for a seed (`SplitMix64`).
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.next()
    }
}

/// How a process's memory comes about, in percent of the board's.
struct Life {
    pid: u32,
    born: f64,
    dies: f64,
    base: f64,
    /// More for each percent of load.
    by_load: f64,
    /// A cache that fills up: how much and how fast, in hours.
    cache: (f64, f64),
    /// A model that is loaded later: when and how much.
    step: (f64, f64),
    leak_per_hour: f64,
}

impl Life {
    fn held(&self, time: f64, load: f64, noise: f64) -> f64 {
        let age = (time - self.born) / HOUR;
        let cache = self.cache.0 * (1.0 - (-age / self.cache.1).exp());
        let step = if time >= self.step.0 {
            self.step.1
        } else {
            0.0
        };
        let leaked = self.leak_per_hour * age;
        (self.base + self.by_load * load + cache + step + leaked + noise).max(0.1)
    }
}

/// A day in minutes: what the board is at each.
fn day(seeded: &mut Seeded, lives: &[Life], wave: f64) -> Vec<(f64, Gpu)> {
    let phase = seeded.between(0.0, 24.0);
    let mean = seeded.between(wave + 5.0, 95.0 - wave);
    let mut minutes = Vec::new();
    for minute in 0..24 * 60 {
        let time = f64::from(minute) * MINUTE;
        let turn = (time / HOUR + phase) / 24.0 * std::f64::consts::TAU;
        let flicker = seeded.between(-8.0, 8.0);
        let load = (mean + wave * turn.sin() + flicker).clamp(0.0, 100.0);
        let mut processes = Vec::new();
        for life in lives
            .iter()
            .filter(|life| (life.born..life.dies).contains(&time))
        {
            let noise = seeded.between(-0.3, 0.3);
            let share = life.held(time, load, noise);
            processes.push(Process {
                pid: life.pid,
                memory: Reading::Value(bytes(share)),
                utilization: Reading::Value(ProcessUtilization {
                    sm: percent(load),
                    ..ProcessUtilization::default()
                }),
                ..Process::default()
            });
        }
        minutes.push((time, board(processes, percent(load), 0)));
    }
    minutes
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "shares of a board"
)]
fn bytes(share: f64) -> u64 {
    (share / 100.0 * TOTAL as f64) as u64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to 100"
)]
fn percent(load: f64) -> u32 {
    load.round() as u32
}

fn board(processes: Vec<Process>, load: u32, unowned: u64) -> Gpu {
    let mut gpu = Gpu::default();
    gpu.identity.uuid = "GPU-1".into();
    let held: u64 = processes.iter().filter_map(|one| one.memory.value()).sum();
    let used = held + unowned;
    gpu.readings.memory = Reading::Value(Memory {
        total: TOTAL,
        used,
        free: TOTAL.saturating_sub(used),
        reserved: Some(0),
    });
    gpu.readings.utilization = Reading::Value(load.into());
    gpu.processes = Reading::Value(processes);
    gpu
}

fn life(pid: u32, born: f64, seeded: &mut Seeded) -> Life {
    Life {
        pid,
        born,
        dies: f64::INFINITY,
        base: seeded.between(5.0, 20.0),
        by_load: seeded.between(0.0, 0.4),
        cache: (seeded.between(0.0, 8.0), seeded.between(0.05, 0.8)),
        step: (f64::INFINITY, 0.0),
        leak_per_hour: 0.0,
    }
}

/// A day on which nothing leaks.
fn sound(seed: u64) -> Vec<(f64, Gpu)> {
    let mut seeded = Seeded(seed);
    let mut lives = vec![life(1, 0.0, &mut seeded), life(2, 0.0, &mut seeded)];
    // One is loaded with another model, one restarts, and replicas come and go.
    lives[0].step = (seeded.between(0.0, 24.0) * HOUR, seeded.between(2.0, 20.0));
    let restart = seeded.between(2.0, 22.0) * HOUR;
    lives[1].dies = restart;
    let restarted = life(3, restart + MINUTE, &mut seeded);
    lives.push(restarted);
    for pid in 10..14 {
        let born = seeded.between(0.0, 20.0) * HOUR;
        let mut replica = life(pid, born, &mut seeded);
        replica.base = 2.0;
        replica.dies = born + seeded.between(0.2, 6.0) * HOUR;
        lives.push(replica);
    }
    let wave = seeded.between(0.0, 40.0);
    day(&mut seeded, &lives, wave)
}

/// First hour at which something is suspected, and what.
fn alarm(days: &[(f64, Gpu)]) -> Option<(f64, Leaks)> {
    let mut watch = LeakWatch::default();
    days.iter().find_map(|(time, gpu)| {
        let leaks = watch.observe(*time, std::slice::from_ref(gpu)).remove(0);
        let any = [leaks.process, leaks.contexts, leaks.unowned_suspected].contains(&Some(true));
        any.then_some((time / HOUR, leaks))
    })
}

#[test]
fn a_hundred_days_without_a_leak_give_no_alarm() {
    let alarms: Vec<_> = (0..100)
        .filter_map(|seed| alarm(&sound(seed)).map(|found| (seed, found)))
        .collect();
    assert!(alarms.is_empty(), "{alarms:?}");
}

#[test]
fn a_leak_of_one_percent_an_hour_is_told_within_six_hours() {
    for seed in 0..100 {
        let mut seeded = Seeded(1000 + seed);
        let mut leaking = life(1, 0.0, &mut seeded);
        leaking.leak_per_hour = seeded.between(1.0, 3.0);
        leaking.by_load = 0.0;
        let other = life(2, 0.0, &mut seeded);
        let minutes = day(&mut seeded, &[leaking, other], 0.0);
        let (hour, leaks) = alarm(&minutes).unwrap_or_else(|| panic!("seed {seed}: never told"));
        assert!(hour <= 6.0, "seed {seed}: told after {hour} h");
        assert_eq!(leaks.growing.len(), 1, "seed {seed}");
        assert_eq!(leaks.growing[0].pid, 1, "seed {seed}");
        let a_percent = TOTAL as f64 / 100.0 / HOUR;
        assert!(
            leaks.growing[0].bytes_per_second > 0.8 * a_percent,
            "seed {seed}"
        );
    }
}

#[test]
fn contexts_that_pile_up_are_told_and_those_that_take_turns_are_not() {
    let minutes = |lifetime: f64| {
        let contexts = move |time: f64| {
            let alive = move |born: f64| (born..born + lifetime).contains(&time);
            // One every half hour.
            (0..48_u32).filter(move |n| alive(f64::from(*n) * 0.5 * HOUR))
        };
        (0..8 * 60).map(move |minute| {
            let time = f64::from(minute) * MINUTE;
            let process = |pid| Process {
                pid,
                memory: Reading::Value(300 << 20),
                ..Process::default()
            };
            (time, board(contexts(time).map(process).collect(), 30, 0))
        })
    };
    let (hour, leaks) = alarm(&minutes(f64::INFINITY).collect::<Vec<_>>()).unwrap();
    assert_eq!((leaks.contexts, leaks.process), (Some(true), leaks.process));
    assert!(hour <= 6.0, "{hour}");
    assert_eq!(alarm(&minutes(1.4 * HOUR).collect::<Vec<_>>()), None);
}

#[test]
fn memory_that_no_process_holds_is_told_after_half_an_hour() {
    let mut watch = LeakWatch::default();
    let mut at = |minute: f64, unowned| {
        let gpu = board(Vec::new(), 0, unowned);
        let leaks = watch.observe(minute * MINUTE, &[gpu]).remove(0);
        (leaks.unowned, leaks.unowned_suspected)
    };
    // A recorded H100 shows 20 MiB more in use than its processes hold.
    assert_eq!(at(0.0, 20 << 20), (Some(20 << 20), Some(false)));
    assert_eq!(at(1.0, 5 << 30), (Some(5 << 30), Some(false)));
    assert_eq!(at(30.0, 5 << 30).1, Some(false));
    assert_eq!(at(31.0, 5 << 30).1, Some(true));
    assert_eq!(at(32.0, 0).1, Some(false), "given back");
    assert_eq!(at(90.0, 5 << 30).1, Some(false), "and not added up");
}

#[test]
fn nothing_is_judged_that_was_not_seen_or_has_no_load() {
    let mut watch = LeakWatch::default();
    assert_eq!(watch.observe(0.0, &[Gpu::default()]), [Leaks::default()]);
    let process = Process {
        pid: 1,
        memory: Reading::Value(1 << 30),
        ..Process::default()
    };
    let mut blind = board(vec![process], 0, 0);
    blind.readings.utilization = Reading::Unsupported;
    let mut leaks = Leaks::default();
    for minute in 0..600 {
        leaks = watch
            .observe(f64::from(minute) * MINUTE, &[blind.clone()])
            .remove(0);
    }
    assert_eq!((leaks.process, leaks.contexts), (None, None));
    assert_eq!(leaks.unowned, Some(0));
}
