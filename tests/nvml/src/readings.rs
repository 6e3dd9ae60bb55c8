//! What a board reads now, each value under its name in the file; a value the file does not hold is "not supported".

use nvml_wrapper_sys::bindings::{
    nvmlClockType_t, nvmlDevice_t, nvmlGridLicensableFeature_t, nvmlGridLicensableFeatures_t,
    nvmlMemory_t, nvmlMemory_v2_t,
    nvmlReturn_enum_NVML_ERROR_ARGUMENT_VERSION_MISMATCH as VERSION_MISMATCH,
    nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT as INVALID_ARGUMENT,
    nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED as NOT_SUPPORTED, nvmlReturn_t,
    nvmlTemperatureSensors_t, nvmlUtilization_t,
};

use crate::call::{Outcome, Subject, array, on_device, put};

/// Clock domains of nvml.h.
const CLOCK_SM: nvmlClockType_t = 1;
const CLOCK_MEMORY: nvmlClockType_t = 2;

const MIB: u64 = 1 << 20;

/// A whole board's reading; MIG devices have none of their own.
fn reading(subject: &Subject<'_>, name: &str) -> Outcome<u64> {
    let value = subject.board.readings.get(name).copied();
    value
        .filter(|_| subject.instance.is_none())
        .ok_or(NOT_SUPPORTED)
}

fn narrow(subject: &Subject<'_>, name: &str) -> Outcome<u32> {
    u32::try_from(reading(subject, name)?).map_err(|_| INVALID_ARGUMENT)
}

/// Engines are not measured for the whole board while it is partitioned.
fn engine(subject: &Subject<'_>, name: &str) -> Outcome<u32> {
    if subject.board.mig == Some(true) {
        return Err(NOT_SUPPORTED);
    }
    narrow(subject, name)
}

/// Functions that give one integer of the board.
macro_rules! integers {
    ($($function:ident: $type:ty = $read:ident($name:literal);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $function(device: nvmlDevice_t, out: *mut $type) -> nvmlReturn_t {
            on_device(stringify!($function), device, |_, subject| {
                let value = $read(&subject, $name)?;
                // SAFETY: the caller gives a writable integer, as nvml.h asks.
                unsafe { put(out, value) }
            })
        }
    )*};
}

/// Functions that give an engine's utilization and its sampling period in microseconds.
macro_rules! engines {
    ($($function:ident = $name:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $function(
            device: nvmlDevice_t,
            out: *mut u32,
            period: *mut u32,
        ) -> nvmlReturn_t {
            on_device(stringify!($function), device, |_, subject| {
                let value = engine(&subject, $name)?;
                // SAFETY: the caller gives two writable integers, as nvml.h asks.
                unsafe { put(out, value).and_then(|()| put(period, 167_000)) }
            })
        }
    )*};
}

integers! {
    nvmlDeviceGetPowerUsage: u32 = narrow("power");
    nvmlDeviceGetTotalEnergyConsumption: u64 = reading("energy");
    nvmlDeviceGetPcieReplayCounter: u32 = narrow("pcie_replays");
    nvmlDeviceGetCurrPcieLinkGeneration: u32 = narrow("pcie_generation");
    nvmlDeviceGetCurrPcieLinkWidth: u32 = narrow("pcie_width");
    nvmlDeviceGetPowerManagementLimit: u32 = narrow("power_limit");
    nvmlDeviceGetEnforcedPowerLimit: u32 = narrow("enforced_power_limit");
    nvmlDeviceGetCurrentClocksEventReasons: u64 = reading("clock_events");
    nvmlDeviceGetCurrentClocksThrottleReasons: u64 = reading("clock_events");
}

engines! {
    nvmlDeviceGetEncoderUtilization = "encoder_utilization";
    nvmlDeviceGetDecoderUtilization = "decoder_utilization";
}

/// Functions that give the clock of a domain, from readings with an ending.
macro_rules! clocks {
    ($($function:ident = $ending:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $function(
            device: nvmlDevice_t,
            clock: nvmlClockType_t,
            out: *mut u32,
        ) -> nvmlReturn_t {
            on_device(stringify!($function), device, |_, subject| {
                let name = match clock {
                    CLOCK_SM => concat!("sm_clock", $ending),
                    CLOCK_MEMORY => concat!("memory_clock", $ending),
                    _ => return Err(NOT_SUPPORTED),
                };
                let value = narrow(&subject, name)?;
                // SAFETY: the caller gives a writable integer, as nvml.h asks.
                unsafe { put(out, value) }
            })
        }
    )*};
}

clocks! {
    nvmlDeviceGetClockInfo = "";
    nvmlDeviceGetMaxClockInfo = "_limit";
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetNvLinkState(
    device: nvmlDevice_t,
    link: u32,
    out: *mut u32,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetNvLinkState", device, |_, subject| {
        let links = reading(&subject, "nvlink_count")?;
        let up = reading(&subject, "nvlinks_up")?;
        if u64::from(link) >= links {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: the caller gives a writable integer, as nvml.h asks.
        unsafe { put(out, u32::from(u64::from(link) < up)) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetTemperature(
    device: nvmlDevice_t,
    _sensor: nvmlTemperatureSensors_t,
    out: *mut u32,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetTemperature", device, |_, subject| {
        let value = narrow(&subject, "temperature")?;
        // SAFETY: the caller gives a writable integer, as nvml.h asks.
        unsafe { put(out, value) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetUtilizationRates(
    device: nvmlDevice_t,
    out: *mut nvmlUtilization_t,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetUtilizationRates", device, |_, subject| {
        let rates = nvmlUtilization_t {
            gpu: engine(&subject, "gpu_utilization")?,
            memory: engine(&subject, "memory_utilization")?,
        };
        // SAFETY: the caller gives a writable structure, as nvml.h asks.
        unsafe { put(out, rates) }
    })
}

/// Total, reserved and used, in bytes. An instance reserves nothing, as recordings of real boards show.
fn memory(subject: &Subject<'_>) -> Outcome<(u64, u64, u64)> {
    if let Some(instance) = subject.instance {
        let size = subject.board.model.memory_mib(instance.profile);
        return Ok((size * MIB, 0, instance.used_mib * MIB));
    }
    Ok((
        reading(subject, "memory_total_mib")? * MIB,
        reading(subject, "memory_reserved_mib")? * MIB,
        reading(subject, "memory_used_mib")? * MIB,
    ))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMemoryInfo(
    device: nvmlDevice_t,
    out: *mut nvmlMemory_t,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetMemoryInfo", device, |_, subject| {
        let (total, reserved, used) = memory(&subject)?;
        let info = nvmlMemory_t {
            total,
            free: total.saturating_sub(reserved + used),
            used: reserved + used,
        };
        // SAFETY: the caller gives a writable structure, as nvml.h asks.
        unsafe { put(out, info) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMemoryInfo_v2(
    device: nvmlDevice_t,
    out: *mut nvmlMemory_v2_t,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetMemoryInfo_v2", device, |_, subject| {
        let (total, reserved, used) = memory(&subject)?;
        // SAFETY: the caller gives an initialised structure or null, as nvml.h asks.
        let version = unsafe { out.as_ref() }.ok_or(INVALID_ARGUMENT)?.version;
        if version >> 24 != 2 {
            return Err(VERSION_MISMATCH);
        }
        let info = nvmlMemory_v2_t {
            version,
            total,
            reserved,
            free: total.saturating_sub(reserved + used),
            used,
        };
        // SAFETY: as above, and it is writable.
        unsafe { put(out, info) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetGridLicensableFeatures_v4(
    device: nvmlDevice_t,
    out: *mut nvmlGridLicensableFeatures_t,
) -> nvmlReturn_t {
    on_device(
        "nvmlDeviceGetGridLicensableFeatures_v4",
        device,
        |_, subject| {
            let state = narrow(&subject, "license")?;
            // SAFETY: integers and character arrays; all bits zero is a value of each.
            let empty: nvmlGridLicensableFeature_t = unsafe { std::mem::zeroed() };
            let feature = nvmlGridLicensableFeature_t {
                featureState: state,
                productName: array("vGPU"),
                ..empty
            };
            let features = nvmlGridLicensableFeatures_t {
                isGridLicenseSupported: i32::from(state != 0),
                licensableFeaturesCount: u32::from(state != 0),
                gridLicensableFeatures: [feature, empty, empty],
            };
            // SAFETY: the caller gives a writable structure, as nvml.h asks.
            unsafe { put(out, features) }
        },
    )
}
