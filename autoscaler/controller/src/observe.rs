//! Reads everything that a plan needs, at one moment: objects from caches, scale subresources, and load
//! from Prometheus. Judges nothing: what was read and what failed goes into the snapshot as it is.

pub mod cluster;
pub mod prometheus;

use std::{collections::BTreeMap, sync::Arc};

use autoscaler_api::InferenceScaler;
use autoscaler_core::{
    memory::Memory,
    observe::{Grid, SignalInput, TargetInput, snapshot},
    snapshot::Snapshot,
    units::{TargetId, Timestamp},
};
use futures::{StreamExt, stream};

use crate::{
    observe::cluster::Seen,
    reconcile::Context,
    validate::{self, Invalid, Query, Validated},
};

/// Queries and scale reads under way at once.
const CONCURRENCY: usize = 8;

/// The snapshot of this moment.
pub async fn observe(
    context: &mut Context,
    scalers: &BTreeMap<TargetId, Arc<InferenceScaler>>,
    grid: Grid,
    memory: Memory,
    now: Timestamp,
) -> Snapshot {
    context.stores.forget_gone_pods();
    let mut validated = Vec::new();
    for (id, scaler) in scalers {
        let seen = context
            .stores
            .target(&context.client, id, scaler, now)
            .await;
        validated.push((id.clone(), validate::validate(scaler), seen));
    }
    let prometheus = &mut context.prometheus;
    prometheus.forget_all_but(scalers.keys());
    let asked: Vec<(TargetId, Query)> = validated
        .iter()
        .flat_map(|(id, policy, seen)| queries(id, policy, seen))
        .collect();
    let plans: Vec<_> = asked
        .iter()
        .map(|(id, query)| prometheus.prepare(id, query, grid.step, now))
        .collect();
    let client = prometheus.client();
    let answers: Vec<_> = stream::iter(plans.into_iter().map(|plan| client.fetch(plan)))
        .buffered(CONCURRENCY)
        .collect()
        .await;
    let mut signals: BTreeMap<TargetId, Vec<SignalInput>> = BTreeMap::new();
    for ((id, query), fetched) in asked.into_iter().zip(answers) {
        let answer = prometheus.remember(&id, &query, fetched, now);
        let input = SignalInput {
            name: query.name,
            means: query.means,
            answer,
        };
        signals.entry(id).or_default().push(input);
    }
    let inputs = validated
        .into_iter()
        .map(|(id, validated, seen)| {
            input(signals.remove(&id).unwrap_or_default(), id, validated, seen)
        })
        .collect();
    snapshot(now, grid, inputs, context.stores.nodes(), memory)
}

/// The queries of one target; none when its spec is invalid.
fn queries(
    id: &TargetId,
    validated: &Result<Validated, Box<Invalid>>,
    seen: &Seen,
) -> Vec<(TargetId, Query)> {
    let Ok(validated) = validated else {
        return Vec::new();
    };
    validated
        .queries(id, &seen.pods)
        .into_iter()
        .map(|query| (id.clone(), query))
        .collect()
}

fn input(
    signals: Vec<SignalInput>,
    id: TargetId,
    validated: Result<Validated, Box<Invalid>>,
    seen: Seen,
) -> TargetInput {
    let (policy, invalid) = match validated {
        Ok(validated) => (validated.policy, None),
        Err(invalid) => (invalid.policy, Some(invalid.problem)),
    };
    TargetInput {
        id,
        policy,
        problem: invalid.or(seen.problem),
        replicas: seen.replicas,
        startups_seen: seen.startups,
        signals,
    }
}
