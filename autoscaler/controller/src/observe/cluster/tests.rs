//! What is read out of objects, on objects as the API server writes them.

use serde_json::json;

use super::*;

fn object(kind: &str, status: &serde_json::Value) -> DynamicObject {
    let text = json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "chat", "uid": "u"}, "status": status,
    });
    serde_json::from_value(text).unwrap()
}

fn pod(name: &str, owner: &str, phase: &str, ready: bool) -> Arc<Pod> {
    let status = if ready { "True" } else { "False" };
    let text = json!({
        "metadata": {
            "name": name, "namespace": "serving", "uid": name, "creationTimestamp": "2026-11-03T08:00:00Z",
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "other"},
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": owner, "controller": true},
            ],
        },
        "status": {
            "phase": phase,
            "conditions": [{"type": "Ready", "status": status, "lastTransitionTime": "2026-11-03T08:01:15Z"}],
        },
    });
    Arc::new(serde_json::from_value(text).unwrap())
}

/// Stores that hold these pods and replica sets and watch nothing.
fn stores(pods: &[Arc<Pod>], sets: &[ReplicaSet]) -> Stores {
    let (pod_store, mut pod_writer) = reflector::store();
    let (set_store, mut set_writer) = reflector::store();
    for pod in pods {
        pod_writer.apply_watcher_event(&watcher::Event::Apply(pod.as_ref().clone()));
    }
    for set in sets {
        set_writer.apply_watcher_event(&watcher::Event::Apply(set.clone()));
    }
    Stores {
        scalers: reflector::store().0,
        pods: pod_store,
        replica_sets: set_store,
        nodes: reflector::store().0,
        kinds: BTreeMap::new(),
        started: BTreeSet::new(),
    }
}

#[test]
fn a_rollout_is_seen_from_its_first_moment() {
    let rolling = |kind, status| rolling_out(&object(kind, &status));
    assert!(rolling(
        "Deployment",
        json!({"replicas": 5, "updatedReplicas": 2})
    ));
    // A count of 0 is left out by the API.
    assert!(rolling("Deployment", json!({"replicas": 5})));
    assert!(!rolling(
        "Deployment",
        json!({"replicas": 5, "updatedReplicas": 5})
    ));
    assert!(!rolling("StatefulSet", json!({})));
    // Others know no template of before.
    assert!(!rolling(
        "ReplicaSet",
        json!({"replicas": 5, "observedGeneration": 1})
    ));
}

#[test]
fn each_living_pod_is_counted_once() {
    let mut going = pod("e", "r", "Running", true).as_ref().clone();
    going.metadata.deletion_timestamp = going.metadata.creation_timestamp.clone();
    let pods = [
        pod("a", "r", "Running", true),
        pod("b", "r", "Running", false),
        pod("c", "r", "Pending", false),
        pod("d", "r", "Failed", false),
        Arc::new(going),
    ];
    let counts = counts(&pods);
    assert_eq!(
        (counts.ready, counts.pending, counts.terminating),
        (Replicas(1), Replicas(2), Replicas(1))
    );
}

#[test]
fn pods_belong_by_their_controlling_owner() {
    let set: ReplicaSet = serde_json::from_value(json!({
        "metadata": {
            "name": "r", "namespace": "serving", "uid": "r",
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "chat", "uid": "u", "controller": true}],
        },
    }))
    .unwrap();
    let pods = [
        pod("through-the-set", "r", "Running", true),
        pod("own", "u", "Running", true),
        pod("of-others", "other", "Running", true),
    ];
    let stores = stores(&pods, &[set]);
    let mine = stores.pods_of("serving", &object("Deployment", &json!({})));
    let names: Vec<_> = mine.iter().map(|pod| pod.name_any()).collect();
    assert_eq!(names, ["own", "through-the-set"]);
    assert!(
        stores
            .pods_of("elsewhere", &object("Deployment", &json!({})))
            .is_empty()
    );
}

#[test]
fn a_start_is_learned_once_and_forgotten_with_its_pod() {
    let pods = [
        pod("a", "u", "Running", true),
        pod("b", "u", "Running", false),
    ];
    let mut stores = stores(&pods, &[]);
    let now = Timestamp(pods[0].creation_timestamp().unwrap().0.as_second() + 100);
    assert_eq!(stores.startups(&pods, now), [75.0]);
    assert!(stores.startups(&pods, now).is_empty());
    stores.started.insert("gone".to_owned());
    stores.forget_gone_pods();
    assert_eq!(stores.started, BTreeSet::from(["a".to_owned()]));
}

#[test]
fn what_was_ready_long_before_it_was_seen_teaches_nothing() {
    let pods = [pod("a", "u", "Running", true)];
    let created = pods[0].creation_timestamp().unwrap().0.as_second();
    let mut stores = stores(&pods, &[]);
    assert!(
        stores
            .startups(&pods, Timestamp(created + FIRST_SIGHT + 1))
            .is_empty()
    );
}
