//! The simulated GPUs of one node. The caller says how busy they are and how much time passes.

use super::gpu::SimulatedGpu;
pub use super::spec::{Spec, SpecError};
use crate::snapshot::{Snapshot, SourceStatus};

/// Driver that simulated nodes claim to have.
const DRIVER: &str = "590.48.01";

/// GPUs and their state.
pub struct Fleet {
    gpus: Vec<SimulatedGpu>,
}

impl Fleet {
    /// The GPUs of `spec`, idle. The same seed gives the same names and values.
    pub fn new(spec: &Spec, seed: u64) -> Self {
        let gpus = (0..).zip(&spec.gpus);
        let gpus = gpus.map(|(index, (board, geometry))| {
            SimulatedGpu::new(board, geometry.clone(), index, seed)
        });
        Self {
            gpus: gpus.collect(),
        }
    }

    /// Number of GPUs.
    pub fn len(&self) -> usize {
        self.gpus.len()
    }

    /// Whether there is no GPU.
    pub fn is_empty(&self) -> bool {
        self.gpus.is_empty()
    }

    /// Lets `seconds` pass with each GPU busy as said, 0 to 1 in bus order. GPUs without a value are
    /// idle, values outside are clamped, and time never runs backwards.
    pub fn advance(&mut self, seconds: f64, utilization: &[f64]) {
        let seconds = if seconds > 0.0 && seconds.is_finite() {
            seconds
        } else {
            0.0
        };
        let said = utilization.iter().copied().chain(std::iter::repeat(0.0));
        for (gpu, busy) in self.gpus.iter_mut().zip(said) {
            let busy = if busy.is_nan() {
                0.0
            } else {
                busy.clamp(0.0, 1.0)
            };
            gpu.advance(seconds, busy);
        }
    }

    /// What an exporter on this node reads at `now` (unix seconds).
    pub fn snapshot(&self, now: f64, hostname: &str) -> Snapshot {
        Snapshot {
            gathered_at: now,
            hostname: hostname.into(),
            driver_version: Some(DRIVER.into()),
            nvml_version: Some(format!("12.{DRIVER}")),
            sources: vec![SourceStatus {
                name: "simulated".into(),
                up: true,
                success: true,
                duration: Some(0.0),
                last_success: Some(now),
                ..SourceStatus::default()
            }],
            gpus: self.gpus.iter().map(|gpu| gpu.gpu(now)).collect(),
            servers: Vec::new(),
            attribution: None,
            batch: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
