//! One simulated GPU: power follows utilization, energy is the integral of power, temperature lags
//! behind power, and memory adds up.

use super::{board::Board, noise};
use crate::{
    device::{
        ClockEvents, ComputeInstance, Gpu, Health, Identity, Instance, Layout, Memory,
        Partitioning, Placed, Readings, Span, Texts, Xids, health::Links, texts::brand,
    },
    leak::Leaks,
    mig::{geometry::Geometry, profile::Profile},
    reading::Reading,
};

/// Temperature of an unpowered board in a data hall, degrees Celsius.
const AMBIENT: f64 = 35.0;
/// Degrees above ambient at the power limit; a recorded H100 had 59 °C at 90 % of its limit.
const RISE: f64 = 28.0;
/// Seconds in which two thirds of a temperature step are done.
const LAG: f64 = 40.0;
/// Share of memory that weights take once a model has been loaded.
const WEIGHTS: f64 = 0.35;
/// Share of memory that caches take at full load.
const CACHES: f64 = 0.5;

pub(super) struct SimulatedGpu {
    board: &'static Board,
    geometry: Option<Geometry>,
    index: u32,
    seed: u64,
    /// Steps done; the clock of the noise.
    step: u64,
    utilization: f64,
    power: f64,
    temperature: f64,
    /// Millijoules.
    energy: f64,
    /// Whether something ran here: weights stay loaded.
    loaded: bool,
}

impl SimulatedGpu {
    pub(super) fn new(
        board: &'static Board,
        geometry: Option<Geometry>,
        index: u32,
        seed: u64,
    ) -> Self {
        let idle = board.power.0;
        Self {
            board,
            geometry,
            index,
            seed,
            step: 0,
            utilization: 0.0,
            power: idle,
            temperature: settled(board, idle),
            energy: 0.0,
            loaded: false,
        }
    }

    /// Lets `seconds` pass at `utilization` (0 to 1).
    pub(super) fn advance(&mut self, seconds: f64, utilization: f64) {
        self.step += 1;
        self.utilization = utilization;
        self.loaded |= utilization > 0.0;
        let (idle, limit) = self.board.power;
        // Boards draw less than proportionally near the top, and a few percent of it flicker.
        let flicker = 0.03 * (self.noise(0) - 0.5);
        let share = utilization.powf(0.8) * (1.0 + flicker);
        self.power = (idle + (limit - idle) * share).clamp(idle, limit);
        self.energy += self.power * seconds * 1000.0;
        let target = settled(self.board, self.power);
        self.temperature += (target - self.temperature) * (1.0 - (-seconds / LAG).exp());
    }

    fn noise(&self, stream: u64) -> f64 {
        noise(self.seed, u64::from(self.index) * 16 + stream, self.step)
    }

    /// What is read of it at `now`, in unix seconds.
    pub(super) fn gpu(&self, now: f64) -> Gpu {
        let instances = self.instances();
        let memory = self.memory(&instances);
        Gpu {
            identity: self.identity(),
            lost: None,
            texts: self.texts(),
            clock_events: Reading::Value(self.clock_events(now)),
            readings: self.readings(memory),
            partitioning: match self.geometry {
                Some(_) => Partitioning::Mig(instances),
                None => Partitioning::Whole,
            },
            layout: self.layout(),
            xids: Reading::Value(Xids::watching()),
            processes: Reading::Unsupported,
            leaks: Leaks::default(),
        }
    }

    fn layout(&self) -> Reading<Layout> {
        let Some(geometry) = &self.geometry else {
            return Reading::Unsupported;
        };
        let board = geometry.board();
        let placed = |(profile, start): &(&'static Profile, u32)| Placed {
            id: board.instance_id(profile, *start),
            profile: profile.id,
            span: Span {
                start: *start,
                size: profile.size,
            },
        };
        Reading::Value(Layout {
            profiles: board.profiles.iter().map(Profile::listed).collect(),
            instances: geometry.instances().iter().map(placed).collect(),
        })
    }

    /// Bits of the reasons for lowered clocks: idle or none.
    fn clock_bits(&self) -> u64 {
        u64::from(self.utilization == 0.0)
    }

    /// Only what holds now: a simulation has no memory of its clocks.
    fn clock_events(&self, now: f64) -> ClockEvents {
        let mut events = ClockEvents::default();
        events.observe(now, self.clock_bits());
        events
    }

    /// A brand and a number; there is no firmware.
    fn texts(&self) -> Texts {
        Texts {
            brand: Some(brand(14).to_owned()),
            serial: Some(format!("{:013}", noise_bits(self.seed, self.index, 6, 40))),
            ..Texts::default()
        }
    }

    fn identity(&self) -> Identity {
        let word = |stream: u64, bits: u32| noise_bits(self.seed, self.index, stream, bits);
        Identity {
            index: self.index,
            uuid: format!(
                "GPU-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
                word(1, 32),
                word(2, 16),
                word(3, 16),
                word(4, 16),
                word(5, 48)
            ),
            pci_bus_id: format!("00000000:{:02X}:00.0", 0x0A + self.index * 3),
            minor: self.index,
            model: self.board.model.into(),
        }
    }

    fn readings(&self, memory: Memory) -> Readings {
        let board = self.board;
        let zero = || Reading::Value(0);
        // A partitioned GPU has no utilization of its own; the driver says "not supported".
        let whole = self.geometry.is_none();
        let percent = |share: f64| Reading::Value(rounded(share * 100.0).min(100));
        let only = |reading: Reading<u64>| if whole { reading } else { Reading::Unsupported };
        let busy = self.utilization;
        Readings {
            sm_clock: Reading::Value(self.clock()),
            memory_clock: Reading::Value(board.memory_clock),
            memory_temperature: known(board.memory_temperature, rounded(self.temperature + 5.0)),
            temperature: Reading::Value(rounded(self.temperature)),
            power: Reading::Value(self.power),
            power_limit: Reading::Value(board.power.1),
            enforced_power_limit: Reading::Value(board.power.1),
            sm_clock_limit: Reading::Value(board.sm_clock.1),
            memory_clock_limit: Reading::Value(board.memory_clock),
            energy: Reading::Value(rounded(self.energy)),
            pcie_replays: zero(),
            utilization: only(percent(busy)),
            memory_utilization: only(percent(busy * 0.6)),
            encoder_utilization: only(zero()),
            decoder_utilization: only(zero()),
            last_xid: zero(),
            memory: Reading::Value(memory),
            nvlink_bandwidth: match board.nvlink {
                0 => Reading::Unsupported,
                most => Reading::Value(rounded(most as f64 * busy * 0.2)),
            },
            vgpu_license: zero(),
            remapped_uncorrectable: zero(),
            remapped_correctable: zero(),
            remap_failure: zero(),
            graphics_engine_active: known(board.profiling, busy),
            tensor_active: known(board.profiling, busy * 0.55),
            dram_active: known(board.profiling, busy * 0.6),
            pcie_sent: known(board.profiling, busy * 2.0e9),
            pcie_received: known(board.profiling, busy * 3.0e9),
            sm_active: known(board.profiling, busy * 0.9),
            sm_occupancy: known(board.profiling, busy * 0.4),
            health: self.health(),
            ..Readings::default()
        }
    }

    fn health(&self) -> Health {
        let zero = || Reading::Value(0);
        Health {
            ecc_corrected_volatile: zero(),
            ecc_uncorrected_volatile: zero(),
            ecc_corrected_aggregate: zero(),
            ecc_uncorrected_aggregate: zero(),
            remap_pending: zero(),
            nvlinks: match self.board.nvlink {
                0 => Reading::Unsupported,
                _ => Reading::Value(Links { up: 18, down: 0 }),
            },
            clock_events: Reading::Value(self.clock_bits()),
            ..Health::default()
        }
    }

    /// Full clock while something runs, a little less near the power limit; the lowest when idle.
    fn clock(&self) -> u64 {
        let (lowest, highest) = self.board.sm_clock;
        if self.utilization == 0.0 {
            return lowest;
        }
        let throttled = ((self.utilization - 0.9).max(0.0)) * 0.8;
        rounded(highest as f64 * (1.0 - throttled)).clamp(lowest, highest)
    }

    /// Bytes that are used of `size` bytes.
    fn used(&self, size: u64, stream: u64) -> u64 {
        if !self.loaded {
            return 0;
        }
        let caches = CACHES * self.utilization * (0.9 + 0.1 * self.noise(stream));
        rounded(size as f64 * (WEIGHTS + caches)).min(size)
    }

    fn memory(&self, instances: &[Instance]) -> Memory {
        let total = self.board.memory_mib << 20;
        let reserved = self.board.reserved_mib << 20;
        let room = total - reserved;
        let used = if self.geometry.is_none() {
            self.used(room, 6)
        } else {
            let each = instances
                .iter()
                .filter_map(|instance| instance.memory.value());
            each.map(|memory| memory.used).sum::<u64>().min(room)
        };
        Memory {
            total,
            used,
            free: room - used,
            reserved: Some(reserved),
        }
    }

    fn instances(&self) -> Vec<Instance> {
        let Some(geometry) = &self.geometry else {
            return Vec::new();
        };
        let grid = geometry.board().grid;
        let one = |(profile, start): &(&'static Profile, u32)| {
            let id = geometry.board().instance_id(profile, *start);
            let share = self.board.memory_mib * u64::from(profile.size) / u64::from(grid);
            let total = profile.memory_mib.unwrap_or(share) << 20;
            let used = self.used(total, 7 + u64::from(*start));
            let word = |stream: u64, bits| {
                noise_bits(self.seed, self.index, stream + 8 * u64::from(id + 1), bits)
            };
            let uuid = format!(
                "MIG-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
                word(1, 32),
                word(2, 16),
                word(3, 16),
                word(4, 16),
                word(5, 48)
            );
            Instance {
                id,
                profile: Reading::Value(profile.name.into()),
                start: Reading::Value(*start),
                memory: Reading::Value(Memory {
                    total,
                    used,
                    free: total - used,
                    reserved: Some(0),
                }),
                size: Reading::Value(profile.size),
                multiprocessors: profile
                    .multiprocessors
                    .map_or(Reading::Unsupported, Reading::Value),
                graphics_engine_active: known(self.board.profiling, self.utilization),
                tensor_active: known(self.board.profiling, self.utilization * 0.55),
                dram_active: known(self.board.profiling, self.utilization * 0.6),
                compute: vec![ComputeInstance {
                    uuid: uuid.clone(),
                    id: 0,
                    profile: Reading::Value(profile.name.into()),
                    multiprocessors: profile
                        .multiprocessors
                        .map_or(Reading::Unsupported, Reading::Value),
                }],
                uuid,
            }
        };
        geometry.instances().iter().map(one).collect()
    }
}

/// A reading that some boards have and others have not.
fn known<T>(known: bool, value: T) -> Reading<T> {
    if known {
        Reading::Value(value)
    } else {
        Reading::Unsupported
    }
}

/// Temperature that a board reaches at `power` watts.
fn settled(board: &Board, power: f64) -> f64 {
    AMBIENT + RISE * power / board.power.1
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and no figure here is negative"
)]
fn rounded(value: f64) -> u64 {
    value.round() as u64
}

/// A fixed number of `bits` bits for names.
fn noise_bits(seed: u64, index: u32, stream: u64, bits: u32) -> u64 {
    rounded(noise(seed, 1000 + u64::from(index), stream) * ((1_u64 << bits) - 1) as f64)
}
