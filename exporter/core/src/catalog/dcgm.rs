//! DCGM's default set (NVIDIA/dcgm-exporter `etc/default-counters.csv`, releases up to 4.8.2): exact
//! names, types and help texts, so that users' dashboards keep working. Nothing of our own; what a user may ask for
//! beyond it is in [`optional`].

use super::{Kind, Metric};

pub mod fields;

pub mod optional;

/// Stands in the labels where the fields follow that a counters file types as labels; by default the driver's version.
pub const FIELDS_AS_LABELS: &str = "DCGM_FI_DRIVER_VERSION";

/// Fields that are texts, so that they can be labels of all series of a GPU and nothing else.
pub const TEXTS: [&str; 9] = [
    FIELDS_AS_LABELS,
    NVML_VERSION,
    "DCGM_FI_DEV_BRAND",
    "DCGM_FI_DEV_SERIAL",
    "DCGM_FI_DEV_VBIOS_VERSION",
    "DCGM_FI_DEV_INFOROM_IMAGE_VER",
    "DCGM_FI_DEV_OEM_INFOROM_VER",
    "DCGM_FI_DEV_ECC_INFOROM_VER",
    "DCGM_FI_DEV_POWER_INFOROM_VER",
];

/// The one of [`TEXTS`] that is the management library's, not a board's.
pub const NVML_VERSION: &str = "DCGM_FI_NVML_VERSION";

/// Labels of a series, in dcgm-exporter's order: the GPU, fields typed as labels, and what it is given to, by name.
pub const LABELS: &[&str] = &[
    "gpu",
    "UUID",
    "pci_bus_id",
    "device",
    "modelName",
    "GPU_I_PROFILE",
    "GPU_I_ID",
    "Hostname",
    FIELDS_AS_LABELS,
    "container",
    "namespace",
    "pod",
];

/// Labels of the Xid gauge.
pub const XID_LABELS: &[&str] = &[
    "gpu",
    "UUID",
    "pci_bus_id",
    "device",
    "modelName",
    "Hostname",
    FIELDS_AS_LABELS,
    "container",
    "err_code",
    "err_msg",
    "namespace",
    "pod",
];

const fn of(name: &'static str, kind: Kind, unit: &'static str, help: &'static str) -> Metric {
    Metric {
        name,
        kind,
        help,
        unit,
        labels: LABELS,
    }
}

/// DCGM's `SM_CLOCK`.
pub static SM_CLOCK: Metric = of(
    "DCGM_FI_DEV_SM_CLOCK",
    Kind::Gauge,
    "MHz",
    "SM clock frequency (in MHz).",
);
/// DCGM's `MEM_CLOCK`.
pub static MEM_CLOCK: Metric = of(
    "DCGM_FI_DEV_MEM_CLOCK",
    Kind::Gauge,
    "MHz",
    "Memory clock frequency (in MHz).",
);
/// DCGM's `MEMORY_TEMP`.
pub static MEMORY_TEMP: Metric = of(
    "DCGM_FI_DEV_MEMORY_TEMP",
    Kind::Gauge,
    "degrees Celsius",
    "Memory temperature (in C).",
);
/// DCGM's `GPU_TEMP`.
pub static GPU_TEMP: Metric = of(
    "DCGM_FI_DEV_GPU_TEMP",
    Kind::Gauge,
    "degrees Celsius",
    "GPU temperature (in C).",
);
/// DCGM's `POWER_USAGE`.
pub static POWER_USAGE: Metric = of(
    "DCGM_FI_DEV_POWER_USAGE",
    Kind::Gauge,
    "W",
    "Power draw (in W).",
);
/// DCGM's `TOTAL_ENERGY_CONSUMPTION`.
pub static TOTAL_ENERGY_CONSUMPTION: Metric = of(
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    Kind::Counter,
    "mJ",
    "Total energy consumption since boot (in mJ).",
);
/// DCGM's `PCIE_REPLAY_COUNTER`.
pub static PCIE_REPLAY_COUNTER: Metric = of(
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
    Kind::Counter,
    "retries",
    "Total number of PCIe retries.",
);
/// DCGM's `GPU_UTIL`.
pub static GPU_UTIL: Metric = of(
    "DCGM_FI_DEV_GPU_UTIL",
    Kind::Gauge,
    "percent",
    "GPU utilization (in %).",
);
/// DCGM's `MEM_COPY_UTIL`.
pub static MEM_COPY_UTIL: Metric = of(
    "DCGM_FI_DEV_MEM_COPY_UTIL",
    Kind::Gauge,
    "percent",
    "Memory utilization (in %).",
);
/// DCGM's `ENC_UTIL`.
pub static ENC_UTIL: Metric = of(
    "DCGM_FI_DEV_ENC_UTIL",
    Kind::Gauge,
    "percent",
    "Encoder utilization (in %).",
);
/// DCGM's `DEC_UTIL`.
pub static DEC_UTIL: Metric = of(
    "DCGM_FI_DEV_DEC_UTIL",
    Kind::Gauge,
    "percent",
    "Decoder utilization (in %).",
);
/// DCGM's `XID_ERRORS`.
pub static XID_ERRORS: Metric = Metric {
    labels: XID_LABELS,
    ..of(
        "DCGM_FI_DEV_XID_ERRORS",
        Kind::Gauge,
        "Xid code",
        "Value of the last XID error encountered.",
    )
};
/// DCGM's `FB_FREE`.
pub static FB_FREE: Metric = of(
    "DCGM_FI_DEV_FB_FREE",
    Kind::Gauge,
    "MiB",
    "Framebuffer memory free (in MiB).",
);
/// DCGM's `FB_USED`.
pub static FB_USED: Metric = of(
    "DCGM_FI_DEV_FB_USED",
    Kind::Gauge,
    "MiB",
    "Framebuffer memory used (in MiB).",
);
/// DCGM's `FB_RESERVED`.
pub static FB_RESERVED: Metric = of(
    "DCGM_FI_DEV_FB_RESERVED",
    Kind::Gauge,
    "MiB",
    "Framebuffer memory reserved (in MiB).",
);
/// DCGM's `NVLINK_BANDWIDTH_TOTAL`.
pub static NVLINK_BANDWIDTH_TOTAL: Metric = of(
    "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
    Kind::Counter,
    "MB/s",
    "Total number of NVLink bandwidth counters for all lanes.",
);
/// DCGM's `VGPU_LICENSE_STATUS`.
pub static VGPU_LICENSE_STATUS: Metric = of(
    "DCGM_FI_DEV_VGPU_LICENSE_STATUS",
    Kind::Gauge,
    "1 licensed, else 0",
    "vGPU License status",
);
/// DCGM's `UNCORRECTABLE_REMAPPED_ROWS`.
pub static UNCORRECTABLE_REMAPPED_ROWS: Metric = of(
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
    Kind::Counter,
    "rows",
    "Number of remapped rows for uncorrectable errors",
);
/// DCGM's `CORRECTABLE_REMAPPED_ROWS`.
pub static CORRECTABLE_REMAPPED_ROWS: Metric = of(
    "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
    Kind::Counter,
    "rows",
    "Number of remapped rows for correctable errors",
);
/// DCGM's `ROW_REMAP_FAILURE`.
pub static ROW_REMAP_FAILURE: Metric = of(
    "DCGM_FI_DEV_ROW_REMAP_FAILURE",
    Kind::Gauge,
    "0 or 1",
    "Whether remapping of rows has failed",
);
/// DCGM's `PROF_GR_ENGINE_ACTIVE`.
pub static PROF_GR_ENGINE_ACTIVE: Metric = of(
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    Kind::Gauge,
    "ratio",
    "Ratio of time the graphics engine is active.",
);
/// DCGM's `PROF_PIPE_TENSOR_ACTIVE`.
pub static PROF_PIPE_TENSOR_ACTIVE: Metric = of(
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
    Kind::Gauge,
    "ratio",
    "Ratio of cycles the tensor (HMMA) pipe is active.",
);
/// DCGM's `PROF_DRAM_ACTIVE`.
pub static PROF_DRAM_ACTIVE: Metric = of(
    "DCGM_FI_PROF_DRAM_ACTIVE",
    Kind::Gauge,
    "ratio",
    "Ratio of cycles the device memory interface is active sending or receiving data.",
);
/// DCGM's `PROF_PCIE_TX_BYTES`.
pub static PROF_PCIE_TX_BYTES: Metric = of(
    "DCGM_FI_PROF_PCIE_TX_BYTES",
    Kind::Gauge,
    "bytes per second",
    "The rate of data transmitted over the PCIe bus - including both protocol headers and data payloads - in bytes per second.",
);
/// DCGM's `PROF_PCIE_RX_BYTES`.
pub static PROF_PCIE_RX_BYTES: Metric = of(
    "DCGM_FI_PROF_PCIE_RX_BYTES",
    Kind::Gauge,
    "bytes per second",
    "The rate of data received over the PCIe bus - including both protocol headers and data payloads - in bytes per second.",
);

/// DCGM's default set, in its order.
pub static ALL: &[&Metric] = &[
    &SM_CLOCK,
    &MEM_CLOCK,
    &MEMORY_TEMP,
    &GPU_TEMP,
    &POWER_USAGE,
    &TOTAL_ENERGY_CONSUMPTION,
    &PCIE_REPLAY_COUNTER,
    &GPU_UTIL,
    &MEM_COPY_UTIL,
    &ENC_UTIL,
    &DEC_UTIL,
    &XID_ERRORS,
    &FB_FREE,
    &FB_USED,
    &FB_RESERVED,
    &NVLINK_BANDWIDTH_TOTAL,
    &VGPU_LICENSE_STATUS,
    &UNCORRECTABLE_REMAPPED_ROWS,
    &CORRECTABLE_REMAPPED_ROWS,
    &ROW_REMAP_FAILURE,
    &PROF_GR_ENGINE_ACTIVE,
    &PROF_PIPE_TENSOR_ACTIVE,
    &PROF_DRAM_ACTIVE,
    &PROF_PCIE_TX_BYTES,
    &PROF_PCIE_RX_BYTES,
];
