//! Boosted regression trees with quantile loss for several levels at once: one structure a tree, one
//! value a level in each leaf. Histogram splits; deterministic. Never sees a time series: rows and
//! targets in, trees out.

mod grow;

use serde::{Deserialize, Serialize};

/// Levels that are learned, rising.
/// In the precision of the values.
pub(super) const LEVELS: [f32; 7] = [0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
/// Trees, and what each adds of the step that it would take alone.
const TREES: usize = 100;
const RATE: f32 = 0.1;
/// Bins of a feature at most: a split is one of their borders.
const BINS: usize = 64;

/// One value a level.
pub(super) type Values = [f32; LEVELS.len()];

/// Rows of equal length with one target each.
#[derive(Default)]
pub(super) struct Rows {
    /// Features, row after row; finite.
    pub(super) features: Vec<f32>,
    /// One target a row.
    pub(super) targets: Vec<f32>,
}

/// Trees that were fitted; their values add up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Forest {
    /// What is said before any tree: the quantiles of all targets.
    start: Values,
    trees: Vec<Tree>,
}

/// One tree; the first node is the root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Tree {
    nodes: Vec<Node>,
    leaves: Vec<Values>,
}

/// A question, or the way to a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Node {
    /// Column that is asked; of a leaf `None`.
    column: Option<u8>,
    /// At most this goes left, more goes right.
    limit: f32,
    /// Index of the left and the right node; of a leaf its index twice.
    next: (u16, u16),
}

impl Tree {
    fn leaf(&self, mut goes_left: impl FnMut(usize, f32) -> bool) -> usize {
        let mut node = self.nodes[0];
        while let Some(column) = node.column {
            let left = goes_left(usize::from(column), node.limit);
            let next = if left { node.next.0 } else { node.next.1 };
            node = self.nodes[usize::from(next)];
        }
        usize::from(node.next.0)
    }
}

impl Forest {
    /// Fits the forest; `None` with fewer than 50 rows.
    pub(super) fn fit(rows: &Rows, columns: usize) -> Option<Self> {
        let count = rows.targets.len();
        if count < 50 {
            return None;
        }
        let binned = Binned::new(rows, columns);
        let mut sorted = rows.targets.clone();
        sorted.sort_by(f32::total_cmp);
        let start = LEVELS.map(|level| sorted[rank(count, level)]);
        let mut said: Vec<Values> = vec![start; count];
        let mut trees = Vec::with_capacity(TREES);
        for _ in 0..TREES {
            let tree = grow::tree(&binned, rows, &said);
            if tree.leaves.len() < 2 {
                break;
            }
            trees.push(tree.add_to(&mut said));
        }
        Some(Self { start, trees })
    }

    /// One value a level for a row of features, rising with the level.
    pub(super) fn predict(&self, row: &[f32]) -> Values {
        let mut values = self.start;
        for tree in &self.trees {
            let leaf = &tree.leaves[tree.leaf(|column, limit| row[column] <= limit)];
            for (value, add) in values.iter_mut().zip(leaf) {
                *value += add;
            }
        }
        values.sort_by(f32::total_cmp);
        values
    }
}

/// Features as small numbers.
struct Binned {
    columns: usize,
    /// Row after row.
    bins: Vec<u8>,
    /// Upper border of each bin but the last, by column.
    borders: Vec<Vec<f32>>,
}

impl Binned {
    fn new(rows: &Rows, columns: usize) -> Self {
        let count = rows.targets.len();
        let borders: Vec<Vec<f32>> = (0..columns)
            .map(|column| {
                let mut values: Vec<f32> = rows.features[column..]
                    .iter()
                    .step_by(columns)
                    .copied()
                    .collect();
                values.sort_by(f32::total_cmp);
                let mut borders: Vec<f32> =
                    (1..BINS).map(|bin| values[bin * count / BINS]).collect();
                borders.dedup();
                borders
            })
            .collect();
        let bins = rows
            .features
            .iter()
            .enumerate()
            .map(|(index, value)| {
                let borders = &borders[index % columns];
                u8::try_from(borders.partition_point(|border| border < value)).unwrap_or(u8::MAX)
            })
            .collect();
        Self {
            columns,
            bins,
            borders,
        }
    }

    fn row(&self, row: u32) -> &[u8] {
        let first = row as usize * self.columns;
        &self.bins[first..first + self.columns]
    }
}

/// Rank of a level among `count` sorted values, at least one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count"
)]
fn rank(count: usize, level: f32) -> usize {
    (f64::from(level) * (count - 1) as f64).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Left of 0.5 the targets lie evenly within 0.1 of 1, right of it within 1 of 3; the second
    /// column says nothing.
    fn rows() -> Rows {
        let mut rows = Rows::default();
        for i in 0..4000_u16 {
            let x = f32::from(i % 100) / 100.0;
            let noise = f32::from((i % 199) * 37 % 199) / 99.0 - 1.0;
            rows.features.extend([x, f32::from(i % 7)]);
            rows.targets.push(if x <= 0.5 {
                1.0 + 0.1 * noise
            } else {
                3.0 + noise
            });
        }
        rows
    }

    #[test]
    fn each_side_of_a_step_gets_its_own_quantiles() {
        let forest = Forest::fit(&rows(), 2).unwrap();
        for (x, middle, half) in [(0.2, 1.0, 0.1), (0.8, 3.0, 1.0)] {
            let values = forest.predict(&[x, 3.0]);
            for (value, level) in values.iter().zip(LEVELS) {
                let expected = middle + half * (2.0 * f64::from(level) - 1.0);
                assert!(
                    (f64::from(*value) - expected).abs() < 0.1,
                    "{x} {level}: {value} {expected}"
                );
            }
            assert!(values.is_sorted());
        }
    }

    #[test]
    fn the_same_rows_grow_the_same_trees_and_few_rows_none() {
        assert_eq!(Forest::fit(&rows(), 2), Forest::fit(&rows(), 2));
        let few = Rows {
            features: vec![0.0; 49],
            targets: vec![0.0; 49],
        };
        assert!(Forest::fit(&few, 1).is_none());
    }

    #[test]
    fn equal_targets_are_said_as_they_are() {
        let rows = Rows {
            features: (0..200_u8).map(f32::from).collect(),
            targets: vec![2.5; 200],
        };
        for value in Forest::fit(&rows, 1).unwrap().predict(&[7.0]) {
            assert!((value - 2.5).abs() < 1e-6, "{value}");
        }
    }
}
