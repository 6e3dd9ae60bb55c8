//! Gathers on their own pace and publishes what they bring. A scrape only assembles what lies there;
//! it never waits for a source. What is older than three intervals is dropped: absent beats old.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use exporter_core::{
    queue::Server,
    snapshot::{Snapshot, SourceStatus},
};
use tokio::sync::watch;

use crate::{
    config,
    inference::{Asker, InferenceError},
    source::{Gathered, Source},
};

/// Intervals after which a gather is too old to be shown.
const OLDEST: u32 = 3;
/// Longest pause between two tries to reach a source.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// What the last gather of one source brought.
#[derive(Clone, Debug)]
struct Part<T> {
    status: SourceStatus,
    brought: Option<Arc<T>>,
    /// Unix seconds and process clock of its end; `None` before the first.
    ended: Option<(f64, Instant)>,
}

impl<T> Part<T> {
    fn new(name: &str, target: Option<String>) -> Self {
        let status = SourceStatus {
            name: name.into(),
            target,
            ..SourceStatus::default()
        };
        Self {
            status,
            brought: None,
            ended: None,
        }
    }

    /// Takes the end of a gather; a failure replaces what an earlier one brought.
    fn take(&mut self, started: Instant, up: bool, brought: Option<T>, reason: Option<String>) {
        let now = unix_now();
        let status = &mut self.status;
        if reason != status.reason {
            report(&status.name, status.target.as_deref(), reason.as_deref());
        }
        status.up = up;
        status.success = reason.is_none();
        status.duration = Some(started.elapsed().as_secs_f64());
        status.failures += u64::from(reason.is_some());
        if reason.is_none() {
            status.last_success = Some(now);
        }
        status.reason = reason;
        self.brought = brought.map(Arc::new);
        self.ended = Some((now, Instant::now()));
    }

    /// Status and content as they count at `now`.
    fn fresh(&self, now: Instant, oldest: Duration) -> (SourceStatus, Option<&Arc<T>>) {
        let age = self
            .ended
            .map(|(_, ended)| now.saturating_duration_since(ended));
        if age.is_some_and(|age| age <= oldest) {
            return (self.status.clone(), self.brought.as_ref());
        }
        let mut status = self.status.clone();
        status.up = false;
        status.success = false;
        if let Some(age) = age {
            status.reason = Some(format!(
                "no answer for {} s: a call hangs, or the machine is starved",
                age.as_secs()
            ));
        }
        (status, None)
    }
}

/// Says once that a source fails, and once that it is back.
fn report(source: &str, target: Option<&str>, reason: Option<&str>) {
    if let Some(reason) = reason {
        tracing::warn!(source, target, reason, "source failed");
    } else {
        tracing::info!(source, target, "source works again");
    }
}

/// Unix seconds now.
fn unix_now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}

type Models = Vec<Server>;

/// What all sources have published.
#[derive(Clone)]
pub(crate) struct Published {
    hostname: String,
    oldest: Duration,
    gpus: watch::Receiver<Part<Gathered>>,
    servers: Vec<watch::Receiver<Part<Models>>>,
}

impl Published {
    /// Whether the GPUs were gathered once, with whatever outcome.
    pub(crate) fn ready(&self) -> bool {
        self.gpus.borrow().ended.is_some()
    }

    /// Waits until every source was asked once.
    pub(crate) async fn complete(&mut self) {
        // An error means that the gatherer is gone; then there is nothing to wait for.
        let _ = self.gpus.wait_for(|part| part.ended.is_some()).await;
        for server in &mut self.servers {
            let _ = server.wait_for(|part| part.ended.is_some()).await;
        }
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
            snapshot.sources.push(status);
            if let Some(gathered) = gathered {
                snapshot.driver_version.clone_from(&gathered.driver_version);
                snapshot.gpus.clone_from(&gathered.gpus);
            }
        }
        for server in &self.servers {
            let part = server.borrow();
            let (status, models) = part.fresh(now, self.oldest);
            snapshot.sources.push(status);
            snapshot
                .servers
                .extend(models.into_iter().flat_map(|models| models.iter().cloned()));
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

/// Starts gathering everything; must be called inside the async runtime.
pub(crate) fn start<S: Source + Send + 'static>(
    config: &config::Config,
    source: S,
    client: &reqwest::Client,
) -> Result<(Published, Owner), std::io::Error> {
    let (gpus, owner) = own(source, config.interval)?;
    let watch_server =
        |server: &config::Server| watch(server.clone(), client.clone(), config.interval);
    let published = Published {
        hostname: config.hostname.clone(),
        oldest: config.interval * OLDEST,
        gpus,
        servers: config.servers.iter().map(watch_server).collect(),
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

fn watch(
    server: config::Server,
    client: reqwest::Client,
    interval: Duration,
) -> watch::Receiver<Part<Models>> {
    let name = server.target.server.map_or("auto", |server| server.name);
    let (publish, models) = watch::channel(Part::new(name, Some(server.target.url.clone())));
    tokio::spawn(async move {
        let mut asker = Asker::new(client, server);
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !publish.is_closed() {
            ticks.tick().await;
            let started = Instant::now();
            let answer = asker.ask(unix_now()).await;
            let up = answer
                .as_ref()
                .map_or_else(InferenceError::reached, |_| true);
            publish.send_modify(|part| match answer {
                Ok(answer) => part.take(started, up, Some(answer.servers), answer.incomplete),
                Err(error) => part.take(started, up, None, Some(error.to_string())),
            });
        }
    });
    models
}

#[cfg(test)]
mod tests;
