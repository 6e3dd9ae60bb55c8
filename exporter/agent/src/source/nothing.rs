//! The source of an exporter in the role of the cluster: no GPUs.

use super::{Gathered, Source, SourceError};

/// No GPUs.
pub(crate) struct Nothing;

impl Source for Nothing {
    fn name(&self) -> &'static str {
        "nothing"
    }

    fn gather(&mut self, _now: f64) -> Result<Gathered, SourceError> {
        Ok(Gathered::default())
    }
}
