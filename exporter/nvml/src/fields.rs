//! Values that NVML serves by field number, read in one call; each has its own return code.

use std::collections::BTreeMap;

use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::FieldValueSample;
use nvml_wrapper_sys::bindings::field_id as id;
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlFieldValue_t};

use crate::calls::raw;
use crate::error::{Answer, answer};
use crate::library::Library;

const CALL: &str = "nvmlDeviceGetFieldValues";

/// All links of a board together, in the field's scope (nvml.h, `nvmlFieldValue_t.scopeId`).
const ALL_LINKS: u32 = u32::MAX;

/// A value that has a field number. Numbers are below 251, where drivers agree on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// Degrees Celsius of the memory.
    MemoryTemperature,
    /// Payload sent over all links since the driver was loaded, in KiB.
    NvlinkSentKib,
    /// Payload received over all links since the driver was loaded, in KiB.
    NvlinkReceivedKib,
    /// Links that the board has.
    NvlinkCount,
    /// Flow-control errors of all links.
    NvlinkFlitErrors,
    /// Data errors of all links.
    NvlinkDataErrors,
    /// Replays of all links.
    NvlinkReplays,
    /// Recoveries of all links.
    NvlinkRecoveries,
    /// Rows remapped for correctable errors.
    RemappedCorrectable,
    /// Rows remapped for uncorrectable errors.
    RemappedUncorrectable,
    /// 1 when a row waits for a reset to be remapped.
    RemapPending,
    /// 1 when a remapping has failed.
    RemapFailure,
    /// Corrected single-bit errors since the driver was loaded.
    EccCorrectedVolatile,
    /// Double-bit errors since the driver was loaded.
    EccUncorrectedVolatile,
    /// Corrected single-bit errors over the board's life.
    EccCorrectedAggregate,
    /// Double-bit errors over the board's life.
    EccUncorrectedAggregate,
    /// Pages retired after single-bit errors.
    RetiredSingleBit,
    /// Pages retired after double-bit errors.
    RetiredDoubleBit,
    /// 1 when a page waits for a reset to be retired.
    RetiredPending,
    /// Nanoseconds of lowered clocks to keep the power limit.
    PowerViolation,
    /// Nanoseconds of lowered clocks for heat.
    ThermalViolation,
    /// Nanoseconds of lowered clocks for another board of the boost group.
    SyncBoostViolation,
    /// Nanoseconds of lowered clocks for current or voltage of the board.
    BoardLimitViolation,
    /// Nanoseconds of lowered clocks because little ran.
    LowUtilizationViolation,
    /// Nanoseconds of lowered clocks to keep the board reliable.
    ReliabilityViolation,
    /// Bytes sent over `PCIe`, a counter of 32 bits on some boards.
    PcieSent,
    /// Bytes received over `PCIe`, a counter of 32 bits on some boards.
    PcieReceived,
}

/// Number and scope of each.
const WANTED: [(Field, u32, u32); 27] = [
    (Field::MemoryTemperature, id::NVML_FI_DEV_MEMORY_TEMP, 0),
    (
        Field::NvlinkSentKib,
        id::NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX,
        ALL_LINKS,
    ),
    (
        Field::NvlinkReceivedKib,
        id::NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX,
        ALL_LINKS,
    ),
    (Field::NvlinkCount, id::NVML_FI_DEV_NVLINK_LINK_COUNT, 0),
    (
        Field::NvlinkFlitErrors,
        id::NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL,
        0,
    ),
    (
        Field::NvlinkDataErrors,
        id::NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL,
        0,
    ),
    (
        Field::NvlinkReplays,
        id::NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL,
        0,
    ),
    (
        Field::NvlinkRecoveries,
        id::NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL,
        0,
    ),
    (Field::RemappedCorrectable, id::NVML_FI_DEV_REMAPPED_COR, 0),
    (
        Field::RemappedUncorrectable,
        id::NVML_FI_DEV_REMAPPED_UNC,
        0,
    ),
    (Field::RemapPending, id::NVML_FI_DEV_REMAPPED_PENDING, 0),
    (Field::RemapFailure, id::NVML_FI_DEV_REMAPPED_FAILURE, 0),
    (
        Field::EccCorrectedVolatile,
        id::NVML_FI_DEV_ECC_SBE_VOL_TOTAL,
        0,
    ),
    (
        Field::EccUncorrectedVolatile,
        id::NVML_FI_DEV_ECC_DBE_VOL_TOTAL,
        0,
    ),
    (
        Field::EccCorrectedAggregate,
        id::NVML_FI_DEV_ECC_SBE_AGG_TOTAL,
        0,
    ),
    (
        Field::EccUncorrectedAggregate,
        id::NVML_FI_DEV_ECC_DBE_AGG_TOTAL,
        0,
    ),
    (Field::RetiredSingleBit, id::NVML_FI_DEV_RETIRED_SBE, 0),
    (Field::RetiredDoubleBit, id::NVML_FI_DEV_RETIRED_DBE, 0),
    (Field::RetiredPending, id::NVML_FI_DEV_RETIRED_PENDING, 0),
    (Field::PowerViolation, id::NVML_FI_DEV_PERF_POLICY_POWER, 0),
    (
        Field::ThermalViolation,
        id::NVML_FI_DEV_PERF_POLICY_THERMAL,
        0,
    ),
    (
        Field::SyncBoostViolation,
        id::NVML_FI_DEV_PERF_POLICY_SYNC_BOOST,
        0,
    ),
    (
        Field::BoardLimitViolation,
        id::NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT,
        0,
    ),
    (
        Field::LowUtilizationViolation,
        id::NVML_FI_DEV_PERF_POLICY_LOW_UTILIZATION,
        0,
    ),
    (
        Field::ReliabilityViolation,
        id::NVML_FI_DEV_PERF_POLICY_RELIABILITY,
        0,
    ),
    (Field::PcieSent, id::NVML_FI_DEV_PCIE_COUNT_TX_BYTES, 0),
    (Field::PcieReceived, id::NVML_FI_DEV_PCIE_COUNT_RX_BYTES, 0),
];

/// One board's values by field number.
#[derive(Debug)]
pub struct Fields(BTreeMap<Field, Answer<u64>>);

impl Fields {
    /// Takes a value out; a second time it is "not supported".
    pub fn take(&mut self, field: Field) -> Answer<u64> {
        let value = self.0.remove(&field);
        value.unwrap_or_else(|| answer(CALL, Err(NvmlError::NotSupported)))
    }

    pub(crate) fn read(library: &Library, device: nvmlDevice_t) -> Answer<Self> {
        let mut values = WANTED.map(|(_, number, scope)| {
            // SAFETY: plain integers and a union of them; all bits zero is a value of each.
            let mut value: nvmlFieldValue_t = unsafe { std::mem::zeroed() };
            value.fieldId = number;
            value.scopeId = scope;
            value
        });
        let count = i32::try_from(values.len()).unwrap_or(0);
        raw(
            CALL,
            library.lib().nvmlDeviceGetFieldValues.as_ref(),
            // SAFETY: `values` holds `count` elements and outlives the call; `device` is a handle of this library.
            |f| unsafe { f(device, count, values.as_mut_ptr()) },
        )?;
        let fields = WANTED.iter().map(|(field, ..)| *field);
        Ok(Self(fields.zip(values.map(value)).collect()))
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
    // NVML_VALUE_NOT_AVAILABLE: the driver knows the field and has no number for it.
    match count {
        Ok(u64::MAX) => answer(CALL, Err(NvmlError::NotSupported)),
        count => answer(CALL, count),
    }
}
