//! The boards that can be partitioned, as listings of real drivers show them. Placements of the seven-slice boards are
//! those that `nvidia-smi mig -lgipp` prints on A100 and H100; later ones have the same counts and fractions of memory.

use super::profile::{Board, Profile};

/// What differs between boards of seven compute slices over eight memory slices: names, MiB and multiprocessors of
/// 1g, 1g+me, 1g with double memory, 2g, 3g, 4g and 7g.
struct Seven {
    names: [&'static str; 7],
    mib: [Option<u64>; 7],
    multiprocessors: [Option<u32>; 7],
}

/// No listing at hand.
const UNKNOWN: [Option<u32>; 7] = [None; 7];

/// Number, compute slices, memory slices, starts and count of the seven profiles.
const SHAPES: [(u32, u32, u32, &[u32], u32); 7] = [
    (19, 1, 1, &[0, 1, 2, 3, 4, 5, 6], 7),
    (20, 1, 1, &[0, 1, 2, 3, 4, 5, 6], 1),
    (15, 1, 2, &[0, 2, 4, 6], 4),
    (14, 2, 2, &[0, 2, 4], 3),
    (9, 3, 4, &[0, 4], 2),
    (5, 4, 4, &[0], 1),
    (0, 7, 8, &[0], 1),
];

const fn seven(what: &Seven) -> [Profile; 7] {
    const EMPTY: Profile = Profile {
        id: 0,
        name: "",
        slices: 0,
        size: 0,
        starts: &[],
        max: 0,
        memory_mib: None,
        multiprocessors: None,
    };
    let mut profiles = [EMPTY; 7];
    let mut n = 0;
    while n < 7 {
        let (id, slices, size, starts, max) = SHAPES[n];
        profiles[n] = Profile {
            id,
            name: what.names[n],
            slices,
            size,
            starts,
            max,
            memory_mib: what.mib[n],
            multiprocessors: what.multiprocessors[n],
        };
        n += 1;
    }
    profiles
}

const fn board(profiles: &'static [Profile]) -> Board {
    Board {
        grid: 8,
        slices: 7,
        profiles,
    }
}

/// MiB of 1g, 1g with double memory, 2g, 3g and 4g, and 7g.
const fn mib(
    one: Option<u64>,
    double: Option<u64>,
    two: Option<u64>,
    half: Option<u64>,
    whole: Option<u64>,
) -> [Option<u64>; 7] {
    [one, one, double, two, half, half, whole]
}

const A100_MULTIPROCESSORS: [Option<u32>; 7] = [
    Some(14),
    Some(14),
    Some(14),
    Some(28),
    Some(42),
    Some(56),
    Some(98),
];

/// NVIDIA/mig-parted#120 and the recordings in `utkuozdemir/nvidia_gpu_exporter`.
const H100_MULTIPROCESSORS: [Option<u32>; 7] = [
    Some(16),
    Some(16),
    Some(26),
    Some(32),
    Some(60),
    Some(64),
    Some(132),
];

/// A100 40 GB; memory from NVIDIA/go-nvml `pkg/nvml/mock/gpus/a100.go`.
pub static A100_40: Board = board(&seven(&Seven {
    names: [
        "1g.5gb",
        "1g.5gb+me",
        "1g.10gb",
        "2g.10gb",
        "3g.20gb",
        "4g.20gb",
        "7g.40gb",
    ],
    mib: mib(Some(4864), Some(9856), Some(9856), Some(19968), Some(40192)),
    multiprocessors: A100_MULTIPROCESSORS,
}));

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
pub static A100_80: Board = board(&seven(&Seven {
    names: EIGHTY,
    mib: mib(Some(9728), None, Some(19968), Some(40192), None),
    multiprocessors: A100_MULTIPROCESSORS,
}));

/// H100 80 GB; memory from a recording of a partitioned board (driver 590.48,
/// `utkuozdemir/nvidia_gpu_exporter`, `internal/captures`).
pub static H100_80: Board = board(&seven(&Seven {
    names: EIGHTY,
    mib: mib(Some(9984), None, Some(20096), Some(40448), None),
    multiprocessors: H100_MULTIPROCESSORS,
}));

/// H100 NVL 94 GB; memory from NVIDIA/mig-parted PR #101.
pub static H100_94: Board = board(&seven(&Seven {
    names: [
        "1g.12gb",
        "1g.12gb+me",
        "1g.24gb",
        "2g.24gb",
        "3g.47gb",
        "4g.47gb",
        "7g.94gb",
    ],
    mib: mib(Some(11008), None, Some(22144), Some(47488), None),
    multiprocessors: H100_MULTIPROCESSORS,
}));

/// H100, GH200 and H20 of 96 GB; names from NVIDIA/mig-parted `config-default.yaml`.
pub static H100_96: Board = board(&seven(&Seven {
    names: [
        "1g.12gb",
        "1g.12gb+me",
        "1g.24gb",
        "2g.24gb",
        "3g.48gb",
        "4g.48gb",
        "7g.96gb",
    ],
    mib: [None; 7],
    multiprocessors: UNKNOWN,
}));

/// H200 141 GB; memory from NVIDIA/mig-parted#120.
pub static H200_141: Board = board(&seven(&Seven {
    names: [
        "1g.18gb",
        "1g.18gb+me",
        "1g.35gb",
        "2g.35gb",
        "3g.71gb",
        "4g.71gb",
        "7g.141gb",
    ],
    mib: mib(
        Some(16384),
        Some(33024),
        Some(33024),
        Some(71168),
        Some(143_104),
    ),
    multiprocessors: H100_MULTIPROCESSORS,
}));

/// GH200 144 GB; memory from NVIDIA/mig-parted PR #139.
pub static GH200_144: Board = board(&seven(&Seven {
    names: [
        "1g.18gb",
        "1g.18gb+me",
        "1g.36gb",
        "2g.36gb",
        "3g.72gb",
        "4g.72gb",
        "7g.144gb",
    ],
    mib: mib(Some(17920), Some(36096), Some(36096), None, None),
    multiprocessors: H100_MULTIPROCESSORS,
}));

/// B200 180 GB; memory from NVIDIA/mig-parted PR #166.
pub static B200_180: Board = board(&seven(&Seven {
    names: [
        "1g.23gb",
        "1g.23gb+me",
        "1g.45gb",
        "2g.45gb",
        "3g.90gb",
        "4g.90gb",
        "7g.180gb",
    ],
    mib: mib(Some(22528), Some(45312), Some(45312), None, None),
    multiprocessors: [Some(18), Some(18), Some(30), Some(36), None, None, None],
}));

/// GB200 186 GB; memory from NVIDIA/mig-parted#227. One driver calls its smallest profile 1g.24gb.
pub static GB200_186: Board = board(&seven(&Seven {
    names: [
        "1g.23gb",
        "1g.23gb+me",
        "1g.47gb",
        "2g.47gb",
        "3g.93gb",
        "4g.93gb",
        "7g.186gb",
    ],
    mib: mib(Some(22528), Some(46592), Some(46592), None, None),
    multiprocessors: [Some(18), Some(18), Some(32), Some(38), None, None, None],
}));

/// B300 269 GB for instances; names from aws/sagemaker-hyperpod-cli PR #403.
pub static B300_269: Board = board(&seven(&Seven {
    names: [
        "1g.34gb",
        "1g.34gb+me",
        "1g.67gb",
        "2g.67gb",
        "3g.135gb",
        "4g.135gb",
        "7g.269gb",
    ],
    mib: [None; 7],
    multiprocessors: [None, None, Some(30), None, None, None, None],
}));

/// Profiles that are not of seven slices: number, name, (compute, memory slices), starts and count.
const fn of(
    id: u32,
    name: &'static str,
    (slices, size): (u32, u32),
    starts: &'static [u32],
    max: u32,
) -> Profile {
    Profile {
        id,
        name,
        slices,
        size,
        starts,
        max,
        memory_mib: None,
        multiprocessors: None,
    }
}

/// A30: four compute slices over four memory slices.
pub static A30: Board = Board {
    grid: 4,
    slices: 4,
    profiles: &[
        of(14, "1g.6gb", (1, 1), &[0, 1, 2, 3], 4),
        of(21, "1g.6gb+me", (1, 1), &[0, 1, 2, 3], 1),
        of(5, "2g.12gb", (2, 2), &[0, 2], 2),
        of(6, "2g.12gb+me", (2, 2), &[0, 2], 1),
        of(0, "4g.24gb", (4, 4), &[0], 1),
    ],
};

const THIRDS: &[u32] = &[0, 3, 6, 9];

/// RTX PRO 6000 Blackwell 96 GB: four compute slices over twelve memory slices (`nvidia-smi mig -lgipp`).
pub static RTX_PRO_6000: Board = Board {
    grid: 12,
    slices: 4,
    profiles: &[
        of(14, "1g.24gb", (1, 3), THIRDS, 4),
        of(21, "1g.24gb+me", (1, 3), THIRDS, 1),
        of(47, "1g.24gb+gfx", (1, 3), THIRDS, 4),
        of(65, "1g.24gb+me.all", (1, 3), THIRDS, 1),
        of(67, "1g.24gb-me", (1, 3), THIRDS, 4),
        of(5, "2g.48gb", (2, 6), &[0, 6], 2),
        of(35, "2g.48gb+gfx", (2, 6), &[0, 6], 2),
        of(64, "2g.48gb+me.all", (2, 6), &[0, 6], 1),
        of(66, "2g.48gb-me", (2, 6), &[0, 6], 2),
        of(0, "4g.96gb", (4, 12), &[0], 1),
        of(32, "4g.96gb+gfx", (4, 12), &[0], 1),
    ],
};

/// Every board, with a name for tests and messages.
pub static ALL: [(&str, &Board); 12] = [
    ("A100-40GB", &A100_40),
    ("A100-80GB", &A100_80),
    ("H100-80GB", &H100_80),
    ("H100-94GB", &H100_94),
    ("H100-96GB", &H100_96),
    ("H200-141GB", &H200_141),
    ("GH200-144GB", &GH200_144),
    ("B200-180GB", &B200_180),
    ("GB200-186GB", &GB200_186),
    ("B300-269GB", &B300_269),
    ("A30", &A30),
    ("RTX-PRO-6000", &RTX_PRO_6000),
];
