//! Queries for the metrics of inference servers that are known by name. Needs no client.

use autoscaler_core::{
    capacity::learned::{Metric, Objective},
    observe::Means,
    units::TargetId,
};
use exporter_core::queue::vllm::{RUNNING, SERVED, WAITING};

use super::Query;

/// vLLM's names, joined by the pods that live now; a label may be renamed by Prometheus when it
/// collides with one of its own. Latencies are asked for where an objective needs them.
pub(super) fn vllm(id: &TargetId, pods: &[String], objectives: &[Objective]) -> Vec<Query> {
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
    let mut queries = vec![
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
    ];
    if !objectives.is_empty() {
        let running = both(&|matcher| format!("sum({RUNNING}{{{matcher}}})"));
        queries.push(query("running", Means::InFlight, running));
    }
    for objective in objectives {
        let quantile = objective.quantile.get();
        let of = |name: &str| {
            both(&|matcher| {
                format!(
                    "histogram_quantile({quantile}, sum by (le) (rate({name}_bucket{{{matcher}}}[2m])))"
                )
            })
        };
        let names = histograms(objective.metric);
        let promql = names
            .iter()
            .map(|name| of(name))
            .collect::<Vec<_>>()
            .join(" or ");
        let name = objective.metric.to_string();
        queries.push(query(&name, Means::Latency(objective.metric), promql));
    }
    queries
}

/// Histograms of a latency, newest name first: the first that exists counts.
fn histograms(metric: Metric) -> &'static [&'static str] {
    match metric {
        Metric::EndToEnd => &["vllm:e2e_request_latency_seconds"],
        Metric::TimeToFirstToken => &["vllm:time_to_first_token_seconds"],
        Metric::TimePerOutputToken => &[
            "vllm:inter_token_latency_seconds",
            "vllm:time_per_output_token_seconds",
        ],
    }
}
