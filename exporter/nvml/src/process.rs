//! Processes on a board: which there are, what they hold and how much they ran. The driver lists them by their number
//! on the host. It has had several calls for the same thing; the newest that it has is asked.

use nvml_wrapper::error::{NvmlError, nvml_sym};
use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlProcessInfo_v1_t, nvmlProcessInfo_v2_t, nvmlProcessUtilizationInfo_v1_t,
    nvmlProcessUtilizationSample_t, nvmlProcessesUtilizationInfo_v1_t, nvmlReturn_t,
};

use crate::calls::raw;
use crate::device::Device;
use crate::error::{Answer, Error, answer};

/// Room for processes that start between the two calls.
const HEADROOM: u32 = 16;
/// Tries until a list that grows meanwhile fits.
const TRIES: u32 = 4;
/// More processes on one board than any real list has.
const MOST: u32 = 65_536;

/// `NVML_STRUCT_VERSION(ProcessesUtilizationInfo, 1)` of nvml.h.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a structure of some 24 bytes; the size shares the word with the version"
)]
const UTILIZATION_V1: u32 = size_of::<nvmlProcessesUtilizationInfo_v1_t>() as u32 | 1 << 24;

/// The lists that a driver keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Processes with a compute context.
    Compute,
    /// Processes with a graphics context.
    Graphics,
    /// Clients of the multi-process service.
    Mps,
}

/// A process on a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number on the host.
    pub pid: u32,
    /// Bytes that it holds; `None` where the driver does not tell.
    pub memory: Option<u64>,
    /// GPU instance it runs in; `None` on a whole board and with old drivers.
    pub gpu_instance: Option<u32>,
    /// Compute instance within that.
    pub compute_instance: Option<u32>,
}

/// How much a process ran in one sampling period, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessSample {
    /// Whose.
    pub pid: u32,
    /// The driver's clock at the end of the period, in microseconds.
    pub at: u64,
    /// Its kernels ran.
    pub sm: u32,
    /// They read or wrote memory.
    pub memory: u32,
    /// The encoder worked for it.
    pub encoder: u32,
    /// The decoder worked for it.
    pub decoder: u32,
}

type ListCall<T> = unsafe extern "C" fn(nvmlDevice_t, *mut u32, *mut T) -> nvmlReturn_t;
type Found<'l, T> = Result<&'l ListCall<T>, &'l libloading::Error>;

impl Device<'_> {
    /// Processes of one list: by the third version of the call, else the second, else the first, which knows no
    /// instances.
    pub fn processes(&self, list: List) -> Answer<Vec<Process>> {
        let lib = self.library.lib();
        let (third, second, first) = match list {
            List::Compute => (
                (
                    "nvmlDeviceGetComputeRunningProcesses_v3",
                    lib.nvmlDeviceGetComputeRunningProcesses_v3.as_ref(),
                ),
                (
                    "nvmlDeviceGetComputeRunningProcesses_v2",
                    lib.nvmlDeviceGetComputeRunningProcesses_v2.as_ref(),
                ),
                (
                    "nvmlDeviceGetComputeRunningProcesses",
                    lib.nvmlDeviceGetComputeRunningProcesses.as_ref(),
                ),
            ),
            List::Graphics => (
                (
                    "nvmlDeviceGetGraphicsRunningProcesses_v3",
                    lib.nvmlDeviceGetGraphicsRunningProcesses_v3.as_ref(),
                ),
                (
                    "nvmlDeviceGetGraphicsRunningProcesses_v2",
                    lib.nvmlDeviceGetGraphicsRunningProcesses_v2.as_ref(),
                ),
                (
                    "nvmlDeviceGetGraphicsRunningProcesses",
                    lib.nvmlDeviceGetGraphicsRunningProcesses.as_ref(),
                ),
            ),
            List::Mps => (
                (
                    "nvmlDeviceGetMPSComputeRunningProcesses_v3",
                    lib.nvmlDeviceGetMPSComputeRunningProcesses_v3.as_ref(),
                ),
                (
                    "nvmlDeviceGetMPSComputeRunningProcesses_v2",
                    lib.nvmlDeviceGetMPSComputeRunningProcesses_v2.as_ref(),
                ),
                (
                    "nvmlDeviceGetMPSComputeRunningProcesses",
                    lib.nvmlDeviceGetMPSComputeRunningProcesses.as_ref(),
                ),
            ),
        };
        for (call, function) in [third, second] {
            match self.list::<nvmlProcessInfo_v2_t>(call, function) {
                Err(error) if error.is_unsupported() => {}
                found => return Ok(found?.into_iter().map(with_instances).collect()),
            }
        }
        let (call, function) = first;
        let found = self.list::<nvmlProcessInfo_v1_t>(call, function)?;
        let whole = |info: nvmlProcessInfo_v1_t| Process {
            pid: info.pid,
            memory: known(info.usedGpuMemory),
            gpu_instance: None,
            compute_instance: None,
        };
        Ok(found.into_iter().map(whole).collect())
    }

    fn list<T: Copy>(&self, call: &'static str, function: Found<'_, T>) -> Answer<Vec<T>> {
        let function = match nvml_sym(function) {
            Ok(function) => *function,
            Err(source) => return answer(call, Err(source)),
        };
        grow(|room, buffer: &mut Vec<T>| {
            let mut count = room;
            let start = if room == 0 {
                std::ptr::null_mut()
            } else {
                buffer.as_mut_ptr()
            };
            // SAFETY: `buffer` has room for `count` elements, or the pointer is null and `count` 0; the library writes
            // at most `count` elements and their number.
            let outcome = raw(call, Ok(&function), |f| unsafe {
                f(self.handle(), &raw mut count, start)
            });
            if outcome.is_ok() {
                // SAFETY: the library filled as many elements as it counted, and not more than there is room for.
                unsafe { buffer.set_len(count.min(room) as usize) };
            }
            (outcome, count)
        })
    }

    /// What processes did since `since`, a time of the driver's clock; empty when none ran. Not supported while MIG is
    /// on. Blackwell knows only the newer call, boards before it only the older.
    pub fn process_samples(&self, since: u64) -> Answer<Vec<ProcessSample>> {
        let samples = match self.samples_by_new_call(since) {
            Err(error) if error.is_unsupported() => self.samples_by_old_call(since),
            samples => samples,
        };
        match samples {
            // The driver's way to say that nothing ran.
            Err(Error::Failed {
                source: NvmlError::NotFound,
                ..
            }) => Ok(Vec::new()),
            samples => samples,
        }
    }

    fn samples_by_new_call(&self, since: u64) -> Answer<Vec<ProcessSample>> {
        let function = self
            .library
            .lib()
            .nvmlDeviceGetProcessesUtilizationInfo
            .as_ref();
        let found = grow(|room, buffer: &mut Vec<nvmlProcessUtilizationInfo_v1_t>| {
            let mut request = nvmlProcessesUtilizationInfo_v1_t {
                version: UTILIZATION_V1,
                processSamplesCount: room,
                lastSeenTimeStamp: since,
                procUtilArray: if room == 0 {
                    std::ptr::null_mut()
                } else {
                    buffer.as_mut_ptr()
                },
            };
            // SAFETY: the request names a buffer with room for as many elements as it says, or null and 0.
            let outcome = raw(
                "nvmlDeviceGetProcessesUtilizationInfo",
                function,
                |f| unsafe { f(self.handle(), &raw mut request) },
            );
            let count = request.processSamplesCount;
            if outcome.is_ok() {
                // SAFETY: the library filled as many elements as it counted, and not more than there is room for.
                unsafe { buffer.set_len(count.min(room) as usize) };
            }
            (outcome, count)
        })?;
        let sample = |one: nvmlProcessUtilizationInfo_v1_t| ProcessSample {
            pid: one.pid,
            at: one.timeStamp,
            sm: one.smUtil,
            memory: one.memUtil,
            encoder: one.encUtil,
            decoder: one.decUtil,
        };
        Ok(found.into_iter().map(sample).collect())
    }

    fn samples_by_old_call(&self, since: u64) -> Answer<Vec<ProcessSample>> {
        let function = self.library.lib().nvmlDeviceGetProcessUtilization.as_ref();
        let found = grow(|room, buffer: &mut Vec<nvmlProcessUtilizationSample_t>| {
            let mut count = room;
            let start = if room == 0 {
                std::ptr::null_mut()
            } else {
                buffer.as_mut_ptr()
            };
            // SAFETY: `buffer` has room for `count` elements, or the pointer is null and `count` 0.
            let outcome = raw("nvmlDeviceGetProcessUtilization", function, |f| unsafe {
                f(self.handle(), start, &raw mut count, since)
            });
            if outcome.is_ok() {
                // SAFETY: the library filled as many elements as it counted, and not more than there is room for.
                unsafe { buffer.set_len(count.min(room) as usize) };
            }
            (outcome, count)
        })?;
        let sample = |one: nvmlProcessUtilizationSample_t| ProcessSample {
            pid: one.pid,
            at: one.timeStamp,
            sm: one.smUtil,
            memory: one.memUtil,
            encoder: one.encUtil,
            decoder: one.decUtil,
        };
        Ok(found.into_iter().map(sample).collect())
    }
}

/// Asks for the number of elements, then for the elements, again while they become more.
fn grow<T>(mut ask: impl FnMut(u32, &mut Vec<T>) -> (Answer<()>, u32)) -> Answer<Vec<T>> {
    let mut room = 0;
    let mut tries = 0;
    loop {
        let mut buffer = Vec::with_capacity(room as usize);
        let (outcome, count) = ask(room, &mut buffer);
        match outcome {
            Ok(()) if count <= room => return Ok(buffer),
            Ok(())
            | Err(Error::Failed {
                source: NvmlError::InsufficientSize(_),
                ..
            }) if tries < TRIES => {
                tries += 1;
                room = count.max(room).saturating_add(HEADROOM).min(MOST);
            }
            Ok(()) => return Ok(buffer),
            Err(error) => return Err(error),
        }
    }
}

fn with_instances(info: nvmlProcessInfo_v2_t) -> Process {
    let instance = |id: u32| Some(id).filter(|id| *id != u32::MAX);
    Process {
        pid: info.pid,
        memory: known(info.usedGpuMemory),
        gpu_instance: instance(info.gpuInstanceId),
        compute_instance: instance(info.computeInstanceId),
    }
}

/// `NVML_VALUE_NOT_AVAILABLE` of nvml.h.
fn known(bytes: u64) -> Option<u64> {
    Some(bytes).filter(|bytes| *bytes != u64::MAX)
}
