//! Asks the kubelet over its socket which container holds which device (`PodResources` v1). Its messages are
//! written by hand from the numbers of their fields; what is not needed of them is not read.

use std::{path::Path, time::Duration};

use exporter_core::attribution::{Claimed, Holding};
use hyper::http::uri::PathAndQuery;
use tonic::{
    Request,
    client::Grpc,
    transport::{Channel, Endpoint},
};
use tonic_prost::ProstCodec;

use crate::inference::innermost;

/// Bytes that an answer may have; a node full of pods has some hundred kilobytes.
const LARGEST: usize = 16 << 20;
/// Where the list is.
const LIST: &str = "/v1.PodResourcesLister/List";

/// Why the kubelet gave no list.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KubeletError {
    /// A path that is no address.
    #[error("{path} is no socket's path: {source}")]
    Path {
        /// The path.
        path: String,
        /// Why.
        source: tonic::transport::Error,
    },
    /// No answer in time.
    #[error("nothing within {} s", .0.as_secs_f64())]
    Late(Duration),
    /// Nobody listens, or the connection broke.
    #[error("no connection to the kubelet: {0}")]
    Unreachable(String),
    /// It answered with an error.
    #[error("the kubelet answered {code:?}: {message}")]
    Refused {
        /// gRPC's code.
        code: tonic::Code,
        /// The kubelet's words.
        message: String,
    },
}

/// Asked for everything.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ListRequest {}

/// All pods of the node.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ListResponse {
    /// Each.
    #[prost(message, repeated, tag = "1")]
    pub(crate) pod_resources: Vec<PodResources>,
}

/// One pod.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct PodResources {
    /// Its name.
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    /// Its namespace.
    #[prost(string, tag = "2")]
    pub(crate) namespace: String,
    /// Its containers.
    #[prost(message, repeated, tag = "3")]
    pub(crate) containers: Vec<ContainerResources>,
}

/// One container.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ContainerResources {
    /// Its name.
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    /// Devices of device plugins.
    #[prost(message, repeated, tag = "2")]
    pub(crate) devices: Vec<ContainerDevices>,
    /// Devices of claims.
    #[prost(message, repeated, tag = "5")]
    pub(crate) dynamic_resources: Vec<DynamicResource>,
}

/// Devices of one resource.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ContainerDevices {
    /// The resource.
    #[prost(string, tag = "1")]
    pub(crate) resource_name: String,
    /// Ids as the device plugin gave them.
    #[prost(string, repeated, tag = "2")]
    pub(crate) device_ids: Vec<String>,
}

/// One claim.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct DynamicResource {
    /// What it got.
    #[prost(message, repeated, tag = "4")]
    pub(crate) claim_resources: Vec<ClaimResource>,
}

/// One device of a claim.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ClaimResource {
    /// The driver.
    #[prost(string, tag = "2")]
    pub(crate) driver_name: String,
    /// The pool.
    #[prost(string, tag = "3")]
    pub(crate) pool_name: String,
    /// The device in it.
    #[prost(string, tag = "4")]
    pub(crate) device_name: String,
    /// The share of it, where it can be shared.
    #[prost(string, optional, tag = "5")]
    pub(crate) share_id: Option<String>,
}

/// A connection that is made when it is needed and made anew when it broke.
pub(crate) struct Kubelet {
    channel: Channel,
}

impl Kubelet {
    /// For the socket at `path`; must be called inside the async runtime.
    pub(crate) fn new(path: &Path) -> Result<Self, KubeletError> {
        let path = path.display().to_string();
        let endpoint = Endpoint::from_shared(format!("unix:{path}"));
        let endpoint = endpoint.map_err(|source| KubeletError::Path { path, source })?;
        let channel = endpoint.connect_lazy();
        Ok(Self { channel })
    }

    /// What each container holds, within `deadline`.
    pub(crate) async fn list(&self, deadline: Duration) -> Result<Vec<Holding>, KubeletError> {
        let answer = tokio::time::timeout(deadline, self.ask()).await;
        let answer = answer.map_err(|_| KubeletError::Late(deadline))??;
        Ok(answer
            .pod_resources
            .into_iter()
            .flat_map(holdings)
            .collect())
    }

    async fn ask(&self) -> Result<ListResponse, KubeletError> {
        let mut client = Grpc::new(self.channel.clone()).max_decoding_message_size(LARGEST);
        let ready = client.ready().await;
        ready.map_err(|error| KubeletError::Unreachable(innermost(&error)))?;
        let codec: ProstCodec<ListRequest, ListResponse> = ProstCodec::default();
        let path = PathAndQuery::from_static(LIST);
        let answer = client
            .unary(Request::new(ListRequest {}), path, codec)
            .await;
        let answer = answer.map_err(|status| match status.code() {
            tonic::Code::Unavailable => KubeletError::Unreachable(innermost(&status)),
            code => KubeletError::Refused {
                code,
                message: status.message().into(),
            },
        })?;
        Ok(answer.into_inner())
    }
}

/// Containers of a pod that hold anything.
fn holdings(pod: PodResources) -> Vec<Holding> {
    let one = |container: ContainerResources| {
        let devices = container.devices.into_iter().flat_map(|devices| {
            let resource = devices.resource_name;
            let ids = devices.device_ids.into_iter();
            ids.map(move |id| (resource.clone(), id))
        });
        let claims = container.dynamic_resources.into_iter();
        let claims = claims.flat_map(|claim| claim.claim_resources);
        Holding {
            namespace: pod.namespace.clone(),
            pod: pod.name.clone(),
            container: container.name,
            devices: devices.collect(),
            claims: claims.map(claimed).collect(),
        }
    };
    let held = pod.containers.into_iter().map(one);
    held.filter(|holding| !(holding.devices.is_empty() && holding.claims.is_empty()))
        .collect()
}

fn claimed(claim: ClaimResource) -> Claimed {
    Claimed {
        driver: claim.driver_name,
        pool: claim.pool_name,
        device: claim.device_name,
        share: claim.share_id,
    }
}

#[cfg(test)]
pub(crate) mod tests;
