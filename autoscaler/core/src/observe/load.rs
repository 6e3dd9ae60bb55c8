//! From the signals of a target to its offered load and its queue. Never lets one missing signal
//! pass for a smaller load.

use crate::{
    observe::{
        Means, SignalInput,
        sample::{Look, growth, judge, missing},
    },
    series::{Quality, Series},
    snapshot::Signal,
    units::Timestamp,
};

/// The offered load, and the waiting requests where a signal gives them.
///
/// Load is the arrivals where a signal gives them. Else it is what is served, plus what is turned
/// away, plus the growth of the queue. Of several signals that mean the same, the highest counts
/// at each step, as HPA takes the highest of its metrics.
pub(super) fn signals(look: Look, inputs: &[SignalInput]) -> (Signal, Option<Signal>) {
    let of = |means: Means| of(look, inputs, means);
    let waiting = of(Means::Waiting);
    let load = match (of(Means::Arrivals), of(Means::Served)) {
        (Some(arrivals), _) => arrivals,
        (None, Some(served)) => {
            let queues = inputs.iter().filter(|input| input.means == Means::Waiting);
            let growths = queues.map(|input| growth(look, input)).collect();
            let growth = combine(look, growths, f64::max);
            offered(look, served, of(Means::Rejected), growth)
        }
        (None, None) => missing(
            look,
            "no signal tells the load, at least one has to mean Arrivals or Served",
        ),
    };
    (load, waiting)
}

/// What the signals of one meaning say together.
pub(super) fn of(look: Look, inputs: &[SignalInput], means: Means) -> Option<Signal> {
    let judged: Vec<Signal> = inputs
        .iter()
        .filter(|input| input.means == means)
        .map(|input| judge(look, input))
        .collect();
    combine(look, judged, f64::max)
}

/// Served + rejected + growth of the queue. What is unknown beside a known `served` makes the load
/// a lower bound: Partial.
fn offered(look: Look, served: Signal, rejected: Option<Signal>, growth: Option<Signal>) -> Signal {
    if served.series.values.is_empty() {
        return served;
    }
    let known = served.series.clone();
    let parts: Vec<Signal> = [Some(served), rejected, growth]
        .into_iter()
        .flatten()
        .collect();
    let Some(mut load) = combine(look, parts, |a, b| a + b) else {
        return missing(look, "no signal tells the load");
    };
    // A step without `served` is a gap, whatever else is known about it.
    let sum = std::mem::replace(&mut load.series, known);
    let first = offset(load.series.start, sum.start, look.step);
    for (slot, value) in load.series.values.iter_mut().zip(&sum.values[first..]) {
        *slot = slot.and(*value).map(|value| value.max(0.0));
    }
    load
}

/// Several signals as one: values step by step, gaps where none has a value. The quality is the
/// worst of them, but Partial as long as one of them is fresh: then an increase may follow.
fn combine(look: Look, mut signals: Vec<Signal>, with: fn(f64, f64) -> f64) -> Option<Signal> {
    if signals.len() < 2 {
        return signals.pop();
    }
    let details: Vec<&str> = signals
        .iter()
        .map(|signal| signal.detail.as_str())
        .filter(|detail| !detail.is_empty())
        .collect();
    Some(Signal {
        series: merge(look, &signals, with),
        quality: worst(&signals),
        detail: details.join("; "),
    })
}

fn worst(signals: &[Signal]) -> Quality {
    let qualities = || signals.iter().map(|signal| signal.quality);
    let fresh = qualities().any(|quality| quality <= Quality::Partial);
    let worst = qualities().max().unwrap_or(Quality::Missing);
    if qualities().all(|quality| quality == Quality::Idle) {
        Quality::Idle
    } else if qualities().all(Quality::may_lower) {
        Quality::Ok
    } else if fresh {
        Quality::Partial
    } else {
        // One of several that is missing beside one that is stale: there is old data.
        qualities().min().unwrap_or(worst)
    }
}

fn merge(look: Look, signals: &[Signal], with: fn(f64, f64) -> f64) -> Series {
    let filled = || {
        signals
            .iter()
            .map(|signal| &signal.series)
            .filter(|series| !series.values.is_empty())
    };
    let start = filled()
        .map(|series| series.start)
        .min()
        .unwrap_or(look.now);
    let end = filled().map(Series::end).max().unwrap_or(start);
    let steps = usize::try_from(end.since(start) / look.step).unwrap_or(0);
    let mut values: Vec<Option<f64>> = vec![None; steps];
    for series in filled() {
        let first = offset(series.start, start, look.step);
        for (slot, value) in values.iter_mut().skip(first).zip(&series.values) {
            *slot = match (*slot, *value) {
                (Some(a), Some(b)) => Some(with(a, b)),
                (a, b) => a.or(b),
            };
        }
    }
    Series {
        start,
        step: look.step,
        values,
    }
}

fn offset(time: Timestamp, start: Timestamp, step: i64) -> usize {
    usize::try_from(time.since(start) / step).unwrap_or(0)
}
