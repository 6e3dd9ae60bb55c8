//! Multi-Instance GPU: what a board can be cut into and what it is cut into. Names, sizes and places come from the
//! driver, because the same board has other ones under another driver; nothing here changes a layout.

use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlGpuInstance_t, nvmlGpuInstanceInfo_t, nvmlGpuInstancePlacement_t,
    nvmlGpuInstanceProfileInfo_v2_t,
};

use crate::calls::{ask, raw};
use crate::device::{Device, Memory};
use crate::error::{Answer, Error, answer};
use crate::library::text;

/// `NVML_STRUCT_VERSION(GpuInstanceProfileInfo, 2)` of nvml.h.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a structure of some 150 bytes; the size shares the word with the version"
)]
const PROFILE_INFO_V2: u32 = size_of::<nvmlGpuInstanceProfileInfo_v2_t>() as u32 | 2 << 24;

/// Profiles are numbered from 0; nvml.h of driver 590 knows 18, and later drivers may know more.
const MOST_PROFILES: u32 = 64;

/// Room for placements and instances beyond what the driver announces.
const HEADROOM: u32 = 8;

/// Placements of one profile, far beyond what any board has.
const MOST_PLACEMENTS: u32 = 1024;

/// Whether a board is partitioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MigMode {
    /// Now.
    pub current: bool,
    /// After the next reset of the board.
    pub pending: bool,
}

/// Where an instance lies, in the board's memory slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// First slice.
    pub start: u32,
    /// Number of slices.
    pub size: u32,
}

/// One way to cut a GPU instance out of a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuProfile {
    /// Its number, as `nvidia-smi mig -lgip` prints it.
    pub id: u32,
    /// Its name, such as `1g.10gb+me`.
    pub name: String,
    /// Compute slices.
    pub slices: u32,
    /// Instances that an empty board takes.
    pub most: u32,
    /// Multiprocessors of an instance.
    pub multiprocessors: u32,
    /// Memory of an instance, in MiB.
    pub memory_mib: u64,
}

/// A GPU instance, with or without compute instances in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuInstance {
    /// Unique on its board at one time (DCGM's `GPU_I_ID`).
    pub id: u32,
    /// Its profile's number.
    pub profile: u32,
    /// Where it lies.
    pub placement: Placement,
}

/// One MIG device: a compute instance inside a GPU instance.
#[derive(Debug)]
pub struct MigDevice {
    /// `MIG-…`, what the device plugin hands to pods.
    pub uuid: String,
    /// GPU instance it lies in.
    pub gpu_instance: u32,
    /// Compute instance, unique within its GPU instance.
    pub compute_instance: u32,
    /// The device's profile, such as `3g.40gb`, or `1c.3g.40gb` where it is a part of its GPU instance.
    pub profile: Answer<String>,
    /// Memory of the GPU instance.
    pub memory: Answer<Memory>,
    /// Multiprocessors of the compute instance.
    pub multiprocessors: Answer<u32>,
}

impl Device<'_> {
    /// Whether MIG is on; "not supported" on boards that cannot be partitioned.
    pub fn mig_mode(&self) -> Answer<MigMode> {
        let mode = ask("nvmlDeviceGetMigMode", || self.inner.mig_mode())?;
        Ok(MigMode {
            current: mode.current == 1,
            pending: mode.pending == 1,
        })
    }

    /// The board's MIG devices in the driver's order; indices without a device are left out, and one that fails does
    /// not hide the others.
    pub fn mig_devices(&self) -> Answer<Vec<Answer<MigDevice>>> {
        let call = "nvmlDeviceGetMaxMigDeviceCount";
        let most = ask(call, || self.inner.mig_device_count())?;
        Ok((0..most).filter_map(|i| self.mig_device(i)).collect())
    }

    fn mig_device(&self, index: u32) -> Option<Answer<MigDevice>> {
        let call = "nvmlDeviceGetMigDeviceHandleByIndex";
        match ask(call, || self.inner.mig_device_by_index(index)) {
            Ok(inner) => Some(Device::new(self.library, inner, index).describe()),
            Err(Error::Failed {
                source: NvmlError::NotFound | NvmlError::InvalidArg,
                ..
            }) => None,
            Err(error) => Some(Err(error)),
        }
    }

    fn describe(&self) -> Answer<MigDevice> {
        let lib = self.library.lib();
        let gpu_instance = self.id(
            "nvmlDeviceGetGpuInstanceId",
            lib.nvmlDeviceGetGpuInstanceId.as_ref(),
        )?;
        let compute_instance = self.id(
            "nvmlDeviceGetComputeInstanceId",
            lib.nvmlDeviceGetComputeInstanceId.as_ref(),
        )?;
        let attributes = ask("nvmlDeviceGetAttributes_v2", || self.inner.attributes());
        Ok(MigDevice {
            uuid: ask("nvmlDeviceGetUUID", || self.inner.uuid())?,
            gpu_instance,
            compute_instance,
            profile: self.profile_of_name(),
            memory: self.memory(),
            multiprocessors: attributes.map(|a| a.multiprocessor_count),
        })
    }

    fn id(
        &self,
        call: &'static str,
        function: Result<&unsafe extern "C" fn(nvmlDevice_t, *mut u32) -> u32, &libloading::Error>,
    ) -> Answer<u32> {
        let mut id = 0;
        // SAFETY: `id` is the one writable integer that these functions fill; the handle is this library's.
        raw(call, function, |f| unsafe { f(self.handle(), &raw mut id) })?;
        Ok(id)
    }

    /// The profiles that the driver offers on this board, in its order; "not supported" where it offers none.
    pub fn gpu_profiles(&self) -> Answer<Vec<GpuProfile>> {
        let call = "nvmlDeviceGetGpuInstanceProfileInfoV";
        let mut profiles: Vec<GpuProfile> = Vec::new();
        for number in 0..MOST_PROFILES {
            match self.gpu_profile(call, number) {
                Ok(profile) => {
                    if profiles.iter().all(|known| known.id != profile.id) {
                        profiles.push(profile);
                    }
                }
                // In the range that the driver knows, and not on this board.
                Err(error) if error.is_unsupported() => {}
                Err(Error::Failed {
                    source: NvmlError::InvalidArg,
                    ..
                }) => break,
                Err(error) => return Err(error),
            }
        }
        if profiles.is_empty() {
            return answer(call, Err(NvmlError::NotSupported));
        }
        Ok(profiles)
    }

    fn gpu_profile(&self, call: &'static str, number: u32) -> Answer<GpuProfile> {
        // SAFETY: integers and a character array; all bits zero is a value of each.
        let mut info: nvmlGpuInstanceProfileInfo_v2_t = unsafe { std::mem::zeroed() };
        info.version = PROFILE_INFO_V2;
        let function = self
            .library
            .lib()
            .nvmlDeviceGetGpuInstanceProfileInfoV
            .as_ref();
        // SAFETY: `info` is writable and says its own version, which fixes how much the library writes.
        raw(call, function, |f| unsafe {
            f(self.handle(), number, &raw mut info)
        })?;
        let name = text(call, &info.name)?;
        Ok(GpuProfile {
            id: info.id,
            name: profile_in(&name).ok_or_else(|| no_name(call))?.to_owned(),
            slices: info.sliceCount,
            most: info.instanceCount,
            multiprocessors: info.multiprocessorCount,
            memory_mib: info.memorySizeMB,
        })
    }

    /// Where instances of a profile may lie on an empty board (nvml.h: "requires privileged user").
    pub fn possible_placements(&self, profile: u32) -> Answer<Vec<Placement>> {
        let call = "nvmlDeviceGetGpuInstancePossiblePlacements_v2";
        let function = || {
            let lib = self.library.lib();
            lib.nvmlDeviceGetGpuInstancePossiblePlacements_v2.as_ref()
        };
        let mut count = 0;
        // SAFETY: without a buffer the function only counts; `count` is a writable integer.
        raw(call, function(), |f| unsafe {
            f(self.handle(), profile, std::ptr::null_mut(), &raw mut count)
        })?;
        let room = count.min(MOST_PLACEMENTS) + HEADROOM;
        let none = nvmlGpuInstancePlacement_t { start: 0, size: 0 };
        let mut places = vec![none; room as usize];
        count = room;
        // SAFETY: `places` has the room that `count` says, more than the function announced.
        raw(call, function(), |f| unsafe {
            f(self.handle(), profile, places.as_mut_ptr(), &raw mut count)
        })?;
        places.truncate(count as usize);
        let placement = |place: nvmlGpuInstancePlacement_t| Placement {
            start: place.start,
            size: place.size,
        };
        Ok(places.into_iter().map(placement).collect())
    }

    /// The board's GPU instances of a profile (nvml.h: "requires privileged user"), also those without a MIG device.
    pub fn gpu_instances(&self, profile: &GpuProfile) -> Answer<Vec<GpuInstance>> {
        let room = profile.most.min(MOST_PLACEMENTS) + HEADROOM;
        let mut handles: Vec<nvmlGpuInstance_t> = vec![std::ptr::null_mut(); room as usize];
        let mut count = room;
        raw(
            "nvmlDeviceGetGpuInstances",
            self.library.lib().nvmlDeviceGetGpuInstances.as_ref(),
            // SAFETY: `handles` has room for more instances than the profile allows on a board.
            |f| unsafe {
                f(
                    self.handle(),
                    profile.id,
                    handles.as_mut_ptr(),
                    &raw mut count,
                )
            },
        )?;
        handles.truncate(count as usize);
        let known = handles.into_iter().filter(|handle| !handle.is_null());
        known.map(|handle| self.gpu_instance_info(handle)).collect()
    }

    fn gpu_instance_info(&self, instance: nvmlGpuInstance_t) -> Answer<GpuInstance> {
        // SAFETY: handles and integers; all bits zero is a value of each.
        let mut info: nvmlGpuInstanceInfo_t = unsafe { std::mem::zeroed() };
        raw(
            "nvmlGpuInstanceGetInfo",
            self.library.lib().nvmlGpuInstanceGetInfo.as_ref(),
            // SAFETY: `instance` was given by this library; `info` is a writable structure of the filled type.
            |f| unsafe { f(instance, &raw mut info) },
        )?;
        Ok(GpuInstance {
            id: info.id,
            profile: info.profileId,
            placement: Placement {
                start: info.placement.start,
                size: info.placement.size,
            },
        })
    }

    /// Without privileges: a MIG device's own name ends in its profile ("… MIG 1g.10gb").
    fn profile_of_name(&self) -> Answer<String> {
        let call = "nvmlDeviceGetName";
        let name = ask(call, || self.inner.name())?;
        let profile = profile_in(&name).ok_or_else(|| no_name(call))?;
        Ok(profile.to_owned())
    }
}

fn no_name(call: &'static str) -> Error {
    Error::Failed {
        call,
        source: NvmlError::NoData,
    }
}

/// The profile in a name: its last word, with the compute part that a smaller compute instance brings. A sign may
/// follow a profile (`1g.24gb-me`), so only blanks end a word, save the one that hangs on to `MIG`.
fn profile_in(name: &str) -> Option<&str> {
    let word = name.rsplit(' ').find(|word| word.contains("g."))?;
    Some(word.strip_prefix("MIG-").unwrap_or(word))
}

/// The GPU instance's profile in that of one of its devices: `1c.3g.40gb` lies in a `3g.40gb`.
pub fn gpu_instance_profile(device: &str) -> &str {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match device.split_once("c.") {
        Some((slices, profile)) if digits(slices) => profile,
        _ => device,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_read_from_the_names_drivers_give() {
        for (name, profile) in [
            ("MIG 1g.10gb", Some("1g.10gb")),
            ("1g.10gb+me", Some("1g.10gb+me")),
            ("MIG 1g.24gb-me", Some("1g.24gb-me")),
            ("MIG 1g.24gb+me.all", Some("1g.24gb+me.all")),
            ("NVIDIA H100 80GB HBM3 MIG 3g.40gb", Some("3g.40gb")),
            ("NVIDIA H200 MIG 1c.3g.71gb", Some("1c.3g.71gb")),
            ("NVIDIA H100 80GB HBM3", None),
        ] {
            assert_eq!(profile_in(name), profile, "{name}");
        }
    }

    #[test]
    fn a_part_of_an_instance_names_the_whole() {
        assert_eq!(gpu_instance_profile("1c.3g.71gb"), "3g.71gb");
        assert_eq!(gpu_instance_profile("3g.71gb+me"), "3g.71gb+me");
    }
}
