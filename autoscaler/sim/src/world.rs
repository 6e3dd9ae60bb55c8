//! One load under several policies side by side: the same requests arrive at each of their clusters.

use autoscaler_core::{
    snapshot::{Node, Policy, ReplicaCounts},
    units::{TargetId, Timestamp},
};
use exporter_core::exposition::ParseError;

use crate::{
    cluster::{Cluster, Model, Score},
    policy::{
        foresail::{ARRIVALS, Foresail, Pass},
        hpa::Hpa,
    },
};

/// Seconds of a step of the world, and between two scrapes and decisions.
pub const STEP: i64 = 15;

/// Who decides about one of the clusters.
enum Decider {
    Hpa(Box<Hpa>),
    Fixed,
}

/// A rival with its cluster.
struct Rival {
    name: String,
    decider: Decider,
    cluster: Cluster,
}

/// The world at the end of a step.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Unix seconds.
    pub now: i64,
    /// Requests per second that arrived.
    pub rate: f64,
    /// Foresail's replicas asked for and Ready.
    pub replicas: (u32, u32),
    /// What Foresail saw and decided.
    pub pass: Pass,
}

/// All clusters.
pub struct World {
    foresail: Foresail,
    cluster: Cluster,
    rivals: Vec<Rival>,
    now: i64,
    arrivals: f64,
    /// Ready replicas at the last step, to see which have started.
    ready: u32,
    startup: f64,
}

impl World {
    /// A world at `now` (a multiple of a minute) in which Foresail scales `target` by `policy`.
    pub fn new(target: TargetId, policy: Policy, model: Model, now: i64, replicas: u32) -> Self {
        Self {
            foresail: Foresail::new(target, policy, STEP),
            cluster: Cluster::new(model, replicas),
            rivals: Vec::new(),
            now,
            arrivals: 0.0,
            ready: replicas,
            startup: model.startup,
        }
    }

    /// Adds an HPA with this `averageValue` in requests per second.
    pub fn add_hpa(
        &mut self,
        name: &str,
        policy: Policy,
        average_value: f64,
        model: Model,
        replicas: u32,
    ) {
        let decider = Decider::Hpa(Box::new(Hpa::new(policy, average_value)));
        self.rivals.push(Rival {
            name: name.to_owned(),
            decider,
            cluster: Cluster::new(model, replicas),
        });
    }

    /// Adds a service with a fixed number of replicas.
    pub fn add_fixed(&mut self, name: &str, model: Model, replicas: u32) {
        let cluster = Cluster::new(model, replicas);
        self.rivals.push(Rival {
            name: name.to_owned(),
            decider: Decider::Fixed,
            cluster,
        });
    }

    /// Lets Foresail see the load of the time before, one scrape a minute; nobody acts.
    pub fn remember(&mut self, minutes: i64, rate: impl Fn(f64) -> f64) -> Result<(), ParseError> {
        for minute in (1..=minutes).rev() {
            let at = (self.now - minute * 60) as f64;
            self.arrivals += rate(at) * 60.0;
            self.foresail.scrape(at + 60.0, &self.exposition())?;
        }
        self.foresail.started(self.startup);
        Ok(())
    }

    /// What gateway and servers expose now.
    fn exposition(&self) -> String {
        let waiting = exporter_core::queue::vllm::WAITING;
        format!(
            "# TYPE {ARRIVALS} counter\n{ARRIVALS}{{service=\"chat\"}} {}\n# TYPE {waiting} gauge\n{waiting}{{model_name=\"chat\",engine=\"0\"}} {}\n",
            self.arrivals,
            self.cluster.queue()
        )
    }

    /// One step with `rate` requests per second; `nodes` are the GPUs as their exporter shows them.
    pub fn step(&mut self, rate: f64, nodes: Vec<Node>) -> Result<Moment, ParseError> {
        let (before, seconds) = (self.now as f64, STEP as f64);
        self.cluster.step(before, seconds, rate);
        for rival in &mut self.rivals {
            rival.cluster.step(before, seconds, rate);
        }
        self.now += STEP;
        self.arrivals += rate * seconds;
        let now = self.now as f64;
        self.foresail.scrape(now, &self.exposition())?;
        let (desired, ready) = (self.cluster.desired(), self.cluster.ready(now));
        for _ in self.ready..ready {
            self.foresail.started(self.startup);
        }
        self.ready = ready;
        let counts = ReplicaCounts::of(desired, ready);
        let pass = self.foresail.decide(Timestamp(self.now), counts, nodes);
        for decision in pass.plan.decisions.iter().filter(|decision| decision.apply) {
            self.cluster.scale(now, decision.to.0);
        }
        self.ready = self.ready.min(self.cluster.ready(now));
        let minute = self.foresail.rate().unwrap_or(rate);
        for rival in &mut self.rivals {
            if let Decider::Hpa(hpa) = &mut rival.decider {
                let (desired, ready) = (rival.cluster.desired(), rival.cluster.ready(now));
                let to = hpa.decide_on(Timestamp(self.now), minute, desired, ready);
                rival.cluster.scale(now, to);
            }
        }
        let replicas = (self.cluster.desired(), self.cluster.ready(now));
        Ok(Moment {
            now: self.now,
            rate,
            replicas,
            pass,
        })
    }

    /// Share of what Foresail's Ready replicas could do that `rate` asks of them.
    pub fn utilization(&self, rate: f64) -> f64 {
        self.cluster.utilization(self.now as f64, rate)
    }

    /// Scores by policy, Foresail first.
    pub fn scores(&self) -> Vec<(String, Score)> {
        let rivals = self
            .rivals
            .iter()
            .map(|rival| (rival.name.clone(), rival.cluster.score()));
        std::iter::once(("foresail".to_owned(), self.cluster.score()))
            .chain(rivals)
            .collect()
    }

    /// Replicas asked for by the rival of this place, in the order of [`World::scores`] after the first.
    pub fn rival(&self, index: usize) -> Option<u32> {
        self.rivals.get(index).map(|rival| rival.cluster.desired())
    }
}

#[cfg(test)]
mod tests;
