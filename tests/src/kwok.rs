//! KWOK plays the kubelets: nodes are Ready, pods become Ready after the start-up time that their
//! annotation names, deleted pods go.

use std::{process::Command, time::Duration};

use crate::{
    control_plane::ControlPlane,
    peer,
    service::{Service, until},
};

/// The annotation with a pod's start-up time, a Go duration such as `60s`.
pub const STARTUP: &str = "tests.foresail.dev/startup";

/// Starts KWOK for all nodes of a control plane.
pub fn start(plane: &ControlPlane) -> anyhow::Result<Service> {
    let stages = crate::root().join("tests/config/kwok-stages.yaml");
    let mut command = Command::new(peer("kwok")?.join("kwok"));
    command
        .arg(format!("--kubeconfig={}", plane.kubeconfig().display()))
        .arg(format!("--config={}", stages.display()))
        .args([
            "--manage-all-nodes=true",
            "--node-lease-duration-seconds=40",
        ]);
    Service::start(
        "kwok",
        &mut command,
        plane.kubeconfig().with_file_name("kwok.log"),
    )
}

/// Makes nodes with eight GPUs each and waits until they are Ready.
pub async fn nodes(plane: &ControlPlane, count: usize) -> anyhow::Result<()> {
    for index in 0..count {
        let resources = "{cpu: '64', memory: 512Gi, pods: '110', nvidia.com/gpu: '8'}";
        plane.apply(&format!(
            "apiVersion: v1
kind: Node
metadata:
  name: gpu-{index}
  annotations: {{kwok.x-k8s.io/node: fake}}
  labels: {{nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}}
status: {{allocatable: {resources}, capacity: {resources}}}
"
        ))?;
    }
    until("the nodes are Ready", Duration::from_mins(1), || async {
        let text = plane.kubectl(&["get", "nodes", "--no-headers"])?;
        Ok(text.lines().filter(|line| line.contains(" Ready ")).count() == count)
    })
    .await
}
