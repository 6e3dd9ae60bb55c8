//! Containers on GPUs as series, and as labels on the series of the GPUs.

use std::collections::BTreeMap;

use super::{Families, Labels};
use crate::{
    attribution::{Attribution, Owner, common},
    catalog::attribution::{
        AGE, CONTAINER_MEMORY, CONTAINER_PROCESSES, CONTAINER_UTILIZATION, DEVICES, POD_INFO,
    },
    device::{Gpu, Process},
    exposition::text::Value,
    snapshot::Snapshot,
};

const NAMES: [&str; 3] = ["container", "namespace", "pod"];

/// Puts on `labels` what all containers have in common that hold the GPU or its instance; a device that
/// pods share is nobody's alone, so its series name none.
pub(super) fn label(
    labels: &mut Labels,
    attribution: Option<&Attribution>,
    gpu: &Gpu,
    instance: Option<u32>,
) {
    for name in NAMES {
        labels.remove(name);
    }
    let owners = attribution.map_or(&[][..], |known| known.owners_of(gpu, instance));
    if let Some((owner, same_container)) = common(owners) {
        name(labels, owner);
        if !same_container {
            labels.remove("container");
        }
    }
}

fn name(labels: &mut Labels, owner: &Owner) {
    for (name, value) in NAMES
        .into_iter()
        .zip([&owner.container, &owner.namespace, &owner.pod])
    {
        if !value.is_empty() {
            labels.insert(name, value.clone());
        }
    }
}

/// One series for each container that holds the GPU or its instance.
pub(super) fn info(
    families: &mut Families,
    labels: &Labels,
    attribution: Option<&Attribution>,
    gpu: &Gpu,
    instance: Option<u32>,
) {
    let owners = attribution.map_or(&[][..], |known| known.owners_of(gpu, instance));
    for owner in owners {
        let mut labels = labels.clone();
        name(&mut labels, owner);
        if let Some(share) = &owner.share {
            labels.insert("share", share.clone());
        }
        families.add(&POD_INFO, &labels, Value::Whole(1));
    }
}

/// What the processes of one container hold and do, together.
#[derive(Default)]
struct Sum {
    processes: u64,
    /// `None` when the driver does not tell it of one of them.
    memory: Option<u64>,
    /// Percent; `None` likewise.
    utilization: Option<u32>,
}

/// The processes on a GPU, by container; `instances` gives the labels of each GPU instance.
pub(super) fn processes(
    families: &mut Families,
    labels: &Labels,
    attribution: Option<&Attribution>,
    gpu: &Gpu,
    instances: &BTreeMap<u32, Labels>,
) {
    let (Some(processes), Some(attribution)) = (gpu.processes.value(), attribution) else {
        return;
    };
    let mut sums: BTreeMap<(Option<u32>, Option<&Owner>), Sum> = BTreeMap::new();
    for process in processes {
        let owner = attribution.processes.get(&process.pid);
        add(
            sums.entry((process.gpu_instance, owner)).or_default(),
            process,
        );
    }
    for ((instance, owner), sum) in sums {
        let labels = instance.and_then(|id| instances.get(&id)).unwrap_or(labels);
        let mut labels = labels.clone();
        for name in NAMES {
            labels.remove(name);
        }
        if let Some(owner) = owner {
            name(&mut labels, owner);
        }
        families.add(&CONTAINER_PROCESSES, &labels, Value::Whole(sum.processes));
        if let Some(memory) = sum.memory {
            families.add(&CONTAINER_MEMORY, &labels, Value::Whole(memory));
        }
        if let Some(percent) = sum.utilization {
            let ratio = f64::from(percent) / 100.0;
            families.add(&CONTAINER_UTILIZATION, &labels, Value::Exact(ratio));
        }
    }
}

fn add(sum: &mut Sum, process: &Process) {
    let first = sum.processes == 0;
    sum.processes += 1;
    let memory = process.memory.value().copied();
    let utilization = process.utilization.value().map(|use_| use_.sm);
    if first {
        (sum.memory, sum.utilization) = (memory, utilization);
        return;
    }
    sum.memory = sum.memory.zip(memory).map(|(a, b)| a + b);
    sum.utilization = sum.utilization.zip(utilization).map(|(a, b)| a + b);
}

/// How the list as a whole was joined.
pub(super) fn node(families: &mut Families, node: &Labels, snapshot: &Snapshot) {
    let Some(attribution) = &snapshot.attribution else {
        return;
    };
    let tally = &attribution.tally;
    for (state, count) in [
        ("held", tally.held),
        ("shared", tally.shared),
        ("free", tally.free),
        ("unknown", tally.unknown.len() as u64),
    ] {
        let mut labels = node.clone();
        labels.insert("state", state.to_string());
        families.add(&DEVICES, &labels, Value::Whole(count));
    }
    families.add(&AGE, node, Value::Exact(attribution.age));
}
