//! CSV files of load and of origins. Every error says which line, what is wrong and what would be right.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, bail};
use autoscaler_core::{series::Series, units::Timestamp};

/// Steps of a grid at most: 10 years of minutes.
const STEPS: i64 = 5_300_000;

/// Name (the file's, without `.csv`) and series of a file with the header `timestamp,value`.
pub(super) fn series(path: &Path) -> anyhow::Result<(String, Series)> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let name = path
        .file_stem()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let rows = rows(&text).with_context(|| path.display().to_string())?;
    let series = grid(&rows).with_context(|| path.display().to_string())?;
    Ok((name, series))
}

/// Rows as (unix seconds, value), rising.
fn rows(text: &str) -> anyhow::Result<Vec<(i64, f64)>> {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()));
    match lines.next() {
        Some((_, "timestamp,value")) => {}
        Some((_, other)) => bail!("line 1: the header is '{other}', it must be 'timestamp,value'"),
        None => bail!("the file is empty; the header 'timestamp,value' and rows belong in it"),
    }
    let mut rows: Vec<(i64, f64)> = Vec::new();
    for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
        let (stamp, value) = row(line).with_context(|| format!("line {number}"))?;
        if let Some((previous, _)) = rows.last() {
            if stamp == *previous {
                bail!("line {number}: the stamp {stamp} stands twice; each step has one row");
            }
            if stamp < *previous {
                bail!(
                    "line {number}: the stamp {stamp} is before the one above it ({previous}); stamps must rise"
                );
            }
        }
        rows.push((stamp, value));
    }
    if rows.len() < 2 {
        bail!(
            "{} row(s); at least two are needed to know the step",
            rows.len()
        );
    }
    Ok(rows)
}

fn row(line: &str) -> anyhow::Result<(i64, f64)> {
    let Some((stamp, value)) = line.split_once(',') else {
        bail!("'{line}' has no comma; a row is 'timestamp,value'");
    };
    let stamp = stamp.trim();
    let seconds: f64 = stamp.parse().map_err(|_| {
        anyhow::anyhow!("'{stamp}' is no time; unix seconds are, for example 1764547200")
    })?;
    if !(0.0..4e9).contains(&seconds) {
        bail!(
            "'{stamp}' is no time in unix seconds; milliseconds would have to be divided by 1000"
        );
    }
    let value = value.trim();
    let number: f64 = value
        .parse()
        .map_err(|_| anyhow::anyhow!("'{value}' is no number; for a gap leave the row out"))?;
    if !number.is_finite() {
        bail!("'{value}' is no load; for a gap leave the row out");
    }
    if number < 0.0 {
        bail!("'{value}' is negative; a load is 0 or more");
    }
    #[expect(clippy::cast_possible_truncation, reason = "checked to be below 4e9")]
    Ok((seconds as i64, number))
}

/// Rows on an even grid from the first stamp; its step is the median distance. Stamps a little off the
/// grid go to the nearest step; what falls together is averaged.
fn grid(rows: &[(i64, f64)]) -> anyhow::Result<Series> {
    let mut distances: Vec<i64> = rows.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    distances.sort_unstable();
    let step = distances[distances.len() / 2];
    let start = rows[0].0;
    let count = (rows[rows.len() - 1].0 - start + step / 2) / step + 1;
    if count > STEPS {
        bail!(
            "{count} steps of {step} s between the first and the last stamp; at most {STEPS} are read"
        );
    }
    let mut sums = vec![(0.0, 0_u32); usize::try_from(count)?];
    for (stamp, value) in rows {
        let index = usize::try_from((stamp - start + step / 2) / step)?;
        sums[index].0 += value;
        sums[index].1 += 1;
    }
    let values = sums
        .into_iter()
        .map(|(sum, count)| (count > 0).then(|| sum / f64::from(count)))
        .collect();
    Ok(Series {
        start: Timestamp(start),
        step,
        values,
    })
}

/// Origins by series from a CSV file whose header names `series` and `origin` (others are passed over).
pub(super) fn origins(path: &Path) -> anyhow::Result<BTreeMap<String, Vec<Timestamp>>> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut lines = text.lines();
    let header: Vec<&str> = lines
        .next()
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .collect();
    let column = |name: &str| {
        header
            .iter()
            .position(|field| *field == name)
            .with_context(|| {
                format!(
                    "{}: line 1: no column '{name}' in the header; 'series,origin' is right",
                    path.display()
                )
            })
    };
    let (series, origin) = (column("series")?, column("origin")?);
    let mut origins: BTreeMap<String, Vec<Timestamp>> = BTreeMap::new();
    for (number, line) in lines
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let stamp = fields
            .get(origin)
            .and_then(|field| field.parse().ok())
            .with_context(|| {
                format!(
                    "{}: line {}: '{line}' has no origin in unix seconds",
                    path.display(),
                    number + 2
                )
            })?;
        let name = fields.get(series).copied().unwrap_or_default();
        origins
            .entry(name.to_owned())
            .or_default()
            .push(Timestamp(stamp));
    }
    Ok(origins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_row_is_a_gap_and_a_stamp_off_the_grid_goes_to_the_nearest_step() {
        let rows = rows("timestamp,value\n0,1\n60,2\n181,3\n240,4\n300,5\n").unwrap();
        let series = grid(&rows).unwrap();
        assert_eq!((series.start, series.step), (Timestamp(0), 60));
        assert_eq!(
            series.values,
            vec![Some(1.0), Some(2.0), None, Some(3.0), Some(4.0), Some(5.0)]
        );
    }

    #[test]
    fn each_bad_file_is_told_what_would_be_right() {
        for (text, expected) in [
            ("", "the file is empty"),
            ("time,value\n1,2\n", "it must be 'timestamp,value'"),
            ("timestamp,value\n", "0 row(s)"),
            (
                "timestamp,value\n60,1\n60,2\n",
                "line 3: the stamp 60 stands twice",
            ),
            (
                "timestamp,value\n60,1\n0,2\n",
                "line 3: the stamp 0 is before",
            ),
            ("timestamp,value\n0,-1\n", "line 2: '-1' is negative"),
            ("timestamp,value\n0,NaN\n", "line 2: 'NaN' is no load"),
            ("timestamp,value\n0,many\n", "line 2: 'many' is no number"),
            ("timestamp,value\n0\n", "line 2: '0' has no comma"),
            ("timestamp,value\n1764547200000,1\n", "milliseconds"),
        ] {
            let error = format!("{:#}", rows(text).unwrap_err());
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }
}
