//! The cluster as the caches of watches show it: scalers, pods by owner, GPU nodes; and the scale
//! subresource of each target, read live. Never writes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    hash::Hash,
    sync::Arc,
};

use autoscaler_api::InferenceScaler;
use autoscaler_core::{
    decide::reason::{Problem, ProblemKind},
    snapshot::{Gpu, Node, ReplicaCounts},
    units::{Replicas, TargetId, Timestamp},
};
use futures::StreamExt;
use k8s_openapi::api::{
    apps::v1::ReplicaSet,
    core::v1::{Node as ApiNode, Pod},
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::DynamicObject,
    core::{ApiResource, GroupVersionKind},
    runtime::{WatchStreamExt, reflector, reflector::Store, watcher},
};

/// The resource that a GPU node allots.
const GPU_RESOURCE: &str = "nvidia.com/gpu";
/// A pod that was Ready before it was first seen teaches a start-up time only up to this age, in
/// seconds: later it may have been unready in between.
const FIRST_SIGHT: i64 = 3600;

/// Caches, and what was learned of them.
pub struct Stores {
    scalers: Store<InferenceScaler>,
    pods: Store<Pod>,
    replica_sets: Store<ReplicaSet>,
    nodes: Store<ApiNode>,
    /// How kinds are addressed, once discovered.
    kinds: BTreeMap<(String, String), ApiResource>,
    /// Pods whose start-up time is known, by uid.
    started: BTreeSet<String>,
}

/// What was seen of one target.
pub struct Seen {
    /// Why it cannot be decided on.
    pub problem: Option<Problem>,
    /// Its replicas.
    pub replicas: ReplicaCounts,
    /// Start-up times in seconds of pods that became Ready since the last look.
    pub startups: Vec<f64>,
    /// Names of its living pods.
    pub pods: Vec<String>,
}

impl Seen {
    fn broken(kind: ProblemKind, message: String) -> Self {
        Self {
            problem: Some(Problem { kind, message }),
            replicas: ReplicaCounts::default(),
            startups: Vec::new(),
            pods: Vec::new(),
        }
    }
}

/// Keeps a cache of a kind for as long as the process lives.
fn watch<K>(api: Api<K>) -> Store<K>
where
    K: Resource<DynamicType: Default + Eq + Hash + Clone>
        + Clone
        + Debug
        + serde::de::DeserializeOwned
        + Send
        + Sync
        + 'static,
{
    let (store, writer) = reflector::store();
    let stream = reflector(writer, watcher(api, watcher::Config::default())).default_backoff();
    tokio::spawn(stream.for_each(|event| {
        if let Err(error) = event {
            tracing::warn!(kind = std::any::type_name::<K>(), %error, "watch failed; it is tried again");
        }
        std::future::ready(())
    }));
    store
}

impl Stores {
    /// Starts the watches.
    pub fn watch(client: &Client) -> Self {
        Self {
            scalers: watch(Api::all(client.clone())),
            pods: watch(Api::all(client.clone())),
            replica_sets: watch(Api::all(client.clone())),
            nodes: watch(Api::all(client.clone())),
            kinds: BTreeMap::new(),
            started: BTreeSet::new(),
        }
    }

    /// Returns once every cache is filled.
    pub async fn ready(&self) {
        // An error would mean that the watch task is gone, and with it the process.
        let _ = self.scalers.wait_until_ready().await;
        let _ = self.pods.wait_until_ready().await;
        let _ = self.replica_sets.wait_until_ready().await;
        let _ = self.nodes.wait_until_ready().await;
    }

    /// All scalers that are not being deleted, by id.
    pub fn scalers(&self) -> BTreeMap<TargetId, Arc<InferenceScaler>> {
        let living = |scaler: &Arc<InferenceScaler>| scaler.metadata.deletion_timestamp.is_none();
        self.scalers
            .state()
            .into_iter()
            .filter(living)
            .map(|scaler| (id(&scaler), scaler))
            .collect()
    }

    /// GPU nodes with what they allot; what runs on a GPU is not known here.
    pub fn nodes(&self) -> Vec<Node> {
        self.nodes
            .state()
            .iter()
            .filter_map(|node| gpus(node))
            .collect()
    }

    /// One target, as it is now.
    pub async fn target(
        &mut self,
        client: &Client,
        id: &TargetId,
        scaler: &InferenceScaler,
        now: Timestamp,
    ) -> Seen {
        let reference = &scaler.spec.scale_target_ref;
        let what = format!("{} {}/{}", reference.kind, id.namespace, reference.name);
        let resource = match self
            .kind(client, &reference.api_version, &reference.kind)
            .await
        {
            Ok(resource) => resource,
            Err(message) => return Seen::broken(ProblemKind::TargetNotFound, message),
        };
        let api: Api<DynamicObject> =
            Api::namespaced_with(client.clone(), &id.namespace, &resource);
        let object = match api.get_opt(&reference.name).await {
            Ok(Some(object)) => object,
            Ok(None) => {
                let message =
                    format!("{what} does not exist; create it, or correct spec.scaleTargetRef");
                return Seen::broken(ProblemKind::TargetNotFound, message);
            }
            Err(error) => {
                return Seen::broken(
                    ProblemKind::ScaleUnreadable,
                    format!("{what} cannot be read: {error}"),
                );
            }
        };
        let scale = match api.get_scale(&reference.name).await {
            Ok(scale) => scale,
            Err(error) => {
                let message = format!("the scale subresource of {what} cannot be read: {error}");
                return Seen::broken(ProblemKind::ScaleUnreadable, message);
            }
        };
        let pods = self.pods_of(&id.namespace, &object);
        let count = |value: Option<i32>| {
            Replicas(
                value
                    .and_then(|value| u32::try_from(value).ok())
                    .unwrap_or(0),
            )
        };
        let mut replicas = counts(&pods);
        replicas.desired = count(scale.spec.as_ref().and_then(|spec| spec.replicas));
        replicas.current = count(scale.status.as_ref().map(|status| status.replicas));
        replicas.rolling_out = rolling_out(&object);
        Seen {
            problem: None,
            replicas,
            startups: self.startups(&pods, now),
            pods: pods.iter().map(|pod| pod.name_any()).collect(),
        }
    }

    /// How a kind is addressed; asked of the API server once. The error is one line for people.
    pub async fn kind(
        &mut self,
        client: &Client,
        api_version: &str,
        kind: &str,
    ) -> Result<ApiResource, String> {
        let key = (api_version.to_owned(), kind.to_owned());
        if let Some(resource) = self.kinds.get(&key) {
            return Ok(resource.clone());
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let gvk = GroupVersionKind::gvk(group, version, kind);
        let found = kube::discovery::pinned_kind(client, &gvk).await;
        let (resource, _) = found.map_err(|error| {
            format!("the API server knows no {kind} in {api_version} ({error}); correct spec.scaleTargetRef")
        })?;
        self.kinds.insert(key, resource.clone());
        Ok(resource)
    }

    /// Pods that the target owns, itself or through a `ReplicaSet`: by owner, never by label pattern.
    fn pods_of(&self, namespace: &str, object: &DynamicObject) -> Vec<Arc<Pod>> {
        let Some(uid) = object.uid() else {
            return Vec::new();
        };
        let mut owners = BTreeSet::from([uid.clone()]);
        let owned = |set: &Arc<ReplicaSet>| {
            set.namespace().as_deref() == Some(namespace)
                && owner(set.as_ref()) == Some(uid.as_str())
        };
        owners.extend(
            self.replica_sets
                .state()
                .iter()
                .filter(|set| owned(set))
                .filter_map(|set| set.uid()),
        );
        let mine = |pod: &Arc<Pod>| {
            pod.namespace().as_deref() == Some(namespace)
                && owner(pod.as_ref()).is_some_and(|uid| owners.contains(uid))
        };
        let mut pods: Vec<_> = self.pods.state().into_iter().filter(mine).collect();
        pods.sort_by_key(|pod| pod.name_any());
        pods
    }

    /// Forgets which pods were counted once they are gone: over weeks they would pile up.
    pub fn forget_gone_pods(&mut self) {
        let living: BTreeSet<String> = (self.pods.state().iter())
            .filter_map(|pod| pod.uid())
            .collect();
        self.started.retain(|uid| living.contains(uid));
    }

    /// Seconds from creation to Ready of pods that were not counted before.
    fn startups(&mut self, pods: &[Arc<Pod>], now: Timestamp) -> Vec<f64> {
        let mut seconds = Vec::new();
        for pod in pods {
            let (Some(uid), Some(created), Some(ready)) =
                (pod.uid(), pod.creation_timestamp(), ready_since(pod))
            else {
                continue;
            };
            let created = created.0.as_second();
            if self.started.insert(uid) && now.0 - created <= FIRST_SIGHT && ready >= created {
                seconds.push((ready - created) as f64);
            }
        }
        seconds
    }
}

/// Namespace and name.
pub fn id(scaler: &InferenceScaler) -> TargetId {
    TargetId {
        namespace: scaler.namespace().unwrap_or_default(),
        name: scaler.name_any(),
    }
}

/// Uid of the controlling owner.
fn owner<K: Resource>(object: &K) -> Option<&str> {
    let owners = object.meta().owner_references.as_deref()?;
    owners
        .iter()
        .find(|owner| owner.controller == Some(true))
        .map(|owner| owner.uid.as_str())
}

/// When a pod became Ready, in unix seconds; `None` while it is not.
fn ready_since(pod: &Pod) -> Option<i64> {
    let conditions = pod.status.as_ref()?.conditions.as_deref()?;
    let ready = conditions
        .iter()
        .find(|condition| condition.type_ == "Ready" && condition.status == "True")?;
    Some(ready.last_transition_time.as_ref()?.0.as_second())
}

fn counts(pods: &[Arc<Pod>]) -> ReplicaCounts {
    let mut counts = ReplicaCounts::default();
    for pod in pods {
        let phase = pod
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        if matches!(phase, Some("Failed" | "Succeeded")) {
            continue;
        }
        let number = match (
            pod.metadata.deletion_timestamp.is_some(),
            ready_since(pod).is_some(),
        ) {
            (true, _) => &mut counts.terminating,
            (false, true) => &mut counts.ready,
            (false, false) => &mut counts.pending,
        };
        number.0 += 1;
    }
    counts
}

/// Whether pods of an older template still run: `status.updatedReplicas < status.replicas`, which
/// `Deployment`s and `StatefulSet`s report. The API leaves both fields out when they are 0.
fn rolling_out(object: &DynamicObject) -> bool {
    let kind = object.types.as_ref().map(|types| types.kind.as_str());
    let status = &object.data["status"];
    let count = |field: &str| status[field].as_i64().unwrap_or(0);
    matches!(kind, Some("Deployment" | "StatefulSet"))
        && count("updatedReplicas") < count("replicas")
}

fn gpus(node: &ApiNode) -> Option<Node> {
    let allocatable = node.status.as_ref()?.allocatable.as_ref()?;
    let count: u32 = allocatable
        .get(GPU_RESOURCE)?
        .0
        .parse()
        .ok()
        .filter(|count| *count > 0)?;
    let model = node
        .labels()
        .get("nvidia.com/gpu.product")
        .cloned()
        .unwrap_or_default();
    let gpu = |index| Gpu {
        index,
        model: model.clone(),
        utilization: None,
        memory: None,
        target: None,
    };
    Some(Node {
        name: node.name_any(),
        gpus: (0..count).map(gpu).collect(),
    })
}

#[cfg(test)]
mod tests;
