//! The rows of an answer by name and model, each rank's share counted once.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    exposition::Sample,
    queue::dialect::{Dialect, Source},
};

/// The rows of one answer.
pub(super) struct Rows<'a> {
    dialect: &'static Dialect,
    by_name: BTreeMap<&'a str, Vec<&'a Sample>>,
}

/// Rows of one name, by model.
type ByModel<'a> = BTreeMap<String, Vec<&'a Sample>>;

impl<'a> Rows<'a> {
    pub(super) fn new(dialect: &'static Dialect, samples: &'a [Sample]) -> Self {
        let mut by_name: BTreeMap<&str, Vec<&Sample>> = BTreeMap::new();
        for sample in samples {
            by_name.entry(&sample.name).or_default().push(sample);
        }
        Self { dialect, by_name }
    }

    /// Rows of `source` that count, by model; the name ends in `suffix`.
    pub(super) fn of(&self, source: &Source, suffix: &str) -> ByModel<'a> {
        let name = format!("{}{suffix}", source.name);
        let mut found = ByModel::new();
        for row in self.by_name.get(name.as_str()).into_iter().flatten() {
            let wanted = |(label, value): (&str, &str)| label_of(row, label) == value;
            if source.only.is_none_or(wanted) {
                found.entry(self.model(row)).or_default().push(row);
            }
        }
        for rows in found.values_mut() {
            for split in self.dialect.splits {
                let total = |row: &&Sample| label_of(row, split).is_empty();
                if rows.iter().any(total) {
                    rows.retain(total);
                }
            }
            self.drop_copies(rows);
        }
        found
    }

    /// Sum of `source` over the rows of `model`; `None` without a row or with one that is no number.
    pub(super) fn sum(&self, source: &Source, suffix: &str, model: &str) -> Option<f64> {
        let rows = self.of(source, suffix).remove(model)?;
        let sum: f64 = rows.iter().map(|row| row.value).sum();
        sum.is_finite().then_some(sum)
    }

    /// Engines that share the work of `model`, at least one.
    pub(super) fn engines(&self, model: &str) -> u64 {
        let sources = self.dialect.running.iter().chain(self.dialect.waiting);
        let ranks = sources.filter_map(|source| {
            let rows = self.of(source, "").remove(model)?;
            let rank = |row: &&Sample| -> Vec<String> {
                let labels = self.dialect.engines.iter();
                labels
                    .map(|label| label_of(row, label).to_string())
                    .collect()
            };
            Some(rows.iter().map(rank).collect::<BTreeSet<_>>().len())
        });
        ranks.max().unwrap_or(1).max(1) as u64
    }

    fn model(&self, row: &Sample) -> String {
        let mut labels = self.dialect.model.iter();
        let found = labels.find_map(|label| row.labels.get(*label));
        found.cloned().unwrap_or_default()
    }

    /// Of rows that differ in nothing but ranks that repeat the work, the lowest stays.
    fn drop_copies(&self, rows: &mut Vec<&'a Sample>) {
        let copies = self.dialect.copies;
        if copies.is_empty() {
            return;
        }
        let rank = |row: &Sample| -> Vec<u64> {
            let number = |label: &&str| label_of(row, label).parse().unwrap_or(0);
            copies.iter().map(number).collect()
        };
        let mut lowest: BTreeMap<Vec<(&str, &str)>, &'a Sample> = BTreeMap::new();
        for row in rows.iter().copied() {
            let others = row.labels.iter();
            let others = others.filter(|(label, _)| !copies.contains(&label.as_str()));
            let key = others.map(|(label, value)| (label.as_str(), value.as_str()));
            let held = lowest.entry(key.collect()).or_insert(row);
            if rank(row) < rank(held) {
                *held = row;
            }
        }
        *rows = lowest.into_values().collect();
    }
}

fn label_of<'a>(row: &'a Sample, label: &str) -> &'a str {
    row.labels.get(label).map_or("", String::as_str)
}
