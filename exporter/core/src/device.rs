//! One GPU and its MIG instances as a source read them. Units are the driver's, converted once to
//! those named here; never a guess in place of a reading.

pub mod events;

pub mod health;

pub mod mig;

pub mod process;

pub mod texts;

pub use events::{ClockEvents, Recent};
pub use health::{Health, Xids};
pub use mig::{ComputeInstance, Instance, Layout, Partitioning, Placed, Profile, Span};
pub use process::{Process, ProcessUtilization, Use};
pub use texts::Texts;

use crate::{leak::Leaks, reading::Reading};

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
    /// Power limit that was set, watts.
    pub power_limit: Reading<f64>,
    /// Power limit in force, watts: the lowest of all limits.
    pub enforced_power_limit: Reading<f64>,
    /// Highest clock of the multiprocessors, MHz.
    pub sm_clock_limit: Reading<u64>,
    /// Highest clock of the memory, MHz.
    pub memory_clock_limit: Reading<u64>,
    /// Generation of the `PCIe` link now.
    pub pcie_generation: Reading<u64>,
    /// Lanes of the `PCIe` link now.
    pub pcie_width: Reading<u64>,
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
    /// Share of multiprocessors' cycles with at least one warp, 0 to 1.
    pub sm_active: Reading<f64>,
    /// Resident warps as a share of the most that fit, 0 to 1.
    pub sm_occupancy: Reading<f64>,
    /// Share of cycles the 64-bit pipe was active, 0 to 1.
    pub fp64_active: Reading<f64>,
    /// Share of cycles the 32-bit pipe was active, 0 to 1.
    pub fp32_active: Reading<f64>,
    /// Share of cycles the 16-bit pipe was active, 0 to 1.
    pub fp16_active: Reading<f64>,
    /// Bytes per second sent over `PCIe`.
    pub pcie_sent: Reading<f64>,
    /// Bytes per second received over `PCIe`.
    pub pcie_received: Reading<f64>,
    /// Errors and states.
    pub health: Health,
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
            &self.sm_clock_limit,
            &self.memory_clock_limit,
            &self.pcie_generation,
            &self.pcie_width,
        ];
        let real = [
            &self.power,
            &self.power_limit,
            &self.enforced_power_limit,
            &self.sm_active,
            &self.sm_occupancy,
            &self.fp64_active,
            &self.fp32_active,
            &self.fp16_active,
            &self.graphics_engine_active,
            &self.tensor_active,
            &self.dram_active,
            &self.pcie_sent,
            &self.pcie_received,
        ];
        (whole.into_iter().filter_map(Reading::failure))
            .chain(real.into_iter().filter_map(Reading::failure))
            .chain(self.memory.failure())
            .chain(
                self.health
                    .numbers()
                    .into_iter()
                    .filter_map(Reading::failure),
            )
            .chain(self.health.nvlinks.failure())
            .collect()
    }
}

/// One GPU as last gathered.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Gpu {
    /// Its names.
    pub identity: Identity,
    /// Why it does not answer at all, such as fallen off the bus; `None` when it does.
    pub lost: Option<String>,
    /// What is printed on it and in its firmware.
    pub texts: Texts,
    /// What it reads.
    pub readings: Readings,
    /// Its MIG instances.
    pub partitioning: Partitioning,
    /// What it can be cut into and where its instances lie; "unsupported" unless it is partitioned.
    pub layout: Reading<Layout>,
    /// Its Xid errors; they are kept while it is lost. "Unsupported" where they cannot be watched.
    pub xids: Reading<Xids>,
    /// Why its clocks were lowered since the exporter watches; "unsupported" where the driver does not tell.
    pub clock_events: Reading<ClockEvents>,
    /// Processes on it.
    pub processes: Reading<Vec<Process>>,
    /// What the watch over its memory found.
    pub leaks: Leaks,
}
