//! What every exported function does first and last: read the world, meet the faults, write the answer through the
//! caller's pointer. Handles are numbers, so nothing has to be kept between calls.

use std::ffi::c_char;
use std::time::Duration;

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE as INSUFFICIENT_SIZE,
    nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT as INVALID_ARGUMENT,
    nvmlReturn_enum_NVML_ERROR_UNINITIALIZED as UNINITIALIZED,
    nvmlReturn_enum_NVML_ERROR_UNKNOWN as UNKNOWN, nvmlReturn_enum_NVML_SUCCESS as SUCCESS,
    nvmlReturn_t,
};

use std::sync::Arc;

use crate::board::{Board, Compute, Instance};
use crate::state::{self, Running};
use crate::world::{Effect, World};

/// The code a function returns instead of an answer.
pub(crate) type Outcome<T = ()> = Result<T, nvmlReturn_t>;

/// The board, GPU instance or MIG device that a call is about.
pub(crate) struct Subject<'w> {
    pub(crate) gpu: u32,
    pub(crate) board: &'w Board,
    /// Of an instance and of a device in it.
    pub(crate) instance: Option<&'w Instance>,
    /// Of a device.
    pub(crate) compute: Option<&'w Compute>,
}

/// What a handle stands for on its board.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    /// GPU instance at this place of the list.
    Instance(usize),
    /// MIG device at this place of the list.
    Device(usize),
}

/// Answers a call that concerns no board.
pub(crate) fn on_system(call: &str, body: impl FnOnce(&World) -> Outcome) -> nvmlReturn_t {
    code(enter(call, None).and_then(|(world, _running)| body(&world)))
}

/// Answers a call on a board or a MIG device.
pub(crate) fn on_device(
    call: &str,
    device: nvmlDevice_t,
    body: impl FnOnce(&World, Subject<'_>) -> Outcome,
) -> nvmlReturn_t {
    code(answer_on_device(call, device.addr(), body))
}

fn answer_on_device(
    call: &str,
    handle: usize,
    body: impl FnOnce(&World, Subject<'_>) -> Outcome,
) -> Outcome {
    let (gpu, part) = parts(handle).ok_or(INVALID_ARGUMENT)?;
    let (world, _running) = enter(call, Some(gpu))?;
    let board = world.boards.get(&gpu).ok_or(INVALID_ARGUMENT)?;
    let (instance, compute) = match part {
        Part::Whole => (None, None),
        Part::Instance(index) => {
            let instance = board.instances.get(index);
            (Some(instance.ok_or(INVALID_ARGUMENT)?), None)
        }
        Part::Device(index) => {
            let (instance, compute) = board.devices().nth(index).ok_or(INVALID_ARGUMENT)?;
            (Some(instance), Some(compute))
        }
    };
    body(
        &world,
        Subject {
            gpu,
            board,
            instance,
            compute,
        },
    )
}

/// The world, once the faults that only take time are over.
pub(crate) fn enter(call: &str, gpu: Option<u32>) -> Outcome<(Arc<World>, Running)> {
    let running = Running::begin();
    // The calls that may come before the library is initialised.
    if !call.starts_with("nvmlInit") && !state::is_open() {
        return Err(UNINITIALIZED);
    }
    loop {
        let world = World::read().map_err(|complaint| {
            eprintln!("driver library for tests: {complaint}");
            UNKNOWN
        })?;
        let mut hangs = false;
        for effect in world.faults(call, gpu) {
            match effect {
                Effect::Return(code) => return Err(code),
                Effect::Delay(time) => std::thread::sleep(time),
                Effect::Hang => hangs = true,
            }
        }
        if !hangs {
            return Ok((world, running));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn code(outcome: Outcome) -> nvmlReturn_t {
    outcome.err().unwrap_or(SUCCESS)
}

/// A handle for a board or a part of it. Never null.
pub(crate) fn handle<T>(gpu: u32, part: Part) -> *mut T {
    let part = match part {
        Part::Whole => 0,
        Part::Instance(index) => 0x100 | index,
        Part::Device(index) => 0x200 | index,
    };
    std::ptr::without_provenance_mut((gpu as usize + 1) << 12 | part)
}

/// The reverse of [`handle`].
pub(crate) fn parts(handle: usize) -> Option<(u32, Part)> {
    let gpu = u32::try_from((handle >> 12).checked_sub(1)?).ok()?;
    let index = handle & 0xff;
    let part = match (handle >> 8) & 0xf {
        0 => Part::Whole,
        1 => Part::Instance(index),
        2 => Part::Device(index),
        _ => return None,
    };
    Some((gpu, part))
}

/// Gives the caller a value.
///
/// # Safety
/// `out` is null or points to writable memory for a `T`.
pub(crate) unsafe fn put<T>(out: *mut T, value: T) -> Outcome {
    if out.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: not null, and writable by this function's contract.
    unsafe { out.write(value) };
    Ok(())
}

/// Gives the caller a text with its NUL.
///
/// # Safety
/// `out` is null or points to `length` writable bytes.
pub(crate) unsafe fn put_text(out: *mut c_char, length: u32, text: &str) -> Outcome {
    if out.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    if text.len() >= length as usize {
        return Err(INSUFFICIENT_SIZE);
    }
    // SAFETY: the text and its NUL fit into `length` bytes, which are writable by this function's contract.
    unsafe {
        out.copy_from_nonoverlapping(text.as_ptr().cast(), text.len());
        out.add(text.len()).write(0);
    }
    Ok(())
}

/// A text as a C array of fixed size, cut where it does not fit.
pub(crate) fn array<const N: usize>(text: &str) -> [c_char; N] {
    let mut array = [0; N];
    for (slot, byte) in array.iter_mut().take(N - 1).zip(text.bytes()) {
        *slot = byte.cast_signed();
    }
    array
}
