//! The boards the library can stand for: names, sizes and idle readings as recordings of real boards show them, or
//! typical of their kind. Profiles and places are those of the product's own tables, which the exporter never asks.

use std::collections::BTreeMap;

use exporter_core::mig::boards;
use exporter_core::mig::profile::{Board as Mig, Profile};

/// A product.
pub(crate) struct Model {
    /// Word in the file.
    pub(crate) key: &'static str,
    /// As the driver prints it.
    pub(crate) name: &'static str,
    /// Total and reserved memory in MiB.
    memory: (u64, u64),
    /// Highest clocks of multiprocessors and memory, MHz.
    clocks: (u64, u64),
    /// Power limit, milliwatts.
    power_limit: u64,
    /// `NVLink`s.
    links: u64,
    /// What a generation reads.
    generation: Generation,
    /// `None` on boards that cannot be partitioned.
    pub(crate) mig: Option<&'static Mig>,
}

/// What boards of an age and kind can read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Generation {
    /// Pascal and Turing: retired pages, no remapped rows.
    Old,
    /// Ampere and Ada without high-bandwidth memory.
    Card,
    /// Ampere with high-bandwidth memory.
    Ampere,
    /// Hopper and Blackwell: performance monitoring.
    Hopper,
}

/// One board on the bus.
pub(crate) struct Board {
    pub(crate) model: &'static Model,
    pub(crate) uuid: Option<String>,
    pub(crate) readings: BTreeMap<String, u64>,
    /// `None`: this board has no such mode.
    pub(crate) mig: Option<bool>,
    pub(crate) instances: Vec<Instance>,
    pub(crate) processes: Vec<Process>,
    pub(crate) xids: Vec<u64>,
}

/// One GPU instance.
#[derive(Clone)]
pub(crate) struct Instance {
    pub(crate) profile: &'static Profile,
    pub(crate) id: u32,
    pub(crate) start: u32,
    pub(crate) used_mib: u64,
    pub(crate) compute: Vec<Compute>,
}

/// One compute instance in it: a MIG device.
#[derive(Clone)]
pub(crate) struct Compute {
    pub(crate) id: u32,
    pub(crate) slices: u32,
    pub(crate) multiprocessors: u32,
}

/// A process on a board.
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) list: String,
    /// `None`: the driver does not tell.
    pub(crate) used_mib: Option<u64>,
    pub(crate) gpu_instance: Option<u32>,
    /// Percent of multiprocessors and memory; `None` for one that did not run.
    pub(crate) busy: Option<(u32, u32)>,
}

impl Model {
    pub(crate) fn profiles(&self) -> &'static [Profile] {
        self.mig.map_or(&[], |mig| mig.profiles)
    }

    /// MiB of an instance: as listed, else its share of the board.
    pub(crate) fn memory_mib(&self, profile: &Profile) -> u64 {
        let grid = self.mig.map_or(1, |mig| mig.grid);
        let share = self.memory.0 * u64::from(profile.size) / u64::from(grid);
        profile.memory_mib.unwrap_or(share)
    }
}

/// Multiprocessors of an instance: as listed, else sixteen a slice.
pub(crate) fn multiprocessors(profile: &Profile) -> u32 {
    profile.multiprocessors.unwrap_or(16 * profile.slices)
}

impl Board {
    pub(crate) fn new(model: &'static Model) -> Self {
        Self {
            model,
            uuid: None,
            readings: readings(model),
            mig: model.mig.map(|_| false),
            instances: Vec::new(),
            processes: Vec::new(),
            xids: Vec::new(),
        }
    }

    /// MIG devices in order: each compute instance of each GPU instance.
    pub(crate) fn devices(&self) -> impl Iterator<Item = (&Instance, &Compute)> {
        let of = |instance| {
            let instance: &Instance = instance;
            instance
                .compute
                .iter()
                .map(move |compute| (instance, compute))
        };
        self.instances.iter().flat_map(of)
    }

    /// Adds an instance where the driver would allow it: a listed place, free slices, not too many.
    pub(crate) fn place(&mut self, instance: Instance) -> Option<()> {
        let (wanted, start) = (instance.profile, instance.start);
        let apart = |other: &Instance| {
            start + wanted.size <= other.start || other.start + other.profile.size <= start
        };
        let same = self
            .instances
            .iter()
            .filter(|other| other.profile.id == wanted.id)
            .count();
        let allowed = wanted.starts.contains(&start)
            && self
                .instances
                .iter()
                .all(|other| apart(other) && other.id != instance.id)
            && same < wanted.max as usize;
        allowed.then(|| self.instances.push(instance))
    }
}

/// What every board reads at first.
const IDLE: [(&str, u64); 20] = [
    ("temperature", 42),
    ("energy", 1_234_567),
    ("clock_events", 1),
    ("pcie_replays", 0),
    ("pcie_generation", 4),
    ("pcie_width", 16),
    ("pcie_sent", 0),
    ("pcie_received", 0),
    ("gpu_utilization", 0),
    ("memory_utilization", 0),
    ("encoder_utilization", 0),
    ("decoder_utilization", 0),
    ("memory_used_mib", 0),
    ("license", 0),
    ("ecc_corrected_volatile", 0),
    ("ecc_uncorrected_volatile", 0),
    ("ecc_corrected_aggregate", 0),
    ("ecc_uncorrected_aggregate", 0),
    ("power_violation", 0),
    ("thermal_violation", 0),
];

const RETIRED: [(&str, u64); 3] = [
    ("retired_single_bit", 0),
    ("retired_double_bit", 0),
    ("retired_pending", 0),
];

const REMAPPED: [(&str, u64); 4] = [
    ("remapped_correctable", 0),
    ("remapped_uncorrectable", 0),
    ("remap_pending", 0),
    ("remap_failure", 0),
];

const LINKED: [(&str, u64); 6] = [
    ("nvlink_sent_kib", 0),
    ("nvlink_received_kib", 0),
    ("nvlink_flit_errors", 0),
    ("nvlink_data_errors", 0),
    ("nvlink_replays", 0),
    ("nvlink_recoveries", 0),
];

const MONITORED: [(&str, u64); 5] = [
    ("gpm_graphics", 0),
    ("gpm_sm", 0),
    ("gpm_occupancy", 0),
    ("gpm_tensor", 0),
    ("gpm_dram", 0),
];

/// What a fresh board reads; what is not here is "not supported".
fn readings(model: &Model) -> BTreeMap<String, u64> {
    let mut readings = BTreeMap::new();
    let mut add = |pairs: &[(&str, u64)]| {
        readings.extend(
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value)),
        );
    };
    add(&IDLE);
    add(&[
        ("sm_clock", model.clocks.0 / 5),
        ("memory_clock", model.clocks.1),
        ("sm_clock_limit", model.clocks.0),
        ("memory_clock_limit", model.clocks.1),
        ("power", model.power_limit / 10),
        ("power_limit", model.power_limit),
        ("enforced_power_limit", model.power_limit),
        ("memory_total_mib", model.memory.0),
        ("memory_reserved_mib", model.memory.1),
    ]);
    if model.generation == Generation::Old {
        add(&RETIRED);
    } else {
        add(&REMAPPED);
    }
    if matches!(model.generation, Generation::Ampere | Generation::Hopper) {
        add(&[("memory_temperature", 48)]);
    }
    if model.links > 0 {
        add(&LINKED);
        add(&[("nvlink_count", model.links), ("nvlinks_up", model.links)]);
    }
    if model.generation == Generation::Hopper {
        add(&MONITORED);
    }
    readings
}

/// Short form for the table below.
const fn model(
    (key, name): (&'static str, &'static str),
    memory: (u64, u64),
    clocks: (u64, u64),
    (power_watts, links): (u64, u64),
    generation: Generation,
    mig: Option<&'static Mig>,
) -> Model {
    Model {
        key,
        name,
        memory,
        clocks,
        power_limit: power_watts * 1000,
        links,
        generation,
        mig,
    }
}

use Generation::{Ampere, Card, Hopper, Old};

/// Every product. Memory of H100, L40S and RTX 2080 SUPER is that of recordings.
#[rustfmt::skip]
pub(crate) static MODELS: [Model; 20] = [
    model(("P100", "Tesla P100-PCIE-16GB"), (16_384, 232), (1328, 715), (250, 0), Old, None),
    model(("P40", "Tesla P40"), (23_040, 117), (1531, 3615), (250, 0), Old, None),
    model(("T4", "Tesla T4"), (15_360, 448), (1590, 5001), (70, 0), Old, None),
    model(("RTX2080S", "NVIDIA GeForce RTX 2080 SUPER"), (8192, 390), (2115, 7751), (250, 0), Old, None),
    model(("L4", "NVIDIA L4"), (23_034, 500), (2040, 6251), (72, 0), Card, None),
    model(("L40S", "NVIDIA L40S"), (46_068, 609), (2520, 9001), (350, 0), Card, None),
    model(("A30", "NVIDIA A30"), (24_576, 512), (1440, 1215), (165, 4), Ampere, Some(&boards::A30)),
    model(("A100-40", "NVIDIA A100-SXM4-40GB"), (40_960, 600), (1410, 1215), (400, 12), Ampere, Some(&boards::A100_40)),
    model(("A100", "NVIDIA A100-SXM4-80GB"), (81_920, 660), (1410, 1593), (400, 12), Ampere, Some(&boards::A100_80)),
    model(("H100", "NVIDIA H100 80GB HBM3"), (81_559, 479), (1980, 2619), (700, 18), Hopper, Some(&boards::H100_80)),
    model(("H100-NVL", "NVIDIA H100 NVL"), (95_830, 500), (1785, 2619), (400, 12), Hopper, Some(&boards::H100_94)),
    model(("H100-96", "NVIDIA H100 SXM5 96GB"), (97_871, 500), (1980, 2619), (700, 18), Hopper, Some(&boards::H100_96)),
    model(("H20", "NVIDIA H20"), (97_871, 500), (1980, 2619), (500, 18), Hopper, Some(&boards::H100_96)),
    model(("H200", "NVIDIA H200"), (143_771, 500), (1980, 3201), (700, 18), Hopper, Some(&boards::H200_141)),
    model(("GH200", "NVIDIA GH200 480GB"), (147_456, 500), (1980, 2619), (900, 18), Hopper, Some(&boards::GH200_144)),
    model(("B200", "NVIDIA B200"), (183_359, 500), (1965, 3996), (1000, 18), Hopper, Some(&boards::B200_180)),
    model(("GB200", "NVIDIA GB200"), (189_471, 500), (2062, 3996), (1200, 18), Hopper, Some(&boards::GB200_186)),
    model(("B300", "NVIDIA B300 SXM6 AC"), (275_040, 500), (2032, 3996), (1100, 18), Hopper, Some(&boards::B300_269)),
    model(("RTX-PRO-6000", "NVIDIA RTX PRO 6000 Blackwell Server Edition"), (97_887, 638), (2430, 12_481), (600, 0), Hopper, Some(&boards::RTX_PRO_6000)),
    model(("A2", "NVIDIA A2"), (15_356, 417), (1770, 6251), (60, 0), Card, None),
];
