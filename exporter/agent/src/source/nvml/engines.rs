//! How busy engines were since the last pass, from pairs of samples. Windows are kept by UUID, so that an instance
//! which takes over an id starts anew; never measured across a gap in which the thing was not there.

use std::collections::BTreeMap;
use std::sync::Arc;

use exporter_core::reading::Reading;
use exporter_nvml::{Answer, Device, GpmSample, Library};

use super::reading;

/// The last sample of everything measured on one board.
#[derive(Default)]
pub(super) struct Windows {
    last: BTreeMap<String, GpmSample>,
    next: BTreeMap<String, GpmSample>,
}

/// Shares of time, 0 to 1.
#[derive(Default)]
pub(super) struct Busy {
    pub(super) graphics_engine: Reading<f64>,
    pub(super) tensor: Reading<f64>,
    pub(super) dram: Reading<f64>,
}

impl Windows {
    /// Begins a pass: what is not measured in it again is forgotten.
    pub(super) fn advance(&mut self) {
        self.last = std::mem::take(&mut self.next);
    }

    /// Closes the window of `uuid` and opens the next. "Unsupported" at its first pass.
    pub(super) fn measure(
        &mut self,
        library: &Arc<Library>,
        device: &Device<'_>,
        (uuid, gpu_instance): (&str, Option<u32>),
    ) -> Answer<Busy> {
        let sample = match reading(GpmSample::take(library, device, gpu_instance))? {
            Reading::Value(sample) => sample,
            Reading::Unsupported => return Ok(Busy::default()),
            Reading::Failed(reason) => return Ok(Busy::failed(reason)),
        };
        let busy = match self.last.get(uuid) {
            None => Busy::default(),
            Some(earlier) => match reading(sample.since(earlier))? {
                Reading::Value(ratios) => Busy {
                    graphics_engine: reading(ratios.graphics_engine)?,
                    tensor: reading(ratios.tensor)?,
                    dram: reading(ratios.dram)?,
                },
                Reading::Unsupported => Busy::default(),
                Reading::Failed(reason) => Busy::failed(reason),
            },
        };
        self.next.insert(uuid.to_owned(), sample);
        Ok(busy)
    }
}

impl Busy {
    /// One call failed, so one reading says so.
    fn failed(reason: String) -> Self {
        Self {
            graphics_engine: Reading::Failed(reason),
            ..Self::default()
        }
    }
}
