//! One GPU and its MIG instances as a source read them. Units are the driver's, converted once to
//! those named here; never a guess in place of a reading.

use crate::reading::Reading;

/// What names a GPU in labels.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Identity {
    /// Position in PCI bus order, from 0.
    pub index: u32,
    /// `GPU-…`, stable over reboots.
    pub uuid: String,
    /// Domain, bus, device and function, such as `00000000:1A:00.0`.
    pub pci_bus_id: String,
    /// N of `/dev/nvidiaN`.
    pub minor: u32,
    /// The board's name as the driver prints it.
    pub model: String,
}

/// Framebuffer memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Memory {
    /// Installed, or the size of the MIG instance.
    pub total: u64,
    /// Held by processes.
    pub used: u64,
    /// Neither used nor reserved.
    pub free: u64,
    /// Held by the driver; absent where the driver counts it as used.
    pub reserved: Option<u64>,
}

/// All that DCGM's default set asks of a GPU.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Readings {
    /// Clock of the multiprocessors, MHz.
    pub sm_clock: Reading<u64>,
    /// Clock of the memory, MHz.
    pub memory_clock: Reading<u64>,
    /// Temperature of the memory, degrees Celsius.
    pub memory_temperature: Reading<u64>,
    /// Temperature of the GPU, degrees Celsius.
    pub temperature: Reading<u64>,
    /// Power draw, watts.
    pub power: Reading<f64>,
    /// Energy since the driver was loaded, millijoules.
    pub energy: Reading<u64>,
    /// `PCIe` retries since boot.
    pub pcie_replays: Reading<u64>,
    /// Time in which a kernel ran, percent; not known on a partitioned GPU.
    pub utilization: Reading<u64>,
    /// Time in which memory was read or written, percent; bandwidth, not occupancy.
    pub memory_utilization: Reading<u64>,
    /// Encoder, percent.
    pub encoder_utilization: Reading<u64>,
    /// Decoder, percent.
    pub decoder_utilization: Reading<u64>,
    /// Code of the last Xid since the exporter started; 0 when none came.
    pub last_xid: Reading<u64>,
    /// Framebuffer memory.
    pub memory: Reading<Memory>,
    /// `NVLink` traffic of all links, both directions, MB/s.
    pub nvlink_bandwidth: Reading<u64>,
    /// vGPU licence: 1 licensed, else 0.
    pub vgpu_license: Reading<u64>,
    /// Rows remapped after uncorrectable errors.
    pub remapped_uncorrectable: Reading<u64>,
    /// Rows remapped after correctable errors.
    pub remapped_correctable: Reading<u64>,
    /// 1 when a remapping failed.
    pub remap_failure: Reading<u64>,
    /// Share of time the graphics engine was active, 0 to 1.
    pub graphics_engine_active: Reading<f64>,
    /// Share of cycles the tensor pipe was active, 0 to 1.
    pub tensor_active: Reading<f64>,
    /// Share of cycles the memory interface was active, 0 to 1.
    pub dram_active: Reading<f64>,
    /// Bytes per second sent over `PCIe`.
    pub pcie_sent: Reading<f64>,
    /// Bytes per second received over `PCIe`.
    pub pcie_received: Reading<f64>,
}

impl Readings {
    /// Why each missing reading is missing, unsupported ones left out.
    pub fn failures(&self) -> Vec<&str> {
        let whole = [
            &self.sm_clock,
            &self.memory_clock,
            &self.memory_temperature,
            &self.temperature,
            &self.energy,
            &self.pcie_replays,
            &self.utilization,
            &self.memory_utilization,
            &self.encoder_utilization,
            &self.decoder_utilization,
            &self.last_xid,
            &self.nvlink_bandwidth,
            &self.vgpu_license,
            &self.remapped_uncorrectable,
            &self.remapped_correctable,
            &self.remap_failure,
        ];
        let real = [
            &self.power,
            &self.graphics_engine_active,
            &self.tensor_active,
            &self.dram_active,
            &self.pcie_sent,
            &self.pcie_received,
        ];
        (whole.into_iter().filter_map(Reading::failure))
            .chain(real.into_iter().filter_map(Reading::failure))
            .chain(self.memory.failure())
            .collect()
    }
}

/// One MIG GPU instance.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Instance {
    /// `MIG-…`, what the device plugin hands to pods.
    pub uuid: String,
    /// GPU instance id, unique on its GPU.
    pub id: u32,
    /// Profile name, such as `1g.10gb+me`.
    pub profile: Reading<String>,
    /// First memory slice; needs privileges.
    pub start: Reading<u32>,
    /// Its share of the framebuffer.
    pub memory: Reading<Memory>,
    /// Share of time its graphics engine was active, 0 to 1 of the instance.
    pub graphics_engine_active: Reading<f64>,
}

/// Whether a GPU is partitioned.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Partitioning {
    /// MIG is off, or the board has none.
    #[default]
    Whole,
    /// MIG is on; there may be no instance yet.
    Mig(Vec<Instance>),
    /// The driver did not say, or not completely: why.
    Unknown(String),
}

/// One GPU as last gathered.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Gpu {
    /// Its names.
    pub identity: Identity,
    /// Why it does not answer at all, such as fallen off the bus; `None` when it does.
    pub lost: Option<String>,
    /// What it reads.
    pub readings: Readings,
    /// Its MIG instances.
    pub partitioning: Partitioning,
}
