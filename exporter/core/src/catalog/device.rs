//! What DCGM has no name for, by GPU.

use super::{GPU_LABELS, Kind, Metric};

/// Whether a GPU answers.
pub static UP: Metric = Metric {
    name: "foresail_gpu_up",
    kind: Kind::Gauge,
    help: "Whether the GPU answers its driver; 0 when it is lost.",
    unit: "0 or 1",
    labels: GPU_LABELS,
};

/// Readings that should be there and are not.
pub static FAILED_READINGS: Metric = Metric {
    name: "foresail_gpu_failed_readings",
    kind: Kind::Gauge,
    help: "Readings of the GPU that failed in the last gather; unsupported ones are not counted.",
    unit: "readings",
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

/// All of them.
pub static ALL: &[&Metric] = &[
    &UP,
    &FAILED_READINGS,
    &MEMORY_ALLOCATED,
    &MEMORY_FRAGMENTATION,
];
