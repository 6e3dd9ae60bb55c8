//! A process that holds a context on a GPU, as the driver lists it. Whose pod it is, others find out by its number.

use crate::reading::Reading;

/// What a process uses a GPU for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Use {
    /// A compute context of its own.
    #[default]
    Compute,
    /// A graphics context.
    Graphics,
    /// A client of the multi-process service, which holds one context for several.
    Mps,
}

impl Use {
    /// Value of a label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Graphics => "graphics",
            Self::Mps => "mps",
        }
    }
}

/// Shares of time in the last sampling period, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ProcessUtilization {
    /// Its kernels ran.
    pub sm: u32,
    /// They read or wrote memory.
    pub memory: u32,
    /// The video encoder worked for it.
    pub encoder: u32,
    /// The video decoder worked for it.
    pub decoder: u32,
}

/// One process on one GPU.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Process {
    /// Its number, on the host.
    pub pid: u32,
    /// What for.
    pub used_for: Use,
    /// GPU instance that it runs in, on a partitioned GPU.
    pub gpu_instance: Option<u32>,
    /// Compute instance within that.
    pub compute_instance: Option<u32>,
    /// Bytes that it holds; the driver may not tell (WDDM, some virtual machines).
    pub memory: Reading<u64>,
    /// How much it ran; not known on a partitioned GPU, and of a process that was idle 0.
    pub utilization: Reading<ProcessUtilization>,
}
