//! vLLM's queue and batch from its exposition. Names changed between versions and some versions emit
//! old and new together: the first that exists wins, they are never added. The batch limit is not a
//! metric of vLLM, so it is known only when configured.

use std::collections::{BTreeMap, BTreeSet};

use super::{LimitSource, Server, Target};
use crate::exposition::Sample;

/// Gauge of waiting requests.
pub const WAITING: &str = "vllm:num_requests_waiting";
/// Counter of requests that were answered, by how they ended.
pub const SERVED: &str = "vllm:request_success_total";
/// Names of the gauge of running requests, newest first.
const RUNNING: &[&str] = &["vllm:num_requests_running"];

/// Why an answer is not vLLM's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VllmError {
    /// No gauge of vLLM in it.
    #[error(
        "the answer has neither vllm:num_requests_waiting nor vllm:num_requests_running: not a vLLM server's metrics"
    )]
    NotVllm,
    /// A gauge has no usable number.
    #[error("{name} is {value}, not a number of requests")]
    Value {
        /// The gauge.
        name: &'static str,
        /// What it says, as text.
        value: String,
    },
}

/// Value by model, summed over engines, and the engines seen.
#[derive(Default)]
struct ByModel {
    sums: BTreeMap<String, f64>,
    engines: BTreeMap<String, BTreeSet<String>>,
}

/// One entry per served model, by name.
pub fn servers(target: &Target, samples: &[Sample]) -> Result<Vec<Server>, VllmError> {
    let waiting = first(&[WAITING], samples)?;
    let running = first(RUNNING, samples)?;
    let models: BTreeSet<&String> = waiting.sums.keys().chain(running.sums.keys()).collect();
    if models.is_empty() {
        return Err(VllmError::NotVllm);
    }
    let server = |model: &String| {
        let engines = |of: &ByModel| of.engines.get(model).map_or(0, BTreeSet::len);
        let engines = engines(&running).max(engines(&waiting)).max(1) as u64;
        let limit = (target.batch_limit)
            .map(|each| (each.saturating_mul(engines), LimitSource::Configured));
        Server {
            target: target.clone(),
            model: model.clone(),
            waiting: waiting.sums.get(model).copied(),
            running: running.sums.get(model).copied(),
            batch_limit: limit,
        }
    };
    Ok(models.into_iter().map(server).collect())
}

fn first(names: &[&'static str], samples: &[Sample]) -> Result<ByModel, VllmError> {
    let mut found = ByModel::default();
    let Some(name) = (names.iter().copied()).find(|name| samples.iter().any(|s| s.name == *name))
    else {
        return Ok(found);
    };
    for sample in samples.iter().filter(|sample| sample.name == name) {
        if !(sample.value.is_finite() && sample.value >= 0.0) {
            let value = sample.value.to_string();
            return Err(VllmError::Value { name, value });
        }
        let label = |key| sample.labels.get(key).cloned().unwrap_or_default();
        let model = label("model_name");
        *found.sums.entry(model.clone()).or_default() += sample.value;
        found
            .engines
            .entry(model)
            .or_default()
            .insert(label("engine"));
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
