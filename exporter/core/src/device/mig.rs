//! The partitions of a GPU: what the driver lets it be cut into, and what it is cut into now. Names, sizes and places
//! are the driver's own, since the same board has others under another driver.

use super::Memory;
use crate::reading::Reading;

/// Neighbouring memory slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span {
    /// First slice.
    pub start: u32,
    /// Number of slices.
    pub size: u32,
}

/// One GPU instance profile that the driver offers on a board.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Profile {
    /// The driver's number of it, as `nvidia-smi mig -lgip` prints it.
    pub id: u32,
    /// Name, such as `1g.10gb+me`.
    pub name: String,
    /// Compute slices.
    pub slices: u32,
    /// How many the driver allows on an empty board.
    pub most: u32,
    /// Multiprocessors of an instance.
    pub multiprocessors: u32,
    /// Memory of an instance, in MiB.
    pub memory_mib: u64,
    /// Where an instance may lie on an empty board.
    pub placements: Vec<Span>,
}

/// A GPU instance and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Placed {
    /// GPU instance id, unique on its GPU at one time.
    pub id: u32,
    /// Its profile's number.
    pub profile: u32,
    /// Its memory slices.
    pub span: Span,
}

/// What a partitioned GPU offers and holds. Reading it needs privileges.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Layout {
    /// Profiles in the driver's order.
    pub profiles: Vec<Profile>,
    /// All GPU instances, also those without a compute instance.
    pub instances: Vec<Placed>,
}

/// One MIG GPU instance.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Instance {
    /// `MIG-…` of its first compute instance, what the device plugin hands to pods; empty without one.
    pub uuid: String,
    /// GPU instance id, unique on its GPU at one time; a later instance may have the same.
    pub id: u32,
    /// Profile name, such as `1g.10gb+me`.
    pub profile: Reading<String>,
    /// First memory slice; needs privileges.
    pub start: Reading<u32>,
    /// Memory slices; needs privileges.
    pub size: Reading<u32>,
    /// Multiprocessors of the whole instance; needs privileges.
    pub multiprocessors: Reading<u32>,
    /// Its share of the framebuffer.
    pub memory: Reading<Memory>,
    /// Share of time its graphics engine was active, 0 to 1 of the instance.
    pub graphics_engine_active: Reading<f64>,
    /// Share of cycles its tensor pipe was active, 0 to 1 of the instance.
    pub tensor_active: Reading<f64>,
    /// Share of cycles its memory interface was active, 0 to 1 of the instance.
    pub dram_active: Reading<f64>,
    /// Its compute instances; a GPU instance without one runs nothing.
    pub compute: Vec<ComputeInstance>,
}

/// One compute instance: what a container gets.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ComputeInstance {
    /// `MIG-…`.
    pub uuid: String,
    /// Unique within its GPU instance.
    pub id: u32,
    /// The device's name behind the board's, such as `1c.3g.40gb`.
    pub profile: Reading<String>,
    /// Multiprocessors that it may use; fewer than its GPU instance's where that is shared.
    pub multiprocessors: Reading<u32>,
}

/// Whether a GPU is partitioned.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Partitioning {
    /// MIG is off, or the board has none.
    #[default]
    Whole,
    /// MIG is on; there may be no instance yet.
    Mig(Vec<Instance>),
    /// The driver did not say, or not completely: why.
    Unknown(String),
}
