//! Why a GPU does less than it could, from its counters: a bounded set of causes, told from one pass. Rules of thumb
//! over shares of time, the same for every board; what cannot be judged without a counter is left open, never denied.

use crate::device::{Gpu, Partitioning, Readings};

/// A cause of low use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Hardly anything runs.
    Idle,
    /// Clocks are lowered for heat, power or the board's safety.
    Throttled,
    /// It waits for copies to and from the host.
    Transfer,
    /// It waits, and not for copies: for the host to give it work.
    Host,
    /// Its kernels wait for memory.
    MemoryBandwidth,
    /// Its kernels leave most multiprocessors empty.
    SmallBatches,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Idle,
        Self::Throttled,
        Self::Transfer,
        Self::Host,
        Self::MemoryBandwidth,
        Self::SmallBatches,
    ];

    /// Value of a label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Throttled => "throttled",
            Self::Transfer => "transfer",
            Self::Host => "host",
            Self::MemoryBandwidth => "memory_bandwidth",
            Self::SmallBatches => "small_batches",
        }
    }
}

/// What was found. At most one cause: the first that holds, in the order of [`Cause::ALL`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// The cause; `None` when the GPU is well used, as far as it was judged.
    pub cause: Option<Cause>,
    /// The causes that could be judged.
    pub judged: Vec<Cause>,
}

/// Busy below this share of time: idle.
const IDLE: f64 = 0.05;
/// Busy below this share of time: it waits for something.
const BUSY: f64 = 0.7;
/// Clock below this share of the highest, with a reason for it: throttled. A board at its power limit does 85 %.
const CLOCK: f64 = 0.8;
/// Copying for at least this share of the waiting: it waits for copies.
const COPYING: f64 = 0.5;
/// Memory active for at least this share of the busy time: the memory may limit.
const MEMORY: f64 = 0.5;
/// Multiprocessors in use for less than this share of the busy time: most are empty.
const FILLED: f64 = 0.5;

/// Clock events that lower clocks against the will of whoever uses the board: power cap, hardware slowdown, thermal
/// slowdown by software and hardware, power brake (nvml.h, `nvmlClocksEventReason*`).
const SLOWDOWN: u64 = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

/// Bytes per second and lane of a `PCIe` generation from 1 on, after line coding.
const LANE: [f64; 6] = [0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9];

/// Judges a whole GPU; `None` for one that is lost or partitioned, or that measures nothing to judge by.
pub fn diagnose(gpu: &Gpu) -> Option<Diagnosis> {
    if gpu.lost.is_some() || gpu.partitioning != Partitioning::Whole {
        return None;
    }
    let readings = &gpu.readings;
    let engines = readings.graphics_engine_active.value().copied();
    let percent = readings
        .utilization
        .value()
        .map(|percent| *percent as f64 / 100.0);
    let busy = engines.or(percent)?;
    let mut judged = vec![Cause::Idle];
    let mut cause = (busy < IDLE).then_some(Cause::Idle);
    let mut judge = |which, holds: Option<bool>| {
        if let Some(holds) = holds {
            judged.push(which);
            cause = cause.or(holds.then_some(which));
        }
    };
    judge(Cause::Throttled, throttled(readings));
    // A kernel that runs a little counts as utilization: only the engines' share of time tells what it waits for.
    let copying = copying(readings).filter(|_| engines.is_some());
    let waits = busy < BUSY;
    judge(
        Cause::Transfer,
        copying.map(|share| waits && share >= COPYING * (1.0 - busy)),
    );
    judge(
        Cause::Host,
        copying.map(|share| waits && share < COPYING * (1.0 - busy)),
    );
    let memory = readings
        .dram_active
        .value()
        .zip(readings.tensor_active.value());
    judge(
        Cause::MemoryBandwidth,
        memory.map(|(dram, tensor)| !waits && *dram >= MEMORY * busy && dram > tensor),
    );
    let filled = readings.sm_active.value();
    judge(
        Cause::SmallBatches,
        filled.map(|sm| !waits && *sm < FILLED * busy),
    );
    Some(Diagnosis { cause, judged })
}

fn throttled(readings: &Readings) -> Option<bool> {
    let events = readings.health.clock_events.value()?;
    let (clock, limit) = (readings.sm_clock.value()?, readings.sm_clock_limit.value()?);
    Some(events & SLOWDOWN != 0 && (*clock as f64) < CLOCK * *limit as f64)
}

/// Share of time in which the busier direction of the link would carry what it carried at full speed.
fn copying(readings: &Readings) -> Option<f64> {
    let sent = readings.pcie_sent.value()?;
    let received = readings.pcie_received.value()?;
    let generation = usize::try_from(*readings.pcie_generation.value()?).ok()?;
    let lane = LANE.get(generation.checked_sub(1)?)?;
    let speed = lane * *readings.pcie_width.value()? as f64;
    (speed > 0.0).then(|| sent.max(*received) / speed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Reading;

    /// Busy, multiprocessors, tensor, memory; and bytes received.
    fn gpu([busy, sm, tensor, dram]: [f64; 4], received: f64) -> Gpu {
        let value = Reading::Value;
        let mut readings = Readings {
            graphics_engine_active: value(busy),
            sm_active: value(sm),
            tensor_active: value(tensor),
            dram_active: value(dram),
            pcie_sent: value(0.0),
            pcie_received: value(received),
            pcie_generation: Reading::Value(4),
            pcie_width: Reading::Value(16),
            sm_clock: Reading::Value(1980),
            sm_clock_limit: Reading::Value(1980),
            ..Readings::default()
        };
        readings.health.clock_events = Reading::Value(0);
        Gpu {
            readings,
            ..Gpu::default()
        }
    }

    fn cause(gpu: &Gpu) -> Option<Cause> {
        diagnose(gpu).unwrap().cause
    }

    #[test]
    fn each_cause_shows_in_its_counters() {
        assert_eq!(cause(&gpu([0.95, 0.9, 0.7, 0.4], 0.0)), None);
        assert_eq!(cause(&gpu([0.01, 0.0, 0.0, 0.0], 0.0)), Some(Cause::Idle));
        assert_eq!(cause(&gpu([0.4, 0.35, 0.2, 0.1], 0.0)), Some(Cause::Host));
        assert_eq!(
            cause(&gpu([0.4, 0.35, 0.2, 0.1], 18e9)),
            Some(Cause::Transfer)
        );
        assert_eq!(
            cause(&gpu([0.95, 0.9, 0.2, 0.8], 0.0)),
            Some(Cause::MemoryBandwidth)
        );
        assert_eq!(
            cause(&gpu([0.95, 0.2, 0.05, 0.03], 0.0)),
            Some(Cause::SmallBatches)
        );
        let mut hot = gpu([0.95, 0.9, 0.7, 0.4], 0.0);
        hot.readings.sm_clock = Reading::Value(1200);
        assert_eq!(cause(&hot), None, "a low clock that nobody forced");
        hot.readings.health.clock_events = Reading::Value(0x20);
        assert_eq!(cause(&hot), Some(Cause::Throttled));
    }

    #[test]
    fn what_is_not_measured_is_left_open() {
        let mut old = Gpu::default();
        assert_eq!(diagnose(&old), None);
        old.readings.utilization = Reading::Value(40);
        let found = diagnose(&old).unwrap();
        assert_eq!((found.cause, found.judged), (None, vec![Cause::Idle]));
        let mut cut = gpu([0.01, 0.0, 0.0, 0.0], 0.0);
        cut.partitioning = Partitioning::Mig(Vec::new());
        assert_eq!(diagnose(&cut), None);
    }
}
