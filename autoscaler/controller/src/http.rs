//! Metrics, health, the newest snapshot and plan, and a page for people. Serves what the last pass
//! published; asks nobody.

mod page;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use autoscaler_core::{
    plan::{Decision, Plan},
    snapshot::Snapshot,
    units::{TargetId, Timestamp},
};
use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use tokio::{net::TcpListener, sync::watch};

use crate::telemetry::Metrics;

/// Changes of replicas that the page shows.
const CHANGES: usize = 50;
/// Points of replicas that the page shows a target: an hour at four a minute.
const POINTS: usize = 240;

/// What the last passes left to show.
#[derive(Clone, Default)]
pub struct Published {
    /// The newest snapshot and plan; absent before the first pass.
    pub latest: Option<Arc<(Snapshot, Plan)>>,
    /// The newest changes, newest first.
    pub changes: VecDeque<Decision>,
    /// Decisions a target, oldest first.
    pub decisions: BTreeMap<TargetId, VecDeque<Decision>>,
    /// Replicas asked for and Ready a target, oldest first.
    pub replicas: BTreeMap<TargetId, VecDeque<(Timestamp, u32, u32)>>,
}

impl Published {
    /// Adds one pass.
    pub fn add(&mut self, snapshot: Snapshot, plan: Plan) {
        for (target, decision) in snapshot.targets.iter().zip(&plan.decisions) {
            let points = self.replicas.entry(target.id.clone()).or_default();
            points.push_back((decision.time, decision.to.0, target.replicas.ready.0));
            if points.len() > POINTS {
                points.pop_front();
            }
            if decision.from != decision.to {
                self.changes.push_front(decision.clone());
            }
            let past = self.decisions.entry(decision.target.clone()).or_default();
            past.push_back(decision.clone());
            if past.len() > POINTS {
                past.pop_front();
            }
        }
        self.changes.truncate(CHANGES);
        self.decisions
            .retain(|id, _| plan.decisions.iter().any(|decision| decision.target == *id));
        self.replicas
            .retain(|id, _| self.decisions.contains_key(id));
        self.latest = Some(Arc::new((snapshot, plan)));
    }
}

#[derive(Clone)]
struct Shared {
    metrics: Arc<Metrics>,
    published: watch::Receiver<Published>,
}

/// Serves until the task is ended.
pub async fn serve(
    listener: TcpListener,
    metrics: Arc<Metrics>,
    published: watch::Receiver<Published>,
) {
    let router = Router::new()
        .route("/", get(front))
        .route("/metrics", get(metrics_text))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/snapshot", get(snapshot))
        .route("/plan", get(plan))
        .with_state(Shared { metrics, published });
    if let Err(error) = axum::serve(listener, router).await {
        tracing::error!(%error, "the web server ended");
    }
}

async fn metrics_text(State(shared): State<Shared>) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match shared.metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, kind)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

/// Ready after the first pass: caches are filled and a decision about every target was made.
async fn ready(State(shared): State<Shared>) -> Response {
    if shared.published.borrow().latest.is_some() {
        "ready\n".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "no pass is finished yet\n").into_response()
    }
}

async fn snapshot(State(shared): State<Shared>) -> Response {
    json(&shared, |(snapshot, _)| serde_json::to_string(snapshot))
}

async fn plan(State(shared): State<Shared>) -> Response {
    json(&shared, |(_, plan)| serde_json::to_string(plan))
}

fn json(
    shared: &Shared,
    part: impl Fn(&(Snapshot, Plan)) -> serde_json::Result<String>,
) -> Response {
    let latest = shared.published.borrow().latest.clone();
    match latest.map(|latest| part(&latest)) {
        Some(Ok(text)) => {
            ([(header::CONTENT_TYPE, "application/json")], text + "\n").into_response()
        }
        Some(Err(error)) => {
            (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response()
        }
        None => (StatusCode::SERVICE_UNAVAILABLE, "no pass is finished yet\n").into_response(),
    }
}

async fn front(State(shared): State<Shared>) -> Html<String> {
    let published = shared.published.borrow().clone();
    Html(page::page(&published))
}
