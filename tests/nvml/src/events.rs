//! Event sets: the one thing that is kept between calls, since an error is reported to a set once and only when the
//! set was registered before it happened.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlEventData_t, nvmlEventSet_t, nvmlEventTypeXidCriticalError,
    nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT as INVALID_ARGUMENT,
    nvmlReturn_enum_NVML_ERROR_TIMEOUT as TIMEOUT, nvmlReturn_t,
};

use crate::call::{Outcome, Part, handle, on_device, on_system, put};
use crate::state;
use crate::world::World;

/// For each set, how many of a board's errors it has seen.
static SETS: Mutex<BTreeMap<usize, BTreeMap<u32, usize>>> = Mutex::new(BTreeMap::new());

fn sets() -> MutexGuard<'static, BTreeMap<usize, BTreeMap<u32, usize>>> {
    SETS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlEventSetCreate(out: *mut nvmlEventSet_t) -> nvmlReturn_t {
    on_system("nvmlEventSetCreate", |_| {
        let mut sets = sets();
        let id = sets.keys().next_back().map_or(1, |last| last + 1);
        sets.insert(id, BTreeMap::new());
        state::change("event_sets", 1);
        // SAFETY: the caller gives a writable handle, as nvml.h asks.
        unsafe { put(out, std::ptr::without_provenance_mut(id)) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlEventSetFree(set: nvmlEventSet_t) -> nvmlReturn_t {
    on_system("nvmlEventSetFree", |_| {
        sets().remove(&set.addr()).ok_or(INVALID_ARGUMENT)?;
        state::change("event_sets", -1);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceRegisterEvents(
    device: nvmlDevice_t,
    _types: u64,
    set: nvmlEventSet_t,
) -> nvmlReturn_t {
    on_device("nvmlDeviceRegisterEvents", device, |_, subject| {
        let mut sets = sets();
        let seen = sets.get_mut(&set.addr()).ok_or(INVALID_ARGUMENT)?;
        seen.insert(subject.gpu, subject.board.xids.len());
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlEventSetWait_v2(
    set: nvmlEventSet_t,
    out: *mut nvmlEventData_t,
    timeout: u32,
) -> nvmlReturn_t {
    let end = Instant::now() + Duration::from_millis(timeout.into());
    loop {
        let code = on_system("nvmlEventSetWait_v2", |world| {
            let (gpu, xid) = next(world, set)?;
            let event = nvmlEventData_t {
                device: handle(gpu, Part::Whole),
                eventType: nvmlEventTypeXidCriticalError.into(),
                eventData: xid,
                gpuInstanceId: u32::MAX,
                computeInstanceId: u32::MAX,
            };
            // SAFETY: the caller gives a writable structure, as nvml.h asks.
            unsafe { put(out, event) }
        });
        if code != TIMEOUT || Instant::now() >= end {
            return code;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The first error that the set has not seen.
fn next(world: &World, set: nvmlEventSet_t) -> Outcome<(u32, u64)> {
    let mut sets = sets();
    let seen = sets.get_mut(&set.addr()).ok_or(INVALID_ARGUMENT)?;
    for (gpu, count) in seen {
        let board = world.boards.get(gpu);
        if let Some(xid) = board.and_then(|board| board.xids.get(*count)) {
            *count += 1;
            return Ok((*gpu, *xid));
        }
    }
    Err(TIMEOUT)
}
