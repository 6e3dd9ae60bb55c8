//! dcgm-exporter's counters file: one row for each field that is served, with its type and help text. A row that the
//! file gives replaces the default set; a row that cannot be served is told from one that is misspelt.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use super::{Contract, Devices, Dialect, Heading, Windows, csv, order};
use crate::catalog::{Metric, dcgm};

/// Types that a row may have, as dcgm-exporter takes them.
const KINDS: [&str; 5] = ["gauge", "counter", "histogram", "summary", "label"];

/// Why a file is refused; every message names the line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CountersError {
    /// A quote inside a field, or without an end.
    #[error(
        "line {0}: a quote stands inside a field or has no end; quote a whole field, and its quotes twice"
    )]
    Quote(usize),
    /// Not three fields.
    #[error(
        "line {line}: {count} fields instead of 3; write NAME, TYPE, HELP, and quote a help text that has a comma"
    )]
    Fields {
        /// The line.
        line: usize,
        /// How many there are.
        count: usize,
    },
    /// Not a field of DCGM.
    #[error("line {line}: DCGM has no field {name:?}{hint}")]
    Unknown {
        /// The line.
        line: usize,
        /// What it names.
        name: String,
        /// A name that is nearly the same, or nothing.
        hint: String,
    },
    /// Not a type.
    #[error("line {line}: {name}: {kind:?} is no type; write gauge, counter or label")]
    Kind {
        /// The line.
        line: usize,
        /// The field.
        name: String,
        /// What stands there.
        kind: String,
    },
    /// A text that should be a number.
    #[error("line {line}: {name} is a text; write the type label")]
    Text {
        /// The line.
        line: usize,
        /// The field.
        name: String,
    },
}

/// A row that is left out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Its line.
    pub line: usize,
    /// Its field.
    pub name: &'static str,
    /// Why, in one line.
    pub why: &'static str,
}

impl Contract {
    /// The contract of a counters file, and its rows that are left out.
    ///
    /// # Errors
    /// The first line that dcgm-exporter would refuse too.
    pub fn read(text: &str, dialect: Dialect) -> Result<(Self, Vec<Left>), CountersError> {
        let mut contract = Self {
            dialect,
            devices: Devices::default(),
            budget: None,
            windows: Windows::default(),
            rows: BTreeMap::new(),
            labels: BTreeMap::new(),
        };
        let mut left = Vec::new();
        let mut seen = BTreeSet::new();
        let records =
            csv::records(text).map_err(|csv::Unquotable(line)| CountersError::Quote(line))?;
        for record in records {
            let line = record.line;
            let Row {
                id,
                name,
                kind,
                help,
            } = row(&record)?;
            let mut leave = |why| left.push(Left { line, name, why });
            if !seen.insert(id) {
                leave("the field stands above already, perhaps in its other spelling");
            } else if let Some(text) = known(&dcgm::TEXTS, id) {
                if kind != "label" {
                    return Err(CountersError::Text {
                        line,
                        name: name.into(),
                    });
                }
                contract.labels.insert(name, text);
            } else if let Some(metric) = served(id) {
                if kind == "label" {
                    leave("a number cannot be a label here");
                } else {
                    let order = order(dialect, id);
                    let help = Cow::Owned(help.to_string());
                    let heading = Heading {
                        order,
                        name,
                        kind,
                        help,
                    };
                    contract.rows.insert(metric.name, heading);
                }
            } else {
                leave(why_not(name, id));
            }
        }
        Ok((contract, left))
    }
}

/// One row, checked.
struct Row<'a> {
    id: u16,
    name: &'static str,
    kind: &'static str,
    help: &'a str,
}

fn row(record: &csv::Record) -> Result<Row<'_>, CountersError> {
    let line = record.line;
    // Blanks alone, as dcgm-exporter: a tab belongs to the name.
    let fields: Vec<&str> = record
        .fields
        .iter()
        .map(|field| field.trim_matches(' '))
        .collect();
    let [name, kind, help] = fields[..] else {
        let count = fields.len();
        return Err(CountersError::Fields { line, count });
    };
    let Some((id, name)) = dcgm::fields::field(name) else {
        return Err(CountersError::Unknown {
            line,
            name: name.into(),
            hint: hint(name),
        });
    };
    let known = KINDS.into_iter().find(|known| *known == kind);
    let kind = known.ok_or_else(|| CountersError::Kind {
        line,
        name: name.into(),
        kind: kind.into(),
    })?;
    Ok(Row {
        id,
        name,
        kind,
        help,
    })
}

/// The served metric whose field has that number.
fn served(id: u16) -> Option<&'static Metric> {
    let all = dcgm::ALL.iter().chain(dcgm::optional::ALL);
    let is = |metric: &&&'static Metric| {
        dcgm::fields::field(metric.name).is_some_and(|(own, _)| own == id)
    };
    all.copied().find(|metric| is(&metric))
}

/// The one of these fields that has that number.
fn known(names: &[&'static str], id: u16) -> Option<&'static str> {
    let is = |name: &&&'static str| dcgm::fields::field(name).is_some_and(|(own, _)| own == id);
    names.iter().find(|name| is(name)).copied()
}

/// A field that differs from `name` in case, blanks or its beginning alone.
fn hint(name: &str) -> String {
    let upper = name.trim().to_uppercase();
    for start in ["", "DCGM_FI_DEV_", "DCGM_FI_PROF_", "DCGM_FI_"] {
        if let Some((_, known)) = dcgm::fields::field(&format!("{start}{upper}")) {
            return format!("; write {known}");
        }
    }
    "; its names stand in dcgm_fields.h of DCGM".into()
}

/// Why a field of DCGM is not served.
fn why_not(name: &str, id: u16) -> &'static str {
    match id {
        1000..=1099 => {
            "of the profiling fields only those are served that the driver library measures (GPM)"
        }
        _ if name.starts_with("DCGM_EXP_") => {
            "dcgm-exporter makes it itself; docs/migrating-from-dcgm-exporter.md says what takes its place"
        }
        _ if name.contains("NVSWITCH") || name.contains("SWITCH") => "switches are not read",
        _ if name.contains("_CPU_") => "CPUs are not read",
        _ if name.contains("VGPU") => "vGPUs are not read",
        _ => "it is not read from the driver library",
    }
}

#[cfg(test)]
mod tests;
