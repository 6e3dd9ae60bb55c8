//! Xid errors of one board, taken without waiting. A set for each board, so that one which cannot be watched does not
//! silence the others.

use std::sync::Arc;

use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings::{nvmlEventData_t, nvmlEventSet_t, nvmlEventTypeXidCriticalError};

use crate::calls::{free, raw};
use crate::device::Device;
use crate::error::{Answer, Error};
use crate::library::Library;

/// Not about an instance (nvml.h: GPU instance id of an event that concerns the whole board).
const WHOLE_BOARD: u32 = u32::MAX;

/// A watch over one board's critical errors, from its creation on.
pub struct XidWatch {
    library: Arc<Library>,
    set: nvmlEventSet_t,
}

/// One error the driver reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XidEvent {
    /// The Xid number.
    pub xid: u64,
    /// The GPU instance it concerns, when it concerns one.
    pub gpu_instance: Option<u32>,
}

// SAFETY: the handle is an index into the library's own tables, not bound to the thread that made it; `XidWatch` is
// not `Sync`, so no two threads use one set at a time.
unsafe impl Send for XidWatch {}

impl XidWatch {
    /// Starts to watch board `index`.
    pub fn start(library: &Arc<Library>, index: u32) -> Answer<Self> {
        let device: Device<'_> = library.device(index)?;
        let lib = library.lib();
        let mut set: nvmlEventSet_t = std::ptr::null_mut();
        raw(
            "nvmlEventSetCreate",
            lib.nvmlEventSetCreate.as_ref(),
            // SAFETY: `set` is a writable handle.
            |f| unsafe { f(&raw mut set) },
        )?;
        // From here on the set is freed when registering fails.
        let watch = Self {
            library: Arc::clone(library),
            set,
        };
        raw(
            "nvmlDeviceRegisterEvents",
            lib.nvmlDeviceRegisterEvents.as_ref(),
            // SAFETY: both handles were given by this library and are still valid.
            |f| unsafe { f(device.handle(), nvmlEventTypeXidCriticalError.into(), set) },
        )?;
        Ok(watch)
    }

    /// The next error that is already there; never waits for one.
    pub fn next(&self) -> Answer<Option<XidEvent>> {
        // SAFETY: a handle and integers; all bits zero is a value of each.
        let mut event: nvmlEventData_t = unsafe { std::mem::zeroed() };
        let waited = raw(
            "nvmlEventSetWait_v2",
            self.library.lib().nvmlEventSetWait_v2.as_ref(),
            // SAFETY: the set is valid until it is dropped; `event` is a writable structure of the filled type.
            |f| unsafe { f(self.set, &raw mut event, 0) },
        );
        match waited {
            Ok(()) => Ok(Some(XidEvent {
                xid: event.eventData,
                gpu_instance: Some(event.gpuInstanceId).filter(|id| *id != WHOLE_BOARD),
            })),
            Err(Error::Failed {
                source: NvmlError::Timeout,
                ..
            }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Drop for XidWatch {
    fn drop(&mut self) {
        // A driver without the function has nothing to free.
        free(
            "nvmlEventSetFree",
            self.library.lib().nvmlEventSetFree.as_ref(),
            // SAFETY: the set was created by this library and is freed once, here.
            |f| unsafe { f(self.set) },
        );
    }
}
