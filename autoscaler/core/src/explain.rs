//! A decision in words: one sentence for events, conditions and demo lines, and the whole way from
//! the inputs to the decision for a person who asks why. Never decides anything.

use crate::{
    capacity::learned::{Capacity, Source},
    decide::reason::{Limiter, LimiterKind, Reason},
    plan::{Basis, Decision, ForecastBasis},
    units::{Level, Replicas},
};

/// The decision in one sentence, for example `8 → 11 replicas (ForecastRise): the forecast of
/// 131 req/s at the 95 % quantile in 75 s needs 11 replicas, 8 are there`.
pub fn sentence(decision: &Decision) -> String {
    let (from, to) = (decision.from, decision.to);
    let change = if from == to {
        format!("stays at {}", count(to))
    } else {
        format!("{from} → {}", count(to))
    };
    format!(
        "{change} ({}): {}",
        decision.reason.as_str(),
        because(decision)
    )
}

/// The decision in full, several lines: what it rests on, what each limiter made of it, the result.
pub fn text(decision: &Decision) -> String {
    let mut lines = vec![
        format!("{} at {}", decision.target, decision.time),
        format!("  decision   {}", sentence(decision)),
        format!("  written    {}", written(decision)),
        format!("  load       {}", load(&decision.basis)),
        format!("  capacity   {}", capacity(&decision.basis.capacity)),
        format!("  start-up   {}", startup(&decision.basis)),
        format!(
            "  forecast   {}",
            forecast(decision.basis.forecast.as_ref())
        ),
    ];
    if let Some(problem) = &decision.problem {
        lines.push(format!(
            "  problem    {}: {}",
            problem.kind.as_str(),
            problem.message
        ));
    }
    lines.push(format!("  need       {}", need(&decision.basis)));
    for limiter in &decision.limiters {
        lines.push(format!(
            "  limited    {} → {} by {}",
            limiter.before,
            limiter.after,
            limiter_in_words(limiter.kind)
        ));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// What a limiter is, in words that fit after "by".
pub fn limiter_in_words(kind: LimiterKind) -> &'static str {
    match kind {
        LimiterKind::Minimum => "minReplicas",
        LimiterKind::Maximum => "maxReplicas",
        LimiterKind::NoSkill => "leaving out a forecast that is worse than the seasonal naive",
        LimiterKind::Tolerance => "the tolerance: too small a difference to act on",
        LimiterKind::DataQuality => "incomplete data: nothing is lowered on it",
        LimiterKind::WarmUp => "warming up: nothing is lowered before one window of data",
        LimiterKind::Rollout => "the rollout in progress: nothing is lowered during it",
        LimiterKind::Paused => "the pause",
        LimiterKind::StabilizationWindow => "the stabilization window",
        LimiterKind::BehaviorPolicy => "a policy of the behavior block",
        LimiterKind::Fallback => "the fallback for missing data",
    }
}

fn because(decision: &Decision) -> String {
    let basis = &decision.basis;
    let there = format!("{} there", are(decision.from));
    match decision.reason {
        Reason::TargetProblem => decision.problem.as_ref().map_or_else(
            || "the target cannot be decided on".to_owned(),
            |problem| problem.message.clone(),
        ),
        Reason::ScalingDisabled => {
            "the target is at 0 replicas while minReplicas is not: it is switched off by hand"
                .to_owned()
        }
        Reason::Paused => format!(
            "paused, {} wanted",
            are(wanted(decision, LimiterKind::Paused))
        ),
        Reason::LoadMissing => format!("no load data, {}", without_data(decision)),
        Reason::LoadStale => format!("the load data is too old, {}", without_data(decision)),
        Reason::LoadPartial => {
            format!(
                "part of the data is missing, so nothing is lowered: {}",
                basis.detail
            )
        }
        Reason::CapacityUnknown => format!(
            "what one replica serves is not known yet, {}",
            without_data(decision)
        ),
        Reason::WarmingUp => held(decision, LimiterKind::WarmUp),
        Reason::RollingOut => held(decision, LimiterKind::Rollout),
        Reason::AboveMaximum if decision.from > decision.to => {
            format!("{there}, maxReplicas allows {}", decision.to)
        }
        Reason::AboveMaximum => held(decision, LimiterKind::Maximum),
        Reason::BelowMinimum if decision.from < decision.to => {
            format!("{there}, minReplicas asks for {}", decision.to)
        }
        Reason::BelowMinimum => held(decision, LimiterKind::Minimum),
        Reason::ForecastRise => format!("{}, {there}{}", forecast_need(basis), limits(decision)),
        Reason::LoadRise => format!("{}, {there}{}", load_need(basis), limits(decision)),
        Reason::LoadFall => {
            format!(
                "{} and {}{}",
                load_need(basis),
                forecast_need(basis),
                limits(decision)
            )
        }
        Reason::ForecastHolds => format!("{}, but {}", load_need(basis), forecast_need(basis)),
        Reason::WithinTolerance => format!(
            "{}, {there}: too small a difference to act on",
            load_need(basis)
        ),
        Reason::Enough => format!("{}, {there}", load_need(basis)),
        Reason::StabilizationWindow => held(decision, LimiterKind::StabilizationWindow),
        Reason::BehaviorPolicy => held(decision, LimiterKind::BehaviorPolicy),
    }
}

/// "3 would be enough, but …" or "12 are needed, but …", with the limiter.
fn held(decision: &Decision, kind: LimiterKind) -> String {
    let wanted = wanted(decision, kind);
    let wish = if wanted < decision.to {
        format!("{wanted} would be enough")
    } else {
        format!("{} needed", are(wanted))
    };
    format!("{wish}, held by {}", limiter_in_words(kind))
}

/// What was wanted before the limiter.
fn wanted(decision: &Decision, kind: LimiterKind) -> Replicas {
    let found = decision
        .limiters
        .iter()
        .find(|limiter| limiter.kind == kind);
    found.map_or(decision.to, |limiter| limiter.before)
}

/// What kept a change from being the whole of what is needed.
fn limits(decision: &Decision) -> String {
    let kinds = [
        LimiterKind::Minimum,
        LimiterKind::Maximum,
        LimiterKind::StabilizationWindow,
        LimiterKind::BehaviorPolicy,
    ];
    let of = |limiter: &&Limiter| kinds.contains(&limiter.kind) && limiter.after == decision.to;
    decision
        .limiters
        .iter()
        .rfind(of)
        .map_or_else(String::new, |limiter| {
            format!(
                "; limited to {} by {}",
                limiter.after,
                limiter_in_words(limiter.kind)
            )
        })
}

fn without_data(decision: &Decision) -> String {
    let fallback = decision
        .limiters
        .iter()
        .any(|limiter| limiter.kind == LimiterKind::Fallback);
    let does = if fallback {
        "the fallback counts"
    } else if decision.from != decision.to {
        "only minReplicas and maxReplicas count"
    } else {
        "nothing is changed"
    };
    match decision.basis.detail.as_str() {
        "" => does.to_owned(),
        detail => format!("{does}: {detail}"),
    }
}

fn load_need(basis: &Basis) -> String {
    match (basis.load, basis.reactive) {
        (Some(load), Some(need)) => format!("the load of {} req/s needs {need}", number(load)),
        _ => "the load is unknown".to_owned(),
    }
}

fn forecast_need(basis: &Basis) -> String {
    match &basis.forecast {
        Some(forecast) if forecast.skilled() => format!(
            "the forecast of {} req/s at the {} quantile in {} s needs {}",
            number(forecast.load),
            level(forecast.level),
            forecast.horizon,
            count(forecast.need)
        ),
        Some(_) => "the forecast is left out for want of skill".to_owned(),
        None => "there is no forecast".to_owned(),
    }
}

fn written(decision: &Decision) -> &'static str {
    if decision.apply {
        "yes, to the scale subresource"
    } else if decision.from == decision.to {
        "no, nothing changes"
    } else {
        "no, mode is Recommend"
    }
}

fn load(basis: &Basis) -> String {
    let value = basis.load.map_or("unknown".to_owned(), |load| {
        format!("{} req/s", number(load))
    });
    let quality = basis.quality.as_str();
    if basis.detail.is_empty() {
        format!("{value}, quality {quality}")
    } else {
        format!("{value}, quality {quality}: {}", basis.detail)
    }
}

fn capacity(capacity: &Capacity) -> String {
    let Some(per_replica) = capacity.per_replica else {
        return "unknown: none is given, and too little was seen of rate and latency".to_owned();
    };
    let metric =
        (capacity.bound_by).map_or_else(|| "latency".to_owned(), |metric| metric.to_string());
    let how = match capacity.source {
        Source::Given | Source::Unknown => String::new(),
        Source::Curve => format!(", learned: {metric} meets its objective there"),
        Source::SeenTooSlow => format!(", learned: {metric} missed its objective at a higher rate"),
        Source::NotSeenYet => {
            format!(", learned: {metric} kept its objective, no higher rate was seen yet")
        }
    };
    format!("{} req/s per replica{how}", number(per_replica))
}

fn startup(basis: &Basis) -> String {
    let how = if basis.startup_learned {
        "learned"
    } else {
        "assumed, none was observed yet"
    };
    format!("{} s, {how}", number(basis.startup_seconds))
}

fn forecast(forecast: Option<&ForecastBasis>) -> String {
    let Some(forecast) = forecast else {
        return "none".to_owned();
    };
    let measured =
        |value: Option<f64>| value.map_or("not measured".to_owned(), |v| format!("{v:.2}"));
    let demoted = if forecast.skilled() {
        ""
    } else {
        ", left out: worse than the seasonal naive"
    };
    format!(
        "median {} req/s in {} s, at most {} req/s until then at the {} quantile; rung {}, skill {}, \
         coverage {}{demoted}",
        number(forecast.median),
        forecast.horizon,
        number(forecast.load),
        level(forecast.level),
        forecast.rung,
        measured(forecast.skill),
        measured(forecast.coverage),
    )
}

fn need(basis: &Basis) -> String {
    let now = basis.reactive.map_or("unknown".to_owned(), count);
    let ahead = basis
        .forecast
        .as_ref()
        .map_or("none".to_owned(), |forecast| count(forecast.need));
    format!("by the load of now {now}, by the forecast {ahead}")
}

fn count(replicas: Replicas) -> String {
    let plural = if replicas == Replicas(1) { "" } else { "s" };
    format!("{replicas} replica{plural}")
}

fn are(replicas: Replicas) -> String {
    let verb = if replicas == Replicas(1) { "is" } else { "are" };
    format!("{replicas} {verb}")
}

fn level(level: Level) -> String {
    format!("{} %", number(level.get() * 100.0))
}

/// Three significant digits or all of the whole part; no trailing zeros.
fn number(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests;
