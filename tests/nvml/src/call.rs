//! What every exported function does first and last: read the world, meet the faults, write the answer through the
//! caller's pointer. Handles are numbers, so nothing has to be kept between calls.

use std::ffi::c_char;
use std::time::Duration;

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE as INSUFFICIENT_SIZE,
    nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT as INVALID_ARGUMENT,
    nvmlReturn_enum_NVML_ERROR_UNKNOWN as UNKNOWN, nvmlReturn_enum_NVML_SUCCESS as SUCCESS,
    nvmlReturn_t,
};

use crate::board::{Board, Instance};
use crate::world::{Effect, World};

/// The code a function returns instead of an answer.
pub(crate) type Outcome<T = ()> = Result<T, nvmlReturn_t>;

/// The board or MIG device that a call is about.
pub(crate) struct Subject<'w> {
    pub(crate) gpu: u32,
    pub(crate) board: &'w Board,
    pub(crate) instance: Option<&'w Instance>,
}

/// Answers a call that concerns no board.
pub(crate) fn on_system(call: &str, body: impl FnOnce(&World) -> Outcome) -> nvmlReturn_t {
    code(enter(call, None).and_then(|world| body(&world)))
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
    let (gpu, index) = parts(handle).ok_or(INVALID_ARGUMENT)?;
    let world = enter(call, Some(gpu))?;
    let board = world.boards.get(&gpu).ok_or(INVALID_ARGUMENT)?;
    let instance = match index {
        Some(index) => Some(board.instances.get(index).ok_or(INVALID_ARGUMENT)?),
        None => None,
    };
    body(
        &world,
        Subject {
            gpu,
            board,
            instance,
        },
    )
}

/// The world, once the faults that only take time are over.
pub(crate) fn enter(call: &str, gpu: Option<u32>) -> Outcome<World> {
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
            return Ok(world);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn code(outcome: Outcome) -> nvmlReturn_t {
    outcome.err().unwrap_or(SUCCESS)
}

/// A handle for a board, or for the device at `instance` of it. Never null.
pub(crate) fn handle<T>(gpu: u32, instance: Option<usize>) -> *mut T {
    let number = (gpu as usize + 1) << 8 | instance.map_or(0, |i| i + 1);
    std::ptr::without_provenance_mut(number)
}

/// The reverse of [`handle`].
pub(crate) fn parts(handle: usize) -> Option<(u32, Option<usize>)> {
    let gpu = u32::try_from((handle >> 8).checked_sub(1)?).ok()?;
    Some((gpu, (handle & 0xff).checked_sub(1)))
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
