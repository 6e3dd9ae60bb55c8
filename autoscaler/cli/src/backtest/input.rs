//! CSV files of load and of origins. Every error says which line, what is wrong and what would be right.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, bail};
use autoscaler_core::{series::Series, units::Timestamp};

use crate::words::quoted;

/// Steps of a grid at most: 10 years of minutes.
const STEPS: i64 = 5_300_000;

/// Bytes of a file at most: ten years of minutes.
const LARGEST: u64 = 256 << 20;
/// A load above this is none: arithmetic on it would lose every digit.
const HIGHEST: f64 = 1e15;

/// Name (the file's, without `.csv`) and series of a file with the header `timestamp,value`.
pub(crate) fn series(path: &Path) -> anyhow::Result<(String, Series)> {
    let text = crate::file::read(path, LARGEST)?;
    let name = path
        .file_stem()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let rows = rows(&text).with_context(|| path.display().to_string())?;
    let series = grid(&rows).with_context(|| path.display().to_string())?;
    Ok((name, series))
}

/// The lines of a CSV text with their numbers; what is quoted stands without its quotes.
fn records(text: &str) -> impl Iterator<Item = anyhow::Result<(u64, csv::StringRecord)>> {
    let reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    reader.into_records().map(|record| {
        let record = record?;
        let line = record.position().map_or(0, csv::Position::line);
        Ok((line, record))
    })
}

/// Rows as (unix seconds, value), rising.
fn rows(text: &str) -> anyhow::Result<Vec<(i64, f64)>> {
    let mut records = records(text);
    let Some(header) = records.next() else {
        bail!("the file is empty; the header 'timestamp,value' and rows belong in it");
    };
    let header: Vec<String> = header?.1.iter().map(str::to_owned).collect();
    if header != ["timestamp", "value"] {
        bail!(
            "line 1: the header is {}, it must be 'timestamp,value'",
            quoted(&header.join(","))
        );
    }
    let mut rows: Vec<(i64, f64)> = Vec::new();
    for record in records {
        let (number, record) = record?;
        let (stamp, value) = row(&record).with_context(|| format!("line {number}"))?;
        if let Some((previous, _)) = rows.last() {
            if stamp == *previous {
                bail!(
                    "line {number}: the second {stamp} stands twice; a step has one row and is at least 1 s"
                );
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

fn row(record: &csv::StringRecord) -> anyhow::Result<(i64, f64)> {
    let (Some(stamp), Some(value), 2) = (record.get(0), record.get(1), record.len()) else {
        let line = record.iter().collect::<Vec<_>>().join(",");
        bail!(
            "{} has {} field(s); a row is 'timestamp,value'",
            quoted(&line),
            record.len()
        );
    };
    let seconds: f64 = stamp.parse().map_err(|_| {
        anyhow::anyhow!(
            "{} is no time; unix seconds are, for example 1764547200",
            quoted(stamp)
        )
    })?;
    if !(0.0..4e9).contains(&seconds) {
        bail!(
            "{} is no time in unix seconds; milliseconds would have to be divided by 1000",
            quoted(stamp)
        );
    }
    let number: f64 = value.parse().map_err(|_| {
        anyhow::anyhow!(
            "{} is no number; for a gap leave the row out",
            quoted(value)
        )
    })?;
    if !number.is_finite() {
        bail!("{} is no load; for a gap leave the row out", quoted(value));
    }
    if number < 0.0 {
        bail!("{} is negative; a load is 0 or more", quoted(value));
    }
    if number > HIGHEST {
        bail!("{} is beyond any load; at most 1e15 is read", quoted(value));
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
    let text = crate::file::read(path, LARGEST)?;
    origins_of(&text).with_context(|| path.display().to_string())
}

fn origins_of(text: &str) -> anyhow::Result<BTreeMap<String, Vec<Timestamp>>> {
    let mut records = records(text);
    let header = records.next().transpose()?.unwrap_or_default().1;
    let column = |name: &str| {
        header
            .iter()
            .position(|field| field == name)
            .with_context(|| {
                format!("line 1: no column '{name}' in the header; 'series,origin' is right")
            })
    };
    let (series, origin) = (column("series")?, column("origin")?);
    let mut origins: BTreeMap<String, Vec<Timestamp>> = BTreeMap::new();
    for record in records {
        let (number, record) = record?;
        let stamp = record.get(origin).unwrap_or_default();
        let stamp: i64 = stamp
            .parse()
            .ok()
            .filter(|stamp| (0..4_000_000_000).contains(stamp))
            .with_context(|| {
                format!(
                    "line {number}: {} is no origin in unix seconds",
                    quoted(stamp)
                )
            })?;
        let name = record.get(series).unwrap_or_default();
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
                "line 3: the second 60 stands twice",
            ),
            (
                "timestamp,value\n60,1\n0,2\n",
                "line 3: the stamp 0 is before",
            ),
            ("timestamp,value\n0,-1\n", "line 2: '-1' is negative"),
            ("timestamp,value\n0,NaN\n", "line 2: 'NaN' is no load"),
            ("timestamp,value\n0,many\n", "line 2: 'many' is no number"),
            ("timestamp,value\n0\n", "line 2: '0' has 1 field(s)"),
            ("timestamp,value\n1764547200000,1\n", "milliseconds"),
            ("timestamp,value\n0,1e308\n", "'1e308' is beyond any load"),
            ("timestamp,value\n0,1,2\n", "line 2: '0,1,2' has 3 field(s)"),
            (
                "timestamp,value\n0.1,1\n0.6,1\n",
                "line 3: the second 0 stands twice",
            ),
        ] {
            let error = format!("{:#}", rows(text).unwrap_err());
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_message_repeats_a_foreign_text_only_in_part() {
        let text = format!("timestamp,value\n0,{}\n", "9x".repeat(100_000));
        let error = format!("{:#}", rows(&text).unwrap_err());
        assert!(error.chars().count() < 200, "{error}");
    }

    #[test]
    fn origins_know_quoted_names_and_say_the_line_of_a_bad_one() {
        let found = origins_of("day,series,origin\n1,\"a,b\",600\n1,c,1200\n").unwrap();
        assert_eq!(found["a,b"], [Timestamp(600)]);
        let error = format!("{:#}", origins_of("series,origin\na,\n").unwrap_err());
        assert!(error.contains("line 2: '' is no origin"), "{error}");
        let error = format!("{:#}", origins_of("").unwrap_err());
        assert!(error.contains("line 1: no column 'series'"), "{error}");
    }
}
