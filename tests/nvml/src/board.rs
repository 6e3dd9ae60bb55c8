//! The boards the library can stand for: names, sizes and idle readings as recordings of real boards show them, and
//! their MIG profiles (NVIDIA's MIG user guide; memory and multiprocessors as drivers list them).

use std::collections::BTreeMap;

/// A product.
pub(crate) struct Model {
    /// Word in the file.
    pub(crate) key: &'static str,
    /// As the driver prints it.
    pub(crate) name: &'static str,
    /// Readings a fresh board gives; one that is not listed is "not supported".
    readings: &'static [(&'static str, u64)],
    /// Empty on boards that cannot be partitioned.
    pub(crate) profiles: &'static [Profile],
}

/// One way to cut a GPU instance.
pub(crate) struct Profile {
    pub(crate) id: u32,
    pub(crate) name: &'static str,
    /// Compute slices.
    pub(crate) slices: u32,
    /// Memory slices.
    pub(crate) size: u32,
    pub(crate) multiprocessors: u32,
    pub(crate) memory_mib: u64,
}

/// One board on the bus.
pub(crate) struct Board {
    pub(crate) model: &'static Model,
    pub(crate) readings: BTreeMap<String, u64>,
    /// `None`: this board has no such mode.
    pub(crate) mig: Option<bool>,
    pub(crate) instances: Vec<Instance>,
    pub(crate) xids: Vec<u64>,
}

/// One GPU instance with one compute instance as large.
pub(crate) struct Instance {
    pub(crate) profile: &'static Profile,
    pub(crate) id: u32,
    pub(crate) start: u32,
    pub(crate) used_mib: u64,
}

impl Board {
    pub(crate) fn new(model: &'static Model) -> Self {
        let readings = model.readings.iter();
        Self {
            model,
            readings: readings.map(|(k, v)| ((*k).to_owned(), *v)).collect(),
            mig: (!model.profiles.is_empty()).then_some(false),
            instances: Vec::new(),
            xids: Vec::new(),
        }
    }
}

/// Short form for the tables below.
const fn profile(
    id: u32,
    name: &'static str,
    (slices, size): (u32, u32),
    multiprocessors: u32,
    memory_mib: u64,
) -> Profile {
    Profile {
        id,
        name,
        slices,
        size,
        multiprocessors,
        memory_mib,
    }
}

const H100_PROFILES: &[Profile] = &[
    profile(19, "1g.10gb", (1, 1), 16, 9984),
    profile(20, "1g.10gb+me", (1, 1), 16, 9984),
    profile(14, "2g.20gb", (2, 2), 32, 20096),
    profile(9, "3g.40gb", (3, 4), 60, 40448),
    profile(0, "7g.80gb", (7, 8), 132, 81152),
];

const A100_PROFILES: &[Profile] = &[
    profile(19, "1g.10gb", (1, 1), 14, 9728),
    profile(14, "2g.20gb", (2, 2), 28, 19968),
    profile(9, "3g.40gb", (3, 4), 42, 40192),
    profile(5, "4g.40gb", (4, 4), 56, 40192),
    profile(0, "7g.80gb", (7, 8), 98, 80896),
];

/// Every product.
pub(crate) const MODELS: &[Model] = &[
    Model {
        key: "H100",
        name: "NVIDIA H100 80GB HBM3",
        readings: &[
            ("sm_clock", 345),
            ("memory_clock", 2619),
            ("temperature", 42),
            ("memory_temperature", 48),
            ("power", 69_850),
            ("energy", 1_234_567),
            ("pcie_replays", 0),
            ("gpu_utilization", 0),
            ("memory_utilization", 0),
            ("encoder_utilization", 0),
            ("decoder_utilization", 0),
            ("memory_total_mib", 81_559),
            ("memory_reserved_mib", 479),
            ("memory_used_mib", 0),
            ("nvlink_sent_kib", 0),
            ("nvlink_received_kib", 0),
            ("remapped_correctable", 0),
            ("remapped_uncorrectable", 0),
            ("remap_failure", 0),
            ("license", 0),
            ("gpm_graphics", 0),
            ("gpm_tensor", 0),
            ("gpm_dram", 0),
        ],
        profiles: H100_PROFILES,
    },
    Model {
        key: "A100",
        name: "NVIDIA A100-SXM4-80GB",
        readings: &[
            ("sm_clock", 210),
            ("memory_clock", 1593),
            ("temperature", 34),
            ("memory_temperature", 40),
            ("power", 62_100),
            ("energy", 2_345_678),
            ("pcie_replays", 0),
            ("gpu_utilization", 0),
            ("memory_utilization", 0),
            ("encoder_utilization", 0),
            ("decoder_utilization", 0),
            ("memory_total_mib", 81_920),
            ("memory_reserved_mib", 660),
            ("memory_used_mib", 0),
            ("nvlink_sent_kib", 0),
            ("nvlink_received_kib", 0),
            ("remapped_correctable", 0),
            ("remapped_uncorrectable", 0),
            ("remap_failure", 0),
            ("license", 0),
        ],
        profiles: A100_PROFILES,
    },
    Model {
        key: "L40S",
        name: "NVIDIA L40S",
        readings: &[
            ("sm_clock", 2520),
            ("memory_clock", 9001),
            ("temperature", 45),
            ("power", 119_880),
            ("energy", 3_456_789),
            ("pcie_replays", 0),
            ("gpu_utilization", 100),
            ("memory_utilization", 9),
            ("encoder_utilization", 0),
            ("decoder_utilization", 0),
            ("memory_total_mib", 46_068),
            ("memory_reserved_mib", 609),
            ("memory_used_mib", 0),
            ("remapped_correctable", 0),
            ("remapped_uncorrectable", 0),
            ("remap_failure", 0),
            ("license", 0),
        ],
        profiles: &[],
    },
    Model {
        key: "T4",
        name: "Tesla T4",
        readings: &[
            ("sm_clock", 300),
            ("memory_clock", 405),
            ("temperature", 38),
            ("power", 9_500),
            ("energy", 456_789),
            ("pcie_replays", 0),
            ("gpu_utilization", 0),
            ("memory_utilization", 0),
            ("encoder_utilization", 0),
            ("decoder_utilization", 0),
            ("memory_total_mib", 15_360),
            ("memory_reserved_mib", 448),
            ("memory_used_mib", 0),
            ("license", 0),
        ],
        profiles: &[],
    },
];
