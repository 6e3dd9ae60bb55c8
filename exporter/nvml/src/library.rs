//! The opened library. Dropping it shuts NVML down and unloads the file; nothing here reads a device.

use std::path::Path;

use nvml_wrapper::Nvml;
use nvml_wrapper::error::{NvmlError, nvml_sym, nvml_try};
use nvml_wrapper_sys::bindings::nvmlReturn_t;

use crate::device::Device;
use crate::error::{Answer, Error, answer};

/// Where the driver installs the library; found by the loader's search path.
const DEFAULT: &str = "libnvidia-ml.so.1";

/// NVML, loaded and initialised.
pub struct Library {
    pub(crate) nvml: Nvml,
}

impl Library {
    /// Loads the library from `path` (default: `libnvidia-ml.so.1` by the loader's search path) and initialises it.
    /// A failure leaves nothing loaded, so it may be tried again.
    pub fn open(path: Option<&Path>) -> Answer<Self> {
        let file = path.unwrap_or(Path::new(DEFAULT));
        Nvml::builder()
            .lib_path(file.as_os_str())
            .init()
            .map(|nvml| Self { nvml })
            .map_err(|source| Error::Start {
                library: file.display().to_string(),
                source,
            })
    }

    /// The driver's version, such as `590.48.01`.
    pub fn driver_version(&self) -> Answer<String> {
        answer("nvmlSystemGetDriverVersion", self.nvml.sys_driver_version())
    }

    /// Number of boards that the driver knows, lost ones included.
    pub fn device_count(&self) -> Answer<u32> {
        answer("nvmlDeviceGetCount_v2", self.nvml.device_count())
    }

    /// Board `index`, counted from 0 in PCI bus order.
    pub fn device(&self, index: u32) -> Answer<Device<'_>> {
        let inner = answer(
            "nvmlDeviceGetHandleByIndex_v2",
            self.nvml.device_by_index(index),
        )?;
        Ok(Device::new(self, inner, index))
    }
}

/// Calls a function that the wrapper does not offer, if this driver has it.
pub(crate) fn raw<F>(
    call: &'static str,
    function: Result<&F, &libloading::Error>,
    invoke: impl FnOnce(&F) -> nvmlReturn_t,
) -> Answer<()> {
    answer(
        call,
        nvml_sym(function).and_then(|function| nvml_try(invoke(function))),
    )
}

/// Text of a C buffer up to its NUL; a buffer without one is an error, not an over-read.
pub(crate) fn text(call: &'static str, buffer: &[std::ffi::c_char]) -> Answer<String> {
    let bytes: Vec<u8> = buffer
        .iter()
        .take_while(|c| **c != 0)
        .map(|c| c.cast_unsigned())
        .collect();
    let text = std::str::from_utf8(&bytes).map(str::to_owned);
    answer(call, text.map_err(NvmlError::from))
}
