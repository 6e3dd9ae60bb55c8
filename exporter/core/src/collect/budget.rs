//! Which families are left out when there are more series than the budget: whole families, in one order, and each one
//! is named by a series of its own. Never drops a part of a family.

use super::{Families, Labels};
use crate::{catalog::health, exposition::text::Value};

/// Families that may be left out, the first one first: what is finest and most numerous goes before what a dashboard or a
/// scaler rests on. All others are served whatever their number is.
pub const ORDER: [&str; 16] = [
    "foresail_container_gpu_processes",
    "foresail_container_gpu_utilization_ratio",
    "foresail_container_gpu_memory_used_bytes",
    "foresail_inference_time_per_output_token_seconds",
    "foresail_inference_time_to_first_token_seconds",
    "foresail_inference_request_duration_seconds",
    "foresail_gpu_xid_last_seen_timestamp_seconds",
    "foresail_gpu_clock_event_active",
    "foresail_mig_compute_instance_multiprocessors",
    "foresail_mig_compute_instance_info",
    "foresail_mig_instance_multiprocessors",
    "foresail_mig_placeable_instances_compacted",
    "foresail_mig_placeable_instances",
    "foresail_gpu_absent_info",
    "foresail_gpu_xid_errors_total",
    "foresail_gpu_pod_info",
];

/// Leaves families out until the rest fits into the budget, and says which.
pub(super) fn apply(families: &mut Families, node: &Labels) {
    let Some(budget) = families.contract.budget else {
        return;
    };
    let mut total = count(families);
    for name in ORDER {
        if total <= budget {
            break;
        }
        let before = families.found.len();
        let mut dropped = 0;
        families.found.retain(|_, family| {
            let stays = family.metric.name != name;
            if !stays {
                dropped = family.series.len();
            }
            stays
        });
        if families.found.len() < before {
            let mut labels = node.clone();
            labels.insert("family", name.into());
            let number = Value::Whole(dropped as u64);
            families.add(&health::DROPPED_SERIES, &labels, number);
        }
        total = count(families);
    }
}

/// Number of series so far.
pub(super) fn count(families: &Families) -> usize {
    let families = families.found.values();
    families.map(|family| family.series.len()).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        attribution::{Attribution, Owner},
        catalog::groups,
        collect::{Family, collect_under},
        contract::{Contract, Dialect},
        device::Process,
        reading::Reading,
        simulated::fleet::Fleet,
        snapshot::Snapshot,
    };

    fn full(budget: Option<usize>) -> Vec<Family> {
        let layout = "1g.10gb@0+1g.10gb@1+1g.10gb@2+1g.10gb@3+1g.10gb@4+1g.10gb@5+1g.10gb@6";
        let spec = format!("8xH100-SXM5-80GB:mig={layout}");
        let mut fleet = Fleet::new(&spec.parse().unwrap(), 7);
        fleet.advance(60.0, &[0.5; 8]);
        let mut contract = Contract::new(Dialect::default());
        contract.budget = budget;
        let mut snapshot = fleet.snapshot(1.0e9, "n");
        owned(&mut snapshot);
        collect_under(&Arc::new(contract), &snapshot, "0")
    }

    /// Sixty processes, each in a container of its own, on the instances of the boards.
    fn owned(snapshot: &mut Snapshot) {
        let mut found = Attribution::default();
        for pid in 0..60_u32 {
            let owner = Owner {
                namespace: "serving".into(),
                pod: format!("chat-{pid}"),
                container: "server".into(),
                share: None,
            };
            found.processes.insert(pid, owner);
            let process = Process {
                pid,
                gpu_instance: Some(7 + pid % 7),
                memory: Reading::Value(1 << 30),
                ..Process::default()
            };
            let gpu = &mut snapshot.gpus[pid as usize % 8];
            let mut all = gpu.processes.value().cloned().unwrap_or_default();
            all.push(process);
            gpu.processes = Reading::Value(all);
        }
        snapshot.attribution = Some(found);
    }

    fn series(families: &[Family]) -> usize {
        families.iter().map(|family| family.series.len()).sum()
    }

    #[test]
    fn eight_gpus_cut_into_seven_stay_far_below_six_thousand_series() {
        let families = full(None);
        let count = series(&families);
        assert!((500..4000).contains(&count), "{count}");
        let containers = families
            .iter()
            .find(|family| family.metric.name == ORDER[0]);
        assert_eq!(containers.map(|family| family.series.len()), Some(60));
        let labels = families.iter().flat_map(|family| &family.series);
        assert!(
            labels
                .map(|series| series.labels.len())
                .all(|count| count < 20)
        );
    }

    #[test]
    fn families_go_in_order_whole_and_aloud() {
        let all = full(None);
        // The number of series itself comes on top.
        let less = full(Some(series(&all) - 2));
        let name = |family: &Family| family.metric.name;
        let left: Vec<&str> = ORDER
            .into_iter()
            .filter(|n| all.iter().any(|f| name(f) == *n))
            .collect();
        let gone = |families: &[Family]| -> Vec<&'static str> {
            let there = |n: &&str| families.iter().any(|f| name(f) == *n);
            ORDER
                .into_iter()
                .filter(|n| left.contains(n) && !there(n))
                .collect()
        };
        assert_eq!(gone(&less), left[..1]);
        let said = less
            .iter()
            .find(|f| name(f) == health::DROPPED_SERIES.name)
            .unwrap();
        assert_eq!(said.series[0].labels[0], ("family", left[0].to_string()));
        let least = full(Some(0));
        assert_eq!(gone(&least), left);
        assert!(
            least.iter().any(|f| name(f) == "DCGM_FI_DEV_GPU_TEMP"),
            "never left out"
        );
    }

    #[test]
    fn the_order_names_families_that_there_are() {
        let known: Vec<&str> = groups()
            .into_iter()
            .flat_map(|(_, all)| all)
            .map(|m| m.name)
            .collect();
        assert!(ORDER.iter().all(|name| known.contains(name)));
        assert!(
            groups()
                .into_iter()
                .flat_map(|(_, all)| all)
                .all(|m| m.labels.len() < 20)
        );
    }
}
