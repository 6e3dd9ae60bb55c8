//! Foresail's core in the place of the controller: exposition text in, a decision out. Text goes through
//! the exporter's parser, samples through the same pure functions as in production.

use autoscaler_core::{
    memory::Memory,
    observe::{Grid, Means, RawSeries, SignalInput, TargetInput, snapshot},
    plan::{Plan, plan},
    series::increase::increase,
    snapshot::{Node, Policy, ReplicaCounts, Snapshot},
    units::{TargetId, Timestamp},
};
use exporter_core::exposition::{ParseError, parse};

/// Name of the counter of arrivals that the simulated gateway exposes.
pub const ARRIVALS: &str = "gateway_requests_total";
/// Seconds over which a rate is taken, as `rate(…[1m])`.
const WINDOW: f64 = 60.0;
/// Seconds of a step of the history.
pub const STEP: i64 = 60;
/// Seconds of history that are kept: 7 days, as the controller does.
const HISTORY: f64 = 7.0 * 86_400.0;

/// What one pass saw and decided.
#[derive(Clone, Debug)]
pub struct Pass {
    /// What was seen.
    pub snapshot: Snapshot,
    /// What was decided.
    pub plan: Plan,
}

/// The core with its history and memory.
pub struct Foresail {
    id: TargetId,
    policy: Policy,
    tick: i64,
    /// Samples of the counter, no older than the window needs.
    counter: Vec<(f64, f64)>,
    /// The rate at each step, and the queue at the newest scrape.
    rates: Vec<(f64, f64)>,
    waiting: Option<(f64, f64)>,
    memory: Memory,
    /// Start-up times that were seen and not yet told.
    startups: Vec<f64>,
}

impl Foresail {
    /// A core that has seen nothing yet; it decides every `tick` seconds.
    pub fn new(id: TargetId, policy: Policy, tick: i64) -> Self {
        Self {
            id,
            policy,
            tick,
            counter: Vec::new(),
            rates: Vec::new(),
            waiting: None,
            memory: Memory::default(),
            startups: Vec::new(),
        }
    }

    /// Takes in one scrape at `now`.
    pub fn scrape(&mut self, now: f64, text: &str) -> Result<(), ParseError> {
        for sample in parse(text)? {
            if sample.name == ARRIVALS {
                self.counter.push((now, sample.value));
            } else if sample.name == exporter_core::queue::vllm::WAITING {
                self.waiting = Some((now, sample.value));
            }
        }
        self.counter.retain(|(time, _)| *time >= now - WINDOW);
        if now.rem_euclid(STEP as f64) < 1e-6
            && let Some(rate) = self.rate()
        {
            self.rates.push((now, rate));
            let old = self
                .rates
                .partition_point(|(time, _)| *time < now - HISTORY);
            self.rates.drain(..old);
        }
        Ok(())
    }

    /// Takes in what a source remembers of the time before `now`, by minute, the newest last.
    pub fn remember(&mut self, now: Timestamp, minutes: &[Option<f64>]) {
        let count = minutes.len() as f64;
        let begin = now.0 as f64 - count * STEP as f64;
        let known = minutes.iter().zip(1_u32..).filter_map(|(rate, place)| {
            let end = begin + f64::from(place) * STEP as f64;
            rate.map(|rate| (end, rate))
        });
        self.rates.extend(known);
    }

    /// Requests per second over the window; `None` before two samples.
    pub fn rate(&self) -> Option<f64> {
        let (first, last) = (self.counter.first()?, self.counter.last()?);
        let seconds = last.0 - first.0;
        increase(&self.counter)
            .filter(|_| seconds > 0.0)
            .map(|gain| gain / seconds)
    }

    /// Notes that a replica took so many seconds to start.
    pub fn started(&mut self, seconds: f64) {
        self.startups.push(seconds);
    }

    /// One pass; the memory takes the change as carried out.
    pub fn decide(&mut self, now: Timestamp, replicas: ReplicaCounts, nodes: Vec<Node>) -> Pass {
        let mut load = self.rates.clone();
        let newest = load.last().map_or(f64::MIN, |(time, _)| *time);
        let seen = self.counter.last().map_or(f64::MIN, |(time, _)| *time);
        let fresh = newest < now.0 as f64 && now.0 as f64 - seen < 1.0;
        if let Some(rate) = self.rate().filter(|_| fresh) {
            load.push((now.0 as f64, rate));
        }
        let signal = |name: &str, means, points: Vec<(f64, f64)>| {
            let series = RawSeries {
                points,
                ..RawSeries::default()
            };
            SignalInput {
                name: name.to_owned(),
                means,
                answer: Ok(vec![series]),
            }
        };
        let waiting = self.waiting.iter().copied().collect();
        let input = TargetInput {
            id: self.id.clone(),
            policy: self.policy.clone(),
            problem: None,
            replicas,
            startups_seen: std::mem::take(&mut self.startups),
            signals: vec![
                signal("arrivals", Means::Arrivals, load),
                signal("waiting", Means::Waiting, waiting),
            ],
        };
        let grid = Grid {
            step: STEP,
            stale_after: 120,
            tick: self.tick,
        };
        let snapshot = snapshot(
            now,
            grid,
            vec![input],
            nodes,
            std::mem::take(&mut self.memory),
        );
        let planned = plan(&snapshot);
        self.memory = planned.memory;
        for decision in planned
            .plan
            .decisions
            .iter()
            .filter(|decision| decision.apply)
        {
            self.memory
                .record_scaled(&decision.target, decision.from, decision.to, now);
        }
        Pass {
            snapshot,
            plan: planned.plan,
        }
    }
}

/// The core as a policy of a simulated service.
pub struct Simulated {
    core: Foresail,
    /// How much of the history it was told.
    told: usize,
}

impl Simulated {
    /// A core that has seen nothing yet.
    pub fn new(policy: Policy) -> Self {
        Self {
            core: Foresail::new(super::target(), policy, 15),
            told: 0,
        }
    }
}

impl super::Policy for Simulated {
    fn decide(&mut self, seen: &super::Seen<'_>) -> u32 {
        if self.told == 0 {
            self.core.remember(seen.now, seen.minutes);
            self.told = seen.minutes.len();
        }
        for seconds in seen.startups {
            self.core.started(*seconds);
        }
        if let Some(text) = seen.exposition {
            // The text is the simulator's own; a scrape that cannot be read is one that was lost.
            let _ = self.core.scrape(seen.now.0 as f64, text);
        }
        let counts = ReplicaCounts::of(seen.desired, seen.ready);
        let pass = self.core.decide(seen.now, counts, Vec::new());
        let decision = pass
            .plan
            .decisions
            .first()
            .filter(|decision| decision.apply);
        decision.map_or(seen.desired, |decision| decision.to.0)
    }
}
