//! NVIDIA's management library (NVML), opened at run time: safe calls that return plain types.
//!
//! What it never does: turn a missing answer into a number, retry, keep a clock, or start a thread. A call can hang
//! inside the driver for ever, and concurrent callers have crashed kernels: the caller owns this crate from one
//! thread and watches that thread from another.
#![expect(
    unsafe_code,
    reason = "the driver library is C: this crate and the library for tests alone may call across"
)]

mod calls;
mod device;
mod error;
mod fields;
mod gpm;
mod library;
mod mig;
mod process;
mod xid;

pub use calls::Pulse;
pub use device::{Device, Identity, InfoRom, Memory, Utilization};
pub use error::{Answer, Error};
pub use fields::{Field, Fields};
pub use gpm::{GpmRatios, GpmSample};
pub use library::Library;
pub use mig::{GpuInstance, GpuProfile, MigDevice, MigMode, Placement, gpu_instance_profile};
pub use process::{List, Process, ProcessSample};
pub use xid::{XidEvent, XidWatch};
