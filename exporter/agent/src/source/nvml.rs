//! GPUs of this node through NVIDIA's management library, opened at run time. A failing board or call costs its own
//! values only, and an absent or failing library is tried again at the next gather. Calls can hang: the thread that
//! owns this source is the only one that waits for them.

mod engines;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use exporter_core::device::{Gpu, Identity, Instance, Memory, Partitioning, Readings};
use exporter_core::reading::Reading;
use exporter_nvml::{Answer, Device, Error, Fields, Library, XidWatch};

use self::engines::Windows;
use super::{Gathered, Source, SourceError};

/// DCGM discards hotter readings, in degrees Celsius (`DcgmCacheManager.cpp`): drivers give such numbers for none.
const HOTTEST: u64 = 200;

/// Bound on the errors taken in one pass, so that a board that reports without end does not hold up the others.
const XIDS_AT_ONCE: usize = 1000;

/// The driver library, opened on the first gather and again after it was lost, and what is remembered of its boards.
#[derive(Default)]
pub(crate) struct Nvml {
    path: Option<PathBuf>,
    library: Option<Arc<Library>>,
    boards: BTreeMap<u32, Board>,
}

/// What the next pass needs of this one.
#[derive(Default)]
struct Board {
    identity: Option<Identity>,
    xids: Xids,
    last_xid: u64,
    links: Option<Links>,
    engines: Windows,
}

/// The watch over a board's errors, opened at the first pass.
#[derive(Default)]
enum Xids {
    #[default]
    NotYet,
    Unsupported,
    Watched(XidWatch),
}

/// Link counters, both directions, and when they were read.
#[derive(Clone, Copy)]
struct Links {
    kib: u64,
    at: Instant,
}

impl Nvml {
    /// `path` names the library's file; without one the loader searches for it.
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Self {
            path,
            ..Self::default()
        }
    }

    fn read(&mut self) -> Answer<Gathered> {
        let library = match &self.library {
            Some(library) => Arc::clone(library),
            None => Arc::new(Library::open(self.path.as_deref())?),
        };
        self.library = Some(Arc::clone(&library));
        let count = library.device_count()?;
        // A board that went away and comes back is seen as new.
        self.boards.retain(|index, _| *index < count);
        let gpus = (0..count).map(|index| self.gpu(&library, index));
        let gpus = gpus.collect::<Answer<Vec<Gpu>>>()?;
        Ok(Gathered {
            driver_version: library.driver_version().ok(),
            incomplete: gpus.iter().find_map(missing),
            gpus,
        })
    }

    /// Fails only when the library as a whole no longer serves this process.
    fn gpu(&mut self, library: &Arc<Library>, index: u32) -> Answer<Gpu> {
        let board = self.boards.entry(index).or_default();
        let gpu = library
            .device(index)
            .and_then(|device| board.read(library, &device));
        let error = match gpu {
            Err(error) if !error.needs_reopening() => error,
            gpu => return gpu,
        };
        // Watches and samples of a lost board do not outlive it; its name and its last error do.
        *board = Board {
            identity: board.identity.take(),
            last_xid: board.last_xid,
            ..Board::default()
        };
        // A board that was never seen whole has no names but its place.
        let unnamed = || Identity {
            index,
            minor: index,
            ..Identity::default()
        };
        Ok(Gpu {
            identity: board.identity.clone().unwrap_or_else(unnamed),
            lost: Some(error.to_string()),
            ..Gpu::default()
        })
    }
}

impl Source for Nvml {
    fn name(&self) -> &'static str {
        "nvml"
    }

    fn gather(&mut self, _now: f64) -> Result<Gathered, SourceError> {
        self.read().map_err(|error| {
            // Whatever it is, the only cure known is to open the library anew; watches and samples keep it open.
            self.boards.clear();
            self.library = None;
            SourceError::Unreachable(line(&error))
        })
    }
}

/// Why the library in this file cannot be used now, in one line. Opens and closes it.
pub(crate) fn usable(path: &Path) -> Result<(), String> {
    let count = Library::open(Some(path)).and_then(|library| library.device_count());
    count.map(drop).map_err(|error| line(&error))
}

/// An error and its cause in one line; the wrapper's errors repeat the causes below them.
fn line(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// Why a board's values are not complete. A place that needs privileges is not counted: it is a lasting state.
fn missing(gpu: &Gpu) -> Option<String> {
    let lost = gpu.lost.as_deref();
    let unread = || gpu.readings.failures().into_iter().next();
    let why = lost.or_else(unread).or_else(|| match &gpu.partitioning {
        Partitioning::Whole => None,
        Partitioning::Unknown(reason) => Some(reason),
        Partitioning::Mig(instances) => instances.iter().find_map(|instance| {
            let named = instance.profile.failure();
            named.or_else(|| instance.memory.failure())
        }),
    })?;
    Some(format!("gpu {}: {why}", gpu.identity.index))
}

impl Board {
    /// Fails only when the board itself is gone or has no name.
    fn read(&mut self, library: &Arc<Library>, device: &Device<'_>) -> Answer<Gpu> {
        let identity = device.identity()?;
        let identity = Identity {
            index: identity.index,
            uuid: identity.uuid,
            pci_bus_id: identity.pci_bus_id,
            // Boards are numbered in bus order unless a driver says otherwise.
            minor: identity.minor.unwrap_or(identity.index),
            model: identity.name,
        };
        if self.identity.as_ref() != Some(&identity) {
            // Another board in the same place: nothing of the old one holds.
            *self = Self {
                identity: Some(identity.clone()),
                ..Self::default()
            };
        }
        let mut readings = self.readings(library, device)?;
        self.engines.advance();
        let board = (identity.uuid.as_str(), None);
        let busy = self.engines.measure(library, device, board)?;
        readings.graphics_engine_active = busy.graphics_engine;
        readings.tensor_active = busy.tensor;
        readings.dram_active = busy.dram;
        let mut partitioning = partitioning(device)?;
        if let Partitioning::Mig(instances) = &mut partitioning {
            for instance in instances {
                let place = (instance.uuid.as_str(), Some(instance.id));
                let busy = self.engines.measure(library, device, place)?;
                instance.graphics_engine_active = busy.graphics_engine;
            }
        }
        Ok(Gpu {
            identity,
            lost: None,
            readings,
            partitioning,
            ..Gpu::default()
        })
    }

    fn readings(&mut self, library: &Arc<Library>, device: &Device<'_>) -> Answer<Readings> {
        let mut readings = Readings {
            sm_clock: wide(device.sm_clock())?,
            memory_clock: wide(device.memory_clock())?,
            temperature: plausible(wide(device.temperature())?),
            power: reading(device.power())?.map(|milliwatts| f64::from(milliwatts) / 1000.0),
            energy: reading(device.energy())?,
            pcie_replays: wide(device.pcie_replays())?,
            encoder_utilization: wide(device.encoder_utilization())?,
            decoder_utilization: wide(device.decoder_utilization())?,
            memory: reading(device.memory())?.map(memory),
            vgpu_license: reading(device.vgpu_license_status())?.map(|state| u64::from(state != 0)),
            last_xid: self.last_xid(library, device.index())?,
            ..Readings::default()
        };
        let rates = reading(device.utilization())?;
        readings.utilization = rates.clone().map(|rates| rates.gpu.into());
        readings.memory_utilization = rates.map(|rates| rates.memory.into());
        self.fields(device.fields(), &mut readings)?;
        Ok(readings)
    }

    fn fields(&mut self, fields: Answer<Fields>, readings: &mut Readings) -> Answer<()> {
        let fields = match reading(fields)? {
            Reading::Value(fields) => fields,
            Reading::Unsupported => return Ok(()),
            Reading::Failed(reason) => {
                readings.memory_temperature = Reading::Failed(reason);
                return Ok(());
            }
        };
        readings.memory_temperature = plausible(reading(fields.memory_temperature)?);
        readings.remapped_correctable = reading(fields.remapped_correctable)?;
        readings.remapped_uncorrectable = reading(fields.remapped_uncorrectable)?;
        readings.remap_failure = reading(fields.remap_failure)?;
        let sent = reading(fields.nvlink_sent_kib)?;
        let received = reading(fields.nvlink_received_kib)?;
        readings.nvlink_bandwidth = self.bandwidth(sent, received);
        Ok(())
    }

    /// DCGM's unit: KiB per second through 1000. Absent at the first pass and after a counter went back.
    fn bandwidth(&mut self, sent: Reading<u64>, received: Reading<u64>) -> Reading<u64> {
        let kib = match (sent, received) {
            (Reading::Value(sent), Reading::Value(received)) => sent.saturating_add(received),
            (Reading::Failed(reason), _) | (_, Reading::Failed(reason)) => {
                return Reading::Failed(reason);
            }
            _ => return Reading::Unsupported,
        };
        let now = Links {
            kib,
            at: Instant::now(),
        };
        let Some(before) = self.links.replace(now) else {
            return Reading::Unsupported;
        };
        let milliseconds = now.at.duration_since(before.at).as_millis();
        let grown = now.kib.checked_sub(before.kib).map(u128::from);
        grown
            // KiB per millisecond is KiB per second through 1000.
            .and_then(|kib| kib.checked_div(milliseconds))
            .and_then(|rate| u64::try_from(rate).ok())
            .map_or(Reading::Unsupported, Reading::Value)
    }

    /// 0 while none was reported since this process watches.
    fn last_xid(&mut self, library: &Arc<Library>, index: u32) -> Answer<Reading<u64>> {
        if matches!(self.xids, Xids::NotYet) {
            match reading(XidWatch::start(library, index))? {
                Reading::Value(watch) => self.xids = Xids::Watched(watch),
                Reading::Unsupported => self.xids = Xids::Unsupported,
                Reading::Failed(reason) => return Ok(Reading::Failed(reason)),
            }
        }
        let Xids::Watched(watch) = &self.xids else {
            return Ok(Reading::Unsupported);
        };
        for _ in 0..XIDS_AT_ONCE {
            match reading(watch.next())? {
                Reading::Value(Some(event)) => self.last_xid = event.xid,
                Reading::Value(None) | Reading::Unsupported => break,
                Reading::Failed(reason) => return Ok(Reading::Failed(reason)),
            }
        }
        Ok(Reading::Value(self.last_xid))
    }
}

/// Instances with what their own handles tell; their engines are measured apart.
fn partitioning(device: &Device<'_>) -> Answer<Partitioning> {
    match reading(device.mig_mode())? {
        Reading::Value(mode) if mode.current => {}
        Reading::Value(_) | Reading::Unsupported => return Ok(Partitioning::Whole),
        Reading::Failed(reason) => return Ok(Partitioning::Unknown(reason)),
    }
    let found = match reading(device.mig_instances())? {
        Reading::Value(found) => found,
        Reading::Unsupported => return Ok(Partitioning::Mig(Vec::new())),
        Reading::Failed(reason) => return Ok(Partitioning::Unknown(reason)),
    };
    // Several compute instances may share a GPU instance, which is what DCGM's series are about.
    let mut instances = BTreeMap::new();
    for instance in found {
        match reading(instance)? {
            Reading::Value(instance) => {
                let described = Instance {
                    uuid: instance.uuid,
                    id: instance.gpu_instance,
                    profile: reading(instance.profile)?,
                    start: reading(instance.placement)?.map(|place| place.start),
                    memory: reading(instance.memory)?.map(memory),
                    ..Instance::default()
                };
                instances.entry(described.id).or_insert(described);
            }
            Reading::Unsupported => {}
            Reading::Failed(reason) => return Ok(Partitioning::Unknown(reason)),
        }
    }
    Ok(Partitioning::Mig(instances.into_values().collect()))
}

/// An answer as a reading; a board or a driver that is gone ends the pass instead.
fn reading<T>(answer: Answer<T>) -> Result<Reading<T>, Error> {
    match answer {
        Ok(value) => Ok(Reading::Value(value)),
        Err(error) if error.is_lost() || error.needs_reopening() => Err(error),
        Err(error) if error.is_unsupported() => Ok(Reading::Unsupported),
        Err(error) => Ok(Reading::Failed(error.to_string())),
    }
}

fn wide(answer: Answer<u32>) -> Result<Reading<u64>, Error> {
    Ok(reading(answer)?.map(u64::from))
}

fn plausible(temperature: Reading<u64>) -> Reading<u64> {
    match temperature {
        Reading::Value(degrees) if degrees > HOTTEST => {
            Reading::Failed(format!("{degrees} °C is not a temperature"))
        }
        temperature => temperature,
    }
}

fn memory(memory: exporter_nvml::Memory) -> Memory {
    Memory {
        total: memory.total,
        used: memory.used,
        free: memory.free,
        reserved: memory.reserved,
    }
}
