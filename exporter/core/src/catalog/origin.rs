//! Where each metric comes from, and when it is not there. Texts only.

/// One line a metric: name, source, absence.
const ORIGINS: &str = include_str!("origin.txt");

/// Where a metric comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The calls of NVIDIA's management library, or what else is asked.
    pub source: &'static str,
    /// When the metric has no series.
    pub absent: &'static str,
}

/// The origin of the metric of that name.
pub fn origin(name: &str) -> Option<Origin> {
    lines().find(|(known, _)| *known == name).map(|one| one.1)
}

fn lines() -> impl Iterator<Item = (&'static str, Origin)> {
    ORIGINS.lines().skip(1).filter_map(|line| {
        let (name, rest) = line.split_once(" | ")?;
        let (source, absent) = rest.split_once(" | ")?;
        Some((name, Origin { source, absent }))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::catalog::groups;

    #[test]
    fn every_metric_has_one_origin_that_says_something() {
        let metrics = groups().into_iter().flat_map(|(_, metrics)| metrics);
        let names: BTreeSet<&str> = metrics.map(|metric| metric.name).collect();
        let listed: Vec<&str> = lines().map(|(name, _)| name).collect();
        assert_eq!(
            listed.len(),
            ORIGINS.lines().count() - 1,
            "a line is not read"
        );
        assert_eq!(
            listed.len(),
            names.len(),
            "a metric stands twice or not at all"
        );
        assert_eq!(BTreeSet::from_iter(listed), names);
        for (name, origin) in lines() {
            assert!(!origin.source.trim().is_empty(), "{name}: no source");
            assert!(!origin.absent.trim().is_empty(), "{name}: never absent?");
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the calls lie in another crate")]
    fn the_calls_that_are_named_are_made() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../nvml/src");
        let mut made = String::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            made += &std::fs::read_to_string(entry.unwrap().path()).unwrap();
        }
        let mut named = 0;
        for (name, origin) in lines() {
            let words = origin
                .source
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            for call in words.filter(|word| word.to_lowercase().starts_with("nvml")) {
                assert!(made.contains(call), "{name}: {call} is not called");
                named += 1;
            }
        }
        assert!(named > 80, "only {named}");
    }
}
