//! Who holds the GPUs: containers by the kubelet's list, processes by their cgroups.

use super::{Kind, Metric};

/// Labels of a container on a GPU.
const CONTAINER_LABELS: &[&str] = &[
    "gpu",
    "UUID",
    "pci_bus_id",
    "device",
    "GPU_I_PROFILE",
    "GPU_I_ID",
    "Hostname",
    "container",
    "namespace",
    "pod",
];

const fn of(name: &'static str, kind: Kind, unit: &'static str, help: &'static str) -> Metric {
    Metric {
        name,
        kind,
        help,
        unit,
        labels: CONTAINER_LABELS,
    }
}

/// Which container holds which device.
pub static POD_INFO: Metric = Metric {
    labels: &[
        "gpu",
        "UUID",
        "pci_bus_id",
        "device",
        "GPU_I_PROFILE",
        "GPU_I_ID",
        "Hostname",
        "container",
        "namespace",
        "pod",
        "share",
    ],
    ..of(
        "foresail_gpu_pod_info",
        Kind::Gauge,
        "always 1",
        "A container that holds the GPU or MIG instance, one series for each that shares it; share says which part, where it is time-sliced or shared by MPS.",
    )
};

/// Devices by how they were joined.
pub static DEVICES: Metric = Metric {
    labels: &["state", "Hostname"],
    ..of(
        "foresail_attribution_devices",
        Kind::Gauge,
        "devices",
        "GPUs and MIG instances held by one container, shared by several and free, and ids that containers hold and no GPU here has (unknown). Absent when the kubelet's list is not known.",
    )
};

/// Age of the list in use.
pub static AGE: Metric = Metric {
    labels: &["Hostname"],
    ..of(
        "foresail_attribution_age_seconds",
        Kind::Gauge,
        "seconds",
        "Age of the kubelet's list that names the containers; it is kept for 5 minutes after the last good answer.",
    )
};

/// Memory of a container's processes.
pub static CONTAINER_MEMORY: Metric = of(
    "foresail_container_gpu_memory_used_bytes",
    Kind::Gauge,
    "bytes",
    "Memory that the container's processes hold on the GPU; without a pod: processes that belong to none.",
);

/// Processes of a container.
pub static CONTAINER_PROCESSES: Metric = of(
    "foresail_container_gpu_processes",
    Kind::Gauge,
    "processes",
    "Processes of the container on the GPU; without a pod: processes that belong to none.",
);

/// Use of a GPU by a container.
pub static CONTAINER_UTILIZATION: Metric = of(
    "foresail_container_gpu_utilization_ratio",
    Kind::Gauge,
    "ratio",
    "Share of time in which kernels of the container's processes ran, as the driver samples it. Absent on partitioned GPUs.",
);

/// All of them.
pub static ALL: &[&Metric] = &[
    &POD_INFO,
    &DEVICES,
    &AGE,
    &CONTAINER_MEMORY,
    &CONTAINER_PROCESSES,
    &CONTAINER_UTILIZATION,
];
