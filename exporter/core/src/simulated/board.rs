//! Boards that can be simulated: memory, limits and what they can read. Figures are those of NVIDIA's
//! data sheets; memory as drivers list it, rounded, and idle power is typical. H100 SXM5 (idle 70 W,
//! 41 °C; 629 W, 59 °C under load) and L40S follow recordings of real boards
//! (`utkuozdemir/nvidia_gpu_exporter`, `internal/captures`).

use crate::mig::{boards, profile::Board as Mig};

/// One kind of board.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Board {
    /// Its name in a specification.
    pub name: &'static str,
    /// Its name as the driver prints it.
    pub model: &'static str,
    /// Framebuffer, MiB.
    pub memory_mib: u64,
    /// Held by the driver, MiB.
    pub reserved_mib: u64,
    /// Power in watts, idle and at the limit.
    pub power: (f64, f64),
    /// Clock of the multiprocessors in MHz, lowest and highest.
    pub sm_clock: (u64, u64),
    /// Clock of the memory, MHz.
    pub memory_clock: u64,
    /// Whether the memory's temperature can be read.
    pub memory_temperature: bool,
    /// `NVLink` in MB/s over all links, both directions; 0 without.
    pub nvlink: u64,
    /// Whether profiling metrics can be read through the management library (Hopper and newer).
    pub profiling: bool,
    /// Its MIG profiles.
    pub mig: Option<&'static Mig>,
}

const A100: Board = Board {
    name: "A100-SXM4-80GB",
    model: "NVIDIA A100-SXM4-80GB",
    memory_mib: 81_920,
    reserved_mib: 600,
    power: (60.0, 400.0),
    sm_clock: (210, 1410),
    memory_clock: 1593,
    memory_temperature: true,
    nvlink: 600_000,
    profiling: false,
    mig: Some(&boards::A100_80),
};

const H100: Board = Board {
    name: "H100-SXM5-80GB",
    model: "NVIDIA H100 80GB HBM3",
    memory_mib: 81_559,
    reserved_mib: 479,
    power: (70.0, 700.0),
    sm_clock: (345, 1980),
    memory_clock: 2619,
    memory_temperature: true,
    nvlink: 900_000,
    profiling: true,
    mig: Some(&boards::H100_80),
};

const L40S: Board = Board {
    name: "L40S",
    model: "NVIDIA L40S",
    memory_mib: 46_068,
    reserved_mib: 609,
    power: (35.0, 350.0),
    sm_clock: (210, 2520),
    memory_clock: 9001,
    memory_temperature: false,
    nvlink: 0,
    profiling: false,
    mig: None,
};

/// All boards that a specification may name.
pub static BOARDS: &[Board] = &[
    H100,
    Board {
        name: "H200-SXM5-141GB",
        model: "NVIDIA H200",
        memory_mib: 143_771,
        memory_clock: 3201,
        mig: Some(&boards::H200_141),
        ..H100
    },
    Board {
        name: "B200-SXM6-180GB",
        model: "NVIDIA B200",
        memory_mib: 183_359,
        power: (140.0, 1000.0),
        sm_clock: (120, 1965),
        memory_clock: 3996,
        nvlink: 1_800_000,
        mig: Some(&boards::B200_180),
        ..H100
    },
    A100,
    Board {
        name: "A100-SXM4-40GB",
        model: "NVIDIA A100-SXM4-40GB",
        memory_mib: 40_960,
        memory_clock: 1215,
        mig: Some(&boards::A100_40),
        ..A100
    },
    Board {
        name: "A30",
        model: "NVIDIA A30",
        memory_mib: 24_576,
        power: (30.0, 165.0),
        sm_clock: (210, 1440),
        memory_clock: 1215,
        nvlink: 200_000,
        mig: Some(&boards::A30),
        ..A100
    },
    L40S,
    Board {
        name: "L4",
        model: "NVIDIA L4",
        memory_mib: 23_034,
        reserved_mib: 500,
        power: (16.0, 72.0),
        sm_clock: (210, 2040),
        memory_clock: 6251,
        ..L40S
    },
];

/// The board of that name.
pub fn board(name: &str) -> Option<&'static Board> {
    BOARDS.iter().find(|board| board.name == name)
}
