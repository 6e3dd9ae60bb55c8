//! What the replicas did in the newest step, for learning what they can. Leaves out whatever is not fresh
//! and whole: a capacity that was learned from half of the replicas would be half of the truth.

use crate::{
    capacity::learned::{Metric, Service},
    observe::{Means, SignalInput, load, sample::Look},
    snapshot::Signal,
};

const METRICS: [Metric; 3] = [
    Metric::EndToEnd,
    Metric::TimeToFirstToken,
    Metric::TimePerOutputToken,
];

/// Rate, what is inside, and latencies, as far as the signals tell them.
pub(super) fn seen(look: Look, inputs: &[SignalInput], waiting: Option<&Signal>) -> Service {
    let of = |means| load::of(look, inputs, means);
    let newest = |signal: Option<&Signal>| {
        let signal = signal.filter(|signal| signal.quality.may_lower())?;
        signal.series.latest().map(|(_, value)| value)
    };
    // Without its own signal what is served is what arrives, as long as no queue takes up the difference.
    let served = of(Means::Served).or_else(|| of(Means::Arrivals));
    let in_work = newest(of(Means::InFlight).as_ref());
    let inside = match waiting {
        None => in_work,
        Some(waiting) => in_work
            .zip(newest(Some(waiting)))
            .map(|(work, wait)| work + wait),
    };
    let latency = |metric: Metric| {
        let value = newest(of(Means::Latency(metric)).as_ref())?;
        Some((metric, value))
    };
    Service {
        served: newest(served.as_ref()),
        inside,
        latencies: METRICS.into_iter().filter_map(latency).collect(),
    }
}
