//! Starting, stopping, counting and naming: functions about the library and about who a board is.

use std::ffi::c_char;

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlPciInfo_t, nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT as INVALID_ARGUMENT,
    nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED as NOT_SUPPORTED, nvmlReturn_t,
};

use crate::call::{Part, Subject, array, handle, on_device, on_system, put, put_text};
use crate::state;

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> nvmlReturn_t {
    on_system("nvmlInit_v2", |_| {
        state::change("open", 1);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> nvmlReturn_t {
    on_system("nvmlShutdown", |_| {
        state::change("open", -1);
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetDriverVersion(out: *mut c_char, length: u32) -> nvmlReturn_t {
    on_system("nvmlSystemGetDriverVersion", |world| {
        // SAFETY: the caller gives `length` writable bytes, as nvml.h asks.
        unsafe { put_text(out, length, &world.driver) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCount_v2(out: *mut u32) -> nvmlReturn_t {
    on_system("nvmlDeviceGetCount_v2", |world| {
        let last = world.boards.keys().next_back();
        // SAFETY: the caller gives a writable integer, as nvml.h asks.
        unsafe { put(out, last.map_or(0, |gpu| gpu + 1)) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(
    index: u32,
    out: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    on_device(
        "nvmlDeviceGetHandleByIndex_v2",
        handle(index, Part::Whole),
        // SAFETY: the caller gives a writable handle, as nvml.h asks.
        |_, subject| unsafe { put(out, handle(subject.gpu, Part::Whole)) },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetUUID(
    device: nvmlDevice_t,
    out: *mut c_char,
    length: u32,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetUUID", device, |_, subject| {
        // SAFETY: the caller gives `length` writable bytes, as nvml.h asks.
        unsafe { put_text(out, length, &uuid(&subject)) }
    })
}

/// As drivers do it, a MIG device's UUID is made of its board and its numbers: one that is cut anew is called the same.
fn uuid(subject: &Subject<'_>) -> String {
    let gpu = subject.gpu;
    match (subject.instance, subject.compute) {
        (Some(instance), Some(compute)) => {
            let (id, compute) = (instance.id, compute.id);
            format!("MIG-{gpu:08}-0000-0000-{compute:04}-{id:012}")
        }
        _ => (subject.board.uuid.clone())
            .unwrap_or_else(|| format!("GPU-00000000-0000-0000-0000-{gpu:012}")),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetName(
    device: nvmlDevice_t,
    out: *mut c_char,
    length: u32,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetName", device, |_, subject| {
        let name = subject.board.model.name;
        let name = match (subject.instance, subject.compute) {
            (Some(instance), Some(compute)) if compute.slices < instance.profile.slices => {
                format!("{name} MIG {}c.{}", compute.slices, instance.profile.name)
            }
            (Some(instance), Some(_)) => format!("{name} MIG {}", instance.profile.name),
            _ => name.to_owned(),
        };
        // SAFETY: the caller gives `length` writable bytes, as nvml.h asks.
        unsafe { put_text(out, length, &name) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMinorNumber(device: nvmlDevice_t, out: *mut u32) -> nvmlReturn_t {
    on_device("nvmlDeviceGetMinorNumber", device, |_, subject| {
        // SAFETY: the caller gives a writable integer, as nvml.h asks.
        unsafe { put(out, subject.gpu) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetPciInfo_v3(
    device: nvmlDevice_t,
    out: *mut nvmlPciInfo_t,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetPciInfo_v3", device, |_, subject| {
        if subject.instance.is_some() {
            return Err(INVALID_ARGUMENT);
        }
        let bus = (0x1a + subject.gpu) % 0x100;
        let info = nvmlPciInfo_t {
            busIdLegacy: array(&format!("0000:{bus:02X}:00.0")),
            domain: 0,
            bus,
            device: 0,
            pciDeviceId: 0,
            pciSubSystemId: 0,
            busId: array(&format!("00000000:{bus:02X}:00.0")),
        };
        // SAFETY: the caller gives a writable structure, as nvml.h asks.
        unsafe { put(out, info) }
    })
}

/// Functions that give a text of a whole board; MIG devices have none of their own.
macro_rules! texts {
    ($($function:ident = $text:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $function(
            device: nvmlDevice_t,
            out: *mut c_char,
            length: u32,
        ) -> nvmlReturn_t {
            on_device(stringify!($function), device, |_, subject| {
                if subject.instance.is_some() {
                    return Err(NOT_SUPPORTED);
                }
                let text: fn(&Subject<'_>) -> String = $text;
                // SAFETY: the caller gives `length` writable bytes, as nvml.h asks.
                unsafe { put_text(out, length, &text(&subject)) }
            })
        }
    )*};
}

texts! {
    nvmlDeviceGetSerial = |subject| format!("13200000{:05}", subject.gpu);
    nvmlDeviceGetVbiosVersion = |_| "96.00.74.00.1A".to_owned();
    nvmlDeviceGetInforomImageVersion = |_| "G520.0200.00.05".to_owned();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetInforomVersion(
    device: nvmlDevice_t,
    part: u32,
    out: *mut c_char,
    length: u32,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetInforomVersion", device, |_, subject| {
        // Of nvml.h's three parts most boards lack that for power.
        let version = ["2.1", "7.16"].get(part as usize);
        let version = version.filter(|_| subject.instance.is_none());
        // SAFETY: the caller gives `length` writable bytes, as nvml.h asks.
        unsafe { put_text(out, length, version.ok_or(NOT_SUPPORTED)?) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetBrand(device: nvmlDevice_t, out: *mut u32) -> nvmlReturn_t {
    on_device("nvmlDeviceGetBrand", device, |_, _| {
        // SAFETY: the caller gives a writable integer, as nvml.h asks. 14 is NVML_BRAND_NVIDIA.
        unsafe { put(out, 14) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetNVMLVersion(out: *mut c_char, length: u32) -> nvmlReturn_t {
    on_system("nvmlSystemGetNVMLVersion", |world| {
        // SAFETY: the caller gives `length` writable bytes, as nvml.h asks.
        unsafe { put_text(out, length, &format!("12.{}", world.driver)) }
    })
}
