//! A pod as the API server describes it, as far as an exporter needs it. Never asks for one.

use std::collections::BTreeMap;

/// One container.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Container {
    /// Its name in the pod.
    pub name: String,
    /// Its image.
    pub image: String,
    /// Command and arguments.
    pub words: Vec<String>,
    /// Variables that the pod spells out.
    pub variables: Vec<(String, String)>,
    /// Ports that it declares.
    pub ports: Vec<u16>,
    /// Whether it asks for GPUs.
    pub gpus: bool,
    /// Id of its running container, without the runtime's name.
    pub id: Option<String>,
}

/// One pod.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Pod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid, as the API server spells it.
    pub uid: String,
    /// Its address, once it has one.
    pub ip: Option<String>,
    /// Whether its phase is Running.
    pub running: bool,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Its containers, those that start first left out.
    pub containers: Vec<Container>,
}

/// Whether a resource of a container is a GPU or a part of one.
pub fn is_gpu(resource: &str) -> bool {
    let name = resource.strip_prefix("nvidia.com/");
    name.is_some_and(|name| name == "gpu" || name == "gpu.shared" || name.starts_with("mig-"))
}
