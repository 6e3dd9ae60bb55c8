//! What the cluster shows while the test runs: replicas of every deployment, every two seconds.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use k8s_openapi::api::apps::v1::Deployment;
use kube::{Api, Client, ResourceExt, api::ListParams};
use tests::load::now;

/// Replicas of one deployment at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Unix seconds.
    pub(crate) at: f64,
    /// `spec.replicas`.
    pub(crate) desired: i32,
    /// `status.readyReplicas`.
    pub(crate) ready: i32,
}

/// Everything seen so far, by deployment.
#[derive(Clone, Default)]
pub(crate) struct Watch(Arc<Mutex<BTreeMap<String, Vec<Seen>>>>);

impl Watch {
    /// Begins to look; the task looks until it is aborted.
    pub(crate) fn start(client: Client) -> (Self, tokio::task::JoinHandle<()>) {
        let watch = Self::default();
        let seen = watch.clone();
        let task = tokio::spawn(async move {
            let api: Api<Deployment> = Api::namespaced(client, "default");
            loop {
                if let Ok(list) = api.list(&ListParams::default()).await {
                    let at = now();
                    let mut all = seen.0.lock().unwrap();
                    for deployment in list {
                        let desired = deployment.spec.replicas.unwrap_or(0);
                        let ready = deployment
                            .status
                            .as_ref()
                            .and_then(|status| status.ready_replicas)
                            .unwrap_or(0);
                        all.entry(deployment.name_any()).or_default().push(Seen {
                            at,
                            desired,
                            ready,
                        });
                    }
                }
                tokio::time::sleep(Duration::from_secs(2)).await;
            }
        });
        (watch, task)
    }

    /// What was seen of a deployment in `[from, to)`.
    pub(crate) fn between(&self, name: &str, from: f64, to: f64) -> Vec<Seen> {
        let all = self.0.lock().unwrap();
        let seen = all.get(name).map(Vec::as_slice).unwrap_or_default();
        seen.iter()
            .copied()
            .filter(|seen| seen.at >= from && seen.at < to)
            .collect()
    }

    /// Changes of `spec.replicas` in `[from, to)`: when, and by how much.
    pub(crate) fn changes(&self, name: &str, from: f64, to: f64) -> Vec<(f64, i32)> {
        let seen = self.between(name, from, to);
        let change = |pair: &[Seen]| (pair[1].at, pair[1].desired - pair[0].desired);
        seen.windows(2)
            .map(change)
            .filter(|(_, change)| *change != 0)
            .collect()
    }

    /// One line of all deployments now.
    pub(crate) fn line(&self) -> String {
        let all = self.0.lock().unwrap();
        let last = |(name, seen): (&String, &Vec<Seen>)| {
            seen.last()
                .map(|seen| format!("{name} {}/{}", seen.ready, seen.desired))
                .unwrap_or_default()
        };
        all.iter().map(last).collect::<Vec<_>>().join("  ")
    }
}
