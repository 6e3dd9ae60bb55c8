//! GPU performance monitoring (Hopper and later): how busy the engines were between two samples. The one source of
//! these ratios without a profiler, and for MIG instances the only measure of their load. It never sets streaming,
//! which would change what other readers of the board see.

use std::sync::Arc;

use nvml_wrapper::error::{NvmlError, nvml_try};
use nvml_wrapper_sys::bindings::{
    NVML_GPM_METRICS_GET_VERSION, nvmlGpmMetric_t, nvmlGpmMetricsGet_t, nvmlGpmSample_t,
};

use crate::calls::{ask, free, raw};
use crate::device::Device;
use crate::error::{Answer, answer};
use crate::library::Library;

const CALL: &str = "nvmlGpmMetricsGet";

/// Numbers of the metrics in the order of [`GpmRatios`]' members (nvml.h, `nvmlGpmMetricId_t`).
const METRICS: [u32; 8] = [1, 2, 3, 5, 10, 11, 12, 13];

/// Counters of a board or of one GPU instance at one time.
pub struct GpmSample {
    library: Arc<Library>,
    handle: nvmlGpmSample_t,
}

/// Shares of the time between two samples, 0 to 1. Of an instance's own engines when the samples are an instance's.
#[derive(Debug)]
pub struct GpmRatios {
    /// Any kernel was running.
    pub graphics_engine: Answer<f64>,
    /// A multiprocessor had at least one warp, as a mean over all.
    pub sm: Answer<f64>,
    /// Warps as a share of the most that fit.
    pub occupancy: Answer<f64>,
    /// The tensor cores worked.
    pub tensor: Answer<f64>,
    /// The memory was read or written.
    pub dram: Answer<f64>,
    /// The 64-bit pipe worked.
    pub fp64: Answer<f64>,
    /// The 32-bit pipe worked.
    pub fp32: Answer<f64>,
    /// The 16-bit pipe worked.
    pub fp16: Answer<f64>,
}

// SAFETY: the handle names a buffer in the library, not bound to the thread that made it; `GpmSample` is not `Sync`,
// so no two threads use one sample at a time.
unsafe impl Send for GpmSample {}

impl GpmSample {
    /// Takes a sample now, of the whole board or of one of its GPU instances.
    pub fn take(
        library: &Arc<Library>,
        device: &Device<'_>,
        gpu_instance: Option<u32>,
    ) -> Answer<Self> {
        let call = "nvmlGpmQueryDeviceSupport";
        if !ask(call, || device.inner.gpm_support())? {
            return answer(call, Err(NvmlError::NotSupported));
        }
        let lib = library.lib();
        let mut handle: nvmlGpmSample_t = std::ptr::null_mut();
        raw(
            "nvmlGpmSampleAlloc",
            lib.nvmlGpmSampleAlloc.as_ref(),
            // SAFETY: `handle` is a writable handle.
            |f| unsafe { f(&raw mut handle) },
        )?;
        // From here on the sample is freed when taking it fails.
        let sample = Self {
            library: Arc::clone(library),
            handle,
        };
        match gpu_instance {
            None => raw(
                "nvmlGpmSampleGet",
                lib.nvmlGpmSampleGet.as_ref(),
                // SAFETY: both handles were given by this library and are still valid.
                |f| unsafe { f(device.handle(), handle) },
            )?,
            Some(id) => raw(
                "nvmlGpmMigSampleGet",
                lib.nvmlGpmMigSampleGet.as_ref(),
                // SAFETY: both handles were given by this library and are still valid.
                |f| unsafe { f(device.handle(), id, handle) },
            )?,
        }
        Ok(sample)
    }

    /// What happened since `earlier`, a sample of the same board or instance.
    pub fn since(&self, earlier: &Self) -> Answer<GpmRatios> {
        // SAFETY: numbers and pointers that the library fills; all bits zero is a value of each.
        let mut request: nvmlGpmMetricsGet_t = unsafe { std::mem::zeroed() };
        request.version = NVML_GPM_METRICS_GET_VERSION;
        request.numMetrics = 8;
        request.sample1 = earlier.handle;
        request.sample2 = self.handle;
        for (metric, id) in request.metrics.iter_mut().zip(METRICS) {
            metric.metricId = id;
        }
        raw(
            CALL,
            self.library.lib().nvmlGpmMetricsGet.as_ref(),
            // SAFETY: `request` is writable, both samples are alive, and the library fills `numMetrics` entries only.
            |f| unsafe { f(&raw mut request) },
        )?;
        let [
            graphics_engine,
            sm,
            occupancy,
            tensor,
            dram,
            fp64,
            fp32,
            fp16,
            ..,
        ] = &request.metrics;
        Ok(GpmRatios {
            graphics_engine: ratio(graphics_engine),
            sm: ratio(sm),
            occupancy: ratio(occupancy),
            tensor: ratio(tensor),
            dram: ratio(dram),
            fp64: ratio(fp64),
            fp32: ratio(fp32),
            fp16: ratio(fp16),
        })
    }
}

/// The library counts in percent.
fn ratio(metric: &nvmlGpmMetric_t) -> Answer<f64> {
    let percent = nvml_try(metric.nvmlReturn).and_then(|()| {
        let known = Some(metric.value).filter(|value| value.is_finite());
        known.ok_or(NvmlError::NoData)
    });
    Ok(answer(CALL, percent)? / 100.0)
}

impl Drop for GpmSample {
    fn drop(&mut self) {
        free(
            "nvmlGpmSampleFree",
            self.library.lib().nvmlGpmSampleFree.as_ref(),
            // SAFETY: the sample was allocated by this library and is freed once, here.
            |f| unsafe { f(self.handle) },
        );
    }
}
