//! What tells a GPU's health: errors that it counts and states that it is in. Counters are the driver's own, save the
//! Xids, which are counted from the moment the exporter watches.

use std::collections::BTreeMap;

use super::events::Recent;
use crate::reading::Reading;

/// Different Xid codes that are counted apart on one GPU; further ones are counted under [`OTHER`].
const MOST_CODES: usize = 48;

/// Code under which codes beyond the bound are counted; no real one has it.
pub const OTHER: u64 = u64::MAX;

/// Codes that call for action by NVIDIA's catalogue; each is counted from 0, so that its first error is an increase.
pub const WATCHED: [u64; 10] = [48, 62, 63, 64, 74, 79, 94, 95, 119, 120];

/// Errors of one Xid code.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Xid {
    /// How many since the exporter watches.
    pub count: u64,
    /// Unix seconds of the gather that brought the last; `None` before the first.
    pub last_seen: Option<f64>,
}

/// Xid errors of one GPU by code. They outlive the loss of the GPU, which they often explain.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Xids {
    codes: BTreeMap<u64, Xid>,
    last: u64,
    /// The last of them, with their times.
    pub recent: Recent,
}

impl Xids {
    /// A watch that has begun: nothing seen yet.
    pub fn watching() -> Self {
        let zero = |code| (code, Xid::default());
        Self {
            codes: WATCHED.map(zero).into(),
            last: 0,
            recent: Recent::default(),
        }
    }

    /// Counts one error, seen at `now` in unix seconds.
    pub fn count(&mut self, code: u64, now: f64) {
        let known = self.codes.contains_key(&code) || self.codes.len() < MOST_CODES;
        let entry = self
            .codes
            .entry(if known { code } else { OTHER })
            .or_default();
        entry.count += 1;
        entry.last_seen = Some(now);
        self.last = code;
        self.recent.note(now, code);
    }

    /// Code of the last error; 0 while none came.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// All codes, in order.
    pub fn codes(&self) -> impl Iterator<Item = (u64, Xid)> + '_ {
        self.codes.iter().map(|(code, xid)| (*code, *xid))
    }
}

/// Links to other GPUs or switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Links {
    /// That work.
    pub up: u32,
    /// That the board has and that do not work.
    pub down: u32,
}

/// Why clocks are lower than asked for, as the driver's bits (nvml.h, `nvmlClocksEventReason*`).
pub const CLOCK_EVENTS: [(&str, u64); 9] = [
    ("gpu_idle", 0x1),
    ("clocks_setting", 0x2),
    ("power_cap", 0x4),
    ("hw_slowdown", 0x8),
    ("sync_boost", 0x10),
    ("sw_thermal", 0x20),
    ("hw_thermal", 0x40),
    ("hw_power_brake", 0x80),
    ("display_clocks", 0x100),
];

/// Errors and states.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Health {
    /// Single-bit errors that were corrected, since the driver was loaded.
    pub ecc_corrected_volatile: Reading<u64>,
    /// Double-bit errors, since the driver was loaded.
    pub ecc_uncorrected_volatile: Reading<u64>,
    /// Single-bit errors that were corrected, over the board's life.
    pub ecc_corrected_aggregate: Reading<u64>,
    /// Double-bit errors, over the board's life.
    pub ecc_uncorrected_aggregate: Reading<u64>,
    /// Pages retired after single-bit errors (before Ampere).
    pub retired_single_bit: Reading<u64>,
    /// Pages retired after double-bit errors (before Ampere).
    pub retired_double_bit: Reading<u64>,
    /// 1 when a page waits for the next reset to be retired.
    pub retired_pending: Reading<u64>,
    /// 1 when a row waits for the next reset to be remapped.
    pub remap_pending: Reading<u64>,
    /// Flow-control errors of all links.
    pub nvlink_flit_errors: Reading<u64>,
    /// Data errors of all links.
    pub nvlink_data_errors: Reading<u64>,
    /// Replays of all links.
    pub nvlink_replays: Reading<u64>,
    /// Recoveries of all links.
    pub nvlink_recoveries: Reading<u64>,
    /// How many links work.
    pub nvlinks: Reading<Links>,
    /// Bits of [`CLOCK_EVENTS`].
    pub clock_events: Reading<u64>,
    /// Nanoseconds in which clocks were lowered to keep the power limit.
    pub power_violation: Reading<u64>,
    /// Nanoseconds in which clocks were lowered for heat.
    pub thermal_violation: Reading<u64>,
    /// Nanoseconds in which clocks were lowered for another board of the same boost group.
    pub sync_boost_violation: Reading<u64>,
    /// Nanoseconds in which clocks were lowered for the board's current or voltage.
    pub board_limit_violation: Reading<u64>,
    /// Nanoseconds in which clocks were lowered because little ran.
    pub low_utilization_violation: Reading<u64>,
    /// Nanoseconds in which clocks were lowered to keep the board reliable.
    pub reliability_violation: Reading<u64>,
}

impl Health {
    /// The readings that are plain numbers.
    pub(super) fn numbers(&self) -> [&Reading<u64>; 19] {
        [
            &self.ecc_corrected_volatile,
            &self.ecc_uncorrected_volatile,
            &self.ecc_corrected_aggregate,
            &self.ecc_uncorrected_aggregate,
            &self.retired_single_bit,
            &self.retired_double_bit,
            &self.retired_pending,
            &self.remap_pending,
            &self.nvlink_flit_errors,
            &self.nvlink_data_errors,
            &self.nvlink_replays,
            &self.nvlink_recoveries,
            &self.clock_events,
            &self.power_violation,
            &self.thermal_violation,
            &self.sync_boost_violation,
            &self.board_limit_violation,
            &self.low_utilization_violation,
            &self.reliability_violation,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_counted_and_the_first_of_a_watched_code_is_an_increase() {
        let mut xids = Xids::watching();
        let of = |xids: &Xids, wanted| {
            xids.codes()
                .find(|(code, _)| *code == wanted)
                .map(|(_, x)| x)
        };
        assert_eq!(of(&xids, 79), Some(Xid::default()));
        assert_eq!(of(&xids, 13), None);
        xids.count(79, 100.0);
        xids.count(13, 110.0);
        xids.count(79, 120.0);
        let twice = Xid {
            count: 2,
            last_seen: Some(120.0),
        };
        assert_eq!((of(&xids, 79), xids.last()), (Some(twice), 79));
        assert_eq!(of(&xids, 13).unwrap().count, 1);
    }

    #[test]
    fn codes_without_end_give_a_bounded_number_of_counters() {
        let mut xids = Xids::watching();
        for code in 0..1000 {
            xids.count(code, 1.0);
        }
        assert_eq!(xids.codes().count(), MOST_CODES + 1);
        let all: u64 = xids.codes().map(|(_, xid)| xid.count).sum();
        assert_eq!(all, 1000, "none is lost");
    }
}
