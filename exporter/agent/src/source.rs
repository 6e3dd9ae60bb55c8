//! Where GPUs come from. One thread owns a source and is the only one that calls it: driver calls may
//! hang, and concurrent callers have crashed kernels. A source never serves scrapes.

pub(crate) mod nvml;

pub(crate) mod simulated;

pub(crate) mod nothing;

use std::sync::{Arc, atomic::AtomicBool};

use exporter_core::device::Gpu;

/// What one gather of a source brought.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// Driver version, when it is known.
    pub(crate) driver_version: Option<String>,
    /// Version of the driver's management library, when it is known.
    pub(crate) nvml_version: Option<String>,
    /// GPUs in bus order.
    pub(crate) gpus: Vec<Gpu>,
    /// Why it is not complete, in one line: a GPU is lost, a reading failed. `None` when it is.
    pub(crate) incomplete: Option<String>,
}

/// Why a source brought nothing at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceError {
    /// It cannot be reached now; the owner asks again later, with growing pauses.
    #[error("{0}")]
    Unreachable(String),
}

/// A source of GPUs. Its owner may call `gather` again after any error: a source reopens what it needs.
pub(crate) trait Source {
    /// Value of the label `source`.
    fn name(&self) -> &'static str;

    /// Set when the program ends: a gather under way then returns soon, whatever the driver does.
    fn leaving(&self) -> Arc<AtomicBool> {
        Arc::default()
    }

    /// Reads everything once; `now` is unix seconds. Blocks as long as the driver does.
    fn gather(&mut self, now: f64) -> Result<Gathered, SourceError>;
}
