//! One board: who it is and what it reads now. Each method is one call of the driver and stands alone: a failing
//! one says nothing about the others.

pub use nvml_wrapper::enum_wrappers::device::InfoRom;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlGridLicensableFeatures_t, nvmlMemory_t};

use crate::calls::{ask, raw};
use crate::error::Answer;
use crate::fields::Fields;
use crate::library::Library;

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
            uuid: ask("nvmlDeviceGetUUID", || self.inner.uuid())?,
            pci_bus_id: ask("nvmlDeviceGetPciInfo_v3", || self.inner.pci_info())?.bus_id,
            name: ask("nvmlDeviceGetName", || self.inner.name())?,
            minor: self.inner.minor_number().ok(),
        })
    }

    /// Product line, as a number of nvml.h's `nvmlBrandType_t`.
    pub fn brand(&self) -> Answer<u32> {
        let mut brand = 0;
        raw(
            "nvmlDeviceGetBrand",
            self.library.lib().nvmlDeviceGetBrand.as_ref(),
            // SAFETY: `brand` is a writable integer of the type this function fills; the handle is this library's.
            |f| unsafe { f(self.handle(), &raw mut brand) },
        )?;
        Ok(brand)
    }

    /// Number printed on the board.
    pub fn serial(&self) -> Answer<String> {
        ask("nvmlDeviceGetSerial", || self.inner.serial())
    }

    /// Version of the board's firmware.
    pub fn vbios_version(&self) -> Answer<String> {
        ask("nvmlDeviceGetVbiosVersion", || self.inner.vbios_version())
    }

    /// Version of the whole configuration memory.
    pub fn inforom_image_version(&self) -> Answer<String> {
        let call = "nvmlDeviceGetInforomImageVersion";
        ask(call, || self.inner.info_rom_image_version())
    }

    /// Version of one part of the configuration memory.
    pub fn inforom_version(&self, part: InfoRom) -> Answer<String> {
        ask("nvmlDeviceGetInforomVersion", || {
            self.inner.info_rom_version(part)
        })
    }

    /// Clock of the multiprocessors, in MHz.
    pub fn sm_clock(&self) -> Answer<u32> {
        ask("nvmlDeviceGetClockInfo", || {
            self.inner.clock_info(Clock::SM)
        })
    }

    /// Clock of the memory, in MHz.
    pub fn memory_clock(&self) -> Answer<u32> {
        ask("nvmlDeviceGetClockInfo", || {
            self.inner.clock_info(Clock::Memory)
        })
    }

    /// Highest clock of the multiprocessors, in MHz.
    pub fn sm_clock_limit(&self) -> Answer<u32> {
        ask("nvmlDeviceGetMaxClockInfo", || {
            self.inner.max_clock_info(Clock::SM)
        })
    }

    /// Highest clock of the memory, in MHz.
    pub fn memory_clock_limit(&self) -> Answer<u32> {
        ask("nvmlDeviceGetMaxClockInfo", || {
            self.inner.max_clock_info(Clock::Memory)
        })
    }

    /// Why clocks are lowered now: bits of nvml.h's `nvmlClocksEventReason*`. Older drivers know the call by another name.
    pub fn clock_events(&self) -> Answer<u64> {
        let lib = self.library.lib();
        let mut reasons = 0;
        let newer = raw(
            "nvmlDeviceGetCurrentClocksEventReasons",
            lib.nvmlDeviceGetCurrentClocksEventReasons.as_ref(),
            // SAFETY: `reasons` is a writable integer of the type this function fills; the handle is this library's.
            |f| unsafe { f(self.handle(), &raw mut reasons) },
        );
        match newer {
            Err(error) if error.is_unsupported() => raw(
                "nvmlDeviceGetCurrentClocksThrottleReasons",
                lib.nvmlDeviceGetCurrentClocksThrottleReasons.as_ref(),
                // SAFETY: as above.
                |f| unsafe { f(self.handle(), &raw mut reasons) },
            )?,
            outcome => outcome?,
        }
        Ok(reasons)
    }

    /// Power limit that was set, in milliwatts.
    pub fn power_limit(&self) -> Answer<u32> {
        ask("nvmlDeviceGetPowerManagementLimit", || {
            self.inner.power_management_limit()
        })
    }

    /// Power limit in force, in milliwatts.
    pub fn enforced_power_limit(&self) -> Answer<u32> {
        ask("nvmlDeviceGetEnforcedPowerLimit", || {
            self.inner.enforced_power_limit()
        })
    }

    /// Generation of the `PCIe` link now.
    pub fn pcie_generation(&self) -> Answer<u32> {
        ask("nvmlDeviceGetCurrPcieLinkGeneration", || {
            self.inner.current_pcie_link_gen()
        })
    }

    /// Lanes of the `PCIe` link now.
    pub fn pcie_width(&self) -> Answer<u32> {
        ask("nvmlDeviceGetCurrPcieLinkWidth", || {
            self.inner.current_pcie_link_width()
        })
    }

    /// Whether `NVLink` number `link` works.
    pub fn nvlink_works(&self, link: u32) -> Answer<bool> {
        let mut active = 0;
        raw(
            "nvmlDeviceGetNvLinkState",
            self.library.lib().nvmlDeviceGetNvLinkState.as_ref(),
            // SAFETY: `active` is a writable integer of the type this function fills; the handle is this library's.
            |f| unsafe { f(self.handle(), link, &raw mut active) },
        )?;
        Ok(active != 0)
    }

    /// Temperature of the chip, in degrees Celsius.
    pub fn temperature(&self) -> Answer<u32> {
        ask("nvmlDeviceGetTemperature", || {
            self.inner.temperature(TemperatureSensor::Gpu)
        })
    }

    /// Power draw of the board, in milliwatts.
    pub fn power(&self) -> Answer<u32> {
        ask("nvmlDeviceGetPowerUsage", || self.inner.power_usage())
    }

    /// Energy since the driver was loaded, in millijoules.
    pub fn energy(&self) -> Answer<u64> {
        ask("nvmlDeviceGetTotalEnergyConsumption", || {
            self.inner.total_energy_consumption()
        })
    }

    /// `PCIe` packets sent again.
    pub fn pcie_replays(&self) -> Answer<u32> {
        ask("nvmlDeviceGetPcieReplayCounter", || {
            self.inner.pcie_replay_counter()
        })
    }

    /// Utilization of chip and memory; not supported while MIG is on.
    pub fn utilization(&self) -> Answer<Utilization> {
        let rates = ask("nvmlDeviceGetUtilizationRates", || {
            self.inner.utilization_rates()
        })?;
        Ok(Utilization {
            gpu: rates.gpu,
            memory: rates.memory,
        })
    }

    /// Utilization of the video encoder, in percent.
    pub fn encoder_utilization(&self) -> Answer<u32> {
        let call = "nvmlDeviceGetEncoderUtilization";
        Ok(ask(call, || self.inner.encoder_utilization())?.utilization)
    }

    /// Utilization of the video decoder, in percent.
    pub fn decoder_utilization(&self) -> Answer<u32> {
        let call = "nvmlDeviceGetDecoderUtilization";
        Ok(ask(call, || self.inner.decoder_utilization())?.utilization)
    }

    /// Framebuffer memory. Drivers before 510 know only the first version of the call, which hides what is reserved.
    pub fn memory(&self) -> Answer<Memory> {
        match ask("nvmlDeviceGetMemoryInfo_v2", || self.inner.memory_info()) {
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
            self.library.lib().nvmlDeviceGetMemoryInfo.as_ref(),
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

    /// Values by field number, in one call.
    pub fn fields(&self) -> Answer<Fields> {
        Fields::read(self.library, self.handle())
    }

    /// State of the first licensable feature, 0 on a board that needs no licence.
    pub fn vgpu_license_status(&self) -> Answer<u32> {
        // SAFETY: integers and character arrays; all bits zero is a value of each.
        let mut features: nvmlGridLicensableFeatures_t = unsafe { std::mem::zeroed() };
        let lib = self.library.lib();
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
