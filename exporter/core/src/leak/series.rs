//! One quantity over the last hours, thinned to its lowest value in each ten minutes: what is allocated for a moment and
//! given back does not show, what stays does.

use std::collections::VecDeque;

/// Seconds of a bucket.
const BUCKET: f64 = 600.0;
/// Buckets of an hour.
const HOUR: usize = 6;
/// Hours that are judged.
const HOURS: usize = 4;
/// Percent that each hour must add.
const EACH: f64 = 0.4;
/// Percent that all hours must add beyond what load explains; three hours lie between four lowest values.
const ALL: f64 = 2.1;
/// Percent of memory that one more percent of load can explain: caches and batches grow with load.
const EXPLAINED: f64 = 0.6;
/// The last hour adds at least this share of the mean hour: what fills up adds less and less.
const STEADY: f64 = 0.6;
/// No hour adds more than this share of all: a model that is loaded adds all at once.
const STEP: f64 = 0.6;
/// Points of load that may be noise.
const NOISE: f64 = 5.0;
/// Judgements in a row that must say the same before growth is suspected, one for each bucket.
const CONFIRMED: u32 = 3;

/// Ten minutes.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    number: i64,
    lowest: f64,
    load: Option<f64>,
    count: f64,
}

/// A quantity over time.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    buckets: VecDeque<Bucket>,
    grows: u32,
    judged: Option<i64>,
}

/// What was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    /// Whether it grows without need.
    pub(super) suspected: bool,
    /// Percent of the board's memory it gained in an hour.
    pub(super) per_hour: f64,
}

/// Lowest value and mean load of an hour.
type Hour = (f64, f64);

impl Series {
    /// Takes a value at `now` and the load at that time, in percent.
    pub(super) fn add(&mut self, now: f64, value: f64, load: Option<f64>) {
        let number = bucket(now);
        match self.buckets.back_mut().filter(|last| last.number >= number) {
            Some(last) => {
                last.lowest = last.lowest.min(value);
                last.load = last.load.zip(load).map(|(sum, load)| sum + load);
                last.count += 1.0;
            }
            None => self.buckets.push_back(Bucket {
                number,
                lowest: value,
                load,
                count: 1.0,
            }),
        }
        let oldest = number - i64::try_from(HOURS * HOUR).unwrap_or(i64::MAX);
        while self
            .buckets
            .front()
            .is_some_and(|first| first.number < oldest)
        {
            self.buckets.pop_front();
        }
    }

    /// Whether it grows without its load growing; `None` before it was seen for hours, or while the load is unknown.
    pub(super) fn growth(&mut self, now: f64) -> Option<Growth> {
        let hours = self.hours(now)?;
        let gained = gains(&hours);
        let [all, each @ ..] = gained;
        let (first, last) = (hours[0], hours[HOURS - 1]);
        let unexplained = all - EXPLAINED * (last.1 - first.1).max(0.0);
        let mean = all / each.len() as f64;
        let grows = each.iter().all(|gain| *gain >= EACH && *gain <= STEP * all)
            && unexplained >= ALL
            && each[each.len() - 1] >= STEADY * mean;
        // Once for each bucket, however often it is asked.
        if self.judged != Some(bucket(now)) {
            self.judged = Some(bucket(now));
            self.grows = if grows { self.grows + 1 } else { 0 };
        }
        Some(Growth {
            suspected: self.grows >= CONFIRMED,
            per_hour: mean,
        })
    }

    /// Whether at least `least` came over the hours, some in each of them, none went, and the load did not grow.
    pub(super) fn piles_up(&self, now: f64, least: f64) -> Option<bool> {
        let hours = self.hours(now)?;
        let [all, each @ ..] = gains(&hours);
        let calm = hours[HOURS - 1].1 - hours[0].1 <= NOISE;
        Some(calm && all >= least && each.iter().all(|gain| *gain >= 1.0))
    }

    /// The whole hours before the bucket of `now`; `None` where one is not seen for the most part.
    fn hours(&self, now: f64) -> Option<[Hour; HOURS]> {
        let end = bucket(now);
        let mut hours = [(0.0, 0.0); HOURS];
        for (index, hour) in hours.iter_mut().enumerate() {
            let until = end - i64::try_from((HOURS - 1 - index) * HOUR).ok()?;
            let from = until - i64::try_from(HOUR).ok()?;
            let own = self
                .buckets
                .iter()
                .filter(|one| (from..until).contains(&one.number));
            let own: Vec<&Bucket> = own.collect();
            if own.len() < HOUR - 1 {
                return None;
            }
            let lowest = own
                .iter()
                .map(|one| one.lowest)
                .fold(f64::INFINITY, f64::min);
            let mut load = 0.0;
            for one in &own {
                load += one.load? / one.count;
            }
            *hour = (lowest, load / own.len() as f64);
        }
        Some(hours)
    }
}

/// Gain over all hours, then hour by hour.
fn gains(hours: &[Hour; HOURS]) -> [f64; HOURS] {
    let mut gained = [0.0; HOURS];
    gained[0] = hours[HOURS - 1].0 - hours[0].0;
    for (gain, pair) in gained[1..].iter_mut().zip(hours.windows(2)) {
        *gain = pair[1].0 - pair[0].0;
    }
    gained
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "unix seconds in tens of minutes"
)]
fn bucket(now: f64) -> i64 {
    (now / BUCKET).floor() as i64
}
