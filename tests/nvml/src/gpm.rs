//! Performance monitoring: samples are kept until they are freed. The ratios are readings of the file in percent,
//! `gpm_graphics`, `gpm_sm`, `gpm_occupancy`, `gpm_tensor` and `gpm_dram` of a board, and with `.ID` after the name those
//! of a GPU instance.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlGpmMetricsGet_t, nvmlGpmSample_t, nvmlGpmSupport_t,
    nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT as INVALID_ARGUMENT,
    nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED as NOT_SUPPORTED,
    nvmlReturn_enum_NVML_SUCCESS as SUCCESS, nvmlReturn_t,
};

use crate::call::{Outcome, on_device, on_system, put};
use crate::state;
use crate::world::World;

/// What was sampled: a board, and one of its instances. `None` before it is filled.
type Sampled = Option<(u32, Option<u32>)>;

static SAMPLES: Mutex<BTreeMap<usize, Sampled>> = Mutex::new(BTreeMap::new());

fn samples() -> MutexGuard<'static, BTreeMap<usize, Sampled>> {
    SAMPLES.lock().unwrap_or_else(PoisonError::into_inner)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlGpmQueryDeviceSupport(
    device: nvmlDevice_t,
    out: *mut nvmlGpmSupport_t,
) -> nvmlReturn_t {
    on_device("nvmlGpmQueryDeviceSupport", device, |_, subject| {
        let support = nvmlGpmSupport_t {
            version: 1,
            isSupportedDevice: u32::from(subject.board.readings.contains_key("gpm_graphics")),
        };
        // SAFETY: the caller gives a writable structure, as nvml.h asks.
        unsafe { put(out, support) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlGpmSampleAlloc(out: *mut nvmlGpmSample_t) -> nvmlReturn_t {
    on_system("nvmlGpmSampleAlloc", |_| {
        let mut samples = samples();
        let id = samples.keys().next_back().map_or(1, |last| last + 1);
        samples.insert(id, None);
        state::change("samples", 1);
        // SAFETY: the caller gives a writable handle, as nvml.h asks.
        unsafe { put(out, std::ptr::without_provenance_mut(id)) }
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlGpmSampleFree(sample: nvmlGpmSample_t) -> nvmlReturn_t {
    on_system("nvmlGpmSampleFree", |_| {
        samples().remove(&sample.addr()).ok_or(INVALID_ARGUMENT)?;
        state::change("samples", -1);
        Ok(())
    })
}

fn fill(sample: nvmlGpmSample_t, of: (u32, Option<u32>)) -> Outcome {
    let mut samples = samples();
    *samples.get_mut(&sample.addr()).ok_or(INVALID_ARGUMENT)? = Some(of);
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn nvmlGpmSampleGet(device: nvmlDevice_t, sample: nvmlGpmSample_t) -> nvmlReturn_t {
    on_device("nvmlGpmSampleGet", device, |_, subject| {
        fill(sample, (subject.gpu, None))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlGpmMigSampleGet(
    device: nvmlDevice_t,
    gpu_instance: u32,
    sample: nvmlGpmSample_t,
) -> nvmlReturn_t {
    on_device("nvmlGpmMigSampleGet", device, |_, subject| {
        let mut instances = subject.board.instances.iter();
        let known = instances.any(|instance| instance.id == gpu_instance);
        known.then_some(()).ok_or(INVALID_ARGUMENT)?;
        fill(sample, (subject.gpu, Some(gpu_instance)))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlGpmMetricsGet(request: *mut nvmlGpmMetricsGet_t) -> nvmlReturn_t {
    on_system("nvmlGpmMetricsGet", |world| {
        // SAFETY: the caller gives an initialised, writable structure or null, as nvml.h asks.
        let request = unsafe { request.as_mut() }.ok_or(INVALID_ARGUMENT)?;
        let sampled = |sample: nvmlGpmSample_t| samples().get(&sample.addr()).copied().flatten();
        let (first, second) = (sampled(request.sample1), sampled(request.sample2));
        let (gpu, instance) = first.filter(|_| first == second).ok_or(INVALID_ARGUMENT)?;
        let wanted = request.numMetrics as usize;
        for metric in request.metrics.iter_mut().take(wanted) {
            match percent(world, gpu, instance, metric.metricId) {
                Some(value) => {
                    metric.nvmlReturn = SUCCESS;
                    metric.value = value;
                }
                None => metric.nvmlReturn = NOT_SUPPORTED,
            }
        }
        Ok(())
    })
}

fn percent(world: &World, gpu: u32, instance: Option<u32>, metric: u32) -> Option<f64> {
    let name = match metric {
        1 => "gpm_graphics",
        2 => "gpm_sm",
        3 => "gpm_occupancy",
        5 => "gpm_tensor",
        10 => "gpm_dram",
        _ => return None,
    };
    let name = instance.map_or(name.to_owned(), |id| format!("{name}.{id}"));
    // Two samples that are the same instance's by number and another's by cut are not told apart, as in the driver.
    let value = world.boards.get(&gpu)?.readings.get(&name)?;
    u32::try_from(*value).ok().map(f64::from)
}
