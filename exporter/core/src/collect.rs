//! From a snapshot to metric families, sorted by name. A reading without a value gives no series.

use std::collections::BTreeMap;

use crate::{
    catalog::{Metric, dcgm, device, health},
    device::{Gpu, Instance, Memory, Partitioning, Readings},
    exposition::text::Value,
    fragmentation,
    reading::Reading,
    snapshot::{Snapshot, SourceStatus},
};

mod board;

mod servers;

mod xid;

/// One series: labels in the catalogue's order, and a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What follows the metric's name: a part of a histogram, else nothing.
    pub suffix: &'static str,
    /// Name and value of each label.
    pub labels: Vec<(&'static str, String)>,
    /// The number.
    pub value: Value,
}

/// A metric and its series.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// Its catalogue entry.
    pub metric: &'static Metric,
    /// Its series; never empty.
    pub series: Vec<Series>,
}

/// Label values known so far, by name.
type Labels = BTreeMap<&'static str, String>;

#[derive(Default)]
struct Families(BTreeMap<&'static str, Family>);

impl Families {
    /// Adds a series; labels that the metric has not, or that are empty, are left out.
    fn add(&mut self, metric: &'static Metric, labels: &Labels, value: Value) {
        self.part(metric, "", labels, value);
    }

    /// Adds one part of a histogram.
    fn part(
        &mut self,
        metric: &'static Metric,
        suffix: &'static str,
        labels: &Labels,
        value: Value,
    ) {
        let pair = |name: &&'static str| labels.get(name).map(|value| (*name, value.clone()));
        let labels = metric.labels.iter().filter_map(pair).collect();
        let family = self.0.entry(metric.name).or_insert_with(|| Family {
            metric,
            series: Vec::new(),
        });
        family.series.push(Series {
            suffix,
            labels,
            value,
        });
    }

    fn whole(&mut self, metric: &'static Metric, labels: &Labels, reading: &Reading<u64>) {
        if let Some(value) = reading.value() {
            self.add(metric, labels, Value::Whole(*value));
        }
    }

    fn fixed(&mut self, metric: &'static Metric, labels: &Labels, reading: &Reading<f64>) {
        if let Some(value) = reading.value().filter(|value| value.is_finite()) {
            self.add(metric, labels, Value::Fixed(*value));
        }
    }
}

/// All families of `snapshot`; `version` is that of the program that serves it.
pub fn collect(snapshot: &Snapshot, version: &str) -> Vec<Family> {
    let mut families = Families::default();
    for gpu in &snapshot.gpus {
        one_gpu(&mut families, snapshot, gpu);
    }
    for server in &snapshot.servers {
        servers::one_server(&mut families, server);
    }
    for status in &snapshot.sources {
        one_source(&mut families, snapshot, status);
    }
    let program = "foresail-exporter".to_string();
    let build = Labels::from([("program", program), ("version", version.to_string())]);
    families.add(&health::BUILD_INFO, &build, Value::Whole(1));
    let node = Labels::from([("Hostname", snapshot.hostname.clone())]);
    if snapshot.gathered_at > 0.0 {
        let gathered = Value::Exact(snapshot.gathered_at);
        families.add(&health::SNAPSHOT_TIMESTAMP, &node, gathered);
    }
    let series: usize = families.0.values().map(|family| family.series.len()).sum();
    families.add(&health::SERIES, &node, Value::Whole(series as u64));
    families.0.into_values().collect()
}

fn gpu_labels(snapshot: &Snapshot, gpu: &Gpu) -> Labels {
    let identity = &gpu.identity;
    let mut labels = Labels::from([
        ("gpu", identity.index.to_string()),
        ("UUID", identity.uuid.clone()),
        ("pci_bus_id", identity.pci_bus_id.clone()),
        ("device", format!("nvidia{}", identity.minor)),
        ("modelName", identity.model.clone()),
        ("Hostname", snapshot.hostname.clone()),
    ]);
    if let Some(driver) = &snapshot.driver_version {
        labels.insert("DCGM_FI_DRIVER_VERSION", driver.clone());
    }
    labels
}

fn one_gpu(families: &mut Families, snapshot: &Snapshot, gpu: &Gpu) {
    let labels = gpu_labels(snapshot, gpu);
    board::presence(families, &labels, gpu);
    if gpu.lost.is_some() {
        return;
    }
    let mut failed = gpu.readings.failures().len() as u64;
    failed += u64::from(matches!(gpu.partitioning, Partitioning::Unknown(_)));
    families.add(&device::FAILED_READINGS, &labels, Value::Whole(failed));
    readings(families, &labels, &gpu.readings);
    board::state(families, &labels, gpu);
    if let Partitioning::Mig(instances) = &gpu.partitioning {
        for instance in instances {
            one_instance(families, &labels, instance);
        }
    }
    if let Some(allocation) = fragmentation::allocation(gpu) {
        let allocated = Value::Whole(allocation.allocated);
        families.add(&device::MEMORY_ALLOCATED, &labels, allocated);
        if let Some(ratio) = allocation.fragmentation() {
            families.add(&device::MEMORY_FRAGMENTATION, &labels, Value::Exact(ratio));
        }
    }
}

fn readings(families: &mut Families, labels: &Labels, readings: &Readings) {
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
    ] {
        families.whole(metric, labels, reading);
    }
    for (metric, reading) in [
        (&dcgm::POWER_USAGE, &readings.power),
        (
            &dcgm::PROF_GR_ENGINE_ACTIVE,
            &readings.graphics_engine_active,
        ),
        (&dcgm::PROF_PIPE_TENSOR_ACTIVE, &readings.tensor_active),
        (&dcgm::PROF_DRAM_ACTIVE, &readings.dram_active),
    ] {
        families.fixed(metric, labels, reading);
    }
    for (metric, reading) in [
        (&dcgm::PROF_PCIE_TX_BYTES, &readings.pcie_sent),
        (&dcgm::PROF_PCIE_RX_BYTES, &readings.pcie_received),
    ] {
        families.fixed(metric, labels, reading);
    }
    if let Some(code) = readings.last_xid.value() {
        let mut labels = labels.clone();
        labels.insert("err_code", code.to_string());
        labels.insert("err_msg", xid::message(*code).to_string());
        families.add(&dcgm::XID_ERRORS, &labels, Value::Whole(*code));
    }
    memory(families, labels, &readings.memory);
}

/// Framebuffer in whole MiB, truncated as DCGM does.
fn memory(families: &mut Families, labels: &Labels, reading: &Reading<Memory>) {
    let Some(memory) = reading.value() else {
        return;
    };
    let mib = |bytes: u64| Value::Whole(bytes >> 20);
    families.add(&dcgm::FB_FREE, labels, mib(memory.free));
    families.add(&dcgm::FB_USED, labels, mib(memory.used));
    if let Some(reserved) = memory.reserved {
        families.add(&dcgm::FB_RESERVED, labels, mib(reserved));
    }
}

/// The physical GPU keeps its own series; an instance adds only what is its own.
fn one_instance(families: &mut Families, gpu: &Labels, instance: &Instance) {
    let mut labels = gpu.clone();
    labels.insert("GPU_I_ID", instance.id.to_string());
    if let Some(profile) = instance.profile.value() {
        labels.insert("GPU_I_PROFILE", profile.clone());
    }
    memory(families, &labels, &instance.memory);
    for (metric, reading) in [
        (
            &dcgm::PROF_GR_ENGINE_ACTIVE,
            &instance.graphics_engine_active,
        ),
        (&dcgm::PROF_PIPE_TENSOR_ACTIVE, &instance.tensor_active),
        (&dcgm::PROF_DRAM_ACTIVE, &instance.dram_active),
    ] {
        families.fixed(metric, &labels, reading);
    }
    board::instance(families, &mut labels, instance);
}

fn one_source(families: &mut Families, snapshot: &Snapshot, status: &SourceStatus) {
    let mut labels = Labels::from([
        ("source", status.name.clone()),
        ("Hostname", snapshot.hostname.clone()),
    ]);
    if let Some(target) = &status.target {
        labels.insert("target", target.clone());
    }
    families.add(
        &health::SOURCE_UP,
        &labels,
        Value::Whole(u64::from(status.up)),
    );
    let success = Value::Whole(u64::from(status.success));
    families.add(&health::SOURCE_SUCCESS, &labels, success);
    if let Some(seconds) = status.duration {
        families.add(&health::SOURCE_DURATION, &labels, Value::Exact(seconds));
    }
    families.add(
        &health::SOURCE_FAILURES,
        &labels,
        Value::Whole(status.failures),
    );
    if let Some(time) = status.last_success {
        families.add(&health::SOURCE_LAST_SUCCESS, &labels, Value::Exact(time));
    }
}

#[cfg(test)]
mod tests;
