//! What the driver of dynamic resource allocation says of the devices of one node: their uuids by name.

use std::{collections::BTreeMap, time::Duration};

use exporter_core::attribution::Slices;
use serde::Deserialize;

use super::{ApiError, ApiServer};

/// The devices of `node`; none on a cluster that does not know the kind.
pub(crate) async fn of_node(
    api: &ApiServer,
    node: &str,
    deadline: Duration,
) -> Result<Slices, ApiError> {
    let selector = format!("spec.nodeName={node}");
    let query = [("fieldSelector", selector.as_str())];
    let path = "/apis/resource.k8s.io/v1/resourceslices";
    match api.list::<Object>(path, &query, deadline).await {
        Ok(objects) => Ok(slices(objects)),
        Err(ApiError::Status { status: 404, .. }) => Ok(Slices::new()),
        Err(error) => Err(error),
    }
}

#[derive(Deserialize)]
struct Object {
    spec: Spec,
}

#[derive(Deserialize)]
struct Spec {
    driver: String,
    pool: Pool,
    #[serde(default)]
    devices: Vec<Device>,
}

#[derive(Deserialize)]
struct Pool {
    name: String,
}

#[derive(Deserialize)]
struct Device {
    name: String,
    #[serde(default)]
    attributes: BTreeMap<String, Attribute>,
}

#[derive(Deserialize)]
struct Attribute {
    string: Option<String>,
}

fn slices(objects: Vec<Object>) -> Slices {
    let mut found = Slices::new();
    for Object { spec } in objects {
        for device in spec.devices {
            let mut attributes = device.attributes.into_iter();
            // With or without the driver's domain before it.
            let uuid = attributes.find(|(name, _)| name == "uuid" || name.ends_with("/uuid"));
            if let Some(uuid) = uuid.and_then(|(_, attribute)| attribute.string) {
                let key = (spec.driver.clone(), spec.pool.name.clone(), device.name);
                found.insert(key, uuid);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_read_by_name() {
        let text = r#"[{"spec":{"driver":"gpu.nvidia.com","pool":{"name":"n","generation":1},"devices":[
            {"name":"gpu-0","attributes":{"index":{"int":0},"uuid":{"string":"GPU-1"}}},
            {"name":"gpu-0-mig-1","attributes":{"gpu.nvidia.com/uuid":{"string":"MIG-1"}}},
            {"name":"channel-0","attributes":{"id":{"int":0}}}]}}]"#;
        let found = slices(serde_json::from_str(text).unwrap());
        let uuid = |device: &str| {
            let key = ("gpu.nvidia.com".into(), "n".into(), device.into());
            found.get(&key).map(String::as_str)
        };
        assert_eq!(uuid("gpu-0"), Some("GPU-1"));
        assert_eq!(uuid("gpu-0-mig-1"), Some("MIG-1"));
        assert_eq!((uuid("channel-0"), found.len()), (None, 2));
    }
}
