//! Ridge regression with robust weights, solved by linfa's least squares on rows that carry the
//! penalty. Never sees a time series: rows and targets in, coefficients out.

use linfa::{dataset::DatasetBase, traits::Fit};
use linfa_linear::LinearRegression;
use ndarray::{Array1, Array2};

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

/// Coefficients of the regression; `None` when there are fewer rows than columns or the solver fails.
/// The first column is the constant and carries no penalty.
pub(super) fn solve(rows: &Rows, columns: usize) -> Option<Vec<f64>> {
    let count = rows.targets.len();
    if count <= columns {
        return None;
    }
    let spread = spreads(rows, columns);
    let mut huber = vec![1.0; count];
    let mut coefficients = Vec::new();
    for round in 0..=ROUNDS {
        coefficients = least_squares(rows, columns, &spread, &huber)?;
        if round < ROUNDS {
            reweight(rows, columns, &coefficients, &mut huber);
        }
    }
    coefficients
        .iter()
        .all(|value| value.is_finite())
        .then_some(coefficients)
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
fn spreads(rows: &Rows, columns: usize) -> Vec<f64> {
    let mut squares = vec![0.0; columns];
    for row in rows.features.chunks_exact(columns) {
        for (square, value) in squares.iter_mut().zip(row) {
            *square += value * value;
        }
    }
    squares
        .iter()
        .map(|square| (square / rows.targets.len() as f64).sqrt().max(1e-6))
        .collect()
}

/// Weighted least squares; each penalised column adds one row that pulls its coefficient to zero.
fn least_squares(rows: &Rows, columns: usize, spread: &[f64], huber: &[f64]) -> Option<Vec<f64>> {
    let count = rows.targets.len();
    let mut matrix = Array2::<f64>::zeros((count + columns, columns));
    let mut targets = Array1::<f64>::zeros(count + columns);
    let mut total = 0.0;
    for (index, row) in rows.features.chunks_exact(columns).enumerate() {
        let weight = rows.weights[index] * huber[index];
        total += weight;
        let root = weight.sqrt();
        for (column, value) in row.iter().enumerate() {
            matrix[[index, column]] = root * value;
        }
        targets[index] = root * rows.targets[index];
    }
    for column in 0..columns {
        let penalty = if column == 0 { 1e-9 } else { PENALTY };
        matrix[[count + column, column]] = (penalty * total).sqrt() * spread[column];
    }
    let fitted = LinearRegression::new()
        .with_intercept(false)
        .fit(&DatasetBase::new(matrix, targets))
        .ok()?;
    Some(fitted.params().to_vec())
}

/// Huber weights from the residuals of the present coefficients.
fn reweight(rows: &Rows, columns: usize, coefficients: &[f64], huber: &mut [f64]) {
    let residuals: Vec<f64> = rows
        .features
        .chunks_exact(columns)
        .zip(&rows.targets)
        .map(|(row, target)| (target - apply(coefficients, row)).abs())
        .collect();
    let mut sorted = residuals.clone();
    sorted.sort_by(f64::total_cmp);
    let limit = HUBER * 1.4826 * sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    for (weight, residual) in huber.iter_mut().zip(residuals) {
        *weight = if residual <= limit || residual == 0.0 {
            1.0
        } else {
            limit / residual
        };
    }
    if limit <= 0.0 {
        huber.fill(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Own normal equations by Gaussian elimination: the check of the library's answer.
    fn normal_equations(rows: &Rows, columns: usize, spread: &[f64]) -> Vec<f64> {
        let total: f64 = rows.weights.iter().sum();
        let mut a = vec![vec![0.0; columns + 1]; columns];
        for (index, row) in rows.features.chunks_exact(columns).enumerate() {
            for i in 0..columns {
                for j in 0..columns {
                    a[i][j] += rows.weights[index] * row[i] * row[j];
                }
                a[i][columns] += rows.weights[index] * row[i] * rows.targets[index];
            }
        }
        for (i, row) in a.iter_mut().enumerate() {
            row[i] += (if i == 0 { 1e-9 } else { PENALTY }) * total * spread[i] * spread[i];
        }
        for pivot in 0..columns {
            let pivot_row = a[pivot].clone();
            for (i, row) in a.iter_mut().enumerate() {
                if i != pivot {
                    let factor = row[pivot] / pivot_row[pivot];
                    for (value, other) in row.iter_mut().zip(&pivot_row) {
                        *value -= factor * other;
                    }
                }
            }
        }
        (0..columns).map(|i| a[i][columns] / a[i][i]).collect()
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
    fn the_library_and_the_normal_equations_agree() {
        let rows = rows();
        let spread = spreads(&rows, 3);
        let library = least_squares(&rows, 3, &spread, &vec![1.0; 200]).unwrap();
        for (left, right) in library.iter().zip(normal_equations(&rows, 3, &spread)) {
            assert!((left - right).abs() < 1e-9, "{left} {right}");
        }
    }

    #[test]
    fn one_wild_target_hardly_moves_the_robust_fit() {
        let mut rows = rows();
        rows.targets[100] = 1000.0;
        let robust = solve(&rows, 3).unwrap();
        assert!((robust[1] - 2.0).abs() < 0.1, "{robust:?}");
    }

    #[test]
    fn too_few_rows_give_no_coefficients() {
        let rows = Rows {
            features: vec![1.0, 2.0],
            targets: vec![1.0],
            weights: vec![1.0],
        };
        assert!(solve(&rows, 2).is_none());
    }
}
