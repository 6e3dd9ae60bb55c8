//! What a dcgm-exporter on the node measures and the driver library does not.

use std::time::{Duration, Instant};

use exporter_core::{exposition::parse, lent::Lent};
use tokio::sync::watch;

use super::part::Part;
use crate::{config::Other, other::fetch};

/// Time after which an answer is given up; its own limit is 10 s.
const DEADLINE: Duration = Duration::from_secs(10);

/// Starts to borrow.
pub(super) fn start(other: Other, interval: Duration) -> watch::Receiver<Part<Lent>> {
    let part = Part::new("dcgm-exporter", Some(other.shown.clone()));
    let (publish, receive) = watch::channel(part);
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !publish.is_closed() {
            ticks.tick().await;
            let started = Instant::now();
            let answer = ratios(&other, DEADLINE.min(interval)).await;
            publish.send_modify(|part| match answer {
                Ok(lent) => part.take(started, true, Some(lent), None),
                Err((up, reason)) => part.take(started, up, None, Some(reason)),
            });
        }
    });
    receive
}

/// Its ratios; else whether it answered, and why they did not come.
async fn ratios(other: &Other, deadline: Duration) -> Result<Lent, (bool, String)> {
    let text = fetch(other, deadline).await;
    let text = text.map_err(|error| (false, format!("{error:#}")))?;
    let samples = parse(&text).map_err(|error| (true, format!("not an exposition: {error}")))?;
    let lent = Lent::read(&samples);
    if lent.is_empty() {
        let why = "it serves no DCGM_FI_PROF_ field; enable them in its counters file";
        return Err((true, why.into()));
    }
    Ok(lent)
}
