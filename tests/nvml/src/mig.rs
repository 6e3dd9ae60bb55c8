//! Partitions: the mode, the devices of a partitioned board, and their profiles and places.

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlDeviceAttributes_t, nvmlGpuInstance_t, nvmlGpuInstanceInfo_t,
    nvmlGpuInstancePlacement_t, nvmlGpuInstanceProfileInfo_v2_t,
    nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT as INVALID_ARGUMENT,
    nvmlReturn_enum_NVML_ERROR_NOT_FOUND as NOT_FOUND,
    nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED as NOT_SUPPORTED, nvmlReturn_t,
};

use crate::board::Instance;
use crate::call::{Outcome, Subject, array, handle, on_device, parts, put};

/// Seven compute slices: as many devices as a board of these products can have.
const MOST_DEVICES: u32 = 7;

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
        let most = subject.board.mig.map_or(0, |_| MOST_DEVICES);
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
    on_device(
        "nvmlDeviceGetMigDeviceHandleByIndex",
        device,
        |_, subject| {
            let index = index as usize;
            if subject.board.mig != Some(true) || index >= subject.board.instances.len() {
                return Err(NOT_FOUND);
            }
            // SAFETY: the caller gives a writable handle, as nvml.h asks.
            unsafe { put(out, handle(subject.gpu, Some(index))) }
        },
    )
}

fn instance<'w>(subject: &Subject<'w>) -> Outcome<&'w Instance> {
    subject.instance.ok_or(NOT_SUPPORTED)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetGpuInstanceId(
    device: nvmlDevice_t,
    out: *mut u32,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetGpuInstanceId", device, |_, subject| {
        // SAFETY: the caller gives a writable integer, as nvml.h asks.
        unsafe { put(out, instance(&subject)?.id) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetComputeInstanceId(
    device: nvmlDevice_t,
    out: *mut u32,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetComputeInstanceId", device, |_, subject| {
        instance(&subject)?;
        // SAFETY: the caller gives a writable integer, as nvml.h asks.
        unsafe { put(out, 0) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetAttributes_v2(
    device: nvmlDevice_t,
    out: *mut nvmlDeviceAttributes_t,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetAttributes_v2", device, |_, subject| {
        let profile = instance(&subject)?.profile;
        let attributes = nvmlDeviceAttributes_t {
            multiprocessorCount: profile.multiprocessors,
            sharedCopyEngineCount: profile.slices,
            sharedDecoderCount: profile.slices,
            sharedEncoderCount: 0,
            sharedJpegCount: profile.slices,
            sharedOfaCount: 0,
            gpuInstanceSliceCount: profile.slices,
            computeInstanceSliceCount: profile.slices,
            memorySizeMB: profile.memory_mib,
        };
        // SAFETY: the caller gives a writable structure, as nvml.h asks.
        unsafe { put(out, attributes) }
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
        unsafe { put(out, handle(subject.gpu, Some(index))) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlGpuInstanceGetInfo(
    gpu_instance: nvmlGpuInstance_t,
    out: *mut nvmlGpuInstanceInfo_t,
) -> nvmlReturn_t {
    // A GPU instance's handle has the form of a MIG device's.
    let device: nvmlDevice_t = gpu_instance.cast();
    on_device("nvmlGpuInstanceGetInfo", device, |_, subject| {
        let instance = instance(&subject)?;
        let (gpu, _) = parts(device.addr()).ok_or(INVALID_ARGUMENT)?;
        let info = nvmlGpuInstanceInfo_t {
            device: handle(gpu, None),
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

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetGpuInstanceProfileInfoByIdV(
    device: nvmlDevice_t,
    profile: u32,
    out: *mut nvmlGpuInstanceProfileInfo_v2_t,
) -> nvmlReturn_t {
    let call = "nvmlDeviceGetGpuInstanceProfileInfoByIdV";
    on_device(call, device, |_, subject| {
        let mut profiles = subject.board.model.profiles.iter();
        let profile = profiles.find(|p| p.id == profile).ok_or(NOT_SUPPORTED)?;
        // SAFETY: the caller gives an initialised structure or null, as nvml.h asks.
        let version = unsafe { out.as_ref() }.ok_or(INVALID_ARGUMENT)?.version;
        let info = nvmlGpuInstanceProfileInfo_v2_t {
            version,
            id: profile.id,
            isP2pSupported: 0,
            sliceCount: profile.slices,
            instanceCount: MOST_DEVICES / profile.slices,
            multiprocessorCount: profile.multiprocessors,
            copyEngineCount: profile.slices,
            decoderCount: profile.slices,
            encoderCount: 0,
            jpegCount: profile.slices,
            ofaCount: 0,
            memorySizeMB: profile.memory_mib,
            name: array(&format!("MIG {}", profile.name)),
        };
        // SAFETY: as above, and it is writable.
        unsafe { put(out, info) }
    })
}
