//! A kubelet on a socket, by tonic's own server; its answers are raw bytes, so that the numbers of the fields
//! are checked and not only that both sides agree.

use std::{convert::Infallible, path::PathBuf};

use exporter_core::attribution::Holding;
use prost::Message;
use tokio::net::UnixListener;
use tonic::{
    Response, Status,
    codegen::{BoxFuture, Service, http},
    server::{Grpc as Server, NamedService, UnaryService},
};

use super::*;

/// Answers every list with the same text or refusal.
#[derive(Clone)]
struct Fake(Result<ListResponse, Status>);

impl NamedService for Fake {
    const NAME: &'static str = "v1.PodResourcesLister";
}

impl UnaryService<ListRequest> for Fake {
    type Response = ListResponse;
    type Future = BoxFuture<Response<ListResponse>, Status>;

    fn call(&mut self, _: Request<ListRequest>) -> Self::Future {
        let answer = self.0.clone();
        Box::pin(async move { answer.map(Response::new) })
    }
}

impl Service<http::Request<tonic::body::Body>> for Fake {
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Infallible>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Self::Future {
        let fake = self.clone();
        Box::pin(async move {
            assert_eq!(request.uri().path(), LIST);
            let codec: ProstCodec<ListResponse, ListRequest> = ProstCodec::default();
            Ok(Server::new(codec).unary(fake, request).await)
        })
    }
}

/// A folder with a socket in it that is served until the test ends.
pub(crate) fn serve(answer: Result<ListResponse, Status>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::mem::forget(listen(folder.path(), answer));
    folder
}

/// A kubelet that runs until it is told to end.
pub(crate) struct Running {
    stop: tokio::sync::oneshot::Sender<()>,
    task: tokio::task::JoinHandle<()>,
    socket: PathBuf,
}

impl Running {
    /// Closes its connections and takes its socket away.
    pub(crate) async fn end(self) {
        drop(self.stop);
        self.task.await.unwrap();
        std::fs::remove_file(self.socket).unwrap();
    }
}

/// Starts a kubelet with its socket in `folder`.
pub(crate) fn listen(folder: &Path, answer: Result<ListResponse, Status>) -> Running {
    let socket = folder.join("kubelet.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let incoming = futures::stream::unfold(listener, |listener| async {
        let accepted = listener.accept().await.map(|(stream, _)| stream);
        Some((accepted, listener))
    });
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let stopped = async {
        // Told by dropping the other end.
        let _ = stopped.await;
    };
    let task = tokio::spawn(async move {
        let mut server = tonic::transport::Server::builder();
        let server = server.add_service(Fake(answer));
        let ended = server.serve_with_incoming_shutdown(incoming, stopped).await;
        ended.unwrap();
    });
    Running { stop, task, socket }
}

fn kubelet(folder: &Path) -> Kubelet {
    Kubelet::new(&folder.join("kubelet.sock")).unwrap()
}

const SOON: Duration = Duration::from_secs(20);

/// A field of length-delimited content: number, length, content.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap();
    assert!(length < 128, "one byte of length");
    [&[number << 3 | 2, length], content].concat()
}

#[tokio::test]
async fn the_list_is_read_by_the_numbers_of_its_fields() {
    let devices = [
        field(1, b"nvidia.com/gpu"),
        field(2, b"GPU-1::0"),
        field(2, b"GPU-2"),
    ]
    .concat();
    // Topology, cpus and memory are there and passed over.
    let devices = [devices, field(3, &field(1, &[8, 1]))].concat();
    let claim = [
        field(1, &field(1, b"vendor/cdi=x")),
        field(2, b"gpu.nvidia.com"),
        field(3, b"node-1"),
        field(4, b"gpu-0"),
        field(5, b"s"),
    ]
    .concat();
    let dynamic = [field(2, b"claim"), field(3, b"ns"), field(4, &claim)].concat();
    let first = [field(1, b"main"), field(2, &devices), field(3, &[0, 1])].concat();
    let second = [field(1, b"side"), field(5, &dynamic)].concat();
    let head = [field(1, b"chat-0"), field(2, b"serving")].concat();
    let pods = [
        field(1, &[head.clone(), field(3, &first)].concat()),
        field(1, &[head, field(3, &second)].concat()),
        field(
            1,
            &[field(1, b"idle"), field(2, b"x"), field(3, &field(1, b"c"))].concat(),
        ),
    ];
    let folder = serve(Ok(ListResponse::decode(&pods.concat()[..]).unwrap()));
    let found = kubelet(folder.path()).list(SOON).await.unwrap();
    let holding = |container: &str| Holding {
        namespace: "serving".into(),
        pod: "chat-0".into(),
        container: container.into(),
        ..Holding::default()
    };
    let gpu = |id: &str| ("nvidia.com/gpu".to_string(), id.to_string());
    let main = Holding {
        devices: vec![gpu("GPU-1::0"), gpu("GPU-2")],
        ..holding("main")
    };
    let side = Holding {
        claims: vec![Claimed {
            driver: "gpu.nvidia.com".into(),
            pool: "node-1".into(),
            device: "gpu-0".into(),
            share: Some("s".into()),
        }],
        ..holding("side")
    };
    assert_eq!(found, [main, side], "a container without devices is none");
}

#[tokio::test]
async fn a_list_of_many_megabytes_is_read() {
    let pod = PodResources {
        name: "n".repeat(250),
        containers: vec![ContainerResources {
            devices: vec![ContainerDevices {
                resource_name: "nvidia.com/gpu".into(),
                device_ids: vec!["GPU-0".into(); 400],
            }],
            ..ContainerResources::default()
        }],
        ..PodResources::default()
    };
    let pod_resources = vec![pod; 2000];
    let folder = serve(Ok(ListResponse { pod_resources }));
    assert_eq!(kubelet(folder.path()).list(SOON).await.unwrap().len(), 2000);
}

#[tokio::test]
async fn faults_are_named() {
    let folder = serve(Err(Status::unimplemented("unknown service")));
    let refused = kubelet(folder.path())
        .list(SOON)
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(
        refused,
        "the kubelet answered Unimplemented: unknown service"
    );
    let nobody = tempfile::tempdir().unwrap();
    let absent = kubelet(nobody.path())
        .list(SOON)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        absent.starts_with("no connection to the kubelet: No such file"),
        "{absent}"
    );
    // Accepts into its queue and never answers.
    let silent = tempfile::tempdir().unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(silent.path().join("kubelet.sock"));
    let late = kubelet(silent.path())
        .list(Duration::from_millis(50))
        .await
        .unwrap_err();
    assert_eq!(late.to_string(), "nothing within 0.05 s");
}

#[tokio::test]
async fn a_kubelet_that_starts_anew_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let kubelet = kubelet(folder.path());
    assert!(kubelet.list(SOON).await.is_err());
    let first = listen(folder.path(), Ok(ListResponse::default()));
    assert_eq!(kubelet.list(SOON).await.unwrap(), []);
    first.end().await;
    assert!(kubelet.list(SOON).await.is_err());
    let _second = listen(folder.path(), Ok(ListResponse::default()));
    assert_eq!(kubelet.list(SOON).await.unwrap(), []);
}
