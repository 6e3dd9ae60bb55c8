//! What is served under which names: the rows of dcgm-exporter's counters file, and the dialect of its labels. Decides
//! names and order alone, never values.

pub mod counters;

mod csv;

pub mod devices;

use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Arc, LazyLock},
    time::Duration,
};

use crate::catalog::{Metric, dcgm};

pub use devices::Devices;

/// Beginnings of the names that a counters file decides about.
const DECIDED: [&str; 2] = ["DCGM_FI_", "DCGM_EXP_"];

/// The label that names the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Hostname {
    /// `Hostname`, as dcgm-exporter up to 4.8.2.
    #[default]
    Upper,
    /// `hostname`, as dcgm-exporter from 4.8.3.
    Lower,
    /// No such label.
    Absent,
}

/// Which dcgm-exporter's names and order are spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Version {
    /// Up to 4.8.2: families in the order of DCGM's numbers, `NVLINK_BANDWIDTH_TOTAL` a counter.
    #[default]
    V482,
    /// From 4.8.3: families in the order of their names, `NVLINK_BANDWIDTH_TOTAL` a gauge.
    V483,
}

impl Version {
    /// The node's label, unless it is left out.
    pub fn hostname(self) -> Hostname {
        match self {
            Self::V482 => Hostname::Upper,
            Self::V483 => Hostname::Lower,
        }
    }
}

/// How labels are spelt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Dialect {
    /// Whose order and types.
    pub version: Version,
    /// The node's label.
    pub hostname: Hostname,
    /// Names of version 1: `uuid`, `pod_name`, `pod_namespace`, `container_name`.
    pub old_namespace: bool,
    /// `-` for every blank in `modelName`.
    pub dashes_in_model: bool,
}

impl Dialect {
    /// The dialect of that dcgm-exporter without any of its options.
    pub fn of(version: Version) -> Self {
        Self {
            version,
            hostname: version.hostname(),
            ..Self::default()
        }
    }

    /// The name under which a label of `metric` is shown; `None`: not at all.
    pub(crate) fn label(self, metric: &Metric, name: &'static str) -> Option<&'static str> {
        match (name, self.hostname) {
            ("Hostname", Hostname::Absent) => return None,
            ("Hostname", Hostname::Lower) => return Some("hostname"),
            _ => {}
        }
        // What is Foresail's own names its pods in one way only.
        Some(match (name, self.old_namespace, decided(metric)) {
            ("UUID", true, _) => "uuid",
            ("container", true, true) => "container_name",
            ("namespace", true, true) => "pod_namespace",
            ("pod", true, true) => "pod_name",
            _ => name,
        })
    }

    /// A label's value as it is shown.
    pub(crate) fn value(self, name: &'static str, value: &str) -> String {
        if name == "modelName" && self.dashes_in_model {
            value.split_whitespace().collect::<Vec<_>>().join("-")
        } else {
            value.to_string()
        }
    }
}

/// How far back the counts within a window look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Of Xid errors.
    pub xids: Duration,
    /// Of reasons for lowered clocks.
    pub clock_events: Duration,
}

impl Default for Windows {
    /// dcgm-exporter's.
    fn default() -> Self {
        let window = Duration::from_mins(5);
        Self {
            xids: window,
            clock_events: window,
        }
    }
}

/// How one family is headed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// Its place: families are shown in this order, then by name.
    pub order: u16,
    /// Its name.
    pub name: &'static str,
    /// Its type in the text format.
    pub kind: &'static str,
    /// Its help text.
    pub help: Cow<'static, str>,
}

/// What is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract {
    dialect: Dialect,
    /// Which GPUs and instances.
    pub devices: Devices,
    /// Series at most, so far as families may be left out; `None`: no bound.
    pub budget: Option<usize>,
    /// How far back windowed counts look.
    pub windows: Windows,
    /// Headings of the metrics that are served, by the catalogue's name.
    rows: BTreeMap<&'static str, Heading>,
    /// Fields shown as labels: name shown, and catalogue's name; by name shown.
    labels: BTreeMap<&'static str, &'static str>,
}

impl Contract {
    /// dcgm-exporter's default set with power limits and highest clocks.
    pub fn new(dialect: Dialect) -> Self {
        let metrics = dcgm::ALL.iter().chain(dcgm::optional::LIMITS);
        let gauge = |metric: &Metric| {
            let rate = metric.name == dcgm::NVLINK_BANDWIDTH_TOTAL.name;
            rate && dialect.version == Version::V483
        };
        let rows = metrics.map(|metric| {
            let kind = if gauge(metric) {
                "gauge"
            } else {
                metric.kind.name()
            };
            let heading = Heading {
                order: order(
                    dialect,
                    dcgm::fields::field(metric.name).map_or(0, |(id, _)| id),
                ),
                name: metric.name,
                kind,
                help: Cow::Borrowed(metric.help),
            };
            (metric.name, heading)
        });
        Self {
            dialect,
            devices: Devices::default(),
            budget: None,
            windows: Windows::default(),
            rows: rows.collect(),
            labels: dcgm::TEXTS[..1].iter().map(|name| (*name, *name)).collect(),
        }
    }

    /// The contract of most users, made once.
    pub fn standard() -> &'static Arc<Self> {
        static STANDARD: LazyLock<Arc<Contract>> =
            LazyLock::new(|| Arc::new(Contract::new(Dialect::default())));
        &STANDARD
    }

    /// How labels are spelt.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// How `metric` is headed; `None` when it is not served.
    pub(crate) fn heading(&self, metric: &'static Metric) -> Option<Heading> {
        if decided(metric) {
            return self.rows.get(metric.name).cloned();
        }
        Some(Heading {
            order: order(self.dialect, u16::MAX),
            name: metric.name,
            kind: metric.kind.name(),
            help: Cow::Borrowed(metric.help),
        })
    }

    /// Fields shown as labels, in the order in which they are shown: name shown, and catalogue's name.
    pub(crate) fn fields_as_labels(
        &self,
    ) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
        self.labels.iter().map(|(shown, name)| (*shown, *name))
    }
}

fn decided(metric: &Metric) -> bool {
    DECIDED.iter().any(|start| metric.name.starts_with(start))
}

/// Place of a family whose field has that number.
fn order(dialect: Dialect, id: u16) -> u16 {
    match dialect.version {
        Version::V482 => id,
        Version::V483 => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_spelt_by_the_dialect() {
        let label = |dialect: Dialect| dialect.label(&dcgm::GPU_TEMP, "Hostname");
        assert_eq!(label(Dialect::of(Version::V482)), Some("Hostname"));
        assert_eq!(label(Dialect::of(Version::V483)), Some("hostname"));
        let old = Dialect {
            hostname: Hostname::Absent,
            old_namespace: true,
            dashes_in_model: true,
            ..Dialect::default()
        };
        assert_eq!(label(old), None);
        assert_eq!(old.label(&dcgm::GPU_TEMP, "UUID"), Some("uuid"));
        assert_eq!(old.value("modelName", " NVIDIA  L4 "), "NVIDIA-L4");
    }

    #[test]
    fn the_default_set_is_that_of_dcgm_exporter_and_limits() {
        let contract = Contract::standard();
        assert_eq!(
            contract.rows.len(),
            dcgm::ALL.len() + dcgm::optional::LIMITS.len()
        );
        assert_eq!(contract.heading(&dcgm::optional::PCIE_LINK_GEN), None);
        let link = &dcgm::NVLINK_BANDWIDTH_TOTAL;
        let kind = |version| {
            Contract::new(Dialect::of(version))
                .heading(link)
                .unwrap()
                .kind
        };
        assert_eq!(
            (kind(Version::V482), kind(Version::V483)),
            ("counter", "gauge")
        );
    }
}
