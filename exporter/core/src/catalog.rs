//! Every metric, once: name, type, help, unit, labels, where it comes from and when it is absent. The exposition is written from it, and
//! documents, dashboards and alerts are tested against it.

use std::fmt::Write;

pub mod dcgm;

pub mod device;

pub mod mig;

pub mod attribution;

pub mod queue;

pub mod batch;

pub mod health;

pub mod origin;

/// How a metric behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only rises, save for restarts of what it counts.
    Counter,
    /// Goes both ways.
    Gauge,
    /// Counts by upper bound, with their sum.
    Histogram,
}

impl Kind {
    /// Its name in the text format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// One metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Its help text; DCGM's own for DCGM's names.
    pub help: &'static str,
    /// Unit of the value, in words.
    pub unit: &'static str,
    /// Labels that it can carry, in order; one without a value is left out.
    pub labels: &'static [&'static str],
}

/// Labels that name a GPU on our own metrics: DCGM's, save `modelName`, whose spelling promtool refuses.
pub const GPU_LABELS: &[&str] = &["gpu", "UUID", "pci_bus_id", "device", "Hostname"];

/// All metrics, by group: heading and metrics.
pub fn groups() -> Vec<(&'static str, Vec<&'static Metric>)> {
    vec![
        ("DCGM's names", dcgm::ALL.to_vec()),
        (
            "DCGM's names beyond its default set",
            dcgm::optional::ALL.to_vec(),
        ),
        ("GPUs", device::ALL.to_vec()),
        ("MIG instances", mig::ALL.to_vec()),
        ("Containers on GPUs", attribution::ALL.to_vec()),
        ("Inference servers", queue::ALL.to_vec()),
        ("Batch work", batch::ALL.to_vec()),
        ("The exporter itself", health::ALL.to_vec()),
    ]
}

/// Sets of labels that many metrics share, with the words that stand for them on the page.
fn label_sets() -> [(&'static str, &'static [&'static str]); 3] {
    [
        ("of DCGM", dcgm::LABELS),
        ("of a GPU", GPU_LABELS),
        ("of a server", queue::LABELS),
    ]
}

/// The labels of a metric, or the words for them.
fn labels(metric: &Metric) -> String {
    let mut sets = label_sets().into_iter();
    let set = sets.find(|(_, labels)| *labels == metric.labels);
    set.map_or_else(|| metric.labels.join(", "), |(words, _)| words.to_owned())
}

/// The catalogue as a Markdown page.
pub fn markdown() -> String {
    let mut page = String::from(
        "# Metrics\n\nGenerated from the catalogue (`exporter/core/src/catalog`); a test compares. \
         A series is absent, never zero,\nwhen its source does not know the value: the reasons stand in the last \
         column but one. Labels without a value are left out.\nWith `dialect: 4.8.3` the label `Hostname` is `hostname`.\n\n",
    );
    for (words, labels) in label_sets() {
        let _ = writeln!(page, "- Labels {words}: {}", labels.join(", "));
    }
    for (heading, metrics) in groups() {
        page.push_str("\n## ");
        page.push_str(heading);
        page.push_str(
            "\n\n| name | type | unit | labels | source | absent when | help |\n| --- | --- | --- | --- | --- | --- | --- |\n",
        );
        for metric in &metrics {
            let labels = labels(metric);
            let origin = origin::origin(metric.name);
            let (source, absent) = origin.map_or(("", ""), |it| (it.source, it.absent));
            let kind = metric.kind.name();
            let cells = [kind, metric.unit, &labels, source, absent, metric.help];
            let _ = writeln!(page, "| `{}` | {} |", metric.name, cells.join(" | "));
        }
        if metrics.contains(&&mig::FRAGMENTATION_RATIO) {
            page.push('\n');
            page.push_str(mig::DEFINITION);
        }
    }
    page.push_str("\n## When there are too many series\n\nWith `maxSeries` set, whole families are left out in this order until the rest fits; each one is named by\n`foresail_exporter_dropped_series`. All other families are served whatever their number is.\n\n");
    for (index, name) in crate::collect::budget::ORDER.iter().enumerate() {
        let _ = writeln!(page, "{}. `{name}`", index + 1);
    }
    page
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::exposition::{is_label_name, is_metric_name};

    fn all() -> Vec<&'static Metric> {
        groups()
            .into_iter()
            .flat_map(|(_, metrics)| metrics)
            .collect()
    }

    #[test]
    fn names_are_unique_and_sound() {
        let names: BTreeSet<&str> = all().iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), all().len());
        for metric in all() {
            assert!(is_metric_name(metric.name), "{}", metric.name);
            assert!(
                metric.labels.iter().all(|label| is_label_name(label)),
                "{}",
                metric.name
            );
            assert!(
                !metric.help.is_empty() && !metric.unit.is_empty(),
                "{}",
                metric.name
            );
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the page lies on disk")]
    fn the_page_is_the_catalogue() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(path, markdown()).unwrap();
        }
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            page == markdown(),
            "docs/metrics.md differs; run with UPDATE_GOLDEN=1"
        );
    }

    #[test]
    fn own_counters_and_only_they_end_in_total() {
        for metric in all()
            .into_iter()
            .filter(|metric| metric.name.starts_with("foresail_"))
        {
            let counter = metric.kind == Kind::Counter;
            assert_eq!(metric.name.ends_with("_total"), counter, "{}", metric.name);
        }
    }
}
