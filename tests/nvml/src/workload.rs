//! Workloads whose limit is known, because it is put in: a step of a model on a board, by the times that its parts take.
//! What the board's counters read follows from the times; nothing here knows how a reader of the counters judges.

use crate::board::Board;

/// Peak of an H100 at its highest clock: dense 16-bit tensor operations and bytes of memory a second.
const OPERATIONS: f64 = 990.0e12;
const BANDWIDTH: f64 = 3.35e12;
/// `PCIe` generation 4 with 16 lanes, bytes a second in one direction.
const LINK: f64 = 31.5e9;

/// Bits of nvml.h: software power cap, hardware slowdown, thermal slowdown by software and hardware.
const SLOWDOWNS: [u64; 4] = [0x4, 0x8, 0x20, 0x8 | 0x40];

/// A step: what it asks for.
struct Step {
    /// Seconds in which the host prepares and the board waits.
    host: f64,
    /// Bytes copied before the kernels can start.
    copied: f64,
    /// Tensor operations.
    operations: f64,
    /// Bytes of memory read and written.
    touched: f64,
    /// Share of multiprocessors that the kernels fill.
    filled: f64,
    /// Clock as a share of the highest.
    clock: f64,
    /// Reasons for a lower clock.
    events: u64,
}

/// Numbers that look random and are the same for a seed (`SplitMix64`).
struct Seeded(u64);

impl Seeded {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        let share = (bits >> 11) as f64 / (1_u64 << 53) as f64;
        low + (high - low) * share
    }
}

/// Sets the readings of `board` as the workload limited by `cause` leaves them; `None` for an unknown cause.
pub(crate) fn apply(board: &mut Board, cause: &str, seed: u64) -> Option<()> {
    let mut seeded = Seeded(seed);
    let step = step(cause, &mut seeded)?;
    let kernels = (step.operations / (OPERATIONS * step.clock * step.filled))
        .max(step.touched / (BANDWIDTH * (1.5 * step.filled).min(1.0)));
    let copying = step.copied / LINK;
    let whole = step.host + copying + kernels;
    let share = |part: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let busy = share(kernels);
    let mut noisy = |value: f64| (value * seeded.between(0.95, 1.05)).clamp(0.0, 1.0);
    let sm = noisy(busy * step.filled);
    let ratios = [
        ("gpm_graphics", noisy(busy)),
        ("gpm_sm", sm),
        ("gpm_occupancy", noisy(sm * 0.5)),
        (
            "gpm_tensor",
            noisy(share(step.operations / (OPERATIONS * step.clock))),
        ),
        ("gpm_dram", noisy(share(step.touched / BANDWIDTH))),
    ];
    let copied = noisy(share(copying)) * LINK;
    let limit = *board.readings.get("sm_clock_limit")?;
    for (name, ratio) in ratios {
        if board.readings.contains_key(name) {
            board
                .readings
                .insert(name.into(), whole_number(ratio * 100.0));
        }
    }
    for (name, value) in [
        ("gpu_utilization", noisy(busy) * 100.0),
        ("pcie_received_rate", copied),
        ("sm_clock", limit as f64 * step.clock),
    ] {
        board.readings.insert(name.into(), whole_number(value));
    }
    board.readings.insert("clock_events".into(), step.events);
    Some(())
}

/// Kernels take about 10 ms at full clock on all multiprocessors; what limits is several times as long.
fn step(cause: &str, seeded: &mut Seeded) -> Option<Step> {
    let kernels = seeded.between(0.005, 0.015);
    let sound = Step {
        host: kernels * seeded.between(0.0, 0.08),
        copied: kernels * LINK * seeded.between(0.0, 0.03),
        operations: kernels * OPERATIONS,
        touched: kernels * BANDWIDTH * seeded.between(0.15, 0.45),
        filled: seeded.between(0.8, 1.0),
        clock: seeded.between(0.88, 1.0),
        events: 0,
    };
    let step = match cause {
        "none" => sound,
        "idle" => Step {
            host: 1.0,
            copied: 0.0,
            operations: OPERATIONS * seeded.between(0.0, 0.01),
            touched: 0.0,
            clock: 0.2,
            events: 1,
            ..sound
        },
        "host" => Step {
            host: kernels * seeded.between(0.8, 5.0),
            ..sound
        },
        "transfer" => Step {
            copied: kernels * LINK * seeded.between(0.8, 5.0),
            ..sound
        },
        "small_batches" => Step {
            filled: seeded.between(0.05, 0.35),
            operations: kernels * OPERATIONS * 0.1,
            touched: kernels * BANDWIDTH * seeded.between(0.01, 0.04),
            ..sound
        },
        "memory_bandwidth" => Step {
            operations: kernels * OPERATIONS * seeded.between(0.1, 0.5),
            touched: kernels * BANDWIDTH,
            ..sound
        },
        "throttled" => Step {
            clock: seeded.between(0.3, 0.72),
            events: SLOWDOWNS[pick(seeded)],
            ..sound
        },
        _ => return None,
    };
    Some(step)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number from 0 to 3"
)]
fn pick(seeded: &mut Seeded) -> usize {
    (seeded.between(0.0, 4.0) as usize).min(SLOWDOWNS.len() - 1)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and no figure here is negative"
)]
fn whole_number(value: f64) -> u64 {
    value.round() as u64
}
