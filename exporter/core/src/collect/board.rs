//! Families of one GPU that DCGM has no names for: whether it answers, its errors, and what it can be cut into.

use super::{Families, Labels};
use crate::{
    catalog::{device, mig},
    device::{Gpu, Instance, Layout, Partitioning, Xids, health},
    diagnosis::diagnose,
    exposition::text::Value,
    fragmentation::{
        self,
        placement::{Free, placeable},
    },
    reading::Reading,
};

/// The label that tells why.
const REASON: &str = "reason";
/// What "unsupported" is called in a label.
const UNSUPPORTED: &str = "not supported by this GPU or driver";

/// Whether it answers, and what outlives its loss.
pub(super) fn presence(families: &mut Families, gpu: &Labels, state: &Gpu) {
    let mut labels = gpu.clone();
    if let Some(reason) = &state.lost {
        labels.insert(REASON, reason.clone());
    }
    let up = u64::from(state.lost.is_none());
    families.add(&device::UP, &labels, Value::Whole(up));
    if let Some(xids) = state.xids.value() {
        errors(families, gpu, xids);
    }
}

fn errors(families: &mut Families, gpu: &Labels, xids: &Xids) {
    for (code, xid) in xids.codes() {
        let mut labels = gpu.clone();
        let name = if code == health::OTHER {
            "other".to_string()
        } else {
            code.to_string()
        };
        labels.insert("xid", name);
        families.add(&device::XID_ERRORS, &labels, Value::Whole(xid.count));
        if let Some(time) = xid.last_seen {
            families.add(&device::XID_LAST_SEEN, &labels, Value::Exact(time));
        }
    }
}

/// What a GPU that answers tells.
pub(super) fn state(families: &mut Families, gpu: &Labels, state: &Gpu, held: bool) {
    let health = &state.readings.health;
    if let Some(events) = health.clock_events.value() {
        for (reason, bit) in health::CLOCK_EVENTS {
            let labels = with(gpu, REASON, reason);
            let active = Value::Whole(u64::from(events & bit != 0));
            families.add(&device::CLOCK_EVENT, &labels, active);
        }
    }
    if let Some(links) = health.nvlinks.value() {
        for (state, count) in [("up", links.up), ("down", links.down)] {
            let count = Value::Whole(count.into());
            families.add(&device::NVLINKS, &with(gpu, "state", state), count);
        }
    }
    families.whole(&device::REMAP_PENDING, gpu, &health.remap_pending);
    if let Some(layout) = state.layout.value() {
        room(families, gpu, layout);
    }
    judgements(families, gpu, state);
    for (what, reason) in absences(state, held) {
        let labels = with(&with(gpu, "what", what), REASON, reason);
        families.add(&device::ABSENT_INFO, &labels, Value::Whole(1));
    }
}

fn with(labels: &Labels, name: &'static str, value: &str) -> Labels {
    let mut labels = labels.clone();
    labels.insert(name, value.to_string());
    labels
}

/// What was made of the readings: why it does little, and whether its memory leaks.
fn judgements(families: &mut Families, gpu: &Labels, state: &Gpu) {
    if let Some(found) = diagnose(state) {
        for cause in found.judged {
            let holds = Value::Whole(u64::from(found.cause == Some(cause)));
            families.add(&device::LOW_USE, &with(gpu, "cause", cause.label()), holds);
        }
    }
    let leaks = &state.leaks;
    for (reason, suspected) in [
        ("process", leaks.process),
        ("contexts", leaks.contexts),
        ("unowned", leaks.unowned_suspected),
    ] {
        if let Some(suspected) = suspected {
            let labels = with(gpu, REASON, reason);
            let suspected = Value::Whole(u64::from(suspected));
            families.add(&device::LEAK_SUSPECTED, &labels, suspected);
        }
    }
    for growth in &leaks.growing {
        let labels = with(gpu, "pid", &growth.pid.to_string());
        let rate = Value::Exact(growth.bytes_per_second);
        families.add(&device::LEAK_RATE, &labels, rate);
    }
    if let Some(bytes) = leaks.unowned {
        families.add(&device::MEMORY_UNOWNED, gpu, Value::Whole(bytes));
    }
}

/// What still fits on a partitioned GPU.
fn room(families: &mut Families, gpu: &Labels, layout: &Layout) {
    let Some(found) = placeable(layout) else {
        return;
    };
    for fit in &found.profiles {
        let labels = with(gpu, "profile", &fit.profile);
        families.add(&mig::PLACEABLE, &labels, Value::Whole(fit.now.into()));
        let compacted = Value::Whole(fit.compacted.into());
        families.add(&mig::PLACEABLE_COMPACTED, &labels, compacted);
    }
    let kinds: [(&str, Free); 2] = [("memory", found.memory), ("compute", found.compute)];
    for (kind, slices) in kinds {
        let labels = with(gpu, "kind", kind);
        families.add(&mig::FREE_SLICES, &labels, Value::Whole(slices.free.into()));
        let stranded = Value::Whole(slices.stranded.into());
        families.add(&mig::STRANDED_SLICES, &labels, stranded);
    }
    families.add(&mig::FRAGMENTATION_RATIO, gpu, Value::Exact(found.ratio));
}

/// Groups of series that a GPU lacks, and why; `held` says that containers hold it whole.
fn absences(gpu: &Gpu, held: bool) -> Vec<(&'static str, &str)> {
    let readings = &gpu.readings;
    let partitioned = matches!(gpu.partitioning, Partitioning::Mig(_));
    let utilization = if partitioned {
        "the driver does not measure it while MIG is on"
    } else {
        UNSUPPORTED
    };
    let unknown = match &gpu.partitioning {
        Partitioning::Unknown(reason) => Some(reason.as_str()),
        Partitioning::Whole | Partitioning::Mig(_) => None,
    };
    let placement = match gpu.layout.value() {
        Some(layout) => placeable(layout)
            .is_none()
            .then_some("the driver's profiles and instances contradict each other"),
        None => why(&gpu.layout, UNSUPPORTED),
    };
    let allocated = if partitioned {
        "the memory of an instance could not be read"
    } else {
        "nobody says who owns this GPU's memory"
    };
    let unowned = fragmentation::allocation(gpu, held).is_none();
    [
        ("utilization", why(&readings.utilization, utilization)),
        (
            "profiling",
            why(&readings.graphics_engine_active, UNSUPPORTED),
        ),
        ("mig_instances", unknown),
        ("mig_placement", placement.filter(|_| partitioned)),
        ("memory_allocated", unowned.then_some(allocated)),
        ("processes", why(&gpu.processes, UNSUPPORTED)),
        ("energy", why(&readings.energy, UNSUPPORTED)),
        ("nvlinks", why(&readings.health.nvlinks, UNSUPPORTED)),
        (
            "row_remap",
            why(&readings.health.remap_pending, UNSUPPORTED),
        ),
    ]
    .into_iter()
    .filter_map(|(what, reason)| Some((what, reason?)))
    .collect()
}

/// Why a reading has no value.
fn why<'a, T>(reading: &'a Reading<T>, unsupported: &'a str) -> Option<&'a str> {
    match reading {
        Reading::Value(_) => None,
        Reading::Unsupported => Some(unsupported),
        Reading::Failed(reason) => Some(reason),
    }
}

/// What an instance is, beside DCGM's readings of it.
pub(super) fn instance(families: &mut Families, labels: &mut Labels, instance: &Instance) {
    families.whole(
        &mig::INSTANCE_MULTIPROCESSORS,
        labels,
        &instance.multiprocessors.clone().map(u64::from),
    );
    for compute in &instance.compute {
        let mut own = with(labels, "compute_instance", &compute.id.to_string());
        own.insert("mig_uuid", compute.uuid.clone());
        if let Some(profile) = compute.profile.value() {
            own.insert("compute_profile", profile.clone());
        }
        families.add(&mig::COMPUTE_INSTANCE_INFO, &own, Value::Whole(1));
        let multiprocessors = compute.multiprocessors.clone().map(u64::from);
        families.whole(
            &mig::COMPUTE_INSTANCE_MULTIPROCESSORS,
            &own,
            &multiprocessors,
        );
    }
    if !instance.uuid.is_empty() {
        labels.insert("mig_uuid", instance.uuid.clone());
    }
    for (name, reading) in [("start", &instance.start), ("size", &instance.size)] {
        if let Some(slices) = reading.value() {
            labels.insert(name, slices.to_string());
        }
    }
    families.add(&mig::INSTANCE_INFO, labels, Value::Whole(1));
}
