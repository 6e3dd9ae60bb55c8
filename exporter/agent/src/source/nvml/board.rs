//! One board from pass to pass: who it is, what it reads, and what the next pass needs of this one. Runs on the thread
//! that makes the calls; a failing call costs its own value, and a board that is gone ends the pass.

use std::sync::Arc;
use std::time::Instant;

use exporter_core::device::health::Links;
use exporter_core::device::{
    ClockEvents, Gpu, Health, Identity, Partitioning, Readings, Texts, Xids,
};
use exporter_core::reading::Reading;
use exporter_nvml::{Answer, Device, Field, Fields, Library, XidWatch};

use super::engines::{Windows, generation};
use super::partition::Profiles;
use super::processes::Processes;
use super::rate::Rate;
use super::{memory, reading, texts};

/// DCGM discards hotter readings, in degrees Celsius (`DcgmCacheManager.cpp`): drivers give such numbers for none.
const HOTTEST: u64 = 200;

/// Bound on the errors taken in one pass, so that a board that reports without end does not hold up the others.
const XIDS_AT_ONCE: usize = 1000;

/// Far more links than a board has.
const MOST_LINKS: u64 = 64;

/// What the next pass needs of this one.
#[derive(Default)]
pub(super) struct Board {
    pub(super) identity: Option<Identity>,
    /// `None` until they are read.
    texts: Option<Texts>,
    clock_events: ClockEvents,
    /// Errors counted so far; "unsupported" before the first watch.
    pub(super) xids: Reading<Xids>,
    watch: Watch,
    links: Rate,
    sent: Rate,
    received: Rate,
    engines: Windows,
    profiles: Profiles,
    processes: Processes,
}

/// The watch over a board's errors, opened at the first pass.
#[derive(Default)]
enum Watch {
    #[default]
    NotYet,
    Unsupported,
    Open(XidWatch),
}

impl Board {
    /// What stays of a board that is lost: its name and its errors. Watches and samples do not outlive it.
    pub(super) fn remains(&mut self) -> Self {
        Self {
            identity: self.identity.take(),
            xids: std::mem::take(&mut self.xids),
            ..Self::default()
        }
    }

    /// Fails only when the board itself is gone or has no name, or when the library no longer serves this process.
    pub(super) fn read(&mut self, library: &Arc<Library>, index: u32, now: f64) -> Answer<Gpu> {
        let device = library.device(index)?;
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
        if self.texts.is_none() {
            self.texts = Some(texts::read(&device)?);
        }
        let errors = self.errors(library, index, now)?;
        let mut readings = self.readings(&device)?;
        if let Some(bits) = readings.health.clock_events.value() {
            self.clock_events.observe(now, *bits);
        }
        readings.last_xid = errors;
        self.engines.advance();
        let board = (identity.uuid.clone(), None);
        let busy = self.engines.measure(library, &device, board)?;
        readings.graphics_engine_active = busy.graphics_engine;
        readings.sm_active = busy.sm;
        readings.sm_occupancy = busy.occupancy;
        readings.tensor_active = busy.tensor;
        readings.dram_active = busy.dram;
        readings.fp64_active = busy.fp64;
        readings.fp32_active = busy.fp32;
        readings.fp16_active = busy.fp16;
        let mut cut = self.profiles.cut(&device)?;
        if let Partitioning::Mig(instances) = &mut cut.partitioning {
            for instance in instances.iter_mut().filter(|one| !one.compute.is_empty()) {
                let place = (generation(instance), Some(instance.id));
                let busy = self.engines.measure(library, &device, place)?;
                instance.graphics_engine_active = busy.graphics_engine;
                instance.tensor_active = busy.tensor;
                instance.dram_active = busy.dram;
            }
        }
        Ok(Gpu {
            identity,
            lost: None,
            texts: self.texts.clone().unwrap_or_default(),
            clock_events: (readings.health.clock_events.clone()).map(|_| self.clock_events.clone()),
            readings,
            partitioning: cut.partitioning,
            layout: cut.layout,
            xids: self.xids.clone(),
            processes: self.processes.read(&device)?,
            ..Gpu::default()
        })
    }

    fn readings(&mut self, device: &Device<'_>) -> Answer<Readings> {
        let watts = |milliwatts: u32| f64::from(milliwatts) / 1000.0;
        let mut readings = Readings {
            sm_clock: wide(device.sm_clock())?,
            memory_clock: wide(device.memory_clock())?,
            sm_clock_limit: wide(device.sm_clock_limit())?,
            memory_clock_limit: wide(device.memory_clock_limit())?,
            temperature: plausible(wide(device.temperature())?),
            power: reading(device.power())?.map(watts),
            power_limit: reading(device.power_limit())?.map(watts),
            enforced_power_limit: reading(device.enforced_power_limit())?.map(watts),
            energy: reading(device.energy())?,
            pcie_replays: wide(device.pcie_replays())?,
            pcie_generation: wide(device.pcie_generation())?,
            pcie_width: wide(device.pcie_width())?,
            encoder_utilization: wide(device.encoder_utilization())?,
            decoder_utilization: wide(device.decoder_utilization())?,
            memory: reading(device.memory())?.map(memory),
            vgpu_license: reading(device.vgpu_license_status())?.map(|state| u64::from(state != 0)),
            ..Readings::default()
        };
        let rates = reading(device.utilization())?;
        readings.utilization = rates.clone().map(|rates| rates.gpu.into());
        readings.memory_utilization = rates.map(|rates| rates.memory.into());
        match reading(device.fields())? {
            Reading::Value(fields) => self.fields(device, fields, &mut readings)?,
            Reading::Unsupported => {}
            // One call failed, so one reading says so.
            Reading::Failed(reason) => readings.memory_temperature = Reading::Failed(reason),
        }
        readings.health.clock_events = reading(device.clock_events())?;
        Ok(readings)
    }

    fn fields(
        &mut self,
        device: &Device<'_>,
        mut fields: Fields,
        readings: &mut Readings,
    ) -> Answer<()> {
        let mut take = |field| reading(fields.take(field));
        readings.memory_temperature = plausible(take(Field::MemoryTemperature)?);
        readings.remapped_correctable = take(Field::RemappedCorrectable)?;
        readings.remapped_uncorrectable = take(Field::RemappedUncorrectable)?;
        readings.remap_failure = take(Field::RemapFailure)?;
        let now = Instant::now();
        let both = sum(take(Field::NvlinkSentKib)?, take(Field::NvlinkReceivedKib)?);
        // DCGM's unit: KiB per second through 1000.
        readings.nvlink_bandwidth = rate(&mut self.links, both, now).map(|kib| whole(kib / 1000.0));
        readings.pcie_sent = rate(&mut self.sent, take(Field::PcieSent)?, now);
        readings.pcie_received = rate(&mut self.received, take(Field::PcieReceived)?, now);
        let links = take(Field::NvlinkCount)?;
        readings.health = Health {
            ecc_corrected_volatile: take(Field::EccCorrectedVolatile)?,
            ecc_uncorrected_volatile: take(Field::EccUncorrectedVolatile)?,
            ecc_corrected_aggregate: take(Field::EccCorrectedAggregate)?,
            ecc_uncorrected_aggregate: take(Field::EccUncorrectedAggregate)?,
            retired_single_bit: take(Field::RetiredSingleBit)?,
            retired_double_bit: take(Field::RetiredDoubleBit)?,
            retired_pending: take(Field::RetiredPending)?,
            remap_pending: take(Field::RemapPending)?,
            nvlink_flit_errors: take(Field::NvlinkFlitErrors)?,
            nvlink_data_errors: take(Field::NvlinkDataErrors)?,
            nvlink_replays: take(Field::NvlinkReplays)?,
            nvlink_recoveries: take(Field::NvlinkRecoveries)?,
            nvlinks: nvlinks(device, links)?,
            clock_events: Reading::Unsupported,
            power_violation: take(Field::PowerViolation)?,
            thermal_violation: take(Field::ThermalViolation)?,
            sync_boost_violation: take(Field::SyncBoostViolation)?,
            board_limit_violation: take(Field::BoardLimitViolation)?,
            low_utilization_violation: take(Field::LowUtilizationViolation)?,
            reliability_violation: take(Field::ReliabilityViolation)?,
        };
        Ok(())
    }

    /// Counts the errors that came since the last pass; the code of the last one, 0 while none came.
    fn errors(&mut self, library: &Arc<Library>, index: u32, now: f64) -> Answer<Reading<u64>> {
        if matches!(self.watch, Watch::NotYet) {
            match reading(XidWatch::start(library, index))? {
                Reading::Value(watch) => self.watch = Watch::Open(watch),
                Reading::Unsupported => self.watch = Watch::Unsupported,
                Reading::Failed(reason) => return Ok(Reading::Failed(reason)),
            }
        }
        let Watch::Open(watch) = &self.watch else {
            return Ok(Reading::Unsupported);
        };
        let mut xids = match std::mem::take(&mut self.xids) {
            Reading::Value(xids) => xids,
            Reading::Unsupported | Reading::Failed(_) => Xids::watching(),
        };
        let mut failure = None;
        for _ in 0..XIDS_AT_ONCE {
            match reading(watch.next()) {
                Ok(Reading::Value(Some(event))) => xids.count(event.xid, now),
                Ok(Reading::Value(None) | Reading::Unsupported) => break,
                Ok(Reading::Failed(reason)) => {
                    failure = Some(Ok(Reading::Failed(reason)));
                    break;
                }
                Err(error) => {
                    failure = Some(Err(error));
                    break;
                }
            }
        }
        let last = xids.last();
        self.xids = Reading::Value(xids);
        failure.unwrap_or(Ok(Reading::Value(last)))
    }
}

fn nvlinks(device: &Device<'_>, count: Reading<u64>) -> Answer<Reading<Links>> {
    let count = match count {
        Reading::Value(count) if count > 0 => count.min(MOST_LINKS),
        Reading::Value(_) | Reading::Unsupported => return Ok(Reading::Unsupported),
        Reading::Failed(reason) => return Ok(Reading::Failed(reason)),
    };
    let mut links = Links::default();
    for link in 0..u32::try_from(count).unwrap_or(0) {
        match reading(device.nvlink_works(link))? {
            Reading::Value(true) => links.up += 1,
            Reading::Value(false) => links.down += 1,
            Reading::Unsupported => {}
            Reading::Failed(reason) => return Ok(Reading::Failed(reason)),
        }
    }
    Ok(Reading::Value(links))
}

fn wide(answer: Answer<u32>) -> Answer<Reading<u64>> {
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

fn sum(one: Reading<u64>, other: Reading<u64>) -> Reading<u64> {
    match (one, other) {
        (Reading::Value(one), Reading::Value(other)) => Reading::Value(one.saturating_add(other)),
        (Reading::Failed(reason), _) | (_, Reading::Failed(reason)) => Reading::Failed(reason),
        _ => Reading::Unsupported,
    }
}

/// Absent at the first pass and after a counter went back.
fn rate(rate: &mut Rate, count: Reading<u64>, now: Instant) -> Reading<f64> {
    match count {
        Reading::Value(count) => rate
            .per_second(count, now)
            .map_or(Reading::Unsupported, Reading::Value),
        Reading::Unsupported => Reading::Unsupported,
        Reading::Failed(reason) => Reading::Failed(reason),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and no rate is negative"
)]
fn whole(value: f64) -> u64 {
    value as u64
}
