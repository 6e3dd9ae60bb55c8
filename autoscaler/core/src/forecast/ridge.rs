//! Ridge regression with robust weights by normal equations. They are summed once; a round of
//! reweighting takes back what the few far rows count less. Never sees a time series: rows and
//! targets in, coefficients out.

use std::ops::Range;

/// Penalty relative to the sum of the weights, on coefficients of standardised features.
const PENALTY: f64 = 0.003;
/// Residuals beyond this many robust standard deviations count less (Huber 1964).
const HUBER: f64 = 1.345;
/// Rounds of reweighting.
const ROUNDS: usize = 2;

/// Rows of equal length with targets and positive weights.
#[derive(Default)]
pub(super) struct Rows {
    /// Features, row after row.
    pub(super) features: Vec<f64>,
    /// One target a row.
    pub(super) targets: Vec<f64>,
    /// One weight a row.
    pub(super) weights: Vec<f64>,
}

/// Coefficients of the regression on the rows of `range`; `None` when there are no more rows than
/// columns or the equations have no solution. The first column is the constant and carries no penalty.
pub(super) fn solve(rows: &Rows, columns: usize, range: Range<usize>) -> Option<Vec<f64>> {
    let features = rows
        .features
        .get(range.start * columns..range.end * columns)?;
    let (targets, weights) = (rows.targets.get(range.clone())?, rows.weights.get(range)?);
    if targets.len() <= columns {
        return None;
    }
    let spread = spreads(features, columns);
    let mut all = Equations::new(columns);
    let each = || {
        features
            .chunks_exact(columns)
            .zip(targets.iter().zip(weights))
    };
    for (row, (target, weight)) in each() {
        all.add(row, *target, *weight);
    }
    let mut coefficients = all.solve(&spread)?;
    for _ in 0..ROUNDS {
        let residuals: Vec<f64> = each()
            .map(|(row, (target, _))| (target - apply(&coefficients, row)).abs())
            .collect();
        let limit = HUBER * 1.4826 * middle(residuals.clone());
        let mut robust = all.clone();
        for ((row, (target, weight)), residual) in each().zip(&residuals) {
            if limit > 0.0 && *residual > limit {
                robust.add(row, *target, weight * (limit / residual - 1.0));
            }
        }
        coefficients = robust.solve(&spread)?;
    }
    let finite = coefficients.iter().all(|value| value.is_finite());
    finite.then_some(coefficients)
}

/// The upper median; 0 of nothing.
fn middle(mut values: Vec<f64>) -> f64 {
    let half = values.len() / 2;
    if values.is_empty() {
        return 0.0;
    }
    *values.select_nth_unstable_by(half, f64::total_cmp).1
}

/// The value that coefficients give to one row.
pub(super) fn apply(coefficients: &[f64], row: &[f64]) -> f64 {
    coefficients
        .iter()
        .zip(row)
        .map(|(coefficient, value)| coefficient * value)
        .sum()
}

/// Root mean square of each column: the scale on which the penalty is fair.
fn spreads(features: &[f64], columns: usize) -> Vec<f64> {
    let mut squares = vec![0.0; columns];
    for row in features.chunks_exact(columns) {
        for (square, value) in squares.iter_mut().zip(row) {
            *square += value * value;
        }
    }
    let count = (features.len() / columns) as f64;
    squares
        .iter()
        .map(|square| (square / count).sqrt().max(1e-6))
        .collect()
}

/// Sums of products of weighted rows.
#[derive(Clone)]
struct Equations {
    columns: usize,
    /// Lower triangle of the matrix, row after row; what lies above it is not kept.
    matrix: Vec<f64>,
    moments: Vec<f64>,
    weight: f64,
}

impl Equations {
    fn new(columns: usize) -> Self {
        Self {
            columns,
            matrix: vec![0.0; columns * columns],
            moments: vec![0.0; columns],
            weight: 0.0,
        }
    }

    /// Adds a row; a negative weight takes a part of it back.
    fn add(&mut self, row: &[f64], target: f64, weight: f64) {
        self.weight += weight;
        let lines = self.matrix.chunks_exact_mut(self.columns);
        for (index, (line, value)) in lines.zip(row).enumerate() {
            let scaled = weight * value;
            self.moments[index] += scaled * target;
            for (sum, other) in line[..=index].iter_mut().zip(row) {
                *sum += scaled * other;
            }
        }
    }

    /// The solution with the penalty on each column but the first, by Cholesky's factors; `None`
    /// where the matrix is not positive.
    fn solve(&self, spread: &[f64]) -> Option<Vec<f64>> {
        let n = self.columns;
        let mut factor = self.matrix.clone();
        for (column, spread) in spread.iter().enumerate() {
            let penalty = if column == 0 { 1e-9 } else { PENALTY };
            factor[column * n + column] += penalty * self.weight * spread * spread;
        }
        for i in 0..n {
            let (done, rest) = factor.split_at_mut(i * n);
            for j in 0..i {
                let above = &done[j * n..j * n + n];
                let known: f64 = rest[..j].iter().zip(above).map(|(a, b)| a * b).sum();
                rest[j] = (rest[j] - known) / above[j];
            }
            let pivot = rest[i] - rest[..i].iter().map(|value| value * value).sum::<f64>();
            if pivot.is_nan() || pivot <= 0.0 {
                return None;
            }
            rest[i] = pivot.sqrt();
        }
        let mut solution = self.moments.clone();
        for i in 0..n {
            let known: f64 = (0..i).map(|j| factor[i * n + j] * solution[j]).sum();
            solution[i] = (solution[i] - known) / factor[i * n + i];
        }
        for i in (0..n).rev() {
            let known: f64 = (i + 1..n).map(|j| factor[j * n + i] * solution[j]).sum();
            solution[i] = (solution[i] - known) / factor[i * n + i];
        }
        Some(solution)
    }
}

#[cfg(test)]
mod tests {
    use linfa::{dataset::DatasetBase, traits::Fit};
    use linfa_linear::LinearRegression;
    use ndarray::{Array1, Array2};

    use super::*;

    /// Weighted least squares by linfa, on rows that carry the penalty; weights are found anew each
    /// round.
    fn library(rows: &Rows, columns: usize) -> Vec<f64> {
        let count = rows.targets.len();
        let spread = spreads(&rows.features, columns);
        let mut huber = vec![1.0; count];
        let mut coefficients = Vec::new();
        for _ in 0..=ROUNDS {
            let total: f64 = rows.weights.iter().zip(&huber).map(|(a, b)| a * b).sum();
            let mut matrix = Array2::<f64>::zeros((count + columns, columns));
            let mut targets = Array1::<f64>::zeros(count + columns);
            for (index, row) in rows.features.chunks_exact(columns).enumerate() {
                let root = (rows.weights[index] * huber[index]).sqrt();
                for (column, value) in row.iter().enumerate() {
                    matrix[[index, column]] = root * value;
                }
                targets[index] = root * rows.targets[index];
            }
            for column in 0..columns {
                let penalty = if column == 0 { 1e-9 } else { PENALTY };
                matrix[[count + column, column]] = (penalty * total).sqrt() * spread[column];
            }
            let dataset = DatasetBase::new(matrix, targets);
            let model = LinearRegression::new().with_intercept(false);
            coefficients = model.fit(&dataset).unwrap().params().to_vec();
            let residuals: Vec<f64> = rows
                .features
                .chunks_exact(columns)
                .zip(&rows.targets)
                .map(|(row, target)| (target - apply(&coefficients, row)).abs())
                .collect();
            let limit = HUBER * 1.4826 * middle(residuals.clone());
            huber = residuals
                .iter()
                .map(|residual| (limit / residual).min(1.0))
                .collect();
        }
        coefficients
    }

    fn rows() -> Rows {
        let mut rows = Rows::default();
        for i in 0..200 {
            let (a, b) = (f64::from(i % 17) / 5.0, f64::from(i % 23) / 7.0 - 1.0);
            rows.features.extend([1.0, a, b]);
            rows.targets
                .push(0.5 + 2.0 * a - b + 0.1 * f64::from(i % 3 - 1));
            rows.weights.push(1.0 + f64::from(i % 2));
        }
        rows
    }

    #[test]
    fn own_equations_and_the_library_agree() {
        let mut rows = rows();
        rows.targets[100] = 7.0;
        let own = solve(&rows, 3, 0..200).unwrap();
        for (own, library) in own.iter().zip(library(&rows, 3)) {
            assert!((own - library).abs() < 1e-9, "{own} {library}");
        }
    }

    #[test]
    fn a_range_is_solved_as_if_it_were_all() {
        let all = rows();
        let part = Rows {
            features: all.features[150..450].to_vec(),
            targets: all.targets[50..150].to_vec(),
            weights: all.weights[50..150].to_vec(),
        };
        assert_eq!(solve(&all, 3, 50..150), solve(&part, 3, 0..100));
    }

    #[test]
    fn one_wild_target_hardly_moves_the_robust_fit() {
        let mut rows = rows();
        rows.targets[100] = 1000.0;
        let robust = solve(&rows, 3, 0..200).unwrap();
        assert!((robust[1] - 2.0).abs() < 0.1, "{robust:?}");
    }

    #[test]
    fn too_few_rows_give_no_coefficients() {
        let rows = Rows {
            features: vec![1.0, 2.0],
            targets: vec![1.0],
            weights: vec![1.0],
        };
        assert!(solve(&rows, 2, 0..1).is_none());
    }
}
