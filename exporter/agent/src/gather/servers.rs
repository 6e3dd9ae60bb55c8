//! Asks inference servers, each on its own: those of the configuration for ever, those of pods while the
//! pods are there.

use std::time::{Duration, Instant};

use exporter_core::queue::{Server, discovery::Found};
use tokio::sync::watch;

use super::part::{Part, unix_now};
use crate::{
    config::{self, SecretUrl},
    inference::{Asker, InferenceError},
};

/// Time after which a server of a pod is given up.
const DEADLINE: Duration = Duration::from_secs(3);
/// Intervals between two tries of what may be no server at all.
const GUESS_PAUSE: u32 = 8;

/// One server that is asked until its last reader is gone.
#[derive(Clone)]
pub(crate) struct Watched {
    found: Found,
    pub(super) models: watch::Receiver<Part<Vec<Server>>>,
}

/// All servers that are asked.
pub(crate) struct Targets {
    client: reqwest::Client,
    interval: Duration,
    fixed: Vec<Watched>,
    found: Vec<Watched>,
    publish: watch::Sender<Vec<Watched>>,
}

impl Targets {
    /// Starts to ask those of the configuration; must be called inside the async runtime.
    pub(super) fn new(
        client: reqwest::Client,
        interval: Duration,
        servers: &[config::Server],
    ) -> Self {
        let fixed = servers.iter().map(|server| Watched {
            found: Found {
                target: server.target.clone(),
                guessed: false,
            },
            models: ask(server.clone(), false, client.clone(), interval),
        });
        let fixed: Vec<Watched> = fixed.collect();
        Self {
            client,
            interval,
            publish: watch::channel(fixed.clone()).0,
            fixed,
            found: Vec::new(),
        }
    }

    pub(super) fn watch(&mut self) -> watch::Receiver<Vec<Watched>> {
        self.publish.subscribe()
    }

    /// Asks those of `all` besides the configured ones, and no others any more. One that stays the same goes
    /// on with what it remembers.
    pub(super) fn replace(&mut self, all: Vec<Found>) {
        let configured = |found: &Found| {
            let mut fixed = self.fixed.iter();
            fixed.any(|other| other.found.target.url == found.target.url)
        };
        let mut kept = Vec::new();
        for found in all.into_iter().filter(|found| !configured(found)) {
            let old = self.found.iter().find(|old| old.found == found).cloned();
            kept.push(old.unwrap_or_else(|| {
                let server = config::Server {
                    url: SecretUrl::plain(&found.target.url),
                    target: found.target.clone(),
                    deadline: DEADLINE.min(self.interval),
                };
                let client = self.client.clone();
                let models = ask(server, found.guessed, client, self.interval);
                Watched { found, models }
            }));
        }
        self.found = kept;
        let all = self.fixed.iter().chain(&self.found).cloned().collect();
        self.publish.send_replace(all);
    }
}

fn ask(
    server: config::Server,
    guessed: bool,
    client: reqwest::Client,
    interval: Duration,
) -> watch::Receiver<Part<Vec<Server>>> {
    let name = server.target.server.map_or("auto", |server| server.name);
    let target = Some(server.target.url.clone());
    let part = if guessed {
        Part::guessed(name, target)
    } else {
        Part::new(name, target)
    };
    let (publish, models) = watch::channel(part);
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
            if !publish.borrow().spoken_of() {
                ticks.reset_after(interval * GUESS_PAUSE);
            }
        }
    });
    models
}
