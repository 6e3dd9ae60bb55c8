//! What DCGM has no name for, by MIG instance.

use super::{Kind, Metric};

/// Where an instance lies.
pub static INSTANCE_INFO: Metric = Metric {
    name: "foresail_mig_instance_info",
    kind: Kind::Gauge,
    help: "A MIG instance: its own UUID and its first memory slice, where the driver tells. Always 1.",
    unit: "1",
    labels: &[
        "gpu",
        "UUID",
        "pci_bus_id",
        "device",
        "GPU_I_PROFILE",
        "GPU_I_ID",
        "Hostname",
        "mig_uuid",
        "start",
    ],
};

/// All of them.
pub static ALL: &[&Metric] = &[&INSTANCE_INFO];
