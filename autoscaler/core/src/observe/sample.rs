//! One signal: its samples on the grid, and how far they can be trusted. Never takes an answer that
//! is empty, text or not a number for zero.

use crate::{
    observe::{RawSeries, SignalInput},
    series::{Quality, Series},
    snapshot::Signal,
    units::Timestamp,
};

/// Steps of history that are kept: 15 days of minutes. It bounds what a wild time stamp can cost.
const MAX_STEPS: i64 = 15 * 1440;

/// From where, and how strictly, samples are looked at.
#[derive(Clone, Copy)]
pub(super) struct Look {
    /// The moment of the observation.
    pub(super) now: Timestamp,
    /// Seconds of a step.
    pub(super) step: i64,
    /// Seconds after which the newest sample is stale; also how far a sample may lie in the future.
    pub(super) stale_after: i64,
    /// Steps of the past that have to be complete.
    pub(super) recent: usize,
}

/// The answer to one signal's query as a signal with its quality.
pub(super) fn judge(look: Look, input: &SignalInput) -> Signal {
    let name = &input.name;
    let points = match usable(input) {
        Ok(points) => points,
        Err(why) => return missing(look, &format!("signal `{name}`: {why}")),
    };
    let good: Vec<(i64, f64)> = points.iter().filter_map(|&point| good(point)).collect();
    let Some(&(newest, _)) = good.last() else {
        let value = points.last().map_or(f64::NAN, |point| point.1);
        let why = format!(
            "signal `{name}`: every value is unusable, the last is {value}; values have to be \
             finite and not negative"
        );
        return missing(look, &why);
    };
    let series = on_grid(look, &good);
    let (mut quality, mut detail) = quality(look, &series, newest, points.len() - good.len());
    let partial = input
        .answer
        .iter()
        .flatten()
        .find_map(|series| series.partial.as_deref());
    if let Some(why) = partial.filter(|_| quality < Quality::Partial) {
        // Half of the stores give half of the load.
        (quality, detail) = (
            Quality::Partial,
            one_line(&format!("the answer is partial: {why}")),
        );
    }
    let detail = if detail.is_empty() {
        detail
    } else {
        format!("signal `{name}`: {detail}")
    };
    Signal {
        series,
        quality,
        detail,
    }
}

/// What [`judge`] gives, with the change per second of the signal instead of its values: negative while it falls, a gap
/// beside a gap. Divided by the time between the samples themselves: the newest one is read in the middle of its step.
pub(super) fn growth(look: Look, input: &SignalInput) -> Signal {
    let mut signal = judge(look, input);
    let points = usable(input).unwrap_or_default();
    let good: Vec<(i64, f64)> = points.iter().filter_map(|&point| good(point)).collect();
    let start = signal.series.start.0;
    let mut newest: Vec<Option<(i64, f64)>> = vec![None; signal.series.values.len()];
    for (seconds, value) in good {
        let step = (seconds - start).div_euclid(look.step);
        if let Some(slot) = usize::try_from(step).ok().and_then(|at| newest.get_mut(at)) {
            *slot = Some((seconds, value));
        }
    }
    let changes = newest.windows(2).map(|pair| {
        let ((before, from), (after, to)) = (pair[0]?, pair[1]?);
        #[expect(clippy::cast_precision_loss, reason = "seconds between two samples")]
        let seconds = (after - before) as f64;
        (seconds > 0.0).then_some((to - from) / seconds)
    });
    let changes: Vec<Option<f64>> = changes.collect();
    for (slot, change) in signal.series.values.iter_mut().skip(1).zip(changes) {
        *slot = change;
    }
    if let Some(first) = signal.series.values.first_mut() {
        *first = None;
    }
    signal
}

/// No data, with the reason.
pub(super) fn missing(look: Look, detail: &str) -> Signal {
    Signal {
        series: Series {
            start: look.now,
            step: look.step,
            values: Vec::new(),
        },
        quality: Quality::Missing,
        detail: one_line(detail),
    }
}

/// The points of the one series of an answer, or in words why there are none.
fn usable(input: &SignalInput) -> Result<&[(f64, f64)], String> {
    let answer = input.answer.as_ref().map_err(Clone::clone)?;
    let series = match answer.as_slice() {
        [] => {
            return Err(
                "the query found no series, it has to give exactly one; no data is not zero"
                    .to_owned(),
            );
        }
        [one] => one,
        [first, second, ..] => {
            return Err(format!(
                "the query gave {} series ({}, {} …), it has to give exactly one: aggregate them, \
                 for example with sum()",
                answer.len(),
                labels(first),
                labels(second)
            ));
        }
    };
    if series.points.is_empty() {
        return Err("the series has no sample, at least one is needed".to_owned());
    }
    if series.points.iter().any(|point| !point.0.is_finite()) {
        return Err("a time stamp is not a number, it has to be unix seconds".to_owned());
    }
    let disordered = series.points.windows(2).find(|pair| pair[1].0 <= pair[0].0);
    if let Some(pair) = disordered {
        return Err(format!(
            "the sample at {} follows the one at {}, times have to rise",
            pair[1].0, pair[0].0
        ));
    }
    Ok(&series.points)
}

/// Whole seconds and a value that means something.
fn good((time, value): (f64, f64)) -> Option<(i64, f64)> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "clamped to what f64 holds exactly"
    )]
    let seconds = time.clamp(-9e15, 9e15).floor() as i64;
    (value.is_finite() && value >= 0.0).then_some((seconds, value))
}

/// The newest sample of each step; samples older than the kept span and later than the tolerance
/// fall away.
fn on_grid(look: Look, good: &[(i64, f64)]) -> Series {
    let index = |seconds: i64| seconds.div_euclid(look.step);
    let last = index(look.now.plus(look.stale_after).0);
    let oldest = index(look.now.0) - MAX_STEPS;
    let kept: Vec<(i64, f64)> = good
        .iter()
        .map(|&(seconds, value)| (index(seconds), value))
        .filter(|&(step, _)| step > oldest && step <= last)
        .collect();
    let (Some(&(first, _)), Some(&(newest, _))) = (kept.first(), kept.last()) else {
        return missing(look, "").series;
    };
    let mut values = vec![None; usize::try_from(newest - first + 1).unwrap_or(0)];
    for (step, value) in kept {
        if let Some(slot) = usize::try_from(step - first)
            .ok()
            .and_then(|at| values.get_mut(at))
        {
            *slot = Some(value);
        }
    }
    Series {
        start: Timestamp(first * look.step),
        step: look.step,
        values,
    }
}

fn quality(look: Look, series: &Series, newest: i64, unusable: usize) -> (Quality, String) {
    let age = look.now.since(Timestamp(newest));
    if age < -look.stale_after {
        let why = format!(
            "clock skew, the newest sample lies {} s in the future, at most {} s is right",
            -age, look.stale_after
        );
        return (Quality::Stale, why);
    }
    if age > look.stale_after {
        let why = format!(
            "the newest usable sample is {age} s old, at most {} s is right",
            look.stale_after
        );
        return (Quality::Stale, why);
    }
    let recent = &series.values[series.values.len().saturating_sub(look.recent)..];
    let gaps = recent.iter().filter(|value| value.is_none()).count();
    if gaps > 0 {
        let because = match unusable {
            0 => "without a sample".to_owned(),
            count => format!("without a usable sample ({count} were not finite or negative)"),
        };
        let why = format!("{gaps} of the last {} steps are {because}", recent.len());
        return (Quality::Partial, why);
    }
    if recent.iter().all(|value| *value == Some(0.0)) {
        return (Quality::Idle, String::new());
    }
    (Quality::Ok, String::new())
}

fn labels(series: &RawSeries) -> String {
    let pairs: Vec<String> = series
        .labels
        .iter()
        .map(|(name, value)| format!("{name}={value:?}"))
        .collect();
    format!("{{{}}}", pairs.join(","))
}

/// Messages of others come in as they are; a detail is one line of bounded length.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(400) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
