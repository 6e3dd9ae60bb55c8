//! How busy engines were since the last pass, from pairs of samples. Windows are kept by what was sampled, so that an
//! instance which takes over an id, or a UUID made of ids, starts anew; never measured across a gap in which the thing
//! was not there.

use std::collections::BTreeMap;
use std::sync::Arc;

use exporter_core::device::Instance;
use exporter_core::reading::Reading;
use exporter_nvml::{Answer, Device, GpmRatios, GpmSample, Library};

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
    pub(super) sm: Reading<f64>,
    pub(super) occupancy: Reading<f64>,
    pub(super) tensor: Reading<f64>,
    pub(super) dram: Reading<f64>,
    pub(super) fp64: Reading<f64>,
    pub(super) fp32: Reading<f64>,
    pub(super) fp16: Reading<f64>,
}

/// All that tells one instance from another that later has its number: drivers make UUIDs of numbers.
pub(super) fn generation(instance: &Instance) -> String {
    let profile = instance.profile.value().map_or("", String::as_str);
    let size = instance.memory.value().map_or(0, |memory| memory.total);
    let start = instance.start.value().copied().unwrap_or(u32::MAX);
    format!("{}/{}/{profile}/{start}/{size}", instance.uuid, instance.id)
}

impl Windows {
    /// Begins a pass: what is not measured in it again is forgotten.
    pub(super) fn advance(&mut self) {
        self.last = std::mem::take(&mut self.next);
    }

    /// Closes the window of what `key` names and opens the next. "Unsupported" at its first pass.
    pub(super) fn measure(
        &mut self,
        library: &Arc<Library>,
        device: &Device<'_>,
        (key, gpu_instance): (String, Option<u32>),
    ) -> Answer<Busy> {
        let sample = match reading(GpmSample::take(library, device, gpu_instance))? {
            Reading::Value(sample) => sample,
            Reading::Unsupported => return Ok(Busy::default()),
            Reading::Failed(reason) => return Ok(Busy::failed(reason)),
        };
        let busy = match self.last.get(&key) {
            None => Busy::default(),
            Some(earlier) => match reading(sample.since(earlier))? {
                Reading::Value(ratios) => Busy::of(ratios)?,
                Reading::Unsupported => Busy::default(),
                Reading::Failed(reason) => Busy::failed(reason),
            },
        };
        self.next.insert(key, sample);
        Ok(busy)
    }
}

impl Busy {
    fn of(ratios: GpmRatios) -> Answer<Self> {
        Ok(Self {
            graphics_engine: reading(ratios.graphics_engine)?,
            sm: reading(ratios.sm)?,
            occupancy: reading(ratios.occupancy)?,
            tensor: reading(ratios.tensor)?,
            dram: reading(ratios.dram)?,
            fp64: reading(ratios.fp64)?,
            fp32: reading(ratios.fp32)?,
            fp16: reading(ratios.fp16)?,
        })
    }

    /// One call failed, so one reading says so.
    fn failed(reason: String) -> Self {
        Self {
            graphics_engine: Reading::Failed(reason),
            ..Self::default()
        }
    }
}
