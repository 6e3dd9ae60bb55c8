//! Values by field number. Each field has its own return code, as in the driver.

use std::sync::OnceLock;
use std::time::Instant;

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlFieldValue_t,
    nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT as INVALID_ARGUMENT,
    nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED as NOT_SUPPORTED,
    nvmlReturn_enum_NVML_SUCCESS as SUCCESS, nvmlReturn_t, nvmlValue_t,
    nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_LONG_LONG as UNSIGNED_LONG_LONG,
};

use crate::call::{Outcome, Subject, on_device};
use crate::world::{Effect, World};

/// Field numbers of nvml.h and the readings that they give. A reading `NAME_rate` lets the counter run, by so much a
/// second.
const NAMES: [(u32, &str); 27] = [
    (3, "ecc_corrected_volatile"),
    (4, "ecc_uncorrected_volatile"),
    (5, "ecc_corrected_aggregate"),
    (6, "ecc_uncorrected_aggregate"),
    (29, "retired_single_bit"),
    (30, "retired_double_bit"),
    (31, "retired_pending"),
    (38, "nvlink_flit_errors"),
    (45, "nvlink_data_errors"),
    (52, "nvlink_replays"),
    (59, "nvlink_recoveries"),
    (74, "power_violation"),
    (75, "thermal_violation"),
    (76, "sync_boost_violation"),
    (77, "board_limit_violation"),
    (78, "low_utilization_violation"),
    (79, "reliability_violation"),
    (82, "memory_temperature"),
    (91, "nvlink_count"),
    (138, "nvlink_sent_kib"),
    (139, "nvlink_received_kib"),
    (142, "remapped_correctable"),
    (143, "remapped_uncorrectable"),
    (144, "remap_pending"),
    (145, "remap_failure"),
    (197, "pcie_sent"),
    (198, "pcie_received"),
];

/// When counters began to run.
static SINCE: OnceLock<Instant> = OnceLock::new();

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
    if subject.instance.is_some() || (matches!(id, 138 | 139) && subject.board.mig == Some(true)) {
        return Err(NOT_SUPPORTED);
    }
    let readings = &subject.board.readings;
    let name = NAMES.iter().find(|(number, _)| *number == id);
    let (_, name) = name.ok_or(NOT_SUPPORTED)?;
    let moved = readings.get(&format!("{name}_rate")).map(|rate| {
        let seconds = SINCE.get_or_init(Instant::now).elapsed().as_secs_f64();
        whole_number(*rate as f64 * seconds)
    });
    let value = readings.get(*name).copied().ok_or(NOT_SUPPORTED)?;
    Ok(value.wrapping_add(moved.unwrap_or(0)))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bytes since the start, which are not negative"
)]
fn whole_number(value: f64) -> u64 {
    value as u64
}
