//! The batch work of the cluster, for the one exporter that has this role.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use exporter_core::queue::batch::Queue;
use tokio::sync::watch;

use super::part::Part;
use crate::apiserver::{ApiServer, batch};

/// Time after which one list is given up; a large cluster has many pages.
const DEADLINE: Duration = Duration::from_secs(20);

/// Starts to count.
pub(super) fn start(api: Arc<ApiServer>, interval: Duration) -> watch::Receiver<Part<Vec<Queue>>> {
    let (publish, receive) = watch::channel(Part::new("batch", None));
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !publish.is_closed() {
            ticks.tick().await;
            let started = Instant::now();
            let answer = batch::of_cluster(&api, DEADLINE).await;
            publish.send_modify(|part| match answer {
                Ok(queues) => part.take(started, true, Some(queues), None),
                Err(error) => part.take(started, false, None, Some(error.to_string())),
            });
        }
    });
    receive
}
