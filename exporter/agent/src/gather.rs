//! Gathers on their own pace and publishes what they bring. A scrape only assembles what lies there;
//! it never waits for a source. What is older than three intervals is dropped: absent beats old.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use exporter_core::{lent::Lent, queue::batch::Queue, snapshot::Snapshot};
use tokio::sync::watch;

use crate::{
    apiserver::ApiServer,
    config,
    kubelet::Kubelet,
    source::{Gathered, Source},
};
use part::{Part, unix_now};
use servers::Targets;

mod part;

mod servers;

mod pods;

mod holders;

mod batch;

mod lent;

/// Time for which what was last known of pods and devices is used while nobody answers.
const KEPT: Duration = Duration::from_mins(5);
/// Intervals after which a gather is too old to be shown.
const OLDEST: u32 = 3;
/// Longest pause between two tries to reach a source.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// What all sources have published.
#[derive(Clone)]
pub(crate) struct Published {
    hostname: String,
    oldest: Duration,
    gpus: watch::Receiver<Part<Gathered>>,
    pods: Option<watch::Receiver<Part<pods::Pods>>>,
    holders: Option<watch::Receiver<Part<holders::Known>>>,
    batch: Option<watch::Receiver<Part<Vec<Queue>>>>,
    lent: Option<watch::Receiver<Part<Lent>>>,
    servers: watch::Receiver<Vec<servers::Watched>>,
}

impl Published {
    /// Whether the GPUs, or the batch work, were gathered once, with whatever outcome.
    pub(crate) fn ready(&self) -> bool {
        let batch = self.batch.as_ref();
        batch.is_none_or(|batch| batch.borrow().ended.is_some())
            && self.gpus.borrow().ended.is_some()
    }

    /// Whether the thread that owns the GPUs still runs.
    pub(crate) fn alive(&self) -> bool {
        self.gpus.has_changed().is_ok()
    }

    /// Waits until every source was asked once.
    pub(crate) async fn complete(&mut self) {
        // An error means that the gatherer is gone; then there is nothing to wait for.
        let _ = self.gpus.wait_for(|part| part.ended.is_some()).await;
        if let Some(pods) = &mut self.pods {
            let _ = pods.wait_for(|part| part.ended.is_some()).await;
        }
        if let Some(holders) = &mut self.holders {
            let _ = holders.wait_for(|part| part.ended.is_some()).await;
        }
        if let Some(lent) = &mut self.lent {
            let _ = lent.wait_for(|part| part.ended.is_some()).await;
        }
        if let Some(batch) = &mut self.batch {
            let _ = batch.wait_for(|part| part.ended.is_some()).await;
        }
        // Those of pods stand there before the pods do.
        let servers = self.servers.borrow().clone();
        for server in servers {
            let mut models = server.models;
            let _ = models.wait_for(|part| part.ended.is_some()).await;
        }
    }

    /// Waits until every source was asked once and the GPUs were gathered twice, as rates need it.
    pub(crate) async fn twice(&mut self) {
        self.complete().await;
        let first = self.gpus.borrow().ended;
        let _ = self.gpus.wait_for(|part| part.ended != first).await;
    }

    /// What is known now.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let now = Instant::now();
        let mut snapshot = Snapshot {
            hostname: self.hostname.clone(),
            ..Snapshot::default()
        };
        {
            let part = self.gpus.borrow();
            snapshot.gathered_at = part.ended.map_or(0.0, |(unix, _)| unix);
            let (status, gathered) = part.fresh(now, self.oldest);
            if self.batch.is_none() {
                snapshot.sources.push(status);
            }
            if let Some(gathered) = gathered {
                snapshot.driver_version.clone_from(&gathered.driver_version);
                snapshot.nvml_version.clone_from(&gathered.nvml_version);
                snapshot.gpus.clone_from(&gathered.gpus);
            }
        }
        if let Some(lent) = &self.lent {
            let part = lent.borrow();
            let (status, ratios) = part.fresh(now, self.oldest);
            snapshot.sources.push(status);
            if let Some(ratios) = ratios {
                ratios.lend(&mut snapshot.gpus);
            }
        }
        if let Some(pods) = &self.pods {
            let (status, _) = pods.borrow().fresh(now, self.oldest);
            snapshot.sources.push(status);
        }
        if let Some(holders) = &self.holders {
            let part = holders.borrow();
            let (status, known) = part.fresh(now, self.oldest);
            snapshot.sources.push(status);
            snapshot.attribution = known.map(|known| known.attribution(&snapshot.gpus, now));
        }
        if let Some(batch) = &self.batch {
            let part = batch.borrow();
            let (status, queues) = part.fresh(now, self.oldest);
            snapshot.sources.push(status);
            snapshot.batch = queues.map(|queues| Vec::clone(queues)).unwrap_or_default();
        }
        for server in self.servers.borrow().iter() {
            let part = server.models.borrow();
            let (status, models) = part.fresh(now, self.oldest);
            if part.spoken_of() {
                snapshot.sources.push(status);
            }
            let models = models.into_iter().flat_map(|models| models.iter().cloned());
            snapshot.servers.extend(models);
        }
        snapshot
    }
}

/// The thread that owns the GPUs. Dropping it tells the thread to end.
pub(crate) struct Owner {
    stop: Option<mpsc::Sender<()>>,
    leaving: Arc<AtomicBool>,
    ended: mpsc::Receiver<()>,
}

impl Owner {
    /// Tells the thread to end and waits for it at most `patience`: a driver call may never return.
    pub(crate) fn stop(mut self, patience: Duration) {
        self.leaving.store(true, Ordering::Relaxed);
        self.stop.take();
        if self.ended.recv_timeout(patience) == Err(mpsc::RecvTimeoutError::Timeout) {
            tracing::warn!("the gpu source does not return; ending without it");
        }
    }
}

/// What is spoken through to the sources that are asked over a connection.
pub(crate) struct Clients {
    /// Inference servers.
    pub(crate) servers: reqwest::Client,
    /// The API server, where pods are discovered.
    pub(crate) api: Option<Arc<ApiServer>>,
    /// The kubelet, where devices are attributed.
    pub(crate) kubelet: Option<Kubelet>,
}

/// Starts gathering everything; must be called inside the async runtime.
pub(crate) fn start<S: Source + Send + 'static>(
    config: &config::Config,
    source: S,
    clients: Clients,
) -> Result<(Published, Owner), std::io::Error> {
    let Clients {
        servers: client,
        api,
        kubelet,
    } = clients;
    let (gpus, owner) = own(source, config.interval)?;
    let kubernetes = &config.kubernetes;
    let mut targets = Targets::new(client, config.interval, &config.servers);
    let servers = targets.watch();
    let pods =
        (api.clone().filter(|_| kubernetes.discovery)).map(|api| pods::start(api, config, targets));
    let batch =
        (api.clone().filter(|_| kubernetes.cluster)).map(|api| batch::start(api, config.interval));
    let holders = kubelet.map(|kubelet| {
        let sources = holders::Sources {
            kubelet,
            api,
            pods: pods.clone(),
            gpus: gpus.clone(),
        };
        holders::start(sources, kubernetes.clone(), config.interval)
    });
    let lender = config.lender.clone();
    let lent = lender.map(|lender| lent::start(lender, config.interval));
    let published = Published {
        hostname: config.hostname.clone(),
        oldest: config.interval * OLDEST,
        gpus,
        pods,
        holders,
        batch,
        lent,
        servers,
    };
    Ok((published, owner))
}

fn own<S: Source + Send + 'static>(
    mut source: S,
    interval: Duration,
) -> Result<(watch::Receiver<Part<Gathered>>, Owner), std::io::Error> {
    let (publish, gpus) = watch::channel(Part::new(source.name(), None));
    let (stop, stopped) = mpsc::channel();
    let (end, ended) = mpsc::channel();
    let leaving = source.leaving();
    thread::Builder::new()
        .name("gpu-owner".into())
        .spawn(move || {
            let mut unreachable = 0;
            loop {
                let started = Instant::now();
                let answer = source.gather(unix_now());
                unreachable = if answer.is_ok() { 0 } else { unreachable + 1 };
                publish.send_modify(|part| match answer {
                    Ok(mut gathered) => {
                        let reason = gathered.incomplete.take();
                        part.take(started, true, Some(gathered), reason);
                    }
                    Err(error) => part.take(started, false, None, Some(error.to_string())),
                });
                let pause = pause(interval, unreachable).saturating_sub(started.elapsed());
                if stopped.recv_timeout(pause) != Err(mpsc::RecvTimeoutError::Timeout) {
                    break;
                }
            }
            drop(source);
            // Fails only when nobody waits any more.
            let _ = end.send(());
        })?;
    let stop = Some(stop);
    let owner = Owner {
        stop,
        leaving,
        ended,
    };
    Ok((gpus, owner))
}

/// Time from the start of a gather to that of the next, after so many failures in a row.
fn pause(interval: Duration, failures: u32) -> Duration {
    let factor = 1_u32 << failures.saturating_sub(1).min(10);
    interval
        .saturating_mul(factor)
        .min(LONGEST_PAUSE.max(interval))
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod node_tests;
