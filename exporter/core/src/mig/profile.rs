//! Profiles by board. Names, memory and placements differ by driver for the same board: never taken
//! for what a real node has.

/// One GPU instance profile of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
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

/// Seven compute slices over eight memory slices: A100, H100, H200, B200. Placements are those that
/// `nvidia-smi mig -lgipp` prints on A100 and H100; H200 and B200 have the same counts and fractions.
const fn seven(names: [&'static str; 7], mib: [Option<u64>; 5]) -> [Profile; 7] {
    const fn of(
        name: &'static str,
        slices: u32,
        size: u32,
        starts: &'static [u32],
        max: u32,
        memory_mib: Option<u64>,
    ) -> Profile {
        Profile {
            name,
            slices,
            size,
            starts,
            max,
            memory_mib,
        }
    }
    const ONE: &[u32] = &[0, 1, 2, 3, 4, 5, 6];
    [
        of(names[0], 1, 1, ONE, 7, mib[0]),
        of(names[1], 1, 1, ONE, 1, mib[0]),
        of(names[2], 1, 2, &[0, 2, 4, 6], 4, mib[1]),
        of(names[3], 2, 2, &[0, 2, 4], 3, mib[2]),
        of(names[4], 3, 4, &[0, 4], 2, mib[3]),
        of(names[5], 4, 4, &[0], 1, mib[3]),
        of(names[6], 7, 8, &[0], 1, mib[4]),
    ]
}

const fn board(profiles: &'static [Profile]) -> Board {
    Board {
        grid: 8,
        slices: 7,
        profiles,
    }
}

/// A100 40 GB; memory from NVIDIA/go-nvml `pkg/nvml/mock/gpus/a100.go`.
pub static A100_40: Board = board(&seven(
    [
        "1g.5gb",
        "1g.5gb+me",
        "1g.10gb",
        "2g.10gb",
        "3g.20gb",
        "4g.20gb",
        "7g.40gb",
    ],
    [Some(4864), Some(9856), Some(9856), Some(19968), Some(40192)],
));

const EIGHTY: [&str; 7] = [
    "1g.10gb",
    "1g.10gb+me",
    "1g.20gb",
    "2g.20gb",
    "3g.40gb",
    "4g.40gb",
    "7g.80gb",
];

/// A100 80 GB; memory from NVIDIA/mig-parted#97.
pub static A100_80: Board = board(&seven(
    EIGHTY,
    [Some(9728), None, Some(19968), Some(40192), None],
));

/// H100 80 GB; memory from a recording of a partitioned board (driver 590.48,
/// `utkuozdemir/nvidia_gpu_exporter`, `internal/captures`).
pub static H100_80: Board = board(&seven(
    EIGHTY,
    [Some(9984), None, Some(20096), Some(40448), None],
));

/// H200 141 GB; memory from NVIDIA/mig-parted#120.
pub static H200_141: Board = board(&seven(
    [
        "1g.18gb",
        "1g.18gb+me",
        "1g.35gb",
        "2g.35gb",
        "3g.71gb",
        "4g.71gb",
        "7g.141gb",
    ],
    [
        Some(16384),
        Some(33024),
        Some(33024),
        Some(71168),
        Some(143_104),
    ],
));

/// B200 180 GB; memory from NVIDIA/mig-parted PR #166.
pub static B200_180: Board = board(&seven(
    [
        "1g.23gb",
        "1g.23gb+me",
        "1g.45gb",
        "2g.45gb",
        "3g.90gb",
        "4g.90gb",
        "7g.180gb",
    ],
    [Some(22528), Some(45312), Some(45312), None, None],
));

/// A30: four compute slices over four memory slices.
pub static A30: Board = {
    const fn of(name: &'static str, slices: u32, starts: &'static [u32], max: u32) -> Profile {
        Profile {
            name,
            slices,
            size: slices,
            starts,
            max,
            memory_mib: None,
        }
    }
    Board {
        grid: 4,
        slices: 4,
        profiles: &[
            of("1g.6gb", 1, &[0, 1, 2, 3], 4),
            of("1g.6gb+me", 1, &[0, 1, 2, 3], 1),
            of("2g.12gb", 2, &[0, 2], 2),
            of("2g.12gb+me", 2, &[0, 2], 1),
            of("4g.24gb", 4, &[0], 1),
        ],
    }
};
