//! A table of measured latencies of one model as a curve: what a batch takes on a share of a GPU that was
//! not measured, and how much the share serves within an objective. Batching, MIG sizes and sharers alike.
//!
//! The share is in compute slices (an A100 has 7): a `3g` instance is 3, and one of two processes on it
//! has 1.5. The curve is `t = (fixed^p + (work·batch/slices^a)^p)^(1/p)`: what does not depend on the batch
//! (launches, reading the weights) and what does, joined by `p` from adding up (1) to overlapping wholly.
//! What the table says beyond that is interpolated, in the logarithm, along the batch and the slices.

use serde::{Deserialize, Serialize};

/// One row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Compute slices: the instance's, divided by the processes that share it.
    pub slices: f64,
    /// Requests in the batch, at least 1.
    pub batch: u32,
    /// Seconds that the batch takes.
    pub seconds: f64,
    /// Bytes of GPU memory that the process takes, where it was measured.
    pub memory: Option<f64>,
}

/// A model's curve, fitted to its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    fixed: f64,
    work: f64,
    sharpness: f64,
    scaling: f64,
    /// By slices, rising: what the table adds to the curve, as (batch/slices, log of the ratio), rising.
    beyond: Vec<(f64, Vec<(f64, f64)>)>,
    memory: Option<(f64, f64)>,
}

/// The best batch of a share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// Requests in a batch.
    pub batch: u32,
    /// Requests per second of back-to-back batches.
    pub rate: f64,
    /// Seconds of a batch.
    pub seconds: f64,
}

impl Profile {
    /// The curve through these rows; `None` without a sound one. Rows that are not above 0 are left out.
    pub fn fit(rows: &[Row]) -> Option<Self> {
        let sound = |value: f64| value.is_finite() && value > 0.0;
        let rows: Vec<Row> = (rows.iter())
            .filter(|row| sound(row.slices) && sound(row.seconds) && row.batch > 0)
            .copied()
            .collect();
        let one_size = rows
            .windows(2)
            .all(|pair| same(pair[0].slices, pair[1].slices));
        // Without two sizes nothing says how time falls with size: evenly then.
        let scalings: Vec<f64> = if one_size {
            vec![1.0]
        } else {
            (8..=24)
                .map(|twentieth| f64::from(twentieth) / 20.0)
                .collect()
        };
        let mut best: Option<(f64, Self)> = None;
        for sharpness in [1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0] {
            for scaling in &scalings {
                let Some(profile) = Self::with(&rows, sharpness, *scaling) else {
                    continue;
                };
                let miss = |row: &Row| {
                    (profile.plain(row.batch, row.slices) / row.seconds)
                        .ln()
                        .abs()
                };
                let error = rows.iter().map(miss).sum::<f64>();
                if best.as_ref().is_none_or(|(least, _)| error < *least) {
                    best = Some((error, profile));
                }
            }
        }
        let (_, mut profile) = best?;
        profile.beyond = beyond(&profile, &rows);
        profile.memory = memory(&rows);
        Some(profile)
    }

    /// Least squares of the relative error in `t^p`, whose two unknowns then stand alone.
    fn with(rows: &[Row], sharpness: f64, scaling: f64) -> Option<Self> {
        let (mut one, mut x, mut xx, mut y, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for row in rows {
            let work = (f64::from(row.batch) / row.slices.powf(scaling)).powf(sharpness);
            let time = row.seconds.powf(sharpness);
            let weight = 1.0 / (time * time);
            one += weight;
            x += weight * work;
            xx += weight * work * work;
            y += weight * time;
            xy += weight * work * time;
        }
        let determinant = one * xx - x * x;
        let (fixed, work) = if determinant > 1e-12 * one * xx {
            (
                (y * xx - x * xy) / determinant,
                (one * xy - x * y) / determinant,
            )
        } else {
            // One batch alone: all of it is work.
            (0.0, xy / xx)
        };
        (fixed >= 0.0 && work > 0.0 && work.is_finite()).then(|| Self {
            fixed: fixed.powf(1.0 / sharpness),
            work: work.powf(1.0 / sharpness),
            sharpness,
            scaling,
            beyond: Vec::new(),
            memory: None,
        })
    }

    fn plain(&self, batch: u32, slices: f64) -> f64 {
        let work = self.work * f64::from(batch) / slices.powf(self.scaling);
        (self.fixed.powf(self.sharpness) + work.powf(self.sharpness)).powf(1.0 / self.sharpness)
    }

    /// Seconds of a batch on a share.
    pub fn seconds(&self, batch: u32, slices: f64) -> f64 {
        let load = f64::from(batch) / slices;
        let by_size: Vec<(f64, f64)> = (self.beyond.iter())
            .map(|(size, points)| (*size, between(points, load)))
            .collect();
        self.plain(batch, slices) * between(&by_size, slices).exp()
    }

    /// Bytes that a process with this batch takes; `None` where no row says it.
    pub fn memory(&self, batch: u32) -> Option<f64> {
        let (fixed, each) = self.memory?;
        Some(fixed + each * f64::from(batch))
    }

    /// The batch, up to `most`, that serves most on a share with each batch within `objective` seconds;
    /// `None` when not even one request is.
    pub fn best(&self, slices: f64, objective: f64, most: u32) -> Option<Best> {
        let mut best: Option<Best> = None;
        let mut batch = 1;
        while batch <= most {
            let seconds = self.seconds(batch, slices);
            let rate = f64::from(batch) / seconds;
            if seconds <= objective && best.is_none_or(|best| rate > best.rate) {
                best = Some(Best {
                    batch,
                    rate,
                    seconds,
                });
            }
            // All of the small ones, then in steps of a sixteenth: nobody tunes finer.
            batch += (batch / 16).max(1);
        }
        best
    }
}

/// What the rows say beyond the plain curve.
fn beyond(profile: &Profile, rows: &[Row]) -> Vec<(f64, Vec<(f64, f64)>)> {
    let mut sizes: Vec<(f64, Vec<(f64, f64)>)> = Vec::new();
    for row in rows {
        let ratio = (row.seconds / profile.plain(row.batch, row.slices)).ln();
        let point = (f64::from(row.batch) / row.slices, ratio);
        match sizes.iter_mut().find(|(size, _)| same(*size, row.slices)) {
            Some((_, points)) => points.push(point),
            None => sizes.push((row.slices, vec![point])),
        }
    }
    sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (_, points) in &mut sizes {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    sizes
}

/// The value at `x` of points that rise in x, straight over the logarithm of x and constant beyond the
/// ends; 0 without points.
fn between(points: &[(f64, f64)], x: f64) -> f64 {
    let above = points.partition_point(|point| point.0 < x);
    let (before, after) = (points[..above].last(), points.get(above));
    match (before, after) {
        (Some(before), Some(after)) => {
            let share = (x / before.0).ln() / (after.0 / before.0).ln();
            before.1 + (after.1 - before.1) * share
        }
        (Some(only), None) | (None, Some(only)) => only.1,
        (None, None) => 0.0,
    }
}

/// Memory as a part of its own and one for each request of the batch, by least squares.
fn memory(rows: &[Row]) -> Option<(f64, f64)> {
    let known: Vec<(f64, f64)> = (rows.iter())
        .filter_map(|row| Some((f64::from(row.batch), row.memory?)))
        .collect();
    let count = known.len() as f64;
    let (x, y) = (
        known.iter().map(|row| row.0).sum::<f64>() / count,
        known.iter().map(|row| row.1).sum::<f64>() / count,
    );
    let width: f64 = known.iter().map(|row| (row.0 - x).powi(2)).sum();
    let along: f64 = known.iter().map(|row| (row.0 - x) * (row.1 - y)).sum();
    let each = if width > 0.0 {
        (along / width).max(0.0)
    } else {
        0.0
    };
    (!known.is_empty()).then_some((y - each * x, each))
}

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(slices: f64, batch: u32, milliseconds: f64) -> Row {
        Row {
            slices,
            batch,
            seconds: milliseconds / 1000.0,
            memory: Some(1e9 + 2e7 * f64::from(batch)),
        }
    }

    /// 4 ms at least, else 10 ms a request on one slice, falling evenly with the slices.
    fn truth(slices: f64, batch: u32) -> Row {
        row(slices, batch, f64::from(batch).mul_add(10.0 / slices, 4.0))
    }

    #[test]
    fn what_was_not_measured_lies_between_what_was() {
        let mut rows = Vec::new();
        for slices in [1.0, 3.0, 7.0] {
            rows.extend([1, 4, 16, 64].map(|batch| truth(slices, batch)));
        }
        let profile = Profile::fit(&rows).unwrap();
        for slices in [1.5, 2.0, 4.0] {
            for batch in [2, 8, 32] {
                let (found, expected) =
                    (profile.seconds(batch, slices), truth(slices, batch).seconds);
                assert!(
                    (found / expected - 1.0).abs() < 0.02,
                    "{slices} {batch}: {found} {expected}"
                );
            }
        }
        let memory = profile.memory(8).unwrap();
        assert!((memory / 1.16e9 - 1.0).abs() < 1e-6, "{memory}");
    }

    #[test]
    fn measured_rows_come_out_as_they_are() {
        let rows = [
            row(7.0, 1, 5.0),
            row(7.0, 8, 5.5),
            row(7.0, 16, 9.0),
            row(2.0, 8, 13.0),
        ];
        let profile = Profile::fit(&rows).unwrap();
        for row in rows {
            let found = profile.seconds(row.batch, row.slices);
            assert!((found / row.seconds - 1.0).abs() < 1e-9, "{row:?}: {found}");
        }
    }

    #[test]
    fn the_best_batch_keeps_the_objective() {
        let rows: Vec<Row> = [1, 4, 16, 64].map(|batch| truth(1.0, batch)).to_vec();
        let profile = Profile::fit(&rows).unwrap();
        let best = profile.best(1.0, 0.1, 64).unwrap();
        assert_eq!(best.batch, 9);
        assert!(
            best.seconds <= 0.1 && (best.rate - 95.7).abs() < 2.0,
            "{best:?}"
        );
        assert_eq!(profile.best(1.0, 0.001, 64), None);
    }

    #[test]
    fn rows_that_are_none_are_left_out() {
        assert_eq!(Profile::fit(&[]), None);
        assert_eq!(
            Profile::fit(&[row(0.0, 1, 5.0), row(1.0, 0, 5.0), row(1.0, 1, 0.0)]),
            None
        );
        let one = Profile::fit(&[row(2.0, 4, 8.0)]).unwrap();
        assert!((one.seconds(4, 2.0) - 0.008).abs() < 1e-9);
    }
}
