//! Two expositions side by side: what of a running dcgm-exporter's would be lost, gained or labelled otherwise when
//! Foresail took its place. Never asks either of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Write},
};

use crate::exposition::{Sample, parse, parse::ParseError};

type Labels = BTreeMap<String, String>;

/// Labels that say which GPU, link, switch or instance a series is about, in every dialect; the rest may change its
/// name or value without being about something else.
const SUBJECT: [&str; 10] = [
    "GPU_I_ID",
    "UUID",
    "clock_event",
    "cpu",
    "cpucore",
    "gpu_uuid",
    "nvlink",
    "nvswitch",
    "uuid",
    "xid",
];

/// Labels that tell the value once more, so that they change with it.
const VALUES: [&str; 2] = ["err_code", "err_msg"];

/// One series of both, under different labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relabelled {
    /// Its name.
    pub name: String,
    /// Labels there.
    pub there: Labels,
    /// Labels here.
    pub here: Labels,
}

/// One metric of both, under different types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retyped {
    /// Its name.
    pub name: String,
    /// Type there.
    pub there: String,
    /// Type here.
    pub here: String,
}

/// What differs, in the order of names.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Comparison {
    /// Series there and not here.
    pub lost: Vec<(String, Labels)>,
    /// Series in both, under other labels here.
    pub relabelled: Vec<Relabelled>,
    /// Metrics in both, of another type here.
    pub retyped: Vec<Retyped>,
    /// Series here and not there.
    pub gained: Vec<(String, Labels)>,
    /// Number of series that are the same in both.
    pub same: usize,
}

impl Comparison {
    /// Compares the exposition of another exporter, `there`, with one of this one, `here`.
    ///
    /// # Errors
    /// The first line of either that is no exposition.
    pub fn of(there: &str, here: &str) -> Result<Self, ParseError> {
        let (mut theirs, mut ours) = (by_name(parse(there)?), by_name(parse(here)?));
        let mut comparison = Self {
            retyped: retyped(there, here),
            ..Self::default()
        };
        let names: BTreeSet<String> = theirs.keys().chain(ours.keys()).cloned().collect();
        for name in names {
            let (theirs, ours) = (theirs.remove(&name), ours.remove(&name));
            comparison.one(&name, theirs.unwrap_or_default(), ours.unwrap_or_default());
        }
        Ok(comparison)
    }

    /// Whether a query or an alert on the other exporter's series could notice.
    pub fn changes_what_was(&self) -> bool {
        !(self.lost.is_empty() && self.relabelled.is_empty() && self.retyped.is_empty())
    }

    fn one(&mut self, name: &str, mut theirs: Vec<Labels>, mut ours: Vec<Labels>) {
        let before = ours.len();
        theirs.retain(|there| match ours.iter().position(|here| here == there) {
            Some(index) => {
                ours.remove(index);
                false
            }
            None => true,
        });
        self.same += before - ours.len();
        for there in theirs {
            let about = subject(&there);
            let candidates = ours
                .iter()
                .enumerate()
                .filter(|(_, here)| subject(here) == about);
            let nearest =
                candidates.max_by_key(|(index, here)| (common(&there, here), usize::MAX - index));
            match nearest.map(|(index, _)| index) {
                Some(index) => self.relabelled.push(Relabelled {
                    name: name.into(),
                    there,
                    here: ours.remove(index),
                }),
                None => self.lost.push((name.into(), there)),
            }
        }
        self.gained
            .extend(ours.into_iter().map(|labels| (name.to_string(), labels)));
    }
}

fn by_name(samples: Vec<Sample>) -> BTreeMap<String, Vec<Labels>> {
    let mut all: BTreeMap<String, Vec<Labels>> = BTreeMap::new();
    for mut sample in samples {
        sample
            .labels
            .retain(|name, _| !VALUES.contains(&name.as_str()));
        all.entry(sample.name).or_default().push(sample.labels);
    }
    for series in all.values_mut() {
        series.sort();
    }
    all
}

/// What a series is about: values of the labels that say so, whatever their spelling is.
fn subject(labels: &Labels) -> BTreeSet<(String, &str)> {
    let named = SUBJECT
        .iter()
        .filter_map(|name| Some((name, labels.get(*name)?.as_str())));
    let spelling = |name: &str| match name {
        "uuid" | "gpu_uuid" => "UUID".to_string(),
        other => other.to_string(),
    };
    named.map(|(name, value)| (spelling(name), value)).collect()
}

fn common(one: &Labels, other: &Labels) -> usize {
    one.iter()
        .filter(|(name, value)| other.get(*name) == Some(value))
        .count()
}

/// Types that both give for a name and that differ.
fn retyped(there: &str, here: &str) -> Vec<Retyped> {
    let (theirs, ours) = (types(there), types(here));
    let differs = |(name, there): (&&str, &&str)| {
        let here = ours.get(*name).filter(|here| *here != there)?;
        Some(Retyped {
            name: (*name).into(),
            there: (*there).into(),
            here: (*here).into(),
        })
    };
    theirs.iter().filter_map(differs).collect()
}

fn types(text: &str) -> BTreeMap<&str, &str> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    lines
        .filter_map(|line| line.trim().split_once(' '))
        .collect()
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "lost {}", self.lost.len())?;
        for (name, labels) in &self.lost {
            writeln!(f, "  {name}{}", written(labels))?;
        }
        writeln!(f, "relabelled {}", self.relabelled.len())?;
        for one in &self.relabelled {
            writeln!(f, "  {}{}", one.name, written(&one.there))?;
            writeln!(f, "    {}", differences(&one.there, &one.here).join(", "))?;
        }
        writeln!(f, "retyped {}", self.retyped.len())?;
        for one in &self.retyped {
            writeln!(f, "  {} {} -> {}", one.name, one.there, one.here)?;
        }
        writeln!(f, "gained {}", self.gained.len())?;
        for (name, labels) in &self.gained {
            writeln!(f, "  {name}{}", written(labels))?;
        }
        writeln!(f, "same {}", self.same)
    }
}

/// Labels as an exposition has them.
fn written(labels: &Labels) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let pairs: Vec<String> = labels
        .iter()
        .map(|(name, value)| format!("{name}={value:?}"))
        .collect();
    format!("{{{}}}", pairs.join(","))
}

/// What became of each label that is not the same: `- gone`, `+ new`, `name: old -> new`, `old name -> new name`.
fn differences(there: &Labels, here: &Labels) -> Vec<String> {
    let mut found = Vec::new();
    let mut renamed = BTreeSet::new();
    for (name, value) in there {
        match here.get(name) {
            Some(other) if other == value => {}
            Some(other) => found.push(format!("{name}: {value:?} -> {other:?}")),
            None => {
                let new = here
                    .keys()
                    .find(|new| new.eq_ignore_ascii_case(name) && here[*new] == *value);
                let mut text = String::new();
                // Writing to a String cannot fail.
                let _ = match new {
                    Some(new) => write!(text, "{name} -> {new}"),
                    None => write!(text, "- {name}={value:?}"),
                };
                renamed.extend(new);
                found.push(text);
            }
        }
    }
    let new = here
        .iter()
        .filter(|(name, _)| !there.contains_key(*name) && !renamed.contains(name));
    found.extend(new.map(|(name, value)| format!("+ {name}={value:?}")));
    found
}

#[cfg(test)]
mod tests;
