//! Inference servers as series under our names.

use super::{Families, Labels};
use crate::{
    catalog::{Metric, queue},
    exposition::text::Value,
    queue::{Progress, Server, histogram::Histogram},
};

/// All series of one model of one server.
pub(super) fn one_server(families: &mut Families, server: &Server) {
    let mut labels = Labels::from([
        ("server", server.server.to_string()),
        ("model_name", server.model.clone()),
        ("target", server.target.url.clone()),
        (
            "namespace",
            server.target.namespace.clone().unwrap_or_default(),
        ),
        ("pod", server.target.pod.clone().unwrap_or_default()),
    ]);
    labels.retain(|_, value| !value.is_empty());
    let stale = (server.progress != Progress::Unknown)
        .then(|| f64::from(u8::from(server.progress == Progress::Stale)));
    for (metric, value) in [
        (&queue::QUEUE_DEPTH, server.waiting),
        (&queue::IN_FLIGHT, server.running),
        (&queue::BATCH_EFFICIENCY, server.batch_efficiency),
        (&queue::KV_USAGE, server.kv_usage),
        (&queue::REQUESTS, server.served),
        (&queue::REJECTED, server.rejected),
        (&queue::STALE, stale),
    ] {
        if let Some(value) = value {
            families.add(metric, &labels, Value::Exact(value));
        }
    }
    for (metric, value) in [
        (&queue::REQUEST_DURATION, &server.latency),
        (&queue::FIRST_TOKEN, &server.first_token),
        (&queue::PER_TOKEN, &server.per_token),
    ] {
        if let Some(value) = value {
            histogram(families, metric, &labels, value);
        }
    }
    if let Some((limit, source)) = server.batch_limit {
        let mut labels = labels.clone();
        labels.insert("limit_source", source.label().to_string());
        families.add(&queue::BATCH_LIMIT, &labels, Value::Whole(limit));
    }
    for (label, name) in ["waiting", "running", "latency"]
        .into_iter()
        .zip(server.names)
    {
        if !name.is_empty() {
            labels.insert(label, name.to_string());
        }
    }
    if server.names.iter().any(|name| !name.is_empty()) {
        families.add(&queue::ADAPTER_INFO, &labels, Value::Whole(1));
    }
}

fn histogram(
    families: &mut Families,
    metric: &'static Metric,
    labels: &Labels,
    histogram: &Histogram,
) {
    let mut with_bound = labels.clone();
    for (bound, count) in &histogram.buckets {
        let text = if bound.is_finite() {
            bound.to_string()
        } else {
            "+Inf".to_string()
        };
        with_bound.insert("le", text);
        families.part(metric, "_bucket", &with_bound, Value::Exact(*count));
    }
    families.part(metric, "_sum", labels, Value::Exact(histogram.sum));
    families.part(metric, "_count", labels, Value::Exact(histogram.count()));
}
