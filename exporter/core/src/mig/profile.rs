//! What a profile and a board's list of profiles are. Names, memory and placements differ by driver for the same
//! board: the tables of [`super::boards`] are never taken for what a real node has.

use crate::device::{self, Span};

/// One GPU instance profile of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The driver's number, as `nvidia-smi mig -lgip` prints it.
    pub id: u32,
    /// Name, such as `3g.40gb`.
    pub name: &'static str,
    /// Compute slices.
    pub slices: u32,
    /// Memory slices that it occupies on the board's grid.
    pub size: u32,
    /// Where it may start.
    pub starts: &'static [u32],
    /// How many of it fit on an empty board.
    pub max: u32,
    /// Memory in MiB as a driver listed it; `None` where no listing is at hand.
    pub memory_mib: Option<u64>,
    /// Multiprocessors as a driver listed them; `None` where no listing is at hand.
    pub multiprocessors: Option<u32>,
}

/// The profiles of one kind of board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    /// Memory slices of the board.
    pub grid: u32,
    /// Compute slices of the board.
    pub slices: u32,
    /// Its profiles.
    pub profiles: &'static [Profile],
}

impl Board {
    /// The profile of that name.
    pub fn profile(&self, name: &str) -> Option<&'static Profile> {
        self.profiles.iter().find(|profile| profile.name == name)
    }

    /// The GPU instance id that drivers give a profile at `start`: NVIDIA's boards number the nodes of
    /// a binary tree over the grid (listings of occupied boards: NVIDIA/DCGM#138,
    /// kubernetes-sigs/dra-driver-nvidia-gpu#933).
    pub fn instance_id(&self, profile: &Profile, start: u32) -> u32 {
        (self.grid / profile.size).saturating_sub(1) + start / profile.size
    }
}

impl Profile {
    /// The profile as a driver lists it; multiprocessors and memory are 0 where no listing is at hand.
    pub fn listed(&self) -> device::Profile {
        let span = |start: &u32| Span {
            start: *start,
            size: self.size,
        };
        device::Profile {
            id: self.id,
            name: self.name.into(),
            slices: self.slices,
            most: self.max,
            multiprocessors: self.multiprocessors.unwrap_or(0),
            memory_mib: self.memory_mib.unwrap_or(0),
            placements: self.starts.iter().map(span).collect(),
        }
    }
}
