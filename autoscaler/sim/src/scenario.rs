//! A scenario: one service, its load, its servers, what goes wrong, and what it is judged by. Read from YAML
//! and checked once; see docs/simulator.md.

use serde::Deserialize;
use thiserror::Error;

use crate::server::Server;

/// Why a scenario is refused: the key, what stands there, what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key}: {message}")]
pub struct ScenarioError {
    /// The key.
    pub key: &'static str,
    /// What is wrong and what would be right.
    pub message: String,
}

/// Everything about a run but the policy.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// For the table.
    pub name: String,
    /// Seed of everything that is drawn.
    #[serde(default)]
    pub seed: u64,
    /// Hours that are simulated.
    pub hours: f64,
    /// Hours of the load that policies know when it begins.
    #[serde(default = "Scenario::default_history")]
    pub history_hours: f64,
    /// Requests that arrive.
    pub load: Load,
    /// How a replica works.
    pub server: Server,
    /// What is late.
    pub objective: Objective,
    /// Bounds, and what policies that need it are told that a replica serves.
    pub replicas: Replicas,
    /// How long a replica takes to become Ready.
    pub startup: Startup,
    /// What policies see.
    #[serde(default)]
    pub scrape: Scrape,
    /// Replicas that are lost at a time.
    #[serde(default)]
    pub losses: Vec<Loss>,
    /// Watts of a GPU.
    #[serde(default)]
    pub power: Power,
}

/// Where requests come from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum Load {
    /// A generated day with a swing, bursts and a flash crowd.
    Day {
        /// Requests per second at the top of the swing.
        peak: f64,
    },
    /// A recorded series.
    Series {
        /// CSV of `timestamp,value`, as `foresail backtest` reads it; relative to the scenario's file.
        file: String,
        /// Where it begins, in hours after the first row; before it lies the history.
        #[serde(default)]
        from_hours: f64,
        /// Requests per second in the mean of what is simulated.
        mean: f64,
    },
}

/// A latency that has to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Objective {
    /// `EndToEnd` or `TimeToFirstToken`.
    pub metric: Metric,
    /// Seconds.
    pub seconds: f64,
}

/// The latency that is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Metric {
    /// Until the whole answer.
    EndToEnd,
    /// Until the first token.
    TimeToFirstToken,
}

/// Bounds of the replicas.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Replicas {
    /// At least.
    pub min: u32,
    /// At most.
    pub max: u32,
    /// Requests per second that one serves within the objective, as the owner says.
    pub capacity: f64,
}

/// Start-up of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Startup {
    /// Seconds from creation to Ready.
    pub seconds: f64,
    /// Share of starts that take three times as long.
    #[serde(default)]
    pub slow: f64,
    /// Share of starts that fail at their end and are begun again.
    #[serde(default)]
    pub failed: f64,
}

/// What is scraped.
#[derive(Clone, Debug, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Scrape {
    /// Share of scrapes that are lost.
    pub lost: f64,
    /// Spans in hours without any.
    pub outages: Vec<(f64, f64)>,
}

/// A node that is lost with what runs on it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Loss {
    /// Hours after the begin.
    pub at_hours: f64,
    /// Replicas on it.
    pub replicas: u32,
}

/// Watts of one GPU.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Power {
    /// Without work.
    pub idle: f64,
    /// With work.
    pub busy: f64,
}

impl Default for Power {
    /// An H100 in a server: `facts` of the Splitwise simulator, its idle and decode power.
    fn default() -> Self {
        Self {
            idle: 75.0,
            busy: 380.0,
        }
    }
}

impl Scenario {
    fn default_history() -> f64 {
        168.0
    }

    /// The first thing that cannot be.
    pub fn check(&self) -> Result<(), ScenarioError> {
        let rules = self.sizes().into_iter().chain(self.faults());
        match rules.into_iter().find(|(_, holds, _)| !holds) {
            None => Ok(()),
            Some((key, _, message)) => Err(ScenarioError {
                key,
                message: message.to_owned(),
            }),
        }
    }

    fn sizes(&self) -> [Rule; 8] {
        let month = 24.0 * 31.0;
        let load = match &self.load {
            Load::Day { peak } => *peak,
            Load::Series { mean, .. } => *mean,
        };
        let replicas = self.replicas;
        let (hours, history) = (self.hours, self.history_hours);
        [
            (
                "hours",
                above_0(hours) && hours <= month,
                "has to be above 0 and at most 744",
            ),
            (
                "historyHours",
                (0.0..=month).contains(&history),
                "has to be 0 to 744",
            ),
            (
                "load",
                above_0(load) && load <= 1e5,
                "has to be above 0 and at most 100000 requests/s",
            ),
            (
                "server",
                self.server.sound(),
                "times have to be above 0, counts at least 1, spread 0 to 3",
            ),
            (
                "objective.seconds",
                above_0(self.objective.seconds),
                "has to be above 0",
            ),
            (
                "replicas",
                replicas.min <= replicas.max,
                "min ≤ max has to hold",
            ),
            (
                "replicas.max",
                (1..=10_000).contains(&replicas.max),
                "has to be 1 to 10000",
            ),
            (
                "replicas.capacity",
                above_0(replicas.capacity),
                "has to be above 0",
            ),
        ]
    }

    fn faults(&self) -> [Rule; 5] {
        let share = |value: f64| (0.0..1.0).contains(&value);
        let outage = |(from, to): &(f64, f64)| 0.0 <= *from && from < to;
        let (startup, power, scrape) = (self.startup, self.power, &self.scrape);
        let shares = share(startup.slow) && share(startup.failed);
        let outages = scrape.outages.iter().all(outage);
        let watts = power.idle >= 0.0 && power.busy >= power.idle;
        [
            (
                "startup.seconds",
                (0.0..=86_400.0).contains(&startup.seconds),
                "has to be 0 to 86400",
            ),
            ("startup", shares, "slow and failed are shares of 0 up to 1"),
            ("scrape.lost", share(scrape.lost), "is a share of 0 up to 1"),
            (
                "scrape.outages",
                outages,
                "each has its begin before its end, in hours",
            ),
            ("power", watts, "watts have to be 0 ≤ idle ≤ busy"),
        ]
    }
}

/// A key, whether what stands there can be, and what would be right.
type Rule = (&'static str, bool, &'static str);

fn above_0(value: f64) -> bool {
    value.is_finite() && value > 0.0
}
