//! Tells what was decided and why: status, conditions, events and metrics of every target, from one
//! Reason. Writes on change, and otherwise at most every ten minutes.

mod conditions;
mod status;

use std::{collections::BTreeMap, sync::Arc};

use autoscaler_api::{InferenceScaler, InferenceScalerStatus};
use autoscaler_core::{
    explain,
    plan::{Decision, Planned},
    snapshot::{Snapshot, Target},
    units::{TargetId, Timestamp},
};
use kube::{
    Api, Client, Resource,
    api::{Patch, PatchParams},
    runtime::events::{Event, EventType, Recorder},
};

use crate::{apply::Outcome, telemetry::Metrics};

/// Seconds after which an unchanged status is written again.
pub const REFRESH: i64 = 600;

/// Writes status and events.
pub struct Reporter {
    client: Client,
    recorder: Recorder,
    metrics: Arc<Metrics>,
    /// What was written last, and when.
    written: BTreeMap<TargetId, (Timestamp, InferenceScalerStatus)>,
}

impl Reporter {
    /// A reporter that has written nothing yet.
    pub fn new(client: Client, metrics: Arc<Metrics>) -> Self {
        let recorder = Recorder::new(client.clone(), "foresail-autoscaler".into());
        Self {
            client,
            recorder,
            metrics,
            written: BTreeMap::new(),
        }
    }

    /// Reports one pass.
    pub async fn report(
        &mut self,
        scalers: &BTreeMap<TargetId, Arc<InferenceScaler>>,
        snapshot: &Snapshot,
        planned: &Planned,
        outcomes: &BTreeMap<TargetId, Outcome>,
    ) {
        self.written.retain(|id, _| scalers.contains_key(id));
        self.metrics.plan(snapshot, &planned.plan, outcomes);
        for (target, decision) in snapshot.targets.iter().zip(&planned.plan.decisions) {
            let Some(scaler) = scalers.get(&target.id) else {
                continue;
            };
            let memory = planned.memory.targets.get(&target.id);
            let outcome = outcomes.get(&target.id);
            self.target(scaler, target, decision, memory, outcome).await;
        }
    }

    async fn target(
        &mut self,
        scaler: &InferenceScaler,
        target: &Target,
        decision: &Decision,
        memory: Option<&autoscaler_core::memory::TargetMemory>,
        outcome: Option<&Outcome>,
    ) {
        let before = self
            .written
            .get(&target.id)
            .map(|(_, status)| status.clone())
            .or_else(|| scaler.status.clone())
            .unwrap_or_default();
        let status = status::status(scaler, target, decision, memory, outcome, &before);
        let fresh = self
            .written
            .get(&target.id)
            .is_some_and(|(time, _)| decision.time.since(*time) < REFRESH);
        if fresh && !status::differs(&status, &before) {
            return;
        }
        self.scale_event(scaler, decision, outcome).await;
        let api: Api<InferenceScaler> = Api::namespaced(self.client.clone(), &target.id.namespace);
        let patch =
            Patch::Merge(serde_json::json!({ "status": status::with_absent_fields(&status) }));
        match api
            .patch_status(&target.id.name, &PatchParams::default(), &patch)
            .await
        {
            Ok(_) => {
                self.metrics.status_written();
                self.condition_events(scaler, &before, &status).await;
                self.written
                    .insert(target.id.clone(), (decision.time, status));
            }
            Err(error) => {
                // Not remembered as written, so the next pass tries again.
                tracing::warn!(scaler = %target.id, %error, "the status cannot be written");
            }
        }
    }

    /// An event for a change of replicas, or for one that failed.
    async fn scale_event(
        &self,
        scaler: &InferenceScaler,
        decision: &Decision,
        outcome: Option<&Outcome>,
    ) {
        let sentence = explain::sentence(decision);
        match outcome {
            Some(Outcome::Scaled) => {
                tracing::info!(scaler = %decision.target, reason = decision.reason.as_str(), "{sentence}");
                let reason = decision.reason.as_str();
                self.event(scaler, EventType::Normal, reason, "Scale", sentence)
                    .await;
            }
            Some(Outcome::Failed(error)) => {
                tracing::warn!(scaler = %decision.target, %error, "the replicas cannot be written");
                self.event(
                    scaler,
                    EventType::Warning,
                    "ScaleFailed",
                    "Scale",
                    error.clone(),
                )
                .await;
            }
            Some(Outcome::Conflict) | None => {}
        }
    }

    /// Events for conditions that turned, once they stand in the status: a status that cannot be written
    /// would repeat them in every pass.
    async fn condition_events(
        &self,
        scaler: &InferenceScaler,
        before: &InferenceScalerStatus,
        status: &InferenceScalerStatus,
    ) {
        for condition in &status.conditions {
            let old = before
                .conditions
                .iter()
                .find(|old| old.kind == condition.kind);
            let changed = old.is_some_and(|old| old.status != condition.status)
                || (old.is_none() && condition.status == "False");
            if changed && condition.kind != conditions::LIMITED {
                let good = condition.status == "True";
                let kind = if good {
                    EventType::Normal
                } else {
                    EventType::Warning
                };
                let message = condition.message.clone();
                self.event(scaler, kind, &condition.reason, &condition.kind, message)
                    .await;
            }
        }
    }

    async fn event(
        &self,
        scaler: &InferenceScaler,
        type_: EventType,
        reason: &str,
        action: &str,
        note: String,
    ) {
        let note: String = note.chars().take(1000).collect();
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(note),
            action: action.to_owned(),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, &scaler.object_ref(&())).await {
            tracing::warn!(%error, reason, "an event cannot be written");
        }
    }
}

#[cfg(test)]
mod tests;
