//! How the exporter itself fares.

use super::{Kind, Metric};

const SOURCE: &[&str] = &["source", "target", "Hostname"];

const fn of(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> Metric {
    Metric {
        name,
        kind,
        help,
        unit,
        labels,
    }
}

/// Version.
pub static BUILD_INFO: Metric = of(
    "foresail_build_info",
    Kind::Gauge,
    "1",
    &["program", "version"],
    "Version of the program. Always 1.",
);

/// Reachable.
pub static SOURCE_UP: Metric = of(
    "foresail_source_up",
    Kind::Gauge,
    "0 or 1",
    SOURCE,
    "Whether the source could be reached.",
);

/// Complete.
pub static SOURCE_SUCCESS: Metric = of(
    "foresail_source_success",
    Kind::Gauge,
    "0 or 1",
    SOURCE,
    "Whether the last gather of the source brought everything that it supports.",
);

/// Time taken.
pub static SOURCE_DURATION: Metric = of(
    "foresail_source_duration_seconds",
    Kind::Gauge,
    "seconds",
    SOURCE,
    "Time that the last gather of the source took.",
);

/// Last complete gather.
pub static SOURCE_LAST_SUCCESS: Metric = of(
    "foresail_source_last_success_timestamp_seconds",
    Kind::Gauge,
    "unix seconds",
    SOURCE,
    "End of the last complete gather of the source. Absent before the first.",
);

/// Gathers that failed.
pub static SOURCE_FAILURES: Metric = of(
    "foresail_source_failures_total",
    Kind::Counter,
    "gathers",
    SOURCE,
    "Gathers of the source that failed since the exporter started.",
);

/// Age of what is served.
pub static SNAPSHOT_TIMESTAMP: Metric = of(
    "foresail_exporter_snapshot_timestamp_seconds",
    Kind::Gauge,
    "unix seconds",
    &["Hostname"],
    "End of the gather that this exposition shows.",
);

/// Size of what is served.
pub static SERIES: Metric = of(
    "foresail_exporter_series",
    Kind::Gauge,
    "series",
    &["Hostname"],
    "Series in this exposition, this one left out.",
);

/// What the budget left out.
pub static DROPPED_SERIES: Metric = of(
    "foresail_exporter_dropped_series",
    Kind::Gauge,
    "series",
    &["family", "Hostname"],
    "Series of a family that is left out because there are more series than maxSeries. Absent when none is.",
);

/// All of them.
pub static ALL: &[&Metric] = &[
    &BUILD_INFO,
    &SOURCE_UP,
    &SOURCE_SUCCESS,
    &SOURCE_DURATION,
    &SOURCE_LAST_SUCCESS,
    &SOURCE_FAILURES,
    &SNAPSHOT_TIMESTAMP,
    &SERIES,
    &DROPPED_SERIES,
];
