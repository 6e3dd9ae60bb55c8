//! Growing one tree: the leaf whose split gains most is split next, until there are leaves enough.

use super::{Binned, LEVELS, Node, RATE, Rows, Tree, Values};

/// Leaves of a tree at most.
const LEAVES: usize = 16;
/// Rows of a leaf at least.
const LEAF_ROWS: usize = 60;
/// Rows of doubt added to each leaf when gains are compared.
const DOUBT: f32 = 20.0;
/// Gradients of the levels and the weight.
type Sums = [f32; LEVELS.len() + 1];

/// A tree with the rows of each leaf, before its values are added.
pub(super) struct Grown {
    pub(super) nodes: Vec<Node>,
    pub(super) leaves: Vec<(Vec<u32>, Values)>,
}

impl Grown {
    /// Adds its values to what is said of the rows that it grew on.
    pub(super) fn add_to(self, said: &mut [Values]) -> Tree {
        for (rows, values) in &self.leaves {
            for row in rows {
                for (value, add) in said[*row as usize].iter_mut().zip(values) {
                    *value += add;
                }
            }
        }
        Tree {
            nodes: self.nodes,
            leaves: self.leaves.into_iter().map(|(_, values)| values).collect(),
        }
    }
}

/// A leaf that may still be split.
struct Open {
    node: usize,
    rows: Vec<u32>,
    histogram: Vec<Sums>,
    best: Option<Split>,
}

#[derive(Clone, Copy)]
struct Split {
    gain: f32,
    column: usize,
    bin: usize,
}

/// Grows a tree on the gradients of the quantile losses of `said`.
pub(super) fn tree(binned: &Binned, rows: &Rows, said: &[Values]) -> Grown {
    let gradients: Vec<Sums> = said
        .iter()
        .zip(&rows.targets)
        .map(|(said, target)| {
            std::array::from_fn(|level| match said.get(level) {
                Some(said) if target < said => LEVELS[level] - 1.0,
                Some(_) => LEVELS[level],
                None => 1.0,
            })
        })
        .collect();
    let all: Vec<u32> = (0_u32..).take(said.len()).collect();
    let histogram = histogram(binned, &gradients, &all);
    let mut nodes = vec![leaf_node(0)];
    let mut open = vec![Open {
        node: 0,
        best: best(binned, &histogram, all.len()),
        rows: all,
        histogram,
    }];
    while open.len() < LEAVES {
        let candidate = open
            .iter()
            .enumerate()
            .filter_map(|(index, leaf)| leaf.best.map(|split| (index, split)))
            .max_by(|left, right| left.1.gain.total_cmp(&right.1.gain));
        let Some((index, split)) = candidate else {
            break;
        };
        let parent = open.swap_remove(index);
        divide(binned, &gradients, parent, split, &mut nodes, &mut open);
    }
    let leaves = open
        .into_iter()
        .enumerate()
        .map(|(index, leaf)| {
            nodes[leaf.node] = leaf_node(index);
            let values = values(rows, said, &leaf.rows);
            (leaf.rows, values)
        })
        .collect();
    Grown { nodes, leaves }
}

/// The way to a leaf.
fn leaf_node(index: usize) -> Node {
    Node {
        column: None,
        limit: 0.0,
        next: (small(index), small(index)),
    }
}

/// An index of one of the few nodes of a tree.
fn small(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}

/// Splits a leaf into two, which stay open.
fn divide(
    binned: &Binned,
    gradients: &[Sums],
    parent: Open,
    split: Split,
    nodes: &mut Vec<Node>,
    open: &mut Vec<Open>,
) {
    let (left, right): (Vec<u32>, Vec<u32>) = parent
        .rows
        .iter()
        .partition(|row| usize::from(binned.row(**row)[split.column]) <= split.bin);
    let next = nodes.len();
    nodes[parent.node] = Node {
        column: u8::try_from(split.column).ok(),
        limit: binned.borders[split.column][split.bin],
        next: (small(next), small(next + 1)),
    };
    nodes.extend([leaf_node(0), leaf_node(0)]);
    // The smaller side is counted, the larger is what remains.
    let left_smaller = left.len() < right.len();
    let counted = histogram(binned, gradients, if left_smaller { &left } else { &right });
    let mut rest = parent.histogram;
    for (sums, take) in rest.iter_mut().zip(&counted) {
        for (sum, take) in sums.iter_mut().zip(take) {
            *sum -= take;
        }
    }
    let (left_histogram, right_histogram) = if left_smaller {
        (counted, rest)
    } else {
        (rest, counted)
    };
    for (node, rows, histogram) in [
        (next, left, left_histogram),
        (next + 1, right, right_histogram),
    ] {
        let best = best(binned, &histogram, rows.len());
        open.push(Open {
            node,
            rows,
            histogram,
            best,
        });
    }
}

/// Sums of the gradients by column and bin.
fn histogram(binned: &Binned, gradients: &[Sums], rows: &[u32]) -> Vec<Sums> {
    let mut histogram = vec![[0.0; LEVELS.len() + 1]; binned.columns * super::BINS];
    for row in rows {
        let gradient = &gradients[*row as usize];
        for (column, bin) in binned.row(*row).iter().enumerate() {
            let sums = &mut histogram[column * super::BINS + usize::from(*bin)];
            for (sum, add) in sums.iter_mut().zip(gradient) {
                *sum += add;
            }
        }
    }
    histogram
}

/// The split that gains most; `None` when none leaves rows enough on both sides.
fn best(binned: &Binned, histogram: &[Sums], rows: usize) -> Option<Split> {
    if rows < 2 * LEAF_ROWS {
        return None;
    }
    let mut total: Sums = [0.0; LEVELS.len() + 1];
    for sums in &histogram[..super::BINS] {
        add(&mut total, sums);
    }
    let alone = worth(&total);
    let (count, least) = (rows as f32, LEAF_ROWS as f32);
    let mut best: Option<Split> = None;
    for column in 0..binned.columns {
        let mut left: Sums = [0.0; LEVELS.len() + 1];
        for bin in 0..binned.borders[column].len() {
            add(&mut left, &histogram[column * super::BINS + bin]);
            if left[LEVELS.len()] < least || count - left[LEVELS.len()] < least {
                continue;
            }
            let right: Sums = std::array::from_fn(|index| total[index] - left[index]);
            let gain = worth(&left) + worth(&right) - alone;
            if gain > best.map_or(1e-6, |best| best.gain) {
                best = Some(Split { gain, column, bin });
            }
        }
    }
    best
}

fn add(sums: &mut Sums, more: &Sums) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
    }
}

/// Loss that a step in a leaf with these sums would save, up to a factor.
fn worth(sums: &Sums) -> f32 {
    let squares: f32 = sums[..LEVELS.len()]
        .iter()
        .zip(LEVELS)
        .map(|(sum, level)| sum * sum / (level * (1.0 - level)))
        .sum();
    squares / (sums[LEVELS.len()] + DOUBT)
}

/// The step of a leaf: for each level the quantile of what remains, times the rate.
fn values(rows: &Rows, said: &[Values], leaf: &[u32]) -> Values {
    let mut remains: Vec<f32> = Vec::with_capacity(leaf.len());
    std::array::from_fn(|level| {
        remains.clear();
        remains.extend(
            leaf.iter()
                .map(|row| rows.targets[*row as usize] - said[*row as usize][level]),
        );
        let rank = super::rank(remains.len(), LEVELS[level]);
        RATE * *remains.select_nth_unstable_by(rank, f32::total_cmp).1
    })
}
