//! GPUs that do not exist, busy as a generated day of load says. For trying out; every series carries
//! the same names as a real node's.

use exporter_core::simulated::{
    fleet::{Fleet, Spec},
    load::Day,
};

use super::{Gathered, Source, SourceError};

/// Share of its peak load at which a simulated GPU is fully busy; the flash crowd goes beyond.
const FULL: f64 = 1.2;

/// A simulated fleet that lives as fast as the clock of its caller.
pub(crate) struct Simulated {
    fleet: Fleet,
    loads: Vec<Day>,
    last: Option<f64>,
}

impl Simulated {
    /// The fleet of `spec`; the same seed gives the same fleet.
    pub(crate) fn new(spec: &Spec, seed: u64) -> Self {
        let loads = (0..)
            .take(spec.gpus())
            .map(|gpu| Day::new(seed.wrapping_add(gpu), 1.0));
        Self {
            fleet: Fleet::new(spec, seed),
            loads: loads.collect(),
            last: None,
        }
    }
}

impl Source for Simulated {
    fn name(&self) -> &'static str {
        "simulated"
    }

    fn gather(&mut self, now: f64) -> Result<Gathered, SourceError> {
        let seconds = now - self.last.unwrap_or(now);
        self.last = Some(now);
        let busy: Vec<f64> = self
            .loads
            .iter()
            .map(|load| load.rate(now) / FULL)
            .collect();
        self.fleet.advance(seconds, &busy);
        let snapshot = self.fleet.snapshot(now, "");
        Ok(Gathered {
            driver_version: snapshot.driver_version,
            nvml_version: snapshot.nvml_version,
            gpus: snapshot.gpus,
            incomplete: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_passes_costs_energy() {
        let mut source = Simulated::new(&"2xL4".parse().unwrap(), 1);
        let mut energy = |now| {
            let gathered = source.gather(now).unwrap();
            *gathered.gpus[1].readings.energy.value().unwrap()
        };
        assert_eq!(energy(1000.0), 0);
        assert!(
            (160_000..=720_000).contains(&energy(1010.0)),
            "10 s between 16 and 72 W"
        );
    }
}
