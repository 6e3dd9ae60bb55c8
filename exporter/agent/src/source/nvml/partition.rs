//! How a board is cut: the profiles that its driver offers, its GPU instances and the compute instances in them. What
//! needs privileges is left out where they are missing; the rest is read all the same.

use std::collections::BTreeMap;

use exporter_core::device::{
    ComputeInstance, Instance, Layout, Memory, Partitioning, Placed, Profile, Span,
};
use exporter_core::reading::Reading;
use exporter_nvml::{Answer, Device, GpuProfile, MigDevice, Placement, gpu_instance_profile};

use super::{memory, reading};

/// Passes after which profiles that could not be read are asked for again: rights can be given to a running driver.
const AGAIN: u32 = 20;

/// Profiles as first read: for one board and driver they do not change.
#[derive(Default)]
pub(super) struct Profiles {
    known: Option<Reading<Vec<(GpuProfile, Profile)>>>,
    passes: u32,
}

/// How a board is cut now.
pub(super) struct Cut {
    pub(super) partitioning: Partitioning,
    pub(super) layout: Reading<Layout>,
}

impl Profiles {
    /// Reads the board's partitions.
    pub(super) fn cut(&mut self, device: &Device<'_>) -> Answer<Cut> {
        let whole = |partitioning| Cut {
            partitioning,
            layout: Reading::Unsupported,
        };
        match reading(device.mig_mode())? {
            Reading::Value(mode) if mode.current => {}
            Reading::Value(_) | Reading::Unsupported => {
                *self = Self::default();
                return Ok(whole(Partitioning::Whole));
            }
            Reading::Failed(reason) => return Ok(whole(Partitioning::Unknown(reason))),
        }
        let layout = self.layout(device)?;
        let found = match reading(device.mig_devices())? {
            Reading::Value(found) => found,
            Reading::Unsupported => Vec::new(),
            Reading::Failed(reason) => {
                let partitioning = Partitioning::Unknown(reason);
                return Ok(Cut {
                    partitioning,
                    layout,
                });
            }
        };
        let mut devices = Vec::new();
        for one in found {
            match reading(one)? {
                Reading::Value(one) => devices.push(one),
                Reading::Unsupported => {}
                Reading::Failed(reason) => {
                    let partitioning = Partitioning::Unknown(reason);
                    return Ok(Cut {
                        partitioning,
                        layout,
                    });
                }
            }
        }
        let instances = instances(devices, layout.value())?;
        Ok(Cut {
            partitioning: Partitioning::Mig(instances),
            layout,
        })
    }

    fn layout(&mut self, device: &Device<'_>) -> Answer<Reading<Layout>> {
        self.passes += 1;
        let failed = matches!(self.known, Some(Reading::Failed(_)));
        if self.known.is_none() || (failed && self.passes >= AGAIN) {
            self.passes = 0;
            self.known = Some(profiles(device)?);
        }
        let profiles = match &self.known {
            Some(Reading::Value(profiles)) => profiles,
            Some(Reading::Failed(reason)) => return Ok(Reading::Failed(reason.clone())),
            Some(Reading::Unsupported) | None => return Ok(Reading::Unsupported),
        };
        let mut layout = Layout::default();
        for (profile, listed) in profiles {
            match reading(device.gpu_instances(profile))? {
                Reading::Value(found) => {
                    layout.instances.extend(found.iter().map(|instance| Placed {
                        id: instance.id,
                        profile: instance.profile,
                        span: span(instance.placement),
                    }));
                }
                Reading::Unsupported => return Ok(Reading::Unsupported),
                Reading::Failed(reason) => return Ok(Reading::Failed(reason)),
            }
            layout.profiles.push(listed.clone());
        }
        layout.instances.sort_by_key(|instance| instance.span);
        Ok(Reading::Value(layout))
    }
}

fn profiles(device: &Device<'_>) -> Answer<Reading<Vec<(GpuProfile, Profile)>>> {
    let found = match reading(device.gpu_profiles())? {
        Reading::Value(found) => found,
        Reading::Unsupported => return Ok(Reading::Unsupported),
        Reading::Failed(reason) => return Ok(Reading::Failed(reason)),
    };
    let mut profiles = Vec::new();
    for profile in found {
        let placements = match reading(device.possible_placements(profile.id))? {
            Reading::Value(placements) => placements.into_iter().map(span).collect(),
            Reading::Unsupported => return Ok(Reading::Unsupported),
            Reading::Failed(reason) => return Ok(Reading::Failed(reason)),
        };
        let listed = Profile {
            id: profile.id,
            name: profile.name.clone(),
            slices: profile.slices,
            most: profile.most,
            multiprocessors: profile.multiprocessors,
            memory_mib: profile.memory_mib,
            placements,
        };
        profiles.push((profile, listed));
    }
    Ok(Reading::Value(profiles))
}

fn span(placement: Placement) -> Span {
    Span {
        start: placement.start,
        size: placement.size,
    }
}

/// GPU instances with their compute instances, by id: those that the layout lists, and those that only their devices
/// show. Without a layout one that holds no device stays unseen.
fn instances(devices: Vec<MigDevice>, layout: Option<&Layout>) -> Answer<Vec<Instance>> {
    let mut instances: BTreeMap<u32, Instance> = BTreeMap::new();
    if let Some(layout) = layout {
        let listed = layout
            .instances
            .iter()
            .map(|placed| (placed.id, bare(placed, layout)));
        instances.extend(listed);
    }
    for device in devices {
        let own = instances
            .entry(device.gpu_instance)
            .or_insert_with(|| Instance {
                id: device.gpu_instance,
                ..Instance::default()
            });
        let profile = reading(device.profile)?;
        if own.profile.value().is_none() {
            own.profile = profile
                .clone()
                .map(|name| gpu_instance_profile(&name).to_owned());
        }
        if own.compute.is_empty() {
            own.uuid.clone_from(&device.uuid);
            own.memory = reading(device.memory)?.map(memory);
        }
        own.compute.push(ComputeInstance {
            uuid: device.uuid,
            id: device.compute_instance,
            profile,
            multiprocessors: reading(device.multiprocessors)?,
        });
    }
    Ok(instances.into_values().collect())
}

/// An instance before its devices are known: nothing runs in it, so all its memory is free.
fn bare(placed: &Placed, layout: &Layout) -> Instance {
    let mut profiles = layout.profiles.iter();
    let profile = profiles.find(|profile| profile.id == placed.profile);
    let known = |profile: Option<&Profile>| {
        let total = profile?.memory_mib << 20;
        Some(Memory {
            total,
            used: 0,
            free: total,
            reserved: None,
        })
    };
    Instance {
        id: placed.id,
        profile: profile.map_or(Reading::Unsupported, |p| Reading::Value(p.name.clone())),
        start: Reading::Value(placed.span.start),
        size: Reading::Value(placed.span.size),
        multiprocessors: profile
            .map_or(Reading::Unsupported, |p| Reading::Value(p.multiprocessors)),
        memory: known(profile).map_or(Reading::Unsupported, Reading::Value),
        ..Instance::default()
    }
}
