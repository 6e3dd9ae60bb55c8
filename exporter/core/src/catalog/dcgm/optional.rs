//! Fields of DCGM beyond its default set that the driver library serves too: dcgm-exporter's own commented rows, and
//! limits. Served when a counters file names them.

use super::{FIELDS_AS_LABELS, of};
use crate::catalog::{Kind, Metric};

/// DCGM's field of that name, as a metric.
const fn counter(name: &'static str, unit: &'static str, help: &'static str) -> Metric {
    of(name, Kind::Counter, unit, help)
}

/// DCGM's field of that name, as a metric.
const fn gauge(name: &'static str, unit: &'static str, help: &'static str) -> Metric {
    of(name, Kind::Gauge, unit, help)
}

macro_rules! metrics {
    ($($(#[$doc:meta])* $id:ident = $of:ident($suffix:literal, $unit:literal, $help:literal);)+) => {
        $($(#[$doc])* pub static $id: Metric = $of(concat!("DCGM_FI_", $suffix), $unit, $help);)+
        /// All of them.
        pub static ALL: &[&Metric] = &[$(&$id,)+ &XID_ERRORS_TOTAL, &XID_ERRORS_COUNT, &CLOCK_EVENTS_TOTAL, &CLOCK_EVENTS_COUNT];
    };
}

/// A metric that dcgm-exporter makes itself: its own labels stand, by name, among the fields shown as labels.
macro_rules! made {
    ($($(#[$doc:meta])* $id:ident = $name:literal, $kind:ident, $unit:literal, [$($label:literal),*], $help:literal;)+) => {$(
        $(#[$doc])* pub static $id: Metric = Metric {
            labels: &[
                "gpu",
                "UUID",
                "pci_bus_id",
                "device",
                "modelName",
                "Hostname",
                FIELDS_AS_LABELS,
                $($label,)*
                "container",
                "namespace",
                "pod",
            ],
            ..of($name, Kind::$kind, $unit, $help)
        };
    )+};
}

made! {
    /// Errors by code since the exporter started; a name of dcgm-exporter from 4.8.3.
    XID_ERRORS_TOTAL = "DCGM_EXP_XID_ERRORS_TOTAL", Counter, "errors", ["xid"],
        "Xid errors by code since the exporter started.";
    /// Errors by code within a window.
    XID_ERRORS_COUNT = "DCGM_EXP_XID_ERRORS_COUNT", Gauge, "errors", ["window_size_in_ms", "xid"],
        "Count of XID Errors within user-specified time window (see xid-count-window-size param).";
    /// How often clocks began to be lowered for a reason; a name of dcgm-exporter from 4.8.3.
    CLOCK_EVENTS_TOTAL = "DCGM_EXP_CLOCK_EVENTS_TOTAL", Counter, "events", ["clock_event"],
        "Times that a reason for lowered clocks began since the exporter started.";
    /// Gathers within a window at which clocks were lowered for a reason.
    CLOCK_EVENTS_COUNT = "DCGM_EXP_CLOCK_EVENTS_COUNT", Gauge, "gathers", ["clock_event", "window_size_in_ms"],
        "Count of clock events within the user-specified time window (see clock-events-count-window-size param).";
}

/// Power limits and highest clocks: in Foresail's default set, not in dcgm-exporter's.
pub static LIMITS: &[&Metric] = &[
    &POWER_MGMT_LIMIT,
    &ENFORCED_POWER_LIMIT,
    &MAX_SM_CLOCK,
    &MAX_MEM_CLOCK,
];

metrics! {
    /// DCGM's `POWER_MGMT_LIMIT`.
    POWER_MGMT_LIMIT = gauge("DEV_POWER_MGMT_LIMIT", "W", "Power limit that was set (in W).");
    /// DCGM's `ENFORCED_POWER_LIMIT`.
    ENFORCED_POWER_LIMIT = gauge("DEV_ENFORCED_POWER_LIMIT", "W", "Power limit in force, the lowest of all limits (in W).");
    /// DCGM's `MAX_SM_CLOCK`.
    MAX_SM_CLOCK = gauge("DEV_MAX_SM_CLOCK", "MHz", "Highest SM clock frequency (in MHz).");
    /// DCGM's `MAX_MEM_CLOCK`.
    MAX_MEM_CLOCK = gauge("DEV_MAX_MEM_CLOCK", "MHz", "Highest memory clock frequency (in MHz).");
    /// DCGM's `PCIE_LINK_GEN`.
    PCIE_LINK_GEN = gauge("DEV_PCIE_LINK_GEN", "generation", "Generation of the PCIe link now.");
    /// DCGM's `PCIE_LINK_WIDTH`.
    PCIE_LINK_WIDTH = gauge("DEV_PCIE_LINK_WIDTH", "lanes", "Lanes of the PCIe link now.");
    /// DCGM's `FB_TOTAL`.
    FB_TOTAL = gauge("DEV_FB_TOTAL", "MiB", "Framebuffer memory in all (in MiB).");
    /// DCGM's `FB_USED_PERCENT`.
    FB_USED_PERCENT = gauge("DEV_FB_USED_PERCENT", "ratio", "Framebuffer memory used as a share of what is not reserved, 0 to 1.");
    /// DCGM's `CLOCK_THROTTLE_REASONS`.
    CLOCK_THROTTLE_REASONS = gauge("DEV_CLOCK_THROTTLE_REASONS", "bits", "Reasons for lowered clocks (bits of nvmlClocksEventReasons).");
    /// DCGM's `POWER_VIOLATION`.
    POWER_VIOLATION = counter("DEV_POWER_VIOLATION", "ns", "Throttling duration due to power constraints (in ns).");
    /// DCGM's `THERMAL_VIOLATION`.
    THERMAL_VIOLATION = counter("DEV_THERMAL_VIOLATION", "ns", "Throttling duration due to thermal constraints (in ns).");
    /// DCGM's `SYNC_BOOST_VIOLATION`.
    SYNC_BOOST_VIOLATION = counter("DEV_SYNC_BOOST_VIOLATION", "ns", "Throttling duration due to sync-boost constraints (in ns).");
    /// DCGM's `BOARD_LIMIT_VIOLATION`.
    BOARD_LIMIT_VIOLATION = counter("DEV_BOARD_LIMIT_VIOLATION", "ns", "Throttling duration due to board limit constraints (in ns).");
    /// DCGM's `LOW_UTIL_VIOLATION`.
    LOW_UTIL_VIOLATION = counter("DEV_LOW_UTIL_VIOLATION", "ns", "Throttling duration due to low utilization (in ns).");
    /// DCGM's `RELIABILITY_VIOLATION`.
    RELIABILITY_VIOLATION = counter("DEV_RELIABILITY_VIOLATION", "ns", "Throttling duration due to reliability constraints (in ns).");
    /// DCGM's `ECC_SBE_VOL_TOTAL`.
    ECC_SBE_VOL_TOTAL = counter("DEV_ECC_SBE_VOL_TOTAL", "errors", "Total number of single-bit volatile ECC errors.");
    /// DCGM's `ECC_DBE_VOL_TOTAL`.
    ECC_DBE_VOL_TOTAL = counter("DEV_ECC_DBE_VOL_TOTAL", "errors", "Total number of double-bit volatile ECC errors.");
    /// DCGM's `ECC_SBE_AGG_TOTAL`.
    ECC_SBE_AGG_TOTAL = counter("DEV_ECC_SBE_AGG_TOTAL", "errors", "Total number of single-bit persistent ECC errors.");
    /// DCGM's `ECC_DBE_AGG_TOTAL`.
    ECC_DBE_AGG_TOTAL = counter("DEV_ECC_DBE_AGG_TOTAL", "errors", "Total number of double-bit persistent ECC errors.");
    /// DCGM's `RETIRED_SBE`.
    RETIRED_SBE = counter("DEV_RETIRED_SBE", "pages", "Total number of retired pages due to single-bit errors.");
    /// DCGM's `RETIRED_DBE`.
    RETIRED_DBE = counter("DEV_RETIRED_DBE", "pages", "Total number of retired pages due to double-bit errors.");
    /// DCGM's `RETIRED_PENDING`.
    RETIRED_PENDING = counter("DEV_RETIRED_PENDING", "0 or 1", "Total number of pages pending retirement.");
    /// DCGM's `ROW_REMAP_PENDING`.
    ROW_REMAP_PENDING = gauge("DEV_ROW_REMAP_PENDING", "0 or 1", "Whether a row waits for the next reset to be remapped");
    /// DCGM's `NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL`.
    NVLINK_CRC_FLIT = counter("DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "errors", "Total number of NVLink flow-control CRC errors.");
    /// DCGM's `NVLINK_CRC_DATA_ERROR_COUNT_TOTAL`.
    NVLINK_CRC_DATA = counter("DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", "errors", "Total number of NVLink data CRC errors.");
    /// DCGM's `NVLINK_REPLAY_ERROR_COUNT_TOTAL`.
    NVLINK_REPLAY = counter("DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "replays", "Total number of NVLink retries.");
    /// DCGM's `NVLINK_RECOVERY_ERROR_COUNT_TOTAL`.
    NVLINK_RECOVERY = counter("DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "recoveries", "Total number of NVLink recovery errors.");
    /// DCGM's `PROF_SM_ACTIVE`.
    PROF_SM_ACTIVE = gauge("PROF_SM_ACTIVE", "ratio", "The ratio of cycles an SM has at least 1 warp assigned.");
    /// DCGM's `PROF_SM_OCCUPANCY`.
    PROF_SM_OCCUPANCY = gauge("PROF_SM_OCCUPANCY", "ratio", "The ratio of number of warps resident on an SM.");
    /// DCGM's `PROF_PIPE_FP64_ACTIVE`.
    PROF_PIPE_FP64_ACTIVE = gauge("PROF_PIPE_FP64_ACTIVE", "ratio", "Ratio of cycles the fp64 pipes are active.");
    /// DCGM's `PROF_PIPE_FP32_ACTIVE`.
    PROF_PIPE_FP32_ACTIVE = gauge("PROF_PIPE_FP32_ACTIVE", "ratio", "Ratio of cycles the fp32 pipes are active.");
    /// DCGM's `PROF_PIPE_FP16_ACTIVE`.
    PROF_PIPE_FP16_ACTIVE = gauge("PROF_PIPE_FP16_ACTIVE", "ratio", "Ratio of cycles the fp16 pipes are active.");
}
