//! Multi-Instance GPU: which instances a board is cut into. Names, sizes and places come from the driver, because the
//! same board has other ones under another driver; nothing here changes a layout.

use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlGpuInstance_t, nvmlGpuInstanceInfo_t, nvmlGpuInstanceProfileInfo_v2_t,
};

use crate::device::{Device, Memory};
use crate::error::{Answer, Error, answer};
use crate::library::{raw, text};

/// `NVML_STRUCT_VERSION(GpuInstanceProfileInfo, 2)` of nvml.h.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a structure of some 150 bytes; the size shares the word with the version"
)]
const PROFILE_INFO_V2: u32 = size_of::<nvmlGpuInstanceProfileInfo_v2_t>() as u32 | 2 << 24;

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

/// One MIG device: a compute instance inside a GPU instance.
#[derive(Debug)]
pub struct MigInstance {
    /// `MIG-…`, what the device plugin hands to pods.
    pub uuid: String,
    /// GPU instance, unique on its board (DCGM's `GPU_I_ID`).
    pub gpu_instance: u32,
    /// Compute instance, unique within its GPU instance.
    pub compute_instance: u32,
    /// The GPU instance's profile, such as `1g.10gb` or `1g.10gb+me`.
    pub profile: Answer<String>,
    /// Needs privileges: often a failure with `NO_PERMISSION`.
    pub placement: Answer<Placement>,
    /// Memory of the GPU instance.
    pub memory: Answer<Memory>,
    /// Multiprocessors of the compute instance.
    pub multiprocessors: Answer<u32>,
}

impl<'library> Device<'library> {
    /// Whether MIG is on; "not supported" on boards that cannot be partitioned.
    pub fn mig_mode(&self) -> Answer<MigMode> {
        let mode = answer("nvmlDeviceGetMigMode", self.inner.mig_mode())?;
        Ok(MigMode {
            current: mode.current == 1,
            pending: mode.pending == 1,
        })
    }

    /// The board's MIG devices in the driver's order; indices without a device are left out, and one that fails does
    /// not hide the others.
    pub fn mig_instances(&self) -> Answer<Vec<Answer<MigInstance>>> {
        let call = "nvmlDeviceGetMaxMigDeviceCount";
        let most = answer(call, self.inner.mig_device_count())?;
        Ok((0..most).filter_map(|i| self.mig_instance(i)).collect())
    }

    fn mig_instance(&self, index: u32) -> Option<Answer<MigInstance>> {
        match self.inner.mig_device_by_index(index) {
            Ok(inner) => {
                let instance = Device::new(self.library, inner, index);
                Some(self.describe(&instance))
            }
            Err(NvmlError::NotFound | NvmlError::InvalidArg) => None,
            Err(error) => Some(answer("nvmlDeviceGetMigDeviceHandleByIndex", Err(error))),
        }
    }

    fn describe(&self, instance: &Device<'library>) -> Answer<MigInstance> {
        let lib = self.library.nvml.lib();
        let gpu_instance = instance.id(
            "nvmlDeviceGetGpuInstanceId",
            lib.nvmlDeviceGetGpuInstanceId.as_ref(),
        )?;
        let compute_instance = instance.id(
            "nvmlDeviceGetComputeInstanceId",
            lib.nvmlDeviceGetComputeInstanceId.as_ref(),
        )?;
        let info = self.gpu_instance_info(gpu_instance);
        let profile = info
            .as_ref()
            .ok()
            .and_then(|info| self.profile_name(info.profileId).ok())
            .map_or_else(|| instance.profile_of_name(), Ok);
        let attributes = answer("nvmlDeviceGetAttributes_v2", instance.inner.attributes());
        Ok(MigInstance {
            uuid: answer("nvmlDeviceGetUUID", instance.inner.uuid())?,
            gpu_instance,
            compute_instance,
            profile,
            placement: info.map(|info| Placement {
                start: info.placement.start,
                size: info.placement.size,
            }),
            memory: instance.memory(),
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

    /// Profile and placement of a GPU instance (nvml.h: "requires privileged user").
    fn gpu_instance_info(&self, id: u32) -> Answer<nvmlGpuInstanceInfo_t> {
        let lib = self.library.nvml.lib();
        let mut instance: nvmlGpuInstance_t = std::ptr::null_mut();
        raw(
            "nvmlDeviceGetGpuInstanceById",
            lib.nvmlDeviceGetGpuInstanceById.as_ref(),
            // SAFETY: `instance` is a writable handle; the device's handle is this library's.
            |f| unsafe { f(self.handle(), id, &raw mut instance) },
        )?;
        // SAFETY: handles and integers; all bits zero is a value of each.
        let mut info: nvmlGpuInstanceInfo_t = unsafe { std::mem::zeroed() };
        raw(
            "nvmlGpuInstanceGetInfo",
            lib.nvmlGpuInstanceGetInfo.as_ref(),
            // SAFETY: `instance` was given by the call above; `info` is a writable structure of the filled type.
            |f| unsafe { f(instance, &raw mut info) },
        )?;
        Ok(info)
    }

    /// The profile's name as the driver spells it.
    fn profile_name(&self, profile: u32) -> Answer<String> {
        let call = "nvmlDeviceGetGpuInstanceProfileInfoByIdV";
        // SAFETY: integers and a character array; all bits zero is a value of each.
        let mut info: nvmlGpuInstanceProfileInfo_v2_t = unsafe { std::mem::zeroed() };
        info.version = PROFILE_INFO_V2;
        let lib = self.library.nvml.lib();
        raw(
            call,
            lib.nvmlDeviceGetGpuInstanceProfileInfoByIdV.as_ref(),
            // SAFETY: `info` is writable and says its own version, which fixes how much the library writes.
            |f| unsafe { f(self.handle(), profile, &raw mut info) },
        )?;
        let name = text(call, &info.name)?;
        profile_in(&name).ok_or_else(|| no_name(call))
    }

    /// Without privileges: a MIG device's own name ends in its profile ("… MIG 1g.10gb").
    fn profile_of_name(&self) -> Answer<String> {
        let call = "nvmlDeviceGetName";
        let name = answer(call, self.inner.name())?;
        profile_in(&name).ok_or_else(|| no_name(call))
    }
}

fn no_name(call: &'static str) -> Error {
    Error::Failed {
        call,
        source: NvmlError::NoData,
    }
}

/// The GPU instance's profile in a name: the last word, without the compute part that a smaller compute instance
/// brings ("MIG 1c.3g.40gb" lies in a 3g.40gb).
fn profile_in(name: &str) -> Option<String> {
    let word = name.rsplit([' ', '-']).find(|word| word.contains("g."))?;
    let compute = word
        .split_once("c.")
        .filter(|(slices, _)| !slices.is_empty() && slices.bytes().all(|b| b.is_ascii_digit()));
    Some(compute.map_or(word, |(_, rest)| rest).to_owned())
}

#[cfg(test)]
mod tests {
    use super::profile_in;

    #[test]
    fn profiles_are_read_from_the_names_drivers_give() {
        for (name, profile) in [
            ("MIG 1g.10gb", Some("1g.10gb")),
            ("1g.10gb+me", Some("1g.10gb+me")),
            ("NVIDIA H100 80GB HBM3 MIG 3g.40gb", Some("3g.40gb")),
            ("NVIDIA H200 MIG 1c.3g.71gb", Some("3g.71gb")),
            ("NVIDIA H100 80GB HBM3", None),
        ] {
            assert_eq!(profile_in(name).as_deref(), profile, "{name}");
        }
    }
}
