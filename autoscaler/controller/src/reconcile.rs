//! One pass over all targets: validate, observe, plan, apply, report. It reads like this and no longer.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use autoscaler_api::InferenceScaler;
use autoscaler_core::{
    check::check,
    memory::{Memory, Persisted, TargetMemory},
    observe::Grid,
    plan::{Plan, plan},
    snapshot::Snapshot,
    units::{TargetId, Timestamp},
};
use kube::{Client, ResourceExt};
use tokio::sync::watch;

use crate::{
    Args, apply, http,
    observe::{cluster::Stores, observe, prometheus::Prometheus},
    report::{REFRESH, Reporter},
    telemetry::Metrics,
};

/// Everything that a pass needs and keeps.
pub struct Context {
    /// Flags.
    pub args: Args,
    /// The API server.
    pub client: Client,
    /// The source of load.
    pub prometheus: Prometheus,
    /// Caches of the API server's objects.
    pub stores: Stores,
    /// Writes status and events.
    pub reporter: Reporter,
    /// Own metrics.
    pub metrics: Arc<Metrics>,
    /// What the web server shows.
    pub published: watch::Sender<http::Published>,
    /// What is remembered between passes.
    pub memory: Memory,
}

impl Context {
    /// A context with an empty memory.
    pub fn new(
        args: Args,
        client: Client,
        prometheus: Prometheus,
        stores: Stores,
        reporter: Reporter,
        metrics: Arc<Metrics>,
        published: watch::Sender<http::Published>,
    ) -> Self {
        Self {
            args,
            client,
            prometheus,
            stores,
            reporter,
            metrics,
            published,
            memory: Memory::default(),
        }
    }
}

/// One pass. Failures are local to a target and stand in its status.
pub async fn reconcile(context: &mut Context) {
    let started = Instant::now();
    let now = Timestamp(jiff::Timestamp::now().as_second());
    let scalers = context.stores.scalers();
    let memory = remember(std::mem::take(&mut context.memory), &scalers, now);
    let grid = Grid {
        step: context.args.step,
        stale_after: context.args.stale_after,
        tick: context.args.tick,
    };
    let snapshot = observe(context, &scalers, grid, memory, now).await;
    let mut planned = plan(&snapshot);
    hold_violations(&snapshot, &mut planned.plan, &context.metrics);
    let outcomes = apply::apply(
        &context.client,
        &mut context.stores,
        &scalers,
        &planned.plan,
        &mut planned.memory,
    )
    .await;
    context
        .reporter
        .report(&scalers, &snapshot, &planned, &outcomes)
        .await;
    context
        .published
        .send_modify(|published| published.add(snapshot, planned.plan));
    context.memory = planned.memory;
    context.metrics.tick(started.elapsed());
}

/// Memory of the scalers that exist; of a scaler not seen before, what its status kept.
fn remember(
    mut memory: Memory,
    scalers: &BTreeMap<TargetId, Arc<InferenceScaler>>,
    now: Timestamp,
) -> Memory {
    memory.targets.retain(|id, _| scalers.contains_key(id));
    for (id, scaler) in scalers {
        memory
            .targets
            .entry(id.clone())
            .or_insert_with(|| restored(scaler, now));
    }
    memory
}

/// What an earlier controller left in the status; a text that cannot be read is as good as none, and
/// then nothing is lowered before one window of data.
fn restored(scaler: &InferenceScaler, now: Timestamp) -> TargetMemory {
    let status = scaler.status.as_ref();
    let Some(kept) = status.and_then(|status| status.memory.as_deref()) else {
        return TargetMemory::default();
    };
    match recall(kept, now) {
        Ok(memory) => memory,
        Err(error) => {
            tracing::warn!(scaler = scaler.name_any(), %error, "status.memory cannot be read; starting anew");
            TargetMemory::default()
        }
    }
}

/// The memory in a status. A status is written again only when a recommendation changes, or after
/// `REFRESH` seconds: until then the newest one stood, although its time in the status is older. Taken
/// at its word it would let a stabilization window end too early.
fn recall(kept: &str, now: Timestamp) -> serde_json::Result<TargetMemory> {
    let mut memory = TargetMemory::from(serde_json::from_str::<Persisted>(kept)?);
    if let Some((time, _)) = memory.recommendations.last_mut() {
        *time = now.min(time.plus(REFRESH)).max(*time);
    }
    Ok(memory)
}

/// A decision that breaks an invariant is not carried out: a fault of ours must not move replicas. One
/// that is about a single target holds that target alone.
fn hold_violations(snapshot: &Snapshot, plan: &mut Plan, metrics: &Metrics) {
    for violation in check(snapshot, plan) {
        tracing::error!(%violation, "the plan breaks an invariant; this is not applied");
        metrics.violation();
        let meant = violation.target();
        for decision in &mut plan.decisions {
            if meant.is_none_or(|target| *target == decision.target) {
                decision.apply = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use autoscaler_core::units::Replicas;

    use super::*;

    const KEPT: &str =
        r#"{"since":0,"recommendations":[[100,9],[1000,8]],"scaleEvents":[],"startups":[60]}"#;

    #[test]
    fn a_recommendation_that_still_stood_at_a_crash_counts_until_now() {
        let memory = recall(KEPT, Timestamp(1250)).unwrap();
        assert_eq!(
            memory.recommendations,
            vec![
                (Timestamp(100), Replicas(9)),
                (Timestamp(1250), Replicas(8))
            ]
        );
    }

    #[test]
    fn it_counts_no_longer_than_a_status_stays_unwritten() {
        let newest = |now| recall(KEPT, Timestamp(now)).unwrap().recommendations[1].0;
        assert_eq!(newest(5000), Timestamp(1000 + REFRESH));
        // A clock that was set back does not make it older than it says.
        assert_eq!(newest(500), Timestamp(1000));
        assert!(recall("not json", Timestamp(0)).is_err());
    }
}
