//! Families under DCGM's names. The physical GPU keeps its own series; an instance adds only what is its own.

use super::{Families, Labels, events, xid};
use crate::{
    catalog::dcgm::{self, optional},
    device::{Gpu, Health, Instance, Memory, Readings},
    exposition::text::Value,
    reading::Reading,
};

/// All that DCGM has names for, of one GPU; `now` is the time of its gather in unix seconds.
pub(super) fn board(families: &mut Families, labels: &Labels, gpu: &Gpu, now: f64) {
    let readings = &gpu.readings;
    numbers(families, labels, readings);
    ratios(families, labels, readings);
    health(families, labels, &readings.health);
    if let Some(code) = readings.last_xid.value() {
        let mut labels = labels.clone();
        labels.insert("err_code", code.to_string());
        labels.insert("err_msg", xid::message(*code).to_string());
        families.add(&dcgm::XID_ERRORS, &labels, Value::Whole(*code));
    }
    events::xids(families, labels, gpu, now);
    events::clocks(families, labels, gpu, now);
    memory(families, labels, &readings.memory);
}

fn numbers(families: &mut Families, labels: &Labels, readings: &Readings) {
    for (metric, reading) in [
        (&dcgm::SM_CLOCK, &readings.sm_clock),
        (&dcgm::MEM_CLOCK, &readings.memory_clock),
        (&dcgm::MEMORY_TEMP, &readings.memory_temperature),
        (&dcgm::GPU_TEMP, &readings.temperature),
        (&dcgm::TOTAL_ENERGY_CONSUMPTION, &readings.energy),
        (&dcgm::PCIE_REPLAY_COUNTER, &readings.pcie_replays),
        (&dcgm::GPU_UTIL, &readings.utilization),
        (&dcgm::MEM_COPY_UTIL, &readings.memory_utilization),
        (&dcgm::ENC_UTIL, &readings.encoder_utilization),
        (&dcgm::DEC_UTIL, &readings.decoder_utilization),
        (&dcgm::NVLINK_BANDWIDTH_TOTAL, &readings.nvlink_bandwidth),
        (&dcgm::VGPU_LICENSE_STATUS, &readings.vgpu_license),
        (
            &dcgm::UNCORRECTABLE_REMAPPED_ROWS,
            &readings.remapped_uncorrectable,
        ),
        (
            &dcgm::CORRECTABLE_REMAPPED_ROWS,
            &readings.remapped_correctable,
        ),
        (&dcgm::ROW_REMAP_FAILURE, &readings.remap_failure),
        (&optional::MAX_SM_CLOCK, &readings.sm_clock_limit),
        (&optional::MAX_MEM_CLOCK, &readings.memory_clock_limit),
        (&optional::PCIE_LINK_GEN, &readings.pcie_generation),
        (&optional::PCIE_LINK_WIDTH, &readings.pcie_width),
    ] {
        families.whole(metric, labels, reading);
    }
}

fn ratios(families: &mut Families, labels: &Labels, readings: &Readings) {
    for (metric, reading) in [
        (&dcgm::POWER_USAGE, &readings.power),
        (&optional::POWER_MGMT_LIMIT, &readings.power_limit),
        (
            &optional::ENFORCED_POWER_LIMIT,
            &readings.enforced_power_limit,
        ),
        (
            &dcgm::PROF_GR_ENGINE_ACTIVE,
            &readings.graphics_engine_active,
        ),
        (&dcgm::PROF_PIPE_TENSOR_ACTIVE, &readings.tensor_active),
        (&dcgm::PROF_DRAM_ACTIVE, &readings.dram_active),
        (&dcgm::PROF_PCIE_TX_BYTES, &readings.pcie_sent),
        (&dcgm::PROF_PCIE_RX_BYTES, &readings.pcie_received),
        (&optional::PROF_SM_ACTIVE, &readings.sm_active),
        (&optional::PROF_SM_OCCUPANCY, &readings.sm_occupancy),
        (&optional::PROF_PIPE_FP64_ACTIVE, &readings.fp64_active),
        (&optional::PROF_PIPE_FP32_ACTIVE, &readings.fp32_active),
        (&optional::PROF_PIPE_FP16_ACTIVE, &readings.fp16_active),
    ] {
        families.fixed(metric, labels, reading);
    }
}

fn health(families: &mut Families, labels: &Labels, health: &Health) {
    for (metric, reading) in [
        (&optional::CLOCK_THROTTLE_REASONS, &health.clock_events),
        (&optional::POWER_VIOLATION, &health.power_violation),
        (&optional::THERMAL_VIOLATION, &health.thermal_violation),
        (
            &optional::SYNC_BOOST_VIOLATION,
            &health.sync_boost_violation,
        ),
        (
            &optional::BOARD_LIMIT_VIOLATION,
            &health.board_limit_violation,
        ),
        (
            &optional::LOW_UTIL_VIOLATION,
            &health.low_utilization_violation,
        ),
        (
            &optional::RELIABILITY_VIOLATION,
            &health.reliability_violation,
        ),
        (&optional::ECC_SBE_VOL_TOTAL, &health.ecc_corrected_volatile),
        (
            &optional::ECC_DBE_VOL_TOTAL,
            &health.ecc_uncorrected_volatile,
        ),
        (
            &optional::ECC_SBE_AGG_TOTAL,
            &health.ecc_corrected_aggregate,
        ),
        (
            &optional::ECC_DBE_AGG_TOTAL,
            &health.ecc_uncorrected_aggregate,
        ),
        (&optional::RETIRED_SBE, &health.retired_single_bit),
        (&optional::RETIRED_DBE, &health.retired_double_bit),
        (&optional::RETIRED_PENDING, &health.retired_pending),
        (&optional::ROW_REMAP_PENDING, &health.remap_pending),
        (&optional::NVLINK_CRC_FLIT, &health.nvlink_flit_errors),
        (&optional::NVLINK_CRC_DATA, &health.nvlink_data_errors),
        (&optional::NVLINK_REPLAY, &health.nvlink_replays),
        (&optional::NVLINK_RECOVERY, &health.nvlink_recoveries),
    ] {
        families.whole(metric, labels, reading);
    }
}

/// Framebuffer in whole MiB, truncated as DCGM does.
fn memory(families: &mut Families, labels: &Labels, reading: &Reading<Memory>) {
    let Some(memory) = reading.value() else {
        return;
    };
    let mib = |bytes: u64| Value::Whole(bytes >> 20);
    families.add(&dcgm::FB_FREE, labels, mib(memory.free));
    families.add(&dcgm::FB_USED, labels, mib(memory.used));
    families.add(&optional::FB_TOTAL, labels, mib(memory.total));
    if let Some(reserved) = memory.reserved {
        families.add(&dcgm::FB_RESERVED, labels, mib(reserved));
    }
    let room = memory.used + memory.free;
    if room > 0 {
        let share = Value::Fixed(memory.used as f64 / room as f64);
        families.add(&optional::FB_USED_PERCENT, labels, share);
    }
}

/// What an instance has of its own.
pub(super) fn instance(families: &mut Families, labels: &Labels, instance: &Instance) {
    memory(families, labels, &instance.memory);
    for (metric, reading) in [
        (
            &dcgm::PROF_GR_ENGINE_ACTIVE,
            &instance.graphics_engine_active,
        ),
        (&dcgm::PROF_PIPE_TENSOR_ACTIVE, &instance.tensor_active),
        (&dcgm::PROF_DRAM_ACTIVE, &instance.dram_active),
    ] {
        families.fixed(metric, labels, reading);
    }
}
