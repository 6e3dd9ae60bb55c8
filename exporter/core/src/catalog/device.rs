//! What DCGM has no name for, by GPU.

use super::{GPU_LABELS, Kind, Metric};

/// Labels of a GPU, and further ones.
macro_rules! labels {
    ($($more:literal),*) => {
        &["gpu", "UUID", "pci_bus_id", "device", $($more,)* "Hostname"]
    };
}

/// Whether a GPU answers.
pub static UP: Metric = Metric {
    name: "foresail_gpu_up",
    kind: Kind::Gauge,
    help: "Whether the GPU answers its driver; 0, with the reason, when it is lost or a call on it does not return.",
    unit: "0 or 1",
    labels: labels!["reason"],
};

/// Readings that should be there and are not.
pub static FAILED_READINGS: Metric = Metric {
    name: "foresail_gpu_failed_readings",
    kind: Kind::Gauge,
    help: "Readings of the GPU that failed in the last gather; unsupported ones are not counted.",
    unit: "readings",
    labels: GPU_LABELS,
};

/// Why series are not there.
pub static ABSENT_INFO: Metric = Metric {
    name: "foresail_gpu_absent_info",
    kind: Kind::Gauge,
    help: "A group of series that the GPU does not have now, and why. Always 1.",
    unit: "1",
    labels: labels!["what", "reason"],
};

/// Errors by code.
pub static XID_ERRORS: Metric = Metric {
    name: "foresail_gpu_xid_errors_total",
    kind: Kind::Counter,
    help: "Xid errors of the GPU by code since the exporter watches it; codes that call for action are counted from 0.",
    unit: "errors",
    labels: labels!["xid"],
};

/// When an error came last.
pub static XID_LAST_SEEN: Metric = Metric {
    name: "foresail_gpu_xid_last_seen_timestamp_seconds",
    kind: Kind::Gauge,
    help: "End of the gather that brought the last Xid error of the code. Absent before the first.",
    unit: "unix seconds",
    labels: labels!["xid"],
};

/// Why clocks are low.
pub static CLOCK_EVENT: Metric = Metric {
    name: "foresail_gpu_clock_event_active",
    kind: Kind::Gauge,
    help: "Whether clocks are lowered now for the reason, one series for each.",
    unit: "0 or 1",
    labels: labels!["reason"],
};

/// Links that work.
pub static NVLINKS: Metric = Metric {
    name: "foresail_gpu_nvlinks",
    kind: Kind::Gauge,
    help: "NVLinks of the GPU by state: up or down.",
    unit: "links",
    labels: labels!["state"],
};

/// Rows that wait.
pub static REMAP_PENDING: Metric = Metric {
    name: "foresail_gpu_row_remap_pending",
    kind: Kind::Gauge,
    help: "Whether a memory row waits for the next reset of the GPU to be remapped.",
    unit: "0 or 1",
    labels: GPU_LABELS,
};

/// Memory that owners hold.
pub static MEMORY_ALLOCATED: Metric = Metric {
    name: "foresail_gpu_memory_allocated_bytes",
    kind: Kind::Gauge,
    help: "Memory of the GPU that owners have claimed: the sizes of its MIG instances. Absent when unknown.",
    unit: "bytes",
    labels: GPU_LABELS,
};

/// Memory that owners hold and do not use.
pub static MEMORY_FRAGMENTATION: Metric = Metric {
    name: "foresail_gpu_memory_fragmentation_ratio",
    kind: Kind::Gauge,
    help: "Memory claimed by owners and not used, as a share of the GPU's memory. Absent when what is claimed is unknown.",
    unit: "ratio",
    labels: GPU_LABELS,
};

/// Why it does little.
pub static LOW_USE: Metric = Metric {
    name: "foresail_gpu_low_use",
    kind: Kind::Gauge,
    help: "Whether the cause limits the GPU now: idle, throttled, transfer, host, memory_bandwidth or small_batches. At most one is 1; a cause that cannot be judged has no series, nor has a partitioned GPU.",
    unit: "0 or 1",
    labels: labels!["cause"],
};

/// Whether memory leaks.
pub static LEAK_SUSPECTED: Metric = Metric {
    name: "foresail_gpu_memory_leak_suspected",
    kind: Kind::Gauge,
    help: "Whether memory of the GPU leaks, by reason: process (one grows for hours and its load does not), contexts (they pile up) or unowned (no process holds it). Absent until it can be judged, which takes four hours for the first two.",
    unit: "0 or 1",
    labels: labels!["reason"],
};

/// How fast.
pub static LEAK_RATE: Metric = Metric {
    name: "foresail_gpu_memory_leak_bytes_per_second",
    kind: Kind::Gauge,
    help: "How fast a process under suspicion has grown over the last hours.",
    unit: "bytes per second",
    labels: labels!["pid"],
};

/// Memory of nobody.
pub static MEMORY_UNOWNED: Metric = Metric {
    name: "foresail_gpu_memory_unowned_bytes",
    kind: Kind::Gauge,
    help: "Memory in use that no process on the GPU holds. Absent where the driver does not tell what each process holds.",
    unit: "bytes",
    labels: GPU_LABELS,
};

/// All of them.
pub static ALL: &[&Metric] = &[
    &UP,
    &FAILED_READINGS,
    &ABSENT_INFO,
    &XID_ERRORS,
    &XID_LAST_SEEN,
    &CLOCK_EVENT,
    &NVLINKS,
    &REMAP_PENDING,
    &MEMORY_ALLOCATED,
    &MEMORY_FRAGMENTATION,
    &LOW_USE,
    &LEAK_SUSPECTED,
    &LEAK_RATE,
    &MEMORY_UNOWNED,
];
