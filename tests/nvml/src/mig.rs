//! Partitions: the mode, the profiles that a board offers, its GPU instances and the devices in them.

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlDeviceAttributes_t, nvmlGpuInstance_t, nvmlGpuInstanceInfo_t,
    nvmlGpuInstancePlacement_t, nvmlGpuInstanceProfileInfo_v2_t,
    nvmlReturn_enum_NVML_ERROR_ARGUMENT_VERSION_MISMATCH as VERSION_MISMATCH,
    nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE as INSUFFICIENT_SIZE,
    nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT as INVALID_ARGUMENT,
    nvmlReturn_enum_NVML_ERROR_NOT_FOUND as NOT_FOUND,
    nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED as NOT_SUPPORTED, nvmlReturn_t,
};

use exporter_core::mig::profile::Profile;

use crate::board::{Compute, Instance, multiprocessors};
use crate::call::{Outcome, Part, Subject, array, handle, on_device, put};

/// `NVML_GPU_INSTANCE_PROFILE_COUNT` of nvml.h.
const PROFILES: usize = 18;

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMigMode(
    device: nvmlDevice_t,
    current: *mut u32,
    pending: *mut u32,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetMigMode", device, |_, subject| {
        let on = u32::from(subject.board.mig.ok_or(NOT_SUPPORTED)?);
        // SAFETY: the caller gives two writable integers, as nvml.h asks.
        unsafe { put(current, on).and_then(|()| put(pending, on)) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMaxMigDeviceCount(
    device: nvmlDevice_t,
    out: *mut u32,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetMaxMigDeviceCount", device, |_, subject| {
        let most = subject.board.model.mig.map_or(0, |mig| mig.slices);
        // SAFETY: the caller gives a writable integer, as nvml.h asks.
        unsafe { put(out, most) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    device: nvmlDevice_t,
    index: u32,
    out: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    let call = "nvmlDeviceGetMigDeviceHandleByIndex";
    on_device(call, device, |_, subject| {
        let index = index as usize;
        if subject.board.mig != Some(true) || index >= subject.board.devices().count() {
            return Err(NOT_FOUND);
        }
        // SAFETY: the caller gives a writable handle, as nvml.h asks.
        unsafe { put(out, handle(subject.gpu, Part::Device(index))) }
    })
}

fn parts<'w>(subject: &Subject<'w>) -> Outcome<(&'w Instance, &'w Compute)> {
    subject.instance.zip(subject.compute).ok_or(NOT_SUPPORTED)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetGpuInstanceId(
    device: nvmlDevice_t,
    out: *mut u32,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetGpuInstanceId", device, |_, subject| {
        // SAFETY: the caller gives a writable integer, as nvml.h asks.
        unsafe { put(out, parts(&subject)?.0.id) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetComputeInstanceId(
    device: nvmlDevice_t,
    out: *mut u32,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetComputeInstanceId", device, |_, subject| {
        // SAFETY: the caller gives a writable integer, as nvml.h asks.
        unsafe { put(out, parts(&subject)?.1.id) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetAttributes_v2(
    device: nvmlDevice_t,
    out: *mut nvmlDeviceAttributes_t,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetAttributes_v2", device, |_, subject| {
        let (instance, compute) = parts(&subject)?;
        let slices = instance.profile.slices;
        let attributes = nvmlDeviceAttributes_t {
            multiprocessorCount: compute.multiprocessors,
            sharedCopyEngineCount: slices,
            sharedDecoderCount: slices,
            sharedEncoderCount: 0,
            sharedJpegCount: slices,
            sharedOfaCount: 0,
            gpuInstanceSliceCount: slices,
            computeInstanceSliceCount: compute.slices,
            memorySizeMB: subject.board.model.memory_mib(instance.profile),
        };
        // SAFETY: the caller gives a writable structure, as nvml.h asks.
        unsafe { put(out, attributes) }
    })
}

/// The profile of that number, on a board that is partitioned.
fn profile(subject: &Subject<'_>, id: u32) -> Outcome<&'static Profile> {
    if subject.board.mig != Some(true) {
        return Err(NOT_SUPPORTED);
    }
    let mut profiles = subject.board.model.profiles().iter();
    profiles
        .find(|profile| profile.id == id)
        .ok_or(INVALID_ARGUMENT)
}

/// Gives the caller a list and its length: only the length without a buffer, and nothing where it does not fit.
///
/// # Safety
/// `count` is writable and, unless `out` is null, says for how many elements there is room at `out`.
unsafe fn put_list<T>(out: *mut T, count: *mut u32, list: Vec<T>) -> Outcome {
    let length = u32::try_from(list.len()).map_err(|_| INSUFFICIENT_SIZE)?;
    // SAFETY: writable by this function's contract.
    let room = *unsafe { count.as_ref() }.ok_or(INVALID_ARGUMENT)?;
    // SAFETY: as above.
    unsafe { put(count, length) }?;
    if out.is_null() {
        return Ok(());
    }
    if length > room {
        return Err(INSUFFICIENT_SIZE);
    }
    for (index, value) in list.into_iter().enumerate() {
        // SAFETY: within the room that the caller says there is.
        unsafe { out.add(index).write(value) };
    }
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetGpuInstancePossiblePlacements_v2(
    device: nvmlDevice_t,
    id: u32,
    out: *mut nvmlGpuInstancePlacement_t,
    count: *mut u32,
) -> nvmlReturn_t {
    let call = "nvmlDeviceGetGpuInstancePossiblePlacements_v2";
    on_device(call, device, |_, subject| {
        let profile = profile(&subject, id)?;
        let place = |start: &u32| nvmlGpuInstancePlacement_t {
            start: *start,
            size: profile.size,
        };
        // Static: what lies on the board does not matter, as in the driver.
        let places = profile.starts.iter().map(place).collect();
        // SAFETY: the caller gives a list and its room, as nvml.h asks.
        unsafe { put_list(out, count, places) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetGpuInstances(
    device: nvmlDevice_t,
    id: u32,
    out: *mut nvmlGpuInstance_t,
    count: *mut u32,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetGpuInstances", device, |_, subject| {
        profile(&subject, id)?;
        let instances = subject.board.instances.iter().enumerate();
        let own = instances.filter(|(_, instance)| instance.profile.id == id);
        let handles = own.map(|(index, _)| handle(subject.gpu, Part::Instance(index)));
        // SAFETY: the caller gives a list and its room, as nvml.h asks.
        unsafe { put_list(out, count, handles.collect()) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetGpuInstanceById(
    device: nvmlDevice_t,
    id: u32,
    out: *mut nvmlGpuInstance_t,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetGpuInstanceById", device, |_, subject| {
        let index = subject.board.instances.iter().position(|i| i.id == id);
        let index = index.ok_or(NOT_FOUND)?;
        // SAFETY: the caller gives a writable handle, as nvml.h asks.
        unsafe { put(out, handle(subject.gpu, Part::Instance(index))) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlGpuInstanceGetInfo(
    gpu_instance: nvmlGpuInstance_t,
    out: *mut nvmlGpuInstanceInfo_t,
) -> nvmlReturn_t {
    // A GPU instance's handle has the form of a device's.
    let device: nvmlDevice_t = gpu_instance.cast();
    on_device("nvmlGpuInstanceGetInfo", device, |_, subject| {
        let instance = subject.instance.ok_or(INVALID_ARGUMENT)?;
        let info = nvmlGpuInstanceInfo_t {
            device: handle(subject.gpu, Part::Whole),
            id: instance.id,
            profileId: instance.profile.id,
            placement: nvmlGpuInstancePlacement_t {
                start: instance.start,
                size: instance.profile.size,
            },
        };
        // SAFETY: the caller gives a writable structure, as nvml.h asks.
        unsafe { put(out, info) }
    })
}

/// By the number of `NVML_GPU_INSTANCE_PROFILE_*`. Which number means which profile the driver alone knows; here they
/// are those of the table.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetGpuInstanceProfileInfoV(
    device: nvmlDevice_t,
    number: u32,
    out: *mut nvmlGpuInstanceProfileInfo_v2_t,
) -> nvmlReturn_t {
    let call = "nvmlDeviceGetGpuInstanceProfileInfoV";
    on_device(call, device, |_, subject| {
        let number = number as usize;
        if number >= PROFILES {
            return Err(INVALID_ARGUMENT);
        }
        let profile = subject.board.model.profiles().get(number);
        let profile = profile.ok_or(NOT_SUPPORTED)?;
        // SAFETY: the caller gives an initialised structure or null, as nvml.h asks.
        let version = unsafe { out.as_ref() }.ok_or(INVALID_ARGUMENT)?.version;
        if version >> 24 != 2 {
            return Err(VERSION_MISMATCH);
        }
        let info = nvmlGpuInstanceProfileInfo_v2_t {
            version,
            id: profile.id,
            isP2pSupported: 0,
            sliceCount: profile.slices,
            instanceCount: profile.max,
            multiprocessorCount: multiprocessors(profile),
            copyEngineCount: profile.slices,
            decoderCount: profile.slices,
            encoderCount: 0,
            jpegCount: profile.slices,
            ofaCount: 0,
            memorySizeMB: subject.board.model.memory_mib(profile),
            name: array(&format!("MIG {}", profile.name)),
        };
        // SAFETY: as above, and it is writable.
        unsafe { put(out, info) }
    })
}
