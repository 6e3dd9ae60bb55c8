//! One board: who it is and what it reads now. Each method is one call of the driver and stands alone: a failing
//! one says nothing about the others.

use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlGridLicensableFeatures_t, nvmlMemory_t};

use crate::error::{Answer, answer};
use crate::fields::Fields;
use crate::library::{Library, raw};

/// A board, or one MIG device of it, valid as long as its library.
pub struct Device<'library> {
    pub(crate) library: &'library Library,
    pub(crate) inner: nvml_wrapper::Device<'library>,
    index: u32,
}

/// What names a board in labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Position in PCI bus order, from 0.
    pub index: u32,
    /// `GPU-…`, stable over reboots.
    pub uuid: String,
    /// Domain, bus, device and function, such as `00000000:1A:00.0`.
    pub pci_bus_id: String,
    /// The board's name as the driver prints it.
    pub name: String,
    /// N of `/dev/nvidiaN`; absent where the driver does not tell.
    pub minor: Option<u32>,
}

/// Framebuffer memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Installed, or the size of the MIG instance.
    pub total: u64,
    /// Held by processes; without [`Memory::reserved`] only where that is known.
    pub used: u64,
    /// Neither used nor reserved.
    pub free: u64,
    /// Held by the driver; absent before driver 510, which counts it as used.
    pub reserved: Option<u64>,
}

/// Share of the last sample period, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utilization {
    /// Time in which a kernel ran.
    pub gpu: u32,
    /// Time in which the memory was read or written (bandwidth, not occupancy).
    pub memory: u32,
}

impl<'library> Device<'library> {
    pub(crate) fn new(
        library: &'library Library,
        inner: nvml_wrapper::Device<'library>,
        index: u32,
    ) -> Self {
        Self {
            library,
            inner,
            index,
        }
    }

    pub(crate) fn handle(&self) -> nvmlDevice_t {
        // SAFETY: the handle is only passed back to the library that gave it, which `self` keeps borrowed.
        unsafe { self.inner.handle() }
    }

    /// Position in PCI bus order.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// What names the board; fails when one of the names cannot be read.
    pub fn identity(&self) -> Answer<Identity> {
        Ok(Identity {
            index: self.index,
            uuid: answer("nvmlDeviceGetUUID", self.inner.uuid())?,
            pci_bus_id: answer("nvmlDeviceGetPciInfo_v3", self.inner.pci_info())?.bus_id,
            name: answer("nvmlDeviceGetName", self.inner.name())?,
            minor: self.inner.minor_number().ok(),
        })
    }

    /// Clock of the multiprocessors, in MHz.
    pub fn sm_clock(&self) -> Answer<u32> {
        answer("nvmlDeviceGetClockInfo", self.inner.clock_info(Clock::SM))
    }

    /// Clock of the memory, in MHz.
    pub fn memory_clock(&self) -> Answer<u32> {
        answer(
            "nvmlDeviceGetClockInfo",
            self.inner.clock_info(Clock::Memory),
        )
    }

    /// Temperature of the chip, in degrees Celsius.
    pub fn temperature(&self) -> Answer<u32> {
        answer(
            "nvmlDeviceGetTemperature",
            self.inner.temperature(TemperatureSensor::Gpu),
        )
    }

    /// Power draw of the board, in milliwatts.
    pub fn power(&self) -> Answer<u32> {
        answer("nvmlDeviceGetPowerUsage", self.inner.power_usage())
    }

    /// Energy since the driver was loaded, in millijoules.
    pub fn energy(&self) -> Answer<u64> {
        answer(
            "nvmlDeviceGetTotalEnergyConsumption",
            self.inner.total_energy_consumption(),
        )
    }

    /// `PCIe` packets sent again.
    pub fn pcie_replays(&self) -> Answer<u32> {
        answer(
            "nvmlDeviceGetPcieReplayCounter",
            self.inner.pcie_replay_counter(),
        )
    }

    /// Utilization of chip and memory; not supported while MIG is on.
    pub fn utilization(&self) -> Answer<Utilization> {
        let rates = answer(
            "nvmlDeviceGetUtilizationRates",
            self.inner.utilization_rates(),
        )?;
        Ok(Utilization {
            gpu: rates.gpu,
            memory: rates.memory,
        })
    }

    /// Utilization of the video encoder, in percent.
    pub fn encoder_utilization(&self) -> Answer<u32> {
        let call = "nvmlDeviceGetEncoderUtilization";
        Ok(answer(call, self.inner.encoder_utilization())?.utilization)
    }

    /// Utilization of the video decoder, in percent.
    pub fn decoder_utilization(&self) -> Answer<u32> {
        let call = "nvmlDeviceGetDecoderUtilization";
        Ok(answer(call, self.inner.decoder_utilization())?.utilization)
    }

    /// Framebuffer memory. Drivers before 510 know only the first version of the call, which hides what is reserved.
    pub fn memory(&self) -> Answer<Memory> {
        match answer("nvmlDeviceGetMemoryInfo_v2", self.inner.memory_info()) {
            Ok(info) => Ok(Memory {
                total: info.total,
                used: info.used,
                free: info.free,
                reserved: Some(info.reserved),
            }),
            Err(error) if error.is_unsupported() => self.memory_v1(),
            Err(error) => Err(error),
        }
    }

    fn memory_v1(&self) -> Answer<Memory> {
        let mut info = nvmlMemory_t {
            total: 0,
            free: 0,
            used: 0,
        };
        raw(
            "nvmlDeviceGetMemoryInfo",
            self.library.nvml.lib().nvmlDeviceGetMemoryInfo.as_ref(),
            // SAFETY: `info` is a writable structure of the type this function fills; the handle is this library's.
            |f| unsafe { f(self.handle(), &raw mut info) },
        )?;
        Ok(Memory {
            total: info.total,
            used: info.used,
            free: info.free,
            reserved: None,
        })
    }

    /// Memory temperature, `NVLink` counters and remapped rows.
    pub fn fields(&self) -> Answer<Fields> {
        Fields::read(self.library, self.handle())
    }

    /// State of the first licensable feature, 0 on a board that needs no licence.
    pub fn vgpu_license_status(&self) -> Answer<u32> {
        // SAFETY: integers and character arrays; all bits zero is a value of each.
        let mut features: nvmlGridLicensableFeatures_t = unsafe { std::mem::zeroed() };
        let lib = self.library.nvml.lib();
        raw(
            "nvmlDeviceGetGridLicensableFeatures_v4",
            lib.nvmlDeviceGetGridLicensableFeatures_v4.as_ref(),
            // SAFETY: `features` is a writable structure of the type this function fills; the handle is this library's.
            |f| unsafe { f(self.handle(), &raw mut features) },
        )?;
        if features.isGridLicenseSupported == 0 || features.licensableFeaturesCount == 0 {
            return Ok(0);
        }
        Ok(features.gridLicensableFeatures[0].featureState)
    }
}
