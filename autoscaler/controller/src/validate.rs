//! From an object to a sound policy: parses what the schema lets through as text. Needs no client.
//! After it nothing can fail for a reason that the object's owner caused.

use autoscaler_api::{
    Behavior as ApiBehavior, InferenceScaler, InferenceScalerSpec, ScalingRules,
    behavior::{PolicyType, SelectPolicy as ApiSelect},
    load::{Server, SignalMeans},
};
use autoscaler_core::{
    decide::{
        behavior::{Behavior, RateKind, RatePolicy, Rules, SelectPolicy},
        reason::{Problem, ProblemKind},
    },
    observe::Means,
    snapshot::{Fallback, Mode, Paused, Policy},
    units::{Level, Replicas, TargetId, Timestamp},
};

use exporter_core::queue::vllm::{SERVED, WAITING};

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
            Some(Server::Vllm) => vllm(id, pods),
        }
    }
}

/// vLLM's names, joined by the pods that live now; a label may be renamed by Prometheus when it
/// collides with one of its own.
fn vllm(id: &TargetId, pods: &[String]) -> Vec<Query> {
    // No pod, no pattern: the empty one would match series without the label.
    let pattern = if pods.is_empty() {
        "-".to_owned()
    } else {
        pods.join("|")
    };
    let both = |expression: &dyn Fn(&str) -> String| {
        let plain = format!("namespace=\"{}\",pod=~\"{pattern}\"", id.namespace);
        let renamed = format!(
            "exported_namespace=\"{}\",exported_pod=~\"{pattern}\"",
            id.namespace
        );
        format!("{} or {}", expression(&plain), expression(&renamed))
    };
    let query = |name: &str, means, promql| Query {
        name: name.to_owned(),
        means,
        promql,
        names_pods: true,
    };
    vec![
        query(
            "served",
            Means::Served,
            both(&|matcher| format!("sum(rate({SERVED}{{{matcher}}}[1m]))")),
        ),
        query(
            "waiting",
            Means::Waiting,
            both(&|matcher| format!("sum({WAITING}{{{matcher}}})")),
        ),
    ]
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
            policy: policy(spec, 1.0, None, Vec::new(), Behavior::default()),
        })
    };
    let capacity = spec
        .capacity
        .per_replica
        .parse::<f64>()
        .ok()
        .filter(|value| value.is_finite() && *value > 0.0);
    let capacity = capacity.ok_or_else(|| {
        fail(
            "spec.capacity.perReplica",
            format!("'{}' is no number above 0", spec.capacity.per_replica),
        )
    })?;
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
    Ok(Validated {
        policy: policy(spec, capacity, horizon, exclude, behavior),
        signals: signals.collect(),
        server: spec.load.server,
    })
}

fn zone(spec: &InferenceScalerSpec) -> &str {
    spec.load.time_zone.as_deref().unwrap_or("UTC")
}

fn policy(
    spec: &InferenceScalerSpec,
    capacity_per_replica: f64,
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
        capacity_per_replica,
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

fn means(means: SignalMeans) -> Means {
    match means {
        SignalMeans::Arrivals => Means::Arrivals,
        SignalMeans::Served => Means::Served,
        SignalMeans::Waiting => Means::Waiting,
        SignalMeans::Rejected => Means::Rejected,
        SignalMeans::InFlight => Means::InFlight,
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
