//! Histograms of several ranks as one, with the bounds that the server chose. Never invents a bucket.

use crate::exposition::Sample;

/// Counts by upper bound, as Prometheus has them.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Histogram {
    /// Upper bound and count of what lies below or at it, rising; the last bound is infinite.
    pub buckets: Vec<(f64, f64)>,
    /// Sum of all values.
    pub sum: f64,
}

impl Histogram {
    /// How many values there were.
    pub fn count(&self) -> f64 {
        self.buckets.last().map_or(0.0, |(_, count)| *count)
    }

    /// The sum of the histograms whose rows these are; each value of a bound is divided by `divisor`.
    /// Bounds that not every histogram has are left out, for there the sum is unknown. An error says
    /// in one line what is wrong with them.
    pub fn merge(buckets: &[&Sample], sums: &[&Sample], divisor: u32) -> Result<Self, String> {
        let mut rows = Vec::with_capacity(buckets.len());
        for sample in buckets {
            let bound = sample.labels.get("le").map_or("", String::as_str);
            let number = match bound {
                "+Inf" | "Inf" => Some(f64::INFINITY),
                _ => bound.parse::<f64>().ok().filter(|bound| bound.is_finite()),
            };
            let bound = number.ok_or_else(|| format!("has le={bound:?}, not a number"))?;
            if !(sample.value.is_finite() && sample.value >= 0.0) {
                return Err(format!("counts {} below {bound}", sample.value));
            }
            rows.push((bound / f64::from(divisor), sample.value));
        }
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut merged: Vec<(f64, f64, usize)> = Vec::new();
        for (bound, count) in rows {
            match merged
                .last_mut()
                .filter(|last| last.0.total_cmp(&bound).is_eq())
            {
                Some(last) => *last = (bound, last.1 + count, last.2 + 1),
                None => merged.push((bound, count, 1)),
            }
        }
        let all = merged.last().map_or(0, |last| last.2);
        if merged.last().is_none_or(|last| last.0.is_finite()) {
            return Err("has no bucket le=\"+Inf\"".into());
        }
        let whole = merged.into_iter().filter(|row| row.2 == all);
        let buckets: Vec<(f64, f64)> = whole.map(|(bound, count, _)| (bound, count)).collect();
        if buckets.windows(2).any(|pair| pair[0].1 > pair[1].1) {
            return Err("counts less below a higher bound".into());
        }
        let sum: f64 = sums.iter().map(|sample| sample.value).sum();
        if !sum.is_finite() {
            return Err(format!("sums to {sum}"));
        }
        let sum = sum / f64::from(divisor);
        Ok(Self { buckets, sum })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exposition::parse;

    fn merge(text: &str, divisor: u32) -> Result<Histogram, String> {
        let samples = parse(text).unwrap();
        let of = |name: &str| -> Vec<&Sample> {
            samples
                .iter()
                .filter(|sample| sample.name == name)
                .collect()
        };
        Histogram::merge(&of("b"), &of("s"), divisor)
    }

    #[test]
    fn ranks_are_summed_bound_by_bound() {
        let text = "b{r=\"0\",le=\"0.5\"} 1\nb{r=\"0\",le=\"+Inf\"} 4\ns{r=\"0\"} 9\n\
                    b{r=\"1\",le=\"0.5\"} 2\nb{r=\"1\",le=\"+Inf\"} 2\ns{r=\"1\"} 1\n";
        let merged = merge(text, 1).unwrap();
        assert_eq!(merged.buckets, [(0.5, 3.0), (f64::INFINITY, 6.0)]);
        assert_eq!((merged.sum, merged.count()), (10.0, 6.0));
    }

    #[test]
    fn a_bound_that_one_rank_lacks_is_left_out() {
        let text = "b{r=\"0\",le=\"0.5\"} 1\nb{r=\"0\",le=\"+Inf\"} 4\n\
                    b{r=\"1\",le=\"0.7\"} 2\nb{r=\"1\",le=\"+Inf\"} 2\n";
        assert_eq!(merge(text, 1).unwrap().buckets, [(f64::INFINITY, 6.0)]);
    }

    #[test]
    fn milliseconds_become_seconds_exactly() {
        let text = "b{le=\"3.0\"} 1\nb{le=\"1100\"} 1\nb{le=\"+Inf\"} 1\ns 700\n";
        let merged = merge(text, 1000).unwrap();
        let bounds: Vec<f64> = merged.buckets.iter().map(|bucket| bucket.0).collect();
        assert_eq!(bounds, [0.003, 1.1, f64::INFINITY]);
        assert!((merged.sum - 0.7).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        for (text, reason) in [
            ("b{le=\"1\"} 1\n", "has no bucket le=\"+Inf\""),
            ("b{le=\"x\"} 1\n", "has le=\"x\", not a number"),
            ("b{le=\"+Inf\"} NaN\n", "counts NaN below inf"),
            (
                "b{le=\"1\"} 3\nb{le=\"+Inf\"} 2\n",
                "counts less below a higher bound",
            ),
            ("b{le=\"+Inf\"} 2\ns Inf\n", "sums to inf"),
        ] {
            assert_eq!(merge(text, 1), Err(reason.into()), "{text}");
        }
    }
}
