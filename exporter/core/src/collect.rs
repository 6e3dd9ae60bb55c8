//! From a snapshot to metric families, in the contract's order. A reading without a value gives no series.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    catalog::{
        Metric,
        dcgm::{FIELDS_AS_LABELS, NVML_VERSION},
        device, health,
    },
    contract::{Contract, Heading},
    device::{Gpu, Instance, Partitioning},
    exposition::text::Value,
    fragmentation,
    reading::Reading,
    snapshot::{Snapshot, SourceStatus},
};

mod batch;

mod board;

pub mod budget;

mod dcgm;

mod events;

mod owners;

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
    /// What it is called.
    pub heading: Heading,
    /// Its series; never empty.
    pub series: Vec<Series>,
}

/// Label values known so far, by name.
type Labels = BTreeMap<&'static str, String>;

struct Families {
    contract: Arc<Contract>,
    /// By place and name.
    found: BTreeMap<(u16, &'static str), Family>,
}

impl Families {
    /// Adds a series, when the contract serves its metric; labels that the metric has not, or that are empty, are left
    /// out.
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
        let Some(heading) = self.contract.heading(metric) else {
            return;
        };
        let labels = self.labels(metric, labels);
        let family = (self.found)
            .entry((heading.order, heading.name))
            .or_insert_with(|| Family {
                metric,
                heading,
                series: Vec::new(),
            });
        family.series.push(Series {
            suffix,
            labels,
            value,
        });
    }

    /// The labels that the metric has, in order, as the contract spells them.
    fn labels(&self, metric: &Metric, labels: &Labels) -> Vec<(&'static str, String)> {
        let dialect = self.contract.dialect();
        let mut shown = Vec::with_capacity(metric.labels.len());
        for name in metric.labels {
            if *name == FIELDS_AS_LABELS {
                let fields = self.contract.fields_as_labels();
                shown.extend(
                    fields.filter_map(|(shown, name)| Some((shown, labels.get(name)?.clone()))),
                );
            } else if let (Some(shown_name), Some(value)) =
                (dialect.label(metric, name), labels.get(name))
            {
                shown.push((shown_name, dialect.value(name, value)));
            }
        }
        shown
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

/// All families of `snapshot` under the standard contract; `version` is that of the program that serves it.
pub fn collect(snapshot: &Snapshot, version: &str) -> Vec<Family> {
    collect_under(Contract::standard(), snapshot, version)
}

/// All families of `snapshot` that `contract` serves, as it names them.
pub fn collect_under(contract: &Arc<Contract>, snapshot: &Snapshot, version: &str) -> Vec<Family> {
    let mut families = Families {
        contract: Arc::clone(contract),
        found: BTreeMap::new(),
    };
    for gpu in &snapshot.gpus {
        one_gpu(&mut families, snapshot, gpu);
    }
    for server in &snapshot.servers {
        servers::one_server(&mut families, server);
    }
    for queue in &snapshot.batch {
        batch::queue(&mut families, queue);
    }
    for status in &snapshot.sources {
        one_source(&mut families, snapshot, status);
    }
    let program = "foresail-exporter".to_string();
    let build = Labels::from([("program", program), ("version", version.to_string())]);
    families.add(&health::BUILD_INFO, &build, Value::Whole(1));
    let node = Labels::from([("Hostname", snapshot.hostname.clone())]);
    owners::node(&mut families, &node, snapshot);
    if snapshot.gathered_at > 0.0 {
        let gathered = Value::Exact(snapshot.gathered_at);
        families.add(&health::SNAPSHOT_TIMESTAMP, &node, gathered);
    }
    budget::apply(&mut families, &node);
    // With this one.
    let series = budget::count(&families) as u64 + 1;
    families.add(&health::SERIES, &node, Value::Whole(series));
    families.found.into_values().collect()
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
        labels.insert(FIELDS_AS_LABELS, driver.clone());
    }
    if let Some(library) = &snapshot.nvml_version {
        labels.insert(NVML_VERSION, library.clone());
    }
    let texts = gpu.texts.fields();
    labels.extend(texts.map(|(name, text)| (name, text.to_owned())));
    labels
}

fn one_gpu(families: &mut Families, snapshot: &Snapshot, gpu: &Gpu) {
    let attribution = snapshot.attribution.as_ref();
    let mut labels = gpu_labels(snapshot, gpu);
    owners::label(&mut labels, attribution, gpu, None);
    owners::info(families, &labels, attribution, gpu, None);
    board::presence(families, &labels, gpu);
    if gpu.lost.is_some() {
        return;
    }
    let mut failed = gpu.readings.failures().len() as u64;
    failed += u64::from(matches!(gpu.partitioning, Partitioning::Unknown(_)));
    families.add(&device::FAILED_READINGS, &labels, Value::Whole(failed));
    let shown = families.contract.devices.gpu(gpu.identity.index);
    if shown && families.contract.devices.boards {
        self::dcgm::board(families, &labels, gpu, snapshot.gathered_at);
    }
    let held = attribution.is_some_and(|known| !known.owners_of(gpu, None).is_empty());
    board::state(families, &labels, gpu, held);
    let mut instances = BTreeMap::new();
    if let Partitioning::Mig(all) = &gpu.partitioning {
        for instance in all {
            let mut labels = instance_labels(&labels, instance);
            owners::label(&mut labels, attribution, gpu, Some(instance.id));
            owners::info(families, &labels, attribution, gpu, Some(instance.id));
            one_instance(families, &labels, instance, shown);
            instances.insert(instance.id, labels);
        }
    }
    owners::processes(families, &labels, attribution, gpu, &instances);
    if let Some(allocation) = fragmentation::allocation(gpu, held) {
        let allocated = Value::Whole(allocation.allocated);
        families.add(&device::MEMORY_ALLOCATED, &labels, allocated);
        if let Some(ratio) = allocation.fragmentation() {
            families.add(&device::MEMORY_FRAGMENTATION, &labels, Value::Exact(ratio));
        }
    }
}

fn instance_labels(gpu: &Labels, instance: &Instance) -> Labels {
    let mut labels = gpu.clone();
    labels.insert("GPU_I_ID", instance.id.to_string());
    if let Some(profile) = instance.profile.value() {
        labels.insert("GPU_I_PROFILE", profile.clone());
    }
    labels
}

fn one_instance(families: &mut Families, labels: &Labels, instance: &Instance, shown: bool) {
    if shown && families.contract.devices.instances {
        self::dcgm::instance(families, labels, instance);
    }
    board::instance(families, &mut labels.clone(), instance);
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

#[cfg(test)]
pub(crate) use tests::golden;
