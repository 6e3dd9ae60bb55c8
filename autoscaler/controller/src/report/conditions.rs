//! Conditions of a target. As with HPA: can it be scaled, is scaling active, is it limited; and
//! whether the forecast takes part. Needs no client.

use autoscaler_api::Condition;
use autoscaler_core::{
    decide::reason::{LimiterKind, Reason},
    explain,
    plan::Decision,
};

use crate::apply::Outcome;

/// Whether the scale subresource can be read and written.
pub(super) const ABLE: &str = "AbleToScale";
/// Whether a decision rests on data.
pub(super) const ACTIVE: &str = "ScalingActive";
/// Whether something holds the wanted number back.
pub(super) const LIMITED: &str = "ScalingLimited";
/// Whether the forecast takes part.
pub(super) const FORECAST: &str = "ForecastTrusted";

/// All conditions; a transition time is kept while the status stays.
pub(super) fn conditions(
    decision: &Decision,
    outcome: Option<&Outcome>,
    generation: Option<i64>,
    before: &[Condition],
) -> Vec<Condition> {
    let facts = [
        able(decision, outcome),
        active(decision),
        limited(decision),
        forecast(decision),
    ];
    facts
        .into_iter()
        .map(|(kind, status, reason, message)| {
            let status = if status { "True" } else { "False" };
            let same = before
                .iter()
                .find(|old| old.kind == kind && old.status == status);
            Condition {
                kind: kind.to_owned(),
                status: status.to_owned(),
                reason,
                message,
                last_transition_time: same.map_or_else(
                    || decision.time.to_string(),
                    |old| old.last_transition_time.clone(),
                ),
                observed_generation: generation,
            }
        })
        .collect()
}

type Fact = (&'static str, bool, String, String);

fn able(decision: &Decision, outcome: Option<&Outcome>) -> Fact {
    if let Some(problem) = &decision.problem {
        return (
            ABLE,
            false,
            problem.kind.as_str().to_owned(),
            problem.message.clone(),
        );
    }
    match outcome {
        Some(Outcome::Failed(error)) => (ABLE, false, "ScaleFailed".to_owned(), error.clone()),
        Some(Outcome::Conflict) => {
            let message = "somebody else changed the target in between; the next pass decides anew";
            (ABLE, true, "ScaleConflict".to_owned(), message.to_owned())
        }
        Some(Outcome::Scaled) | None => (
            ABLE,
            true,
            "ScaleReadable".to_owned(),
            "the scale subresource was read".to_owned(),
        ),
    }
}

fn active(decision: &Decision) -> Fact {
    let inactive = matches!(
        decision.reason,
        Reason::TargetProblem
            | Reason::ScalingDisabled
            | Reason::LoadMissing
            | Reason::LoadStale
            | Reason::CapacityUnknown
    );
    (
        ACTIVE,
        !inactive,
        decision.reason.as_str().to_owned(),
        explain::sentence(decision),
    )
}

fn limited(decision: &Decision) -> Fact {
    let last = decision
        .limiters
        .iter()
        .rev()
        .find(|limiter| limiter.before != limiter.after);
    match last {
        Some(limiter) => {
            let message = format!(
                "{} replicas were wanted, {} makes it {}",
                limiter.before,
                explain::limiter_in_words(limiter.kind),
                limiter.after
            );
            (LIMITED, true, kind(limiter.kind), message)
        }
        None => (
            LIMITED,
            false,
            "NothingLimits".to_owned(),
            "the wanted number is asked for".to_owned(),
        ),
    }
}

/// The limiter's name, as it stands in a snapshot file.
pub(super) fn kind(kind: LimiterKind) -> String {
    format!("{kind:?}")
}

fn forecast(decision: &Decision) -> Fact {
    let Some(forecast) = &decision.basis.forecast else {
        let message =
            "there is no forecast: it is switched off, or under ten minutes of load are known";
        return (FORECAST, false, "NoForecast".to_owned(), message.to_owned());
    };
    let skill = forecast.skill.map_or_else(
        || "not measured yet".to_owned(),
        |skill| format!("{skill:.2}"),
    );
    let message = format!(
        "rung {}, skill against the same time yesterday {skill}",
        forecast.rung
    );
    if forecast.skilled() {
        (FORECAST, true, forecast.rung.clone(), message)
    } else {
        (
            FORECAST,
            false,
            "NoSkill".to_owned(),
            format!("{message}: demoted to the load of now"),
        )
    }
}
