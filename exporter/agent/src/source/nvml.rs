//! GPUs of this node through NVIDIA's management library, opened at run time.

use super::{Gathered, Source, SourceError};

/// The driver library, opened on the first gather and again after it was lost.
#[derive(Debug, Default)]
pub(crate) struct Nvml {}

impl Source for Nvml {
    fn name(&self) -> &'static str {
        "nvml"
    }

    fn gather(&mut self, _now: f64) -> Result<Gathered, SourceError> {
        match exporter_nvml::Library::open(None) {
            Ok(library) => Ok(Gathered {
                driver_version: library.driver_version().ok(),
                incomplete: Some("GPUs are not read yet".into()),
                ..Gathered::default()
            }),
            Err(error) => Err(SourceError::Unreachable(error.to_string())),
        }
    }
}
