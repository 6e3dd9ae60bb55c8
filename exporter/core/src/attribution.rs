//! Which container holds which device: the kubelet's list joined to the GPUs by their ids. A device that
//! several containers share lists them all; a device that nobody knows is counted. Never asks the kubelet.

use std::collections::{BTreeMap, BTreeSet};

use crate::device::{Gpu, Instance, Partitioning};
use id::{Device, Id};

pub mod id;

pub mod cgroup;

/// Name of NVIDIA's driver of dynamic resource allocation.
const DRA_DRIVER: &str = "gpu.nvidia.com";

/// A container that holds a device, whole or shared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Owner {
    /// Namespace of its pod.
    pub namespace: String,
    /// Name of its pod.
    pub pod: String,
    /// Its name in the pod.
    pub container: String,
    /// Which share of a shared device it holds; `None` for the whole of it.
    pub share: Option<String>,
}

/// A device of a claim, as the driver of dynamic resource allocation names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Claimed {
    /// The driver.
    pub driver: String,
    /// The pool, mostly the node.
    pub pool: String,
    /// The device in it.
    pub device: String,
    /// Which share of it, where devices can be shared.
    pub share: Option<String>,
}

/// What one container holds, as the kubelet lists it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Holding {
    /// Namespace of its pod.
    pub namespace: String,
    /// Name of its pod.
    pub pod: String,
    /// Its name in the pod.
    pub container: String,
    /// Resource and device id, of device plugins.
    pub devices: Vec<(String, String)>,
    /// Devices of claims.
    pub claims: Vec<Claimed>,
}

/// Uuids of the devices of claims, from the slices that their driver published, by driver, pool and device.
pub type Slices = BTreeMap<(String, String, String), String>;

/// How many devices were joined, and which were not.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Tally {
    /// GPUs and MIG instances that one container holds.
    pub held: u64,
    /// Those that several containers hold.
    pub shared: u64,
    /// Those that no container holds; the board of MIG instances is not one of them.
    pub free: u64,
    /// Ids that containers hold and no GPU of the node has, sorted.
    pub unknown: Vec<String>,
}

/// A GPU by its uuid, or one of its GPU instances by its id.
pub type Part = (String, Option<u32>);

/// Who holds what on a node.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Attribution {
    /// Owners of GPUs and GPU instances, sorted; one without an owner is not in it.
    pub owners: BTreeMap<Part, Vec<Owner>>,
    /// How many devices were joined.
    pub tally: Tally,
    /// Containers of processes, by the process's number on the host.
    pub processes: BTreeMap<u32, Owner>,
    /// Seconds since the kubelet gave the list.
    pub age: f64,
}

impl Attribution {
    /// Who holds a GPU, or its GPU instance of that id.
    pub fn owners_of(&self, gpu: &Gpu, instance: Option<u32>) -> &[Owner] {
        let part = (gpu.identity.uuid.clone(), instance);
        self.owners.get(&part).map_or(&[], Vec::as_slice)
    }
}

/// Finds out who holds `gpus`. Devices of other makers are passed over; `resources` names those that count
/// besides `nvidia.com/…`.
pub fn join(
    gpus: &[Gpu],
    holdings: &[Holding],
    slices: &Slices,
    resources: &[String],
) -> Attribution {
    let mut owners: BTreeMap<Part, Vec<Owner>> = BTreeMap::new();
    let mut unknown = BTreeSet::new();
    for holding in holdings {
        let mut give = |device: Option<Device>, share, name: String| {
            let Some(part) = device.and_then(|device| part_of(gpus, &device)) else {
                unknown.insert(name);
                return;
            };
            owners.entry(part).or_default().push(Owner {
                namespace: holding.namespace.clone(),
                pod: holding.pod.clone(),
                container: holding.container.clone(),
                share,
            });
        };
        for (resource, text) in &holding.devices {
            if resource.starts_with("nvidia.com/") || resources.contains(resource) {
                let id = Id::parse(text);
                let share = id.as_ref().and_then(|id| id.share.clone());
                give(id.map(|id| id.device), share, text.clone());
            }
        }
        let claims = holding.claims.iter();
        for claimed in claims.filter(|claimed| claimed.driver == DRA_DRIVER) {
            let device = claimed_device(claimed, slices);
            let name = format!("{}/{}", claimed.pool, claimed.device);
            give(device, claimed.share.clone(), name);
        }
    }
    for held in owners.values_mut() {
        held.sort();
        held.dedup();
    }
    let unknown = unknown.into_iter().collect();
    Attribution {
        tally: tally(gpus, &owners, unknown),
        owners,
        ..Attribution::default()
    }
}

fn tally(gpus: &[Gpu], owners: &BTreeMap<Part, Vec<Owner>>, unknown: Vec<String>) -> Tally {
    let mut tally = Tally {
        unknown,
        ..Tally::default()
    };
    for gpu in gpus {
        let instances = instances(gpu);
        let whole = !matches!(gpu.partitioning, Partitioning::Mig(_));
        let board = (gpu.identity.uuid.clone(), None);
        if whole || owners.contains_key(&board) {
            tally.count(owners.get(&board));
        }
        for instance in instances {
            tally.count(owners.get(&(gpu.identity.uuid.clone(), Some(instance.id))));
        }
    }
    tally
}

impl Tally {
    fn count(&mut self, owners: Option<&Vec<Owner>>) {
        let mut containers: Vec<_> = (owners.into_iter().flatten())
            .map(|owner| (&owner.namespace, &owner.pod, &owner.container))
            .collect();
        containers.sort();
        containers.dedup();
        match containers.len() {
            0 => self.free += 1,
            1 => self.held += 1,
            _ => self.shared += 1,
        }
    }
}

/// The device of a claim: by its uuid where the driver published one, else by the number in its name.
fn claimed_device(claimed: &Claimed, slices: &Slices) -> Option<Device> {
    let key = (
        claimed.driver.clone(),
        claimed.pool.clone(),
        claimed.device.clone(),
    );
    if let Some(uuid) = slices.get(&key) {
        return Id::parse(uuid).map(|id| id.device);
    }
    let minor = claimed.device.strip_prefix("gpu-")?.parse().ok()?;
    Some(Device::Minor {
        minor,
        instance: None,
    })
}

fn instances(gpu: &Gpu) -> &[Instance] {
    match &gpu.partitioning {
        Partitioning::Mig(instances) => instances,
        Partitioning::Whole | Partitioning::Unknown(_) => &[],
    }
}

/// The part of a GPU that `device` is; `None` when no GPU has it.
fn part_of(gpus: &[Gpu], device: &Device) -> Option<Part> {
    let board = |gpu: &Gpu| (gpu.identity.uuid.clone(), None);
    let of_instance = |gpu: &Gpu, wanted: u32| {
        let known = instances(gpu).iter().any(|instance| instance.id == wanted);
        known.then(|| (gpu.identity.uuid.clone(), Some(wanted)))
    };
    match device {
        Device::Gpu(uuid) => gpus
            .iter()
            .find(|gpu| gpu.identity.uuid == *uuid)
            .map(board),
        Device::Mig(uuid) => gpus.iter().find_map(|gpu| {
            let has = |instance: &&Instance| {
                let mut compute = instance.compute.iter();
                instance.uuid == *uuid || compute.any(|compute| compute.uuid == *uuid)
            };
            let found = instances(gpu).iter().find(has)?;
            Some((gpu.identity.uuid.clone(), Some(found.id)))
        }),
        Device::InstanceOf { gpu, instance } => {
            let found = gpus.iter().find(|one| one.identity.uuid == *gpu)?;
            of_instance(found, *instance)
        }
        Device::Minor { minor, instance } => {
            let found = gpus.iter().find(|gpu| gpu.identity.minor == *minor)?;
            match instance {
                Some(instance) => of_instance(found, *instance),
                None => Some(board(found)),
            }
        }
    }
}

/// What a set of owners has in common, for the labels of a series that is about all of them: namespace and
/// pod when they are one pod's, the container too when it is one.
pub fn common(owners: &[Owner]) -> Option<(&Owner, bool)> {
    let first = owners.first()?;
    let same_pod = |other: &Owner| (&other.namespace, &other.pod) == (&first.namespace, &first.pod);
    let same_container = |other: &Owner| other.container == first.container;
    (owners.iter().all(same_pod)).then(|| (first, owners.iter().all(same_container)))
}

#[cfg(test)]
mod tests;
