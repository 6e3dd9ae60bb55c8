//! GPU performance monitoring (Hopper and later): how busy the engines were between two samples. The one source of
//! these ratios without a profiler, and for MIG instances the only measure of their load. It never sets streaming,
//! which would change what other readers of the board see.

use std::sync::Arc;

use nvml_wrapper::error::{NvmlError, nvml_try};
use nvml_wrapper_sys::bindings::{
    NVML_GPM_METRICS_GET_VERSION, nvmlGpmMetric_t,
    nvmlGpmMetricId_t_NVML_GPM_METRIC_ANY_TENSOR_UTIL as TENSOR,
    nvmlGpmMetricId_t_NVML_GPM_METRIC_DRAM_BW_UTIL as DRAM,
    nvmlGpmMetricId_t_NVML_GPM_METRIC_GRAPHICS_UTIL as GRAPHICS, nvmlGpmMetricsGet_t,
    nvmlGpmSample_t,
};

use crate::device::Device;
use crate::error::{Answer, answer};
use crate::library::{Library, raw};

const CALL: &str = "nvmlGpmMetricsGet";

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
    /// The tensor cores worked.
    pub tensor: Answer<f64>,
    /// The memory was read or written.
    pub dram: Answer<f64>,
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
        if !answer(call, device.inner.gpm_support())? {
            return answer(call, Err(NvmlError::NotSupported));
        }
        let lib = library.nvml.lib();
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
        request.numMetrics = 3;
        request.sample1 = earlier.handle;
        request.sample2 = self.handle;
        for (metric, id) in request.metrics.iter_mut().zip([GRAPHICS, TENSOR, DRAM]) {
            metric.metricId = id;
        }
        raw(
            CALL,
            self.library.nvml.lib().nvmlGpmMetricsGet.as_ref(),
            // SAFETY: `request` is writable, both samples are alive, and the library fills `numMetrics` entries only.
            |f| unsafe { f(&raw mut request) },
        )?;
        let [graphics_engine, tensor, dram, ..] = request.metrics;
        Ok(GpmRatios {
            graphics_engine: ratio(&graphics_engine),
            tensor: ratio(&tensor),
            dram: ratio(&dram),
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
        // A failure to free leaves nothing to do.
        let _ = raw(
            "nvmlGpmSampleFree",
            self.library.nvml.lib().nvmlGpmSampleFree.as_ref(),
            // SAFETY: the sample was allocated by this library and is freed once, here.
            |f| unsafe { f(self.handle) },
        );
    }
}
