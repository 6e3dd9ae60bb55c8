//! From an object to a sound policy: parses what the schema lets through as text. Needs no client.
//! After it nothing can fail for a reason that the object's owner caused.

use autoscaler_api::{
    Behavior as ApiBehavior, InferenceScaler, InferenceScalerSpec, ScalingRules, Slo, SloMetric,
    behavior::{PolicyType, SelectPolicy as ApiSelect},
    load::{Server, SignalMeans},
};
use autoscaler_core::{
    capacity::learned::{Metric, Objective},
    decide::{
        behavior::{Behavior, RateKind, RatePolicy, Rules, SelectPolicy},
        reason::{Problem, ProblemKind},
    },
    observe::Means,
    snapshot::{Fallback, Mode, Paused, Policy},
    units::{Level, Replicas, TargetId, Timestamp},
};

mod server;

/// A question to Prometheus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Name for messages.
    pub name: String,
    /// The PromQL.
    pub promql: String,
    /// What the answer means.
    pub means: Means,
    /// Whether it names the target's living pods: then it changes as they do, and the history goes on.
    pub names_pods: bool,
}

/// An object whose every value is sound.
#[derive(Clone, Debug, PartialEq)]
pub struct Validated {
    /// What the core decides by.
    pub policy: Policy,
    signals: Vec<Query>,
    server: Option<Server>,
}

impl Validated {
    /// The queries, for the target's pods as they are now where a server's own metrics are asked for.
    pub fn queries(&self, id: &TargetId, pods: &[String]) -> Vec<Query> {
        match self.server {
            None => self.signals.clone(),
            Some(Server::Vllm) => server::vllm(id, pods, &self.policy.objectives),
        }
    }
}

/// What is wrong with an object, beside a policy that changes nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Invalid {
    /// Which field, what it says, what would be right.
    pub problem: Problem,
    /// Bounds and mode as the object has them, and defaults for the rest.
    pub policy: Policy,
}

/// The policy of an object, or what is wrong with it beside a policy that changes nothing.
pub fn validate(scaler: &InferenceScaler) -> Result<Validated, Box<Invalid>> {
    let spec = &scaler.spec;
    let fail = |field: &str, message: String| {
        let problem = Problem {
            kind: ProblemKind::InvalidSpec,
            message: format!("{field}: {message}"),
        };
        Box::new(Invalid {
            problem,
            policy: policy(spec, None, Vec::new(), Behavior::default()),
        })
    };
    let capacity = capacity(spec).map_err(|(field, message)| fail(field, message))?;
    let objectives = objectives(spec).map_err(|message| fail("spec.slo", message))?;
    if capacity.is_none() && objectives.is_empty() {
        let message = "is absent, and there is no slo to learn it for".to_owned();
        return Err(fail("spec.capacity", message));
    }
    let horizon = horizon(&spec.forecast.horizon)
        .map_err(|message| fail("spec.forecast.horizon", message))?;
    let exclude = excluded(spec).map_err(|message| fail("spec.load.exclude", message))?;
    let behavior =
        behavior(spec.behavior.as_ref()).map_err(|message| fail("spec.behavior", message))?;
    let zone = zone(spec);
    if jiff::tz::TimeZone::get(zone).is_err() {
        return Err(fail(
            "spec.load.timeZone",
            format!("'{zone}' is no IANA time zone; Europe/Berlin is one"),
        ));
    }
    let signals = spec.load.signals.iter().flatten().map(|signal| Query {
        name: signal.name.clone(),
        promql: signal.promql.clone(),
        means: means(signal.means),
        names_pods: false,
    });
    let policy = Policy {
        capacity_per_replica: capacity,
        objectives,
        ..policy(spec, horizon, exclude, behavior)
    };
    Ok(Validated {
        policy,
        signals: signals.collect(),
        server: spec.load.server,
    })
}

fn zone(spec: &InferenceScalerSpec) -> &str {
    spec.load.time_zone.as_deref().unwrap_or("UTC")
}

fn policy(
    spec: &InferenceScalerSpec,
    horizon: Option<i64>,
    exclude: Vec<(Timestamp, Timestamp)>,
    behavior: Behavior,
) -> Policy {
    use autoscaler_api::{Mode as ApiMode, OnMissingData, Paused as ApiPaused};
    let count = |value: i32| Replicas(u32::try_from(value).unwrap_or(0));
    let fallback = count(spec.fallback.replicas.unwrap_or(0));
    let (late, idle) = (
        f64::from(spec.cost.late.max(1)),
        f64::from(spec.cost.idle.max(1)),
    );
    Policy {
        min_replicas: count(spec.min_replicas),
        max_replicas: count(spec.max_replicas),
        mode: match spec.mode {
            ApiMode::Recommend => Mode::Recommend,
            ApiMode::Apply => Mode::Apply,
        },
        paused: match spec.paused {
            ApiPaused::None => Paused::None,
            ApiPaused::All => Paused::All,
            ApiPaused::ScaleUp => Paused::ScaleUp,
            ApiPaused::ScaleDown => Paused::ScaleDown,
        },
        capacity_per_replica: None,
        objectives: Vec::new(),
        level: Level::new(late / (late + idle)).unwrap_or(Level::MEDIAN),
        forecast: spec.forecast.enabled,
        horizon,
        time_zone: zone(spec).to_owned(),
        exclude,
        behavior,
        fallback: match spec.fallback.on_missing_data {
            OnMissingData::Hold => Fallback::Hold,
            OnMissingData::Replicas => Fallback::Replicas(fallback),
            OnMissingData::Higher => Fallback::Higher(fallback),
        },
    }
}

/// The owner's number, if there is one.
fn capacity(spec: &InferenceScalerSpec) -> Result<Option<f64>, (&'static str, String)> {
    let Some(capacity) = &spec.capacity else {
        return Ok(None);
    };
    let text = &capacity.per_replica;
    let wrong = || {
        (
            "spec.capacity.perReplica",
            format!("'{text}' is no number above 0"),
        )
    };
    above_0(text).map(Some).ok_or_else(wrong)
}

fn objectives(spec: &InferenceScalerSpec) -> Result<Vec<Objective>, String> {
    let objective = |slo: &Slo| {
        let (quantile, seconds) = (&slo.quantile, &slo.seconds);
        Ok(Objective {
            metric: metric(slo.metric),
            quantile: above_0(quantile)
                .and_then(Level::new)
                .ok_or_else(|| format!("quantile '{quantile}' does not lie between 0 and 1"))?,
            seconds: above_0(seconds)
                .ok_or_else(|| format!("seconds '{seconds}' is no number above 0"))?,
        })
    };
    spec.slo.iter().flatten().map(objective).collect()
}

fn above_0(text: &str) -> Option<f64> {
    let number = text.parse::<f64>().ok();
    number.filter(|value| value.is_finite() && *value > 0.0)
}

fn metric(metric: SloMetric) -> Metric {
    match metric {
        SloMetric::EndToEnd => Metric::EndToEnd,
        SloMetric::TimeToFirstToken => Metric::TimeToFirstToken,
        SloMetric::TimePerOutputToken => Metric::TimePerOutputToken,
    }
}

fn means(means: SignalMeans) -> Means {
    match means {
        SignalMeans::Arrivals => Means::Arrivals,
        SignalMeans::Served => Means::Served,
        SignalMeans::Waiting => Means::Waiting,
        SignalMeans::Rejected => Means::Rejected,
        SignalMeans::InFlight => Means::InFlight,
        SignalMeans::EndToEnd => Means::Latency(Metric::EndToEnd),
        SignalMeans::TimeToFirstToken => Means::Latency(Metric::TimeToFirstToken),
        SignalMeans::TimePerOutputToken => Means::Latency(Metric::TimePerOutputToken),
    }
}

/// Seconds of a horizon, `None` for Auto.
fn horizon(text: &str) -> Result<Option<i64>, String> {
    if text == "Auto" {
        return Ok(None);
    }
    let wrong =
        || format!("'{text}' is neither Auto nor a duration of at most 1h, such as 90s, 5m or 1h");
    let scale = match text.chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3600,
        _ => return Err(wrong()),
    };
    let seconds = text[..text.len() - 1]
        .parse::<u16>()
        .map(|number| i64::from(number) * scale);
    seconds
        .ok()
        .filter(|seconds| (1..=3600).contains(seconds))
        .map(Some)
        .ok_or_else(wrong)
}

fn excluded(spec: &InferenceScalerSpec) -> Result<Vec<(Timestamp, Timestamp)>, String> {
    let time = |text: &str| {
        let time: jiff::Timestamp = text
            .parse()
            .map_err(|_| format!("'{text}' is no RFC 3339 time; 2026-11-03T08:00:00Z is one"))?;
        Ok::<_, String>(Timestamp(time.as_second()))
    };
    spec.load
        .exclude
        .iter()
        .map(|span| Ok((time(&span.from)?, time(&span.to)?)))
        .collect()
}

/// HPA's defaults where the object says nothing.
fn behavior(given: Option<&ApiBehavior>) -> Result<Behavior, String> {
    let defaults = Behavior::default();
    let rules = |given: Option<&ScalingRules>, default: Rules| {
        given.map_or(Ok(default.clone()), |given| rules(given, default))
    };
    Ok(Behavior {
        scale_up: rules(
            given.and_then(|given| given.scale_up.as_ref()),
            defaults.scale_up,
        )?,
        scale_down: rules(
            given.and_then(|given| given.scale_down.as_ref()),
            defaults.scale_down,
        )?,
    })
}

fn rules(given: &ScalingRules, default: Rules) -> Result<Rules, String> {
    let tolerance = match given.tolerance.as_deref() {
        None => default.tolerance,
        Some(text) => text
            .parse::<f64>()
            .ok()
            .filter(|value| value.is_finite() && *value >= 0.0)
            .ok_or_else(|| {
                format!("tolerance '{text}' is no decimal number of at least 0, such as 0.1")
            })?,
    };
    let policy = |policy: &autoscaler_api::ScalingPolicy| RatePolicy {
        kind: match policy.kind {
            PolicyType::Pods => RateKind::Pods,
            PolicyType::Percent => RateKind::Percent,
        },
        value: u32::try_from(policy.value).unwrap_or(1),
        period_seconds: i64::from(policy.period_seconds),
    };
    Ok(Rules {
        stabilization_window_seconds: given
            .stabilization_window_seconds
            .map_or(default.stabilization_window_seconds, i64::from),
        select_policy: match given.select_policy {
            None => default.select_policy,
            Some(ApiSelect::Max) => SelectPolicy::Max,
            Some(ApiSelect::Min) => SelectPolicy::Min,
            Some(ApiSelect::Disabled) => SelectPolicy::Disabled,
        },
        policies: given
            .policies
            .as_ref()
            .map_or(default.policies, |policies| {
                policies.iter().map(policy).collect()
            }),
        tolerance,
    })
}

#[cfg(test)]
mod tests;
