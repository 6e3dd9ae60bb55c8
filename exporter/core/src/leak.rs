//! Memory that grows without need: a process that holds more every hour while it does no more than before, contexts that
//! pile up, and memory that no process holds. Judged from what was seen over hours; the caller gives the time. It never
//! judges what it did not see long enough, nor a board whose load is unknown.

use std::collections::BTreeMap;

use crate::device::{Gpu, Partitioning, Process};

mod series;

use self::series::Series;

/// A process: its number and the GPU instance it runs in.
type Key = (u32, Option<u32>);

/// Memory of a board that no process holds, as a share, from which on it is told; drivers hold some for themselves.
const UNOWNED: f64 = 0.02;
/// The same in bytes.
const UNOWNED_BYTES: u64 = 1 << 30;
/// Seconds for which it must have been there.
const UNOWNED_SECONDS: f64 = 1800.0;
/// Contexts that must have come in the hours that are judged.
const CONTEXTS: f64 = 4.0;

/// What was seen of all boards.
#[derive(Clone, Debug, Default)]
pub struct LeakWatch {
    boards: BTreeMap<String, Track>,
}

/// What was seen of one board.
#[derive(Clone, Debug, Default)]
struct Track {
    processes: BTreeMap<Key, Series>,
    contexts: Series,
    /// When the memory that no process holds was first too much, and still is.
    unowned_since: Option<f64>,
}

/// A process that grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Its number.
    pub pid: u32,
    /// How fast, over the last hours.
    pub bytes_per_second: f64,
}

/// What is known of one board's leaks; `None` where nothing can be judged yet, or at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Leaks {
    /// Whether a process grows without its load growing.
    pub process: Option<bool>,
    /// The processes that do.
    pub growing: Vec<Growth>,
    /// Whether contexts pile up.
    pub contexts: Option<bool>,
    /// Bytes that no process holds.
    pub unowned: Option<u64>,
    /// Whether those are too many for too long.
    pub unowned_suspected: Option<bool>,
}

impl LeakWatch {
    /// Takes what the boards are at `now`, unix seconds, and tells what is known of the leaks of each, in their order.
    /// Boards that are gone are forgotten; one that is lost is not judged.
    pub fn observe(&mut self, now: f64, gpus: &[Gpu]) -> Vec<Leaks> {
        let here = |uuid: &String| gpus.iter().any(|gpu| gpu.identity.uuid == *uuid);
        self.boards.retain(|uuid, _| here(uuid));
        let one = |gpu: &Gpu| {
            let track = self.boards.entry(gpu.identity.uuid.clone()).or_default();
            track.observe(now, gpu)
        };
        gpus.iter().map(one).collect()
    }
}

impl Track {
    fn observe(&mut self, now: f64, gpu: &Gpu) -> Leaks {
        let (Some(memory), Some(processes)) = (gpu.readings.memory.value(), gpu.processes.value())
        else {
            return Leaks::default();
        };
        let total = memory.total as f64;
        let held: BTreeMap<Key, (f64, Option<f64>)> = processes
            .iter()
            .filter_map(|process| {
                let bytes = *process.memory.value()? as f64;
                let key = (process.pid, process.gpu_instance);
                Some((key, (100.0 * bytes / total, load(gpu, process))))
            })
            .collect();
        self.processes.retain(|key, _| held.contains_key(key));
        let mut leaks = Leaks::default();
        for (key, (share, load)) in &held {
            let series = self.processes.entry(*key).or_default();
            series.add(now, *share, *load);
            if let Some(growth) = series.growth(now) {
                leaks.process = Some(leaks.process.unwrap_or(false) || growth.suspected);
                if growth.suspected {
                    leaks.growing.push(Growth {
                        pid: key.0,
                        bytes_per_second: growth.per_hour / 100.0 * total / 3600.0,
                    });
                }
            }
        }
        // Without processes there is none that grows.
        if processes.is_empty() {
            leaks.process = Some(false);
        }
        let count = u32::try_from(processes.len()).unwrap_or(u32::MAX);
        self.contexts.add(now, f64::from(count), board_load(gpu));
        leaks.contexts = self.contexts.piles_up(now, CONTEXTS);
        let known = processes
            .iter()
            .all(|process| process.memory.value().is_some());
        if known {
            let sum: u64 = processes.iter().filter_map(|one| one.memory.value()).sum();
            let unowned = memory.used.saturating_sub(sum);
            leaks.unowned = Some(unowned);
            leaks.unowned_suspected = Some(self.unowned(now, unowned, total));
        }
        leaks
    }

    fn unowned(&mut self, now: f64, unowned: u64, total: f64) -> bool {
        let much = unowned >= UNOWNED_BYTES && unowned as f64 >= UNOWNED * total;
        let since = if much {
            *self.unowned_since.get_or_insert(now)
        } else {
            self.unowned_since = None;
            now
        };
        now - since >= UNOWNED_SECONDS
    }
}

/// Percent that the process ran, else that its instance or board did.
fn load(gpu: &Gpu, process: &Process) -> Option<f64> {
    if let Some(own) = process.utilization.value() {
        return Some(f64::from(own.sm));
    }
    match &gpu.partitioning {
        Partitioning::Mig(instances) => {
            let own = instances
                .iter()
                .find(|one| Some(one.id) == process.gpu_instance)?;
            own.graphics_engine_active
                .value()
                .map(|share| share * 100.0)
        }
        Partitioning::Whole | Partitioning::Unknown(_) => board_load(gpu),
    }
}

fn board_load(gpu: &Gpu) -> Option<f64> {
    let readings = &gpu.readings;
    let engines = readings
        .graphics_engine_active
        .value()
        .map(|share| share * 100.0);
    engines.or_else(|| readings.utilization.value().map(|percent| *percent as f64))
}

#[cfg(test)]
mod tests;
