//! Processes of one board, from the driver's three lists and its samples of what they did. A process in several lists is
//! one process: its memory is the same memory.

use std::collections::BTreeMap;

use exporter_core::device::{Process, ProcessUtilization, Use};
use exporter_core::reading::Reading;
use exporter_nvml::{Answer, Device, List, ProcessSample};

use super::reading;

/// A process's number, GPU instance and compute instance.
type Key = (u32, Option<u32>, Option<u32>);

/// What the next pass needs of this one.
#[derive(Default)]
pub(super) struct Processes {
    /// End of the last sample, on the driver's clock.
    last_sample: u64,
}

impl Processes {
    /// All processes on the board; "unsupported" where the driver has none of its lists.
    pub(super) fn read(&mut self, device: &Device<'_>) -> Answer<Reading<Vec<Process>>> {
        let mut found: BTreeMap<Key, Process> = BTreeMap::new();
        let mut supported = false;
        // A later list says more about what a process is than an earlier one.
        for (list, used_for) in [
            (List::Graphics, Use::Graphics),
            (List::Compute, Use::Compute),
            (List::Mps, Use::Mps),
        ] {
            let processes = match reading(device.processes(list))? {
                Reading::Value(processes) => processes,
                Reading::Unsupported => continue,
                Reading::Failed(reason) => return Ok(Reading::Failed(reason)),
            };
            supported = true;
            for one in processes {
                let process = Process {
                    pid: one.pid,
                    used_for,
                    gpu_instance: one.gpu_instance,
                    compute_instance: one.compute_instance,
                    memory: one.memory.map_or(Reading::Unsupported, Reading::Value),
                    utilization: Reading::Unsupported,
                };
                found.insert((one.pid, one.gpu_instance, one.compute_instance), process);
            }
        }
        if !supported {
            return Ok(Reading::Unsupported);
        }
        if !found.is_empty() {
            let samples = reading(device.process_samples(self.last_sample))?;
            if let Reading::Value(samples) = &samples {
                let last = samples.iter().map(|sample| sample.at).max();
                self.last_sample = last.unwrap_or(self.last_sample);
            }
            for process in found.values_mut() {
                let own = |samples: &Vec<ProcessSample>| mean(samples, process.pid);
                process.utilization = match &samples {
                    Reading::Value(samples) => Reading::Value(own(samples)),
                    Reading::Unsupported => Reading::Unsupported,
                    Reading::Failed(reason) => Reading::Failed(reason.clone()),
                };
            }
        }
        Ok(Reading::Value(found.into_values().collect()))
    }
}

/// Mean of a process's samples; one without a sample did not run.
fn mean(samples: &[ProcessSample], pid: u32) -> ProcessUtilization {
    let own: Vec<&ProcessSample> = samples.iter().filter(|sample| sample.pid == pid).collect();
    let count = u32::try_from(own.len()).unwrap_or(u32::MAX).max(1);
    let of = |part: fn(&ProcessSample) -> u32| {
        let sum = own
            .iter()
            .fold(0_u32, |sum, sample| sum.saturating_add(part(sample)));
        sum / count
    };
    ProcessUtilization {
        sm: of(|sample| sample.sm),
        memory: of(|sample| sample.memory),
        encoder: of(|sample| sample.encoder),
        decoder: of(|sample| sample.decoder),
    }
}
