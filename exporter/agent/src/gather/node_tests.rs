//! A whole node: simulated GPUs, a kubelet on a socket, an API server and inference servers that answer as
//! a script says.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    path::PathBuf,
    sync::Mutex,
};

use exporter_core::simulated::fleet::Spec;

use super::*;
use crate::{
    config::{
        Config,
        kubernetes::{Api, Kubernetes},
    },
    inference,
    kubelet::{
        ContainerDevices, ContainerResources, ListResponse, PodResources,
        tests::{listen, serve},
    },
    source::simulated::Simulated,
};

/// Answers of a server, by the beginning of the path that is asked.
type Pages = Arc<Mutex<Vec<(&'static str, String)>>>;

/// Serves `pages`, and notes every request line; returns the address.
fn pages(pages: &Pages, asked: &Arc<Mutex<Vec<String>>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (pages, asked) = (Arc::clone(pages), Arc::clone(asked));
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().and_then(Result::ok).unwrap_or_default();
            while lines
                .next()
                .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
            {}
            let path = first.split(' ').nth(1).unwrap_or_default().to_string();
            let page = pages.lock().unwrap();
            let page = page.iter().find(|(start, _)| path.starts_with(start));
            let (status, body) = page.map_or(("404 Not Found", ""), |(_, body)| ("200 OK", body));
            asked.lock().unwrap().push(path);
            let length = body.len();
            // Whoever asked may be gone.
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n");
            let _ = write!(stream, "{head}Connection: close\r\n\r\n{body}");
        }
    });
    address
}

fn gpu_holder(pod: &str, id: &str) -> PodResources {
    PodResources {
        name: pod.into(),
        namespace: "serving".into(),
        containers: vec![ContainerResources {
            name: "main".into(),
            devices: vec![ContainerDevices {
                resource_name: "nvidia.com/gpu".into(),
                device_ids: vec![id.into()],
            }],
            dynamic_resources: Vec::new(),
        }],
    }
}

fn pod(name: &str, port: &str, annotations: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"serving","uid":"u","annotations":{{{annotations}}}}},
        "spec":{{"containers":[{{"name":"main","image":"vllm/vllm-openai","ports":[{{"containerPort":{port}}}],
        "args":["--max-num-seqs","16"]}}]}},"status":{{"phase":"Running","podIP":"127.0.0.1"}}}}"#
    )
}

struct Node {
    config: Config,
    client: reqwest::Client,
}

impl Node {
    fn new(socket: PathBuf, api: &str) -> Self {
        let spec: Spec = "2xL4".parse().unwrap();
        let config = Config {
            address: "127.0.0.1:0".parse().unwrap(),
            interval: Duration::from_millis(50),
            hostname: "n".into(),
            simulated: Some(spec),
            nvml_library: None,
            nvml_deadline: Duration::from_secs(1),
            seed: 7,
            counters_map: None,
            web: None,
            lender: None,
            contract: std::sync::Arc::clone(exporter_core::contract::Contract::standard()),
            servers: Vec::new(),
            kubernetes: Kubernetes {
                node: "node-1".into(),
                pod_resources: Some(socket),
                resources: Vec::new(),
                api: Some(Api {
                    url: format!("http://{api}"),
                    token: None,
                    authority: None,
                }),
                discovery: true,
                cluster: false,
                proc_root: "/proc".into(),
            },
        };
        let client = inference::client().unwrap();
        Self { config, client }
    }

    fn start(&self) -> (Published, Owner) {
        let spec = self.config.simulated.as_ref().unwrap();
        self.start_with(Simulated::new(spec, 7))
    }

    fn start_with(&self, source: impl Source + Send + 'static) -> (Published, Owner) {
        let kubernetes = &self.config.kubernetes;
        let api = kubernetes.api.as_ref().map(ApiServer::new);
        let kubelet = kubernetes.pod_resources.as_deref().map(Kubelet::new);
        let clients = Clients {
            servers: self.client.clone(),
            api: api.map(|api| Arc::new(api.unwrap())),
            kubelet: kubelet.transpose().unwrap(),
        };
        // A gather of an old interval would be dropped while this machine is busy.
        let (mut published, owner) = start(&self.config, source, clients).unwrap();
        published.oldest = Duration::from_hours(1);
        (published, owner)
    }
}

/// Waits until `found` finds something in a snapshot.
async fn until<T>(published: &Published, found: impl Fn(&Snapshot) -> Option<T>) -> T {
    let all = async {
        loop {
            if let Some(found) = found(&published.snapshot()) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), all)
        .await
        .unwrap()
}

fn list(pods: &[String]) -> String {
    format!(r#"{{"items":[{}],"metadata":{{}}}}"#, pods.join(","))
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_of_the_own_node_are_found_asked_and_forgotten() {
    let asked = Arc::default();
    let text = "vllm:num_requests_waiting{model_name=\"m\"} 5\n\
                vllm:num_requests_running{model_name=\"m\"} 4\n";
    let server = pages(&Arc::new(Mutex::new(vec![("/m", text.into())])), &asked);
    let port = server.rsplit_once(':').unwrap().1;
    let declared =
        format!(r#""foresail.dev/metrics-port":"{port}","foresail.dev/metrics-path":"/m""#);
    let wrong = r#""foresail.dev/metrics-port":"x""#;
    let all = [
        pod("chat-0", port, &declared),
        pod("wrong", port, wrong),
        // Nobody listens there, and nobody said that it is a server.
        pod("guess", "8000", ""),
    ];
    let api_pages = Arc::new(Mutex::new(vec![("/api/v1/pods", list(&all))]));
    let api_asked = Arc::default();
    let api = pages(&api_pages, &api_asked);
    let folder = serve(Ok(ListResponse::default()));
    let node = Node::new(folder.path().join("kubelet.sock"), &api);
    let (mut published, owner) = node.start();
    published.complete().await;
    let snapshot = published.snapshot();
    let found = &snapshot.servers[0];
    assert_eq!(
        (found.waiting, found.target.pod.as_deref()),
        (Some(5.0), Some("chat-0"))
    );
    assert_eq!(
        found.batch_efficiency,
        Some(0.25),
        "the limit of its command line"
    );
    let status = |name: &str| snapshot.sources.iter().find(|source| source.name == name);
    let reason = status("pods").unwrap().reason.clone().unwrap();
    assert!(
        reason.starts_with("pod serving/wrong: foresail.dev/metrics-port is \"x\""),
        "{reason}"
    );
    let shown = snapshot
        .sources
        .iter()
        .filter(|source| source.name == "vllm")
        .count();
    assert_eq!(shown, 1, "a guess that does not answer is not spoken of");
    let query = "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1&resourceVersion=0&limit=500";
    assert!(api_asked.lock().unwrap().iter().all(|path| path == query));
    api_pages.lock().unwrap()[0].1 = list(&[]);
    until(&published, |snapshot| {
        snapshot.servers.is_empty().then_some(())
    })
    .await;
    owner.stop(Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kubelets_list_is_kept_while_it_does_not_answer() {
    let api = pages(&Arc::default(), &Arc::default());
    let folder = tempfile::tempdir().unwrap();
    let node = Node::new(folder.path().join("kubelet.sock"), &api);
    let spec = node.config.simulated.as_ref().unwrap();
    let gpus = Simulated::new(spec, 7).gather(0.0).unwrap().gpus;
    let uuid = gpus[0].identity.uuid.clone();
    let pod_resources = vec![gpu_holder("chat-0", &uuid), gpu_holder("gone", "GPU-00")];
    let kubelet = listen(folder.path(), Ok(ListResponse { pod_resources }));
    let (mut published, owner) = node.start();
    published.complete().await;
    let snapshot = published.snapshot();
    let found = snapshot.attribution.unwrap();
    assert_eq!(found.owners_of(&gpus[0], None)[0].pod, "chat-0");
    assert_eq!((found.tally.held, found.tally.free), (1, 1));
    assert_eq!(found.tally.unknown, ["GPU-00"]);
    let pods = snapshot.sources.iter().find(|source| source.name == "pods");
    let reason = pods.unwrap().reason.as_deref().unwrap();
    assert!(reason.contains("answered 404 for /api/v1/pods"), "{reason}");
    kubelet.end().await;
    let failed = |snapshot: &Snapshot| {
        let mut sources = snapshot.sources.iter();
        let kubelet = sources.find(|source| source.name == "kubelet").unwrap();
        (kubelet.failures > 1).then(|| (kubelet.up, snapshot.attribution.clone()))
    };
    let (up, kept) = until(&published, failed).await;
    assert!(!up);
    assert_eq!(kept.unwrap().owners_of(&gpus[0], None)[0].pod, "chat-0");
    owner.stop(Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cluster_counts_batch_work_and_nothing_else() {
    let template =
        r#""template":{"spec":{"containers":[{"resources":{"limits":{"nvidia.com/gpu":"8"}}}]}}"#;
    let job = |uid: &str, suspend: bool| {
        format!(
            r#"{{"metadata":{{"namespace":"research","uid":"{uid}"}},"spec":{{"suspend":{suspend},{template}}}}}"#
        )
    };
    let workload = format!(
        r#"{{"metadata":{{"namespace":"research","ownerReferences":[{{"uid":"a"}}]}},"spec":{{"queueName":"gpus","podSets":[{{{template}}}]}}}}"#
    );
    let first = format!(
        r#"{{"items":[{}],"metadata":{{"continue":"more"}}}}"#,
        job("a", true)
    );
    let api_pages = Arc::new(Mutex::new(vec![
        (
            "/apis/batch/v1/jobs?limit=500&continue=more",
            list(&[job("b", false)]),
        ),
        ("/apis/batch/v1/jobs?limit=500", first),
        ("/apis/kueue.x-k8s.io/v1beta2/workloads", list(&[workload])),
    ]));
    let api = pages(&api_pages, &Arc::default());
    let mut node = Node::new("/nonexistent".into(), &api);
    let kubernetes = &mut node.config.kubernetes;
    (kubernetes.discovery, kubernetes.cluster) = (false, true);
    kubernetes.pod_resources = None;
    let (mut published, owner) = node.start_with(crate::source::nothing::Nothing);
    published.complete().await;
    let snapshot = published.snapshot();
    let found: Vec<_> = (snapshot.batch.iter())
        .map(|queue| {
            (
                queue.kind,
                queue.queue.as_str(),
                queue.pending,
                queue.suspended,
            )
        })
        .collect();
    assert_eq!(found, [("job", "", 1, 0), ("workload", "gpus", 1, 0)]);
    let names: Vec<&str> = snapshot
        .sources
        .iter()
        .map(|source| source.name.as_str())
        .collect();
    assert_eq!(names, ["batch"]);
    owner.stop(Duration::from_secs(5));
}
