//! What DCGM has no name for, by partitioned GPU and MIG instance.

use super::{Kind, Metric};

/// Labels of a GPU, and one more.
macro_rules! labels {
    ($($more:literal),*) => {
        &["gpu", "UUID", "pci_bus_id", "device", $($more,)* "Hostname"]
    };
}

const fn gauge(
    name: &'static str,
    unit: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> Metric {
    Metric {
        name,
        kind: Kind::Gauge,
        help,
        unit,
        labels,
    }
}

/// Where an instance lies.
pub static INSTANCE_INFO: Metric = gauge(
    "foresail_mig_instance_info",
    "1",
    &[
        "gpu",
        "UUID",
        "pci_bus_id",
        "device",
        "GPU_I_PROFILE",
        "GPU_I_ID",
        "Hostname",
        "mig_uuid",
        "start",
        "size",
    ],
    "A MIG GPU instance: the UUID of its first compute instance, its first memory slice and their number, where the driver tells. Always 1.",
);

/// Size of an instance.
pub static INSTANCE_MULTIPROCESSORS: Metric = gauge(
    "foresail_mig_instance_multiprocessors",
    "multiprocessors",
    labels!["GPU_I_PROFILE", "GPU_I_ID"],
    "Multiprocessors of the GPU instance. Absent without privileges.",
);

/// What containers get.
pub static COMPUTE_INSTANCE_INFO: Metric = gauge(
    "foresail_mig_compute_instance_info",
    "1",
    &[
        "gpu",
        "UUID",
        "pci_bus_id",
        "device",
        "GPU_I_PROFILE",
        "GPU_I_ID",
        "Hostname",
        "compute_instance",
        "compute_profile",
        "mig_uuid",
    ],
    "A compute instance inside a GPU instance, which is what a container gets. Always 1.",
);

/// Size of what containers get.
pub static COMPUTE_INSTANCE_MULTIPROCESSORS: Metric = gauge(
    "foresail_mig_compute_instance_multiprocessors",
    "multiprocessors",
    labels!["GPU_I_PROFILE", "GPU_I_ID", "compute_instance"],
    "Multiprocessors that the compute instance may use; fewer than its GPU instance has, on some boards by design.",
);

/// What fits now.
pub static PLACEABLE: Metric = gauge(
    "foresail_mig_placeable_instances",
    "instances",
    labels!["profile"],
    "How many more GPU instances of the profile fit as the present ones lie, if nothing else is created. Absent without privileges.",
);

/// What would fit.
pub static PLACEABLE_COMPACTED: Metric = gauge(
    "foresail_mig_placeable_instances_compacted",
    "instances",
    labels!["profile"],
    "How many more GPU instances of the profile would fit if the present ones were placed anew. Absent without privileges.",
);

/// Slices in no instance.
pub static FREE_SLICES: Metric = gauge(
    "foresail_mig_free_slices",
    "slices",
    labels!["kind"],
    "Slices of the GPU in no GPU instance, by kind: memory or compute. Absent without privileges.",
);

/// Slices that nothing can use.
pub static STRANDED_SLICES: Metric = gauge(
    "foresail_mig_stranded_slices",
    "slices",
    labels!["kind"],
    "Free slices that stay unused whatever is created now, by kind: memory or compute. Absent without privileges.",
);

/// What position costs.
pub static FRAGMENTATION_RATIO: Metric = gauge(
    "foresail_mig_fragmentation_ratio",
    "ratio",
    labels![],
    "Share of the instances that would fit after compaction and do not fit now, as a mean over shapes; 0 to 1. Absent without privileges.",
);

/// The definition that the page of metrics gives, with a worked example.
pub const DEFINITION: &str = "\
### How `foresail_mig_fragmentation_ratio` is made

A GPU instance takes neighbouring memory slices and may start at certain slices only, so free slices in the wrong places are worth
less than their number. For each profile p the driver's placements say how many more instances fit as things lie, `now(p)`
(`foresail_mig_placeable_instances`), and how many would fit if the present instances were placed anew in the way that is best
for p, `compacted(p)` (`foresail_mig_placeable_instances_compacted`). Profiles with the same placements and compute slices, such as
`1g.10gb` and `1g.10gb+me`, are one shape. Over the shapes with `compacted(p) > 0`:

    ratio = mean(1 - now(p) / compacted(p))

0: nothing is lost by position, also when nothing more would fit anyway. 1: room that compaction would open, and no instance fits now.

Example: an H100 with three 1g.10gb at slices 0, 1 and 5. Free are the memory slices 2, 3, 4, 6 and 7, and four of seven compute slices.

| profile | may start at : slices | now | compacted (instances at 4, 5, 6) | lost |
| --- | --- | --- | --- | --- |
| 1g.10gb | 0 to 6 : 1 | 4 | 4 | 0 |
| 1g.20gb | 0, 2, 4, 6 : 2 | 2 | 2 | 0 |
| 2g.20gb | 0, 2, 4 : 2 | 1 | 2 | 0.5 |
| 3g.40gb | 0, 4 : 4 | 0 | 1 | 1 |
| 4g.40gb | 0 : 4 | 0 | 1 | 1 |
| 7g.80gb | 0 : 8 | 0 | 0 | not counted |

The ratio is (0 + 0 + 0.5 + 1 + 1) / 5 = 0.5. No slice is stranded (`foresail_mig_stranded_slices`): small instances could take each of
them. Two 3g.40gb leave no memory slice and one compute slice, which is stranded; the ratio is 0, since moving them would gain nothing.
Limits that several profiles share, such as one media engine for `+me` and `+me.all`, are not known to the count.
";

/// All of them.
pub static ALL: &[&Metric] = &[
    &INSTANCE_INFO,
    &INSTANCE_MULTIPROCESSORS,
    &COMPUTE_INSTANCE_INFO,
    &COMPUTE_INSTANCE_MULTIPROCESSORS,
    &PLACEABLE,
    &PLACEABLE_COMPACTED,
    &FREE_SLICES,
    &STRANDED_SLICES,
    &FRAGMENTATION_RATIO,
];
