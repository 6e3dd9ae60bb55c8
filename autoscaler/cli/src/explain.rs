//! `foresail explain`: the last decision about a target as its status has it. Reads the cluster,
//! changes nothing.

use std::fmt::Write as _;

use anyhow::{Context as _, bail};
use autoscaler_api::{InferenceScaler, InferenceScalerStatus};
use kube::{Api, Client};

/// Arguments of `foresail explain`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The `InferenceScaler`, as namespace/name
    #[arg(value_name = "NAMESPACE/NAME", value_parser = target)]
    target: (String, String),
}

fn target(text: &str) -> Result<(String, String), String> {
    match text.split_once('/') {
        Some((namespace, name))
            if !namespace.is_empty() && !name.is_empty() && !name.contains('/') =>
        {
            Ok((namespace.to_owned(), name.to_owned()))
        }
        _ => Err("a target is namespace/name, for example serving/chat".to_owned()),
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let (namespace, name) = &args.target;
    let scaler = crate::cluster::block_on(read(namespace, name))??;
    let Some(status) = &scaler.status else {
        bail!("{namespace}/{name} has no status yet: is foresail-autoscaler running?");
    };
    crate::words::print(text(namespace, name, status).as_bytes())
}

async fn read(namespace: &str, name: &str) -> anyhow::Result<InferenceScaler> {
    let client: Client = crate::cluster::client().await?;
    let api: Api<InferenceScaler> = Api::namespaced(client, namespace);
    let found = api
        .get_opt(name)
        .await
        .with_context(|| format!("{namespace}/{name} cannot be read"))?;
    found.with_context(|| {
        format!("there is no InferenceScaler {namespace}/{name}; `kubectl get isc -A` lists them")
    })
}

/// The status for a person who asks why.
fn text(namespace: &str, name: &str, status: &InferenceScalerStatus) -> String {
    let mut text = String::new();
    let number =
        |value: Option<i32>| value.map_or_else(|| "unknown".to_owned(), |value| value.to_string());
    let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{namespace}/{name}");
    if let Some(last) = &status.last_decision {
        let _ = writeln!(
            text,
            "  decision   {} → {} replicas at {}",
            last.from, last.to, last.time
        );
        let _ = writeln!(text, "  reason     {}", last.reason);
        let _ = writeln!(text, "  because    {}", last.message);
        for limiter in &last.limiters {
            let _ = writeln!(text, "  limited    {limiter}");
        }
    }
    let _ = writeln!(
        text,
        "  replicas   {} asked for, {} exist, {} ready, the forecast needs {}",
        number(status.desired_replicas),
        number(status.current_replicas),
        number(status.ready_replicas),
        number(status.forecast_replicas),
    );
    let startup = status
        .startup_seconds
        .map_or_else(|| "not learned yet".to_owned(), |s| format!("{s} s"));
    let _ = writeln!(
        text,
        "  forecast   rung {}, skill {}, coverage {}, start-up time {startup}",
        word(&status.rung),
        word(&status.skill),
        word(&status.coverage),
    );
    if let (Some(capacity), Some(source)) = (&status.capacity_per_replica, &status.capacity_source)
    {
        let _ = writeln!(text, "  capacity   {capacity} req/s per replica ({source})");
    }
    for entry in &status.data_quality {
        let detail = if entry.detail.is_empty() {
            String::new()
        } else {
            format!(": {}", entry.detail)
        };
        let _ = writeln!(
            text,
            "  data       {} {}{detail}",
            entry.signal, entry.quality
        );
    }
    for condition in &status.conditions {
        let _ = writeln!(
            text,
            "  condition  {}={} ({})",
            condition.kind, condition.status, condition.reason
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use autoscaler_api::{DataQuality, LastDecision};

    use super::*;

    #[test]
    fn the_reason_and_the_data_stand_in_the_text() {
        let status = InferenceScalerStatus {
            last_decision: Some(LastDecision {
                time: "2026-11-03T08:00:00Z".into(),
                from: 8,
                to: 11,
                reason: "ForecastRise".into(),
                message: "8 → 11 replicas".into(),
                limiters: vec!["Maximum 12→11".into()],
            }),
            data_quality: vec![DataQuality {
                signal: "load".into(),
                quality: "Stale".into(),
                detail: "too old".into(),
            }],
            ..InferenceScalerStatus::default()
        };
        let text = text("serving", "chat", &status);
        for expected in [
            "serving/chat\n",
            "reason     ForecastRise",
            "limited    Maximum 12→11",
            "data       load Stale: too old",
            "unknown",
        ] {
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn a_target_is_namespace_and_name() {
        assert!(target("serving/chat").is_ok());
        for wrong in ["chat", "/chat", "serving/", "a/b/c"] {
            assert!(target(wrong).is_err());
        }
    }
}
