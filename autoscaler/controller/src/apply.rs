//! Carries a plan out, idempotently and with preconditions. Chooses nothing.

pub mod scale;

use std::{collections::BTreeMap, sync::Arc};

use autoscaler_api::InferenceScaler;
use autoscaler_core::{memory::Memory, plan::Plan, units::TargetId};
use kube::Client;

use crate::observe::cluster::Stores;

/// What became of one write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The replicas were written.
    Scaled,
    /// Somebody else changed the target in between: the next pass decides anew.
    Conflict,
    /// The write failed, with the cause in one line.
    Failed(String),
}

/// Carries out every decision that is to be applied; a scale event is remembered only after its write.
pub async fn apply(
    client: &Client,
    stores: &mut Stores,
    scalers: &BTreeMap<TargetId, Arc<InferenceScaler>>,
    plan: &Plan,
    memory: &mut Memory,
) -> BTreeMap<TargetId, Outcome> {
    let mut outcomes = BTreeMap::new();
    for decision in plan.decisions.iter().filter(|decision| decision.apply) {
        let Some(scaler) = scalers.get(&decision.target) else {
            continue;
        };
        let outcome = scale::write(client, stores, scaler, decision).await;
        if outcome == Outcome::Scaled {
            memory.record_scaled(&decision.target, decision.from, decision.to, decision.time);
        }
        outcomes.insert(decision.target.clone(), outcome);
    }
    outcomes
}
