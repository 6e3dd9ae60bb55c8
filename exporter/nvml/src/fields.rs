//! Values that NVML serves by field number, read in one call; each has its own return code.

use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::FieldValueSample;
use nvml_wrapper_sys::bindings::field_id::{
    NVML_FI_DEV_MEMORY_TEMP, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX,
    NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, NVML_FI_DEV_REMAPPED_COR, NVML_FI_DEV_REMAPPED_FAILURE,
    NVML_FI_DEV_REMAPPED_UNC,
};
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlFieldValue_t};

use crate::error::{Answer, answer};
use crate::library::{Library, raw};

const CALL: &str = "nvmlDeviceGetFieldValues";

/// All links of a board together, in the field's scope (nvml.h, `nvmlFieldValue_t.scopeId`).
const ALL_LINKS: u32 = u32::MAX;

/// Number of values asked for at once.
const COUNT: u8 = 6;

/// Field numbers and scopes, in the order of [`Fields`]' members.
const WANTED: [(u32, u32); COUNT as usize] = [
    (NVML_FI_DEV_MEMORY_TEMP, 0),
    (NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, ALL_LINKS),
    (NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, ALL_LINKS),
    (NVML_FI_DEV_REMAPPED_COR, 0),
    (NVML_FI_DEV_REMAPPED_UNC, 0),
    (NVML_FI_DEV_REMAPPED_FAILURE, 0),
];

/// One board's values by field number.
#[derive(Debug)]
pub struct Fields {
    /// Degrees Celsius of the memory (field 82).
    pub memory_temperature: Answer<u64>,
    /// Payload sent over all links since the driver was loaded, in KiB (field 138).
    pub nvlink_sent_kib: Answer<u64>,
    /// Payload received over all links since the driver was loaded, in KiB (field 139).
    pub nvlink_received_kib: Answer<u64>,
    /// Rows remapped for correctable errors (field 142).
    pub remapped_correctable: Answer<u64>,
    /// Rows remapped for uncorrectable errors (field 143).
    pub remapped_uncorrectable: Answer<u64>,
    /// 1 when a remapping has failed (field 145).
    pub remap_failure: Answer<u64>,
}

impl Fields {
    /// The numbers are below 251, where drivers agree on them: no translation is needed.
    pub(crate) fn read(library: &Library, device: nvmlDevice_t) -> Answer<Self> {
        let mut values = WANTED.map(|(field, scope)| {
            // SAFETY: plain integers and a union of them; all bits zero is a value of each.
            let mut value: nvmlFieldValue_t = unsafe { std::mem::zeroed() };
            value.fieldId = field;
            value.scopeId = scope;
            value
        });
        raw(
            CALL,
            library.nvml.lib().nvmlDeviceGetFieldValues.as_ref(),
            // SAFETY: `values` holds `COUNT` elements and outlives the call; `device` is a handle of this library.
            |f| unsafe { f(device, COUNT.into(), values.as_mut_ptr()) },
        )?;
        let [
            temperature,
            sent,
            received,
            correctable,
            uncorrectable,
            failure,
        ] = values.map(value);
        Ok(Self {
            memory_temperature: temperature,
            nvlink_sent_kib: sent,
            nvlink_received_kib: received,
            remapped_correctable: correctable,
            remapped_uncorrectable: uncorrectable,
            remap_failure: failure,
        })
    }
}

/// All fields wanted here are counts: a fraction or a negative number is not what the field means.
fn value(raw: nvmlFieldValue_t) -> Answer<u64> {
    let sample = FieldValueSample::try_from(raw).and_then(|sample| sample.value);
    let count = sample.and_then(|sample| match sample {
        SampleValue::U32(n) => Ok(u64::from(n)),
        SampleValue::U64(n) => Ok(n),
        SampleValue::I64(n) => u64::try_from(n).map_err(|_| NvmlError::NoData),
        SampleValue::F64(_) => Err(NvmlError::NoData),
    });
    answer(CALL, count)
}
