//! What a dcgm-exporter on the same node measures and the driver library does not: the profiling ratios of boards before
//! Hopper and of their MIG instances. Fills in what is not supported, never what was read or failed.

use crate::{
    catalog::{
        Metric,
        dcgm::{self, optional},
    },
    device::{Gpu, Instance, Partitioning, Readings},
    exposition::Sample,
    reading::Reading,
};

/// One ratio of a board or of an instance of it.
#[derive(Clone, Debug, PartialEq)]
struct Ratio {
    /// `GPU-…` of the board.
    uuid: String,
    /// Id and profile of the instance; `None` for the board itself.
    instance: Option<(u32, Option<String>)>,
    metric: &'static str,
    /// 0 to 1, or bytes per second.
    value: f64,
}

/// All ratios that an exposition holds.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Lent(Vec<Ratio>);

/// Profiling fields that a board or an instance has a place for.
static FIELDS: [&Metric; 10] = [
    &dcgm::PROF_GR_ENGINE_ACTIVE,
    &dcgm::PROF_PIPE_TENSOR_ACTIVE,
    &dcgm::PROF_DRAM_ACTIVE,
    &dcgm::PROF_PCIE_TX_BYTES,
    &dcgm::PROF_PCIE_RX_BYTES,
    &optional::PROF_SM_ACTIVE,
    &optional::PROF_SM_OCCUPANCY,
    &optional::PROF_PIPE_FP64_ACTIVE,
    &optional::PROF_PIPE_FP32_ACTIVE,
    &optional::PROF_PIPE_FP16_ACTIVE,
];

impl Lent {
    /// The ratios among `samples`, under any spelling of their fields. Values that are none are left out.
    pub fn read(samples: &[Sample]) -> Self {
        let numbers = FIELDS.map(|metric| dcgm::fields::field(metric.name).map(|(id, _)| id));
        let ratio = |sample: &Sample| {
            let (id, _) = dcgm::fields::field(&sample.name)?;
            let place = numbers.iter().position(|number| *number == Some(id))?;
            let label = |name: &str| sample.labels.get(name);
            let instance = match label("GPU_I_ID") {
                Some(id) => Some((id.parse().ok()?, label("GPU_I_PROFILE").cloned())),
                None => None,
            };
            let value = sample.value;
            let sound = value.is_finite() && value >= 0.0;
            sound.then_some(Ratio {
                uuid: label("UUID").or_else(|| label("uuid"))?.clone(),
                instance,
                metric: FIELDS[place].name,
                value,
            })
        };
        Self(samples.iter().filter_map(ratio).collect())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Fills in what the boards and instances of `gpus` do not read themselves.
    pub fn lend(&self, gpus: &mut [Gpu]) {
        for gpu in gpus.iter_mut().filter(|gpu| gpu.lost.is_none()) {
            for ratio in self
                .0
                .iter()
                .filter(|ratio| ratio.uuid == gpu.identity.uuid)
            {
                let place = match &ratio.instance {
                    None => of_board(&mut gpu.readings, ratio.metric),
                    Some((id, profile)) => same(&mut gpu.partitioning, *id, profile.as_deref())
                        .and_then(|instance| of_instance(instance, ratio.metric)),
                };
                if let Some(place @ Reading::Unsupported) = place {
                    *place = Reading::Value(ratio.value);
                }
            }
            let whole = &gpu.readings.graphics_engine_active;
            if *whole == Reading::Unsupported
                && let Some(ratio) = whole_board(gpu)
            {
                gpu.readings.graphics_engine_active = Reading::Value(ratio);
            }
        }
    }
}

/// The instance with that id, unless it was cut anew as something else since the other exporter looked.
fn same<'a>(
    partitioning: &'a mut Partitioning,
    id: u32,
    profile: Option<&str>,
) -> Option<&'a mut Instance> {
    let Partitioning::Mig(instances) = partitioning else {
        return None;
    };
    let named = |instance: &Instance| match (profile, instance.profile.value()) {
        (Some(there), Some(here)) => there == here,
        _ => true,
    };
    instances
        .iter_mut()
        .find(|instance| instance.id == id && named(instance))
}

fn of_board<'a>(readings: &'a mut Readings, metric: &str) -> Option<&'a mut Reading<f64>> {
    let places = [
        &mut readings.graphics_engine_active,
        &mut readings.tensor_active,
        &mut readings.dram_active,
        &mut readings.pcie_sent,
        &mut readings.pcie_received,
        &mut readings.sm_active,
        &mut readings.sm_occupancy,
        &mut readings.fp64_active,
        &mut readings.fp32_active,
        &mut readings.fp16_active,
    ];
    let place = FIELDS.iter().position(|field| field.name == metric)?;
    places.into_iter().nth(place)
}

fn of_instance<'a>(instance: &'a mut Instance, metric: &str) -> Option<&'a mut Reading<f64>> {
    let places = [
        &mut instance.graphics_engine_active,
        &mut instance.tensor_active,
        &mut instance.dram_active,
    ];
    let place = FIELDS.iter().position(|field| field.name == metric)?;
    places.into_iter().nth(place)
}

/// Share of the whole board's engines that were active: its instances by their compute slices. `None` unless every
/// instance tells its own and the driver tells their sizes: a part is not the whole.
fn whole_board(gpu: &Gpu) -> Option<f64> {
    let (Partitioning::Mig(instances), Some(layout)) = (&gpu.partitioning, gpu.layout.value())
    else {
        return None;
    };
    let slices = |id: u32| {
        let placed = layout.instances.iter().find(|placed| placed.id == id)?;
        let mut profiles = layout.profiles.iter();
        let profile = profiles.find(|profile| profile.id == placed.profile)?;
        Some(f64::from(profile.slices))
    };
    let all = layout.profiles.iter().map(|profile| profile.slices).max()?;
    let mut busy = 0.0;
    for instance in instances {
        busy += instance.graphics_engine_active.value()? * slices(instance.id)?;
    }
    (all > 0 && !instances.is_empty()).then(|| (busy / f64::from(all)).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{exposition::parse, simulated::fleet::Fleet};

    /// Simulated boards without any ratio of their own, as before Hopper.
    fn boards(spec: &str) -> Vec<Gpu> {
        let mut gpus = Fleet::new(&spec.parse().unwrap(), 7)
            .snapshot(1.0, "n")
            .gpus;
        for gpu in &mut gpus {
            for field in FIELDS {
                *of_board(&mut gpu.readings, field.name).unwrap() = Reading::Unsupported;
            }
            if let Partitioning::Mig(instances) = &mut gpu.partitioning {
                for instance in instances {
                    for field in &FIELDS[..3] {
                        *of_instance(instance, field.name).unwrap() = Reading::Unsupported;
                    }
                }
            }
        }
        gpus
    }

    fn lend(gpus: &mut [Gpu], text: &str) {
        Lent::read(&parse(text).unwrap()).lend(gpus);
    }

    #[test]
    fn what_is_not_measured_is_filled_in_and_nothing_else() {
        let mut gpus = boards("2xA100-SXM4-80GB");
        let uuid = gpus[0].identity.uuid.clone();
        gpus[0].readings.tensor_active = Reading::Value(0.5);
        gpus[0].readings.dram_active = Reading::Failed("it did not answer".into());
        lend(
            &mut gpus,
            &format!(
                "DCGM_FI_PROF_GR_ENGINE_ACTIVE{{UUID=\"{uuid}\"}} 0.25\n\
                 DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{{uuid=\"{uuid}\"}} 0.9\n\
                 DCGM_FI_PROF_DRAM_ACTIVE{{UUID=\"{uuid}\"}} 0.9\n\
                 DCGM_FI_PROF_SM_ACTIVE{{UUID=\"{uuid}\"}} NaN\n\
                 DCGM_FI_DEV_GPU_UTIL{{UUID=\"{uuid}\"}} 7\n\
                 DCGM_FI_PROF_GR_ENGINE_ACTIVE{{UUID=\"GPU-other\"}} 0.7\n"
            ),
        );
        let readings = &gpus[0].readings;
        assert_eq!(readings.graphics_engine_active, Reading::Value(0.25));
        assert_eq!(readings.tensor_active, Reading::Value(0.5), "read here");
        assert!(
            readings.dram_active.failure().is_some(),
            "a fault stays one"
        );
        assert_eq!(readings.sm_active, Reading::Unsupported);
        let other = &gpus[1].readings.graphics_engine_active;
        assert_eq!(*other, Reading::Unsupported, "absent, not zero");
    }

    #[test]
    fn instances_get_their_own_and_the_board_their_sum_by_slices() {
        let mut gpus = boards("1xA100-SXM4-80GB:mig=3g.40gb@4+2g.20gb@0");
        let uuid = gpus[0].identity.uuid.clone();
        let row = |id: u32, profile: &str, value: f64| {
            format!(
                "DCGM_FI_PROF_GR_ENGINE_ACTIVE{{UUID=\"{uuid}\",GPU_I_ID=\"{id}\",GPU_I_PROFILE=\"{profile}\"}} {value}\n"
            )
        };
        let ids: Vec<(u32, String)> = match &gpus[0].partitioning {
            Partitioning::Mig(all) => all
                .iter()
                .map(|one| (one.id, one.profile.value().unwrap().clone()))
                .collect(),
            _ => Vec::new(),
        };
        let busy = |profile: &str| if profile == "3g.40gb" { 0.7 } else { 0.35 };
        let one = row(ids[0].0, &ids[0].1, busy(&ids[0].1));
        let mut part = gpus.clone();
        lend(&mut part, &one);
        assert_eq!(
            part[0].readings.graphics_engine_active,
            Reading::Unsupported,
            "a part is not the whole"
        );
        lend(
            &mut gpus,
            &(one + &row(ids[1].0, &ids[1].1, busy(&ids[1].1))),
        );
        // 3 of 7 slices at 0.7 and 2 of 7 at 0.35.
        let whole = gpus[0].readings.graphics_engine_active.value().unwrap();
        assert!((whole - 0.4).abs() < 1e-12, "{whole}");
    }

    #[test]
    fn an_id_that_was_cut_anew_gets_nothing() {
        let mut gpus = boards("1xA100-SXM4-80GB:mig=3g.40gb@4");
        let uuid = gpus[0].identity.uuid.clone();
        let text = format!(
            "DCGM_FI_PROF_GR_ENGINE_ACTIVE{{UUID=\"{uuid}\",GPU_I_ID=\"1\",GPU_I_PROFILE=\"1g.10gb\"}} 0.5\n\
             DCGM_FI_PROF_GR_ENGINE_ACTIVE{{UUID=\"{uuid}\",GPU_I_ID=\"x\"}} 0.5\n"
        );
        let before = gpus.clone();
        lend(&mut gpus, &text);
        assert_eq!(gpus, before);
    }
}
