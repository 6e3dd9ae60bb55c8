//! The pods of one node, by a field selector: no other node's pods are asked for.

use std::{collections::BTreeMap, time::Duration};

use exporter_core::pod::{Container, Pod, is_gpu};
use serde::Deserialize;

use super::{ApiError, ApiServer};

/// The pods that are bound to `node`.
pub(crate) async fn of_node(
    api: &ApiServer,
    node: &str,
    deadline: Duration,
) -> Result<Vec<Pod>, ApiError> {
    let selector = format!("spec.nodeName={node}");
    // Any state of the server's cache will do: that costs the store nothing.
    let query = [
        ("fieldSelector", selector.as_str()),
        ("resourceVersion", "0"),
    ];
    let objects: Vec<Object> = api.list("/api/v1/pods", &query, deadline).await?;
    Ok(objects.into_iter().map(pod).collect())
}

#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
struct Spec {
    #[serde(default)]
    containers: Vec<SpecContainer>,
}

#[derive(Deserialize)]
struct SpecContainer {
    name: String,
    #[serde(default)]
    image: String,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: Vec<Variable>,
    #[serde(default)]
    ports: Vec<Port>,
    #[serde(default)]
    resources: Resources,
}

#[derive(Deserialize)]
struct Variable {
    name: String,
    value: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Port {
    container_port: u16,
}

#[derive(Default, Deserialize)]
struct Resources {
    #[serde(default)]
    limits: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    claims: Vec<serde_json::Value>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    phase: String,
    #[serde(rename = "podIP")]
    pod_ip: Option<String>,
    container_statuses: Vec<ContainerStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContainerStatus {
    name: String,
    #[serde(rename = "containerID", default)]
    container_id: Option<String>,
}

fn pod(object: Object) -> Pod {
    let ids: BTreeMap<String, String> = (object.status.container_statuses.into_iter())
        .filter_map(|status| {
            // containerd://<id>
            let id = status.container_id?;
            let id = id.split_once("://").map_or(id.as_str(), |(_, id)| id);
            Some((status.name, id.to_string()))
        })
        .collect();
    let container = |container: SpecContainer| Container {
        id: ids.get(&container.name).cloned(),
        name: container.name,
        image: container.image,
        words: [container.command, container.args].concat(),
        variables: (container.env.into_iter())
            .filter_map(|variable| Some((variable.name, variable.value?)))
            .collect(),
        ports: (container.ports.iter())
            .map(|port| port.container_port)
            .collect(),
        gpus: container.resources.limits.keys().any(|name| is_gpu(name))
            || !container.resources.claims.is_empty(),
    };
    Pod {
        namespace: object.metadata.namespace,
        name: object.metadata.name,
        uid: object.metadata.uid,
        ip: object.status.pod_ip.filter(|ip| !ip.is_empty()),
        running: object.status.phase == "Running",
        annotations: object.metadata.annotations.unwrap_or_default(),
        containers: object.spec.containers.into_iter().map(container).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_read_as_far_as_it_is_needed() {
        let text = r#"{"metadata":{"name":"chat-0","namespace":"serving","uid":"u1","annotations":{"a":"b"},"labels":{}},
            "spec":{"nodeName":"n","containers":[{"name":"main","image":"vllm","command":["vllm"],"args":["--x","1"],
              "env":[{"name":"A","value":"1"},{"name":"S","valueFrom":{}}],
              "ports":[{"containerPort":8000,"protocol":"TCP"}],
              "resources":{"limits":{"nvidia.com/gpu":"1","cpu":2}}}]},
            "status":{"phase":"Running","podIP":"10.0.0.5",
              "containerStatuses":[{"name":"main","containerID":"containerd://abc","ready":true}]}}"#;
        let found = pod(serde_json::from_str(text).unwrap());
        assert_eq!(
            (found.uid.as_str(), found.ip.as_deref()),
            ("u1", Some("10.0.0.5"))
        );
        let main = &found.containers[0];
        assert_eq!(main.words, ["vllm", "--x", "1"]);
        assert_eq!(main.variables, [("A".to_string(), "1".to_string())]);
        assert_eq!((main.ports.as_slice(), main.gpus), (&[8000][..], true));
        assert_eq!(main.id.as_deref(), Some("abc"));
    }

    #[test]
    fn a_pod_that_just_came_has_almost_nothing() {
        let found = pod(serde_json::from_str(r#"{"metadata":{"name":"x"}}"#).unwrap());
        assert!(!found.running && found.ip.is_none() && found.containers.is_empty());
    }
}
