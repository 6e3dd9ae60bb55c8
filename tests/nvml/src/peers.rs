//! Functions that the exporter does not call and the exporters that it is compared with do: other ways to the same boards.

use std::ffi::{CStr, c_char};

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlReturn_enum_NVML_ERROR_NOT_FOUND as NOT_FOUND, nvmlReturn_t,
};

use crate::call::{Part, handle, on_device, on_system, put};
use crate::state;

#[unsafe(no_mangle)]
extern "C" fn nvmlInitWithFlags(_flags: u32) -> nvmlReturn_t {
    on_system("nvmlInitWithFlags", |_| {
        state::change("open", 1);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlErrorString(code: nvmlReturn_t) -> *const c_char {
    let text: &'static CStr = match code {
        0 => c"Success",
        3 => c"Not Supported",
        13 => c"Function Not Found",
        _ => c"Unknown Error",
    };
    text.as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetCudaDriverVersion(out: *mut i32) -> nvmlReturn_t {
    on_system("nvmlSystemGetCudaDriverVersion", |_| {
        // SAFETY: the caller gives a writable integer, as nvml.h asks.
        unsafe { put(out, 13_010) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetCudaDriverVersion_v2(out: *mut i32) -> nvmlReturn_t {
    // SAFETY: the same contract.
    unsafe { nvmlSystemGetCudaDriverVersion(out) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetIndex(device: nvmlDevice_t, out: *mut u32) -> nvmlReturn_t {
    on_device("nvmlDeviceGetIndex", device, |_, subject| {
        // SAFETY: the caller gives a writable integer, as nvml.h asks.
        unsafe { put(out, subject.gpu) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByUUID(
    uuid: *const c_char,
    out: *mut nvmlDevice_t,
) -> nvmlReturn_t {
    on_system("nvmlDeviceGetHandleByUUID", |world| {
        // SAFETY: the caller gives a text that ends with a NUL, as nvml.h asks.
        let wanted = unsafe { CStr::from_ptr(uuid) }.to_string_lossy();
        let known = |gpu: u32, own: Option<&String>| match own {
            Some(own) => *own == wanted,
            None => wanted == format!("GPU-00000000-0000-0000-0000-{gpu:012}"),
        };
        let mut boards = world.boards.iter();
        let found = boards.find(|(gpu, board)| known(**gpu, board.uuid.as_ref()));
        let (gpu, _) = found.ok_or(NOT_FOUND)?;
        // SAFETY: the caller gives a writable handle, as nvml.h asks.
        unsafe { put(out, handle(*gpu, Part::Whole)) }
    })
}
