//! Processes: the three lists in the three versions that drivers have had, and both calls for what processes did.

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlProcessInfo_v1_t, nvmlProcessInfo_v2_t, nvmlProcessUtilizationInfo_v1_t,
    nvmlProcessUtilizationSample_t, nvmlProcessesUtilizationInfo_v1_t,
    nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE as INSUFFICIENT_SIZE,
    nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT as INVALID_ARGUMENT,
    nvmlReturn_enum_NVML_ERROR_NOT_FOUND as NOT_FOUND,
    nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED as NOT_SUPPORTED, nvmlReturn_t,
};

use crate::board::Process;
use crate::call::{Outcome, Subject, on_device, put};

const MIB: u64 = 1 << 20;

/// `NVML_VALUE_NOT_AVAILABLE` of nvml.h.
fn bytes(process: &Process) -> u64 {
    process.used_mib.map_or(u64::MAX, |mib| mib * MIB)
}

fn newer(process: &Process) -> nvmlProcessInfo_v2_t {
    nvmlProcessInfo_v2_t {
        pid: process.pid,
        usedGpuMemory: bytes(process),
        gpuInstanceId: process.gpu_instance.unwrap_or(u32::MAX),
        computeInstanceId: process.gpu_instance.map_or(u32::MAX, |_| 0),
    }
}

fn older(process: &Process) -> nvmlProcessInfo_v1_t {
    nvmlProcessInfo_v1_t {
        pid: process.pid,
        usedGpuMemory: bytes(process),
    }
}

/// Gives the caller a list; where it does not fit, its length with `INSUFFICIENT_SIZE`.
///
/// # Safety
/// `count` is writable and says for how many elements there is room at `out`.
unsafe fn give<T>(out: *mut T, count: *mut u32, list: Vec<T>) -> Outcome {
    let length = u32::try_from(list.len()).map_err(|_| INSUFFICIENT_SIZE)?;
    // SAFETY: writable by this function's contract.
    let room = *unsafe { count.as_ref() }.ok_or(INVALID_ARGUMENT)?;
    // SAFETY: as above.
    unsafe { put(count, length) }?;
    if length > room || (length > 0 && out.is_null()) {
        return Err(INSUFFICIENT_SIZE);
    }
    for (index, value) in list.into_iter().enumerate() {
        // SAFETY: within the room that the caller says there is.
        unsafe { out.add(index).write(value) };
    }
    Ok(())
}

fn of_list<'w>(subject: &Subject<'w>, list: &'static str) -> impl Iterator<Item = &'w Process> {
    let all = subject.board.processes.iter();
    all.filter(move |process| process.list == list)
}

/// The calls of one list.
macro_rules! lists {
    ($($function:ident: $info:ty = $list:literal as $form:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $function(
            device: nvmlDevice_t,
            count: *mut u32,
            out: *mut $info,
        ) -> nvmlReturn_t {
            on_device(stringify!($function), device, |_, subject| {
                let list = of_list(&subject, $list).map($form).collect();
                // SAFETY: the caller gives a list and its room, as nvml.h asks.
                unsafe { give(out, count, list) }
            })
        }
    )*};
}

lists! {
    nvmlDeviceGetComputeRunningProcesses_v3: nvmlProcessInfo_v2_t = "compute" as newer;
    nvmlDeviceGetComputeRunningProcesses_v2: nvmlProcessInfo_v2_t = "compute" as newer;
    nvmlDeviceGetComputeRunningProcesses: nvmlProcessInfo_v1_t = "compute" as older;
    nvmlDeviceGetGraphicsRunningProcesses_v3: nvmlProcessInfo_v2_t = "graphics" as newer;
    nvmlDeviceGetGraphicsRunningProcesses_v2: nvmlProcessInfo_v2_t = "graphics" as newer;
    nvmlDeviceGetGraphicsRunningProcesses: nvmlProcessInfo_v1_t = "graphics" as older;
    nvmlDeviceGetMPSComputeRunningProcesses_v3: nvmlProcessInfo_v2_t = "mps" as newer;
    nvmlDeviceGetMPSComputeRunningProcesses_v2: nvmlProcessInfo_v2_t = "mps" as newer;
    nvmlDeviceGetMPSComputeRunningProcesses: nvmlProcessInfo_v1_t = "mps" as older;
}

/// Processes that ran, each with its number and two shares; the driver says "not found" when none did.
fn ran(subject: &Subject<'_>) -> Outcome<Vec<(u32, u32, u32)>> {
    if subject.board.mig == Some(true) {
        return Err(NOT_SUPPORTED);
    }
    let processes = subject.board.processes.iter();
    let busy = processes.filter_map(|p| p.busy.map(|(sm, memory)| (p.pid, sm, memory)));
    let busy: Vec<_> = busy.collect();
    if busy.is_empty() {
        return Err(NOT_FOUND);
    }
    Ok(busy)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetProcessUtilization(
    device: nvmlDevice_t,
    out: *mut nvmlProcessUtilizationSample_t,
    count: *mut u32,
    since: u64,
) -> nvmlReturn_t {
    on_device("nvmlDeviceGetProcessUtilization", device, |_, subject| {
        let sample = |(pid, sm, memory)| nvmlProcessUtilizationSample_t {
            pid,
            timeStamp: since + 1_000_000,
            smUtil: sm,
            memUtil: memory,
            encUtil: 0,
            decUtil: 0,
        };
        let samples = ran(&subject)?.into_iter().map(sample).collect();
        // SAFETY: the caller gives a list and its room, as nvml.h asks.
        unsafe { give(out, count, samples) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetProcessesUtilizationInfo(
    device: nvmlDevice_t,
    request: *mut nvmlProcessesUtilizationInfo_v1_t,
) -> nvmlReturn_t {
    let call = "nvmlDeviceGetProcessesUtilizationInfo";
    on_device(call, device, |_, subject| {
        // SAFETY: the caller gives an initialised, writable structure or null, as nvml.h asks.
        let request = unsafe { request.as_mut() }.ok_or(INVALID_ARGUMENT)?;
        let since = request.lastSeenTimeStamp;
        let sample = |(pid, sm, memory)| nvmlProcessUtilizationInfo_v1_t {
            timeStamp: since + 1_000_000,
            pid,
            smUtil: sm,
            memUtil: memory,
            encUtil: 0,
            decUtil: 0,
            jpgUtil: 0,
            ofaUtil: 0,
        };
        let samples = ran(&subject)?.into_iter().map(sample).collect();
        let (out, count) = (request.procUtilArray, &raw mut request.processSamplesCount);
        // SAFETY: the structure names a list and its room, as nvml.h asks.
        unsafe { give(out, count, samples) }
    })
}
