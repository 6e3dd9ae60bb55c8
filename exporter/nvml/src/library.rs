//! The opened library. Nothing here reads a device.

use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings::NvmlLib;

use crate::calls::{ask, free};
use crate::device::Device;
use crate::error::{Answer, Error, answer};

/// Where the driver installs the library; found by the loader's search path.
const DEFAULT: &str = "libnvidia-ml.so.1";

/// NVML, loaded and initialised; shut down once, by [`Library::close`] or when the last owner drops it.
pub struct Library {
    nvml: ManuallyDrop<Nvml>,
    closed: AtomicBool,
}

impl Library {
    /// Loads the library from `path` (default: `libnvidia-ml.so.1` by the loader's search path) and initialises it.
    /// A failure leaves nothing loaded, so it may be tried again.
    pub fn open(path: Option<&Path>) -> Answer<Self> {
        let file = path.unwrap_or(Path::new(DEFAULT));
        let opened = ask("nvmlInit_v2", || {
            Nvml::builder().lib_path(file.as_os_str()).init()
        });
        let nvml = opened.map_err(|error| match error {
            Error::Failed { source, .. } | Error::Unsupported { source, .. } => Error::Start {
                library: file.display().to_string(),
                source,
            },
            error => error,
        })?;
        Ok(Self {
            nvml: ManuallyDrop::new(nvml),
            closed: AtomicBool::new(false),
        })
    }

    /// Shuts NVML down although others still hold the library: one of their calls hangs and they cannot let go. Their
    /// further calls fail with `UNINITIALIZED`; the file stays loaded, since a call may be on its way back through it.
    pub fn close(&self) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            free("nvmlShutdown", self.lib().nvmlShutdown.as_ref(), |f| {
                // SAFETY: no arguments; NVML refuses later calls by itself.
                unsafe { f() }
            });
        }
    }

    /// The driver's version, such as `590.48.01`.
    pub fn driver_version(&self) -> Answer<String> {
        ask("nvmlSystemGetDriverVersion", || {
            self.nvml.sys_driver_version()
        })
    }

    /// The management library's own version, such as `12.590.48.01`.
    pub fn nvml_version(&self) -> Answer<String> {
        ask("nvmlSystemGetNVMLVersion", || self.nvml.sys_nvml_version())
    }

    /// Number of boards that the driver knows, lost ones included.
    pub fn device_count(&self) -> Answer<u32> {
        ask("nvmlDeviceGetCount_v2", || self.nvml.device_count())
    }

    /// Board `index`, counted from 0 in PCI bus order.
    pub fn device(&self, index: u32) -> Answer<Device<'_>> {
        let inner = ask("nvmlDeviceGetHandleByIndex_v2", || {
            self.nvml.device_by_index(index)
        })?;
        Ok(Device::new(self, inner, index))
    }

    pub(crate) fn lib(&self) -> &NvmlLib {
        self.nvml.lib()
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        if !*self.closed.get_mut() {
            // SAFETY: dropped once, here, and not used afterwards. After `close` it is left alone: its shutdown would
            // take away an initialisation that somebody made since.
            unsafe { ManuallyDrop::drop(&mut self.nvml) };
        }
    }
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
