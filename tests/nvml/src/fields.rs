//! Values by field number. Each field has its own return code, as in the driver.

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlFieldValue_t,
    nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT as INVALID_ARGUMENT,
    nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED as NOT_SUPPORTED,
    nvmlReturn_enum_NVML_SUCCESS as SUCCESS, nvmlReturn_t, nvmlValue_t,
    nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_LONG_LONG as UNSIGNED_LONG_LONG,
};

use crate::call::{Outcome, Subject, on_device};
use crate::world::{Effect, World};

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetFieldValues(
    device: nvmlDevice_t,
    count: i32,
    values: *mut nvmlFieldValue_t,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetFieldValues", device, |world, subject| {
        let count = usize::try_from(count).map_err(|_| INVALID_ARGUMENT)?;
        if values.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: the caller gives `count` initialised structures, as nvml.h asks.
        let values = unsafe { std::slice::from_raw_parts_mut(values, count) };
        for value in values {
            value.valueType = UNSIGNED_LONG_LONG;
            match field(world, &subject, value.fieldId) {
                Ok(number) => {
                    value.nvmlReturn = SUCCESS;
                    value.value = nvmlValue_t { ullVal: number };
                }
                Err(code) => value.nvmlReturn = code,
            }
        }
        Ok(())
    })
}

fn field(world: &World, subject: &Subject<'_>, id: u32) -> Outcome<u64> {
    for effect in world.faults(&format!("field:{id}"), Some(subject.gpu)) {
        if let Effect::Return(code) = effect {
            return Err(code);
        }
    }
    let links = matches!(id, 138 | 139);
    let name = match id {
        82 => "memory_temperature",
        138 => "nvlink_sent_kib",
        139 => "nvlink_received_kib",
        142 => "remapped_correctable",
        143 => "remapped_uncorrectable",
        145 => "remap_failure",
        _ => return Err(NOT_SUPPORTED),
    };
    if subject.instance.is_some() || (links && subject.board.mig == Some(true)) {
        return Err(NOT_SUPPORTED);
    }
    let value = subject.board.readings.get(name);
    value.copied().ok_or(NOT_SUPPORTED)
}
