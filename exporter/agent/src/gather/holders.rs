//! Who holds the devices: asks the kubelet, keeps its last list for a while when it does not answer, and finds
//! the pods of the processes that the driver lists.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use exporter_core::{
    attribution::{Attribution, Holding, Owner, Slices, cgroup, join},
    device::Gpu,
    pod::Pod,
};
use tokio::sync::watch;

use super::{KEPT, part::Part, pods::Pods};
use crate::{
    apiserver::{ApiServer, slices},
    config::kubernetes::Kubernetes,
    kubelet::Kubelet,
    source::Gathered,
};

/// Time after which a list is given up.
const DEADLINE: Duration = Duration::from_secs(10);
/// Processes whose cgroups are read.
const MOST_PROCESSES: usize = 4096;

/// Who is asked, and what the others have published.
pub(super) struct Sources {
    pub(super) kubelet: Kubelet,
    pub(super) api: Option<Arc<ApiServer>>,
    pub(super) pods: Option<watch::Receiver<Part<Pods>>>,
    pub(super) gpus: watch::Receiver<Part<Gathered>>,
}

/// What is known of holders.
#[derive(Clone, Debug)]
pub(super) struct Known {
    holdings: Arc<Vec<Holding>>,
    slices: Arc<Slices>,
    processes: BTreeMap<u32, Owner>,
    resources: Arc<Vec<String>>,
    listed: Instant,
}

impl Known {
    /// Who holds `gpus`, at `now`.
    pub(super) fn attribution(&self, gpus: &[Gpu], now: Instant) -> Attribution {
        let mut found = join(gpus, &self.holdings, &self.slices, &self.resources);
        found.processes.clone_from(&self.processes);
        found.age = now.saturating_duration_since(self.listed).as_secs_f64();
        found
    }
}

/// Starts to ask.
pub(super) fn start(
    mut sources: Sources,
    kubernetes: Kubernetes,
    interval: Duration,
) -> watch::Receiver<Part<Known>> {
    let path = kubernetes.pod_resources.as_deref();
    let target = path.map(|path| path.display().to_string());
    let (publish, receive) = watch::channel(Part::new("kubelet", target));
    tokio::spawn(async move {
        // The first answer shall find GPUs and pods, unless they hang.
        let _ = tokio::time::timeout(interval, first(&mut sources)).await;
        let resources = Arc::new(kubernetes.resources.clone());
        let mut last: Option<Known> = None;
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !publish.is_closed() {
            ticks.tick().await;
            let started = Instant::now();
            let mut reasons = Vec::new();
            let answer = sources.kubelet.list(DEADLINE.min(interval)).await;
            let up = answer.is_ok();
            match answer {
                Ok(holdings) => {
                    let before = last.map(|known| known.slices).unwrap_or_default();
                    last = Some(Known {
                        slices: claims(&sources, &kubernetes, &holdings, before, &mut reasons)
                            .await,
                        holdings: Arc::new(holdings),
                        processes: BTreeMap::new(),
                        resources: Arc::clone(&resources),
                        listed: Instant::now(),
                    });
                }
                Err(error) => {
                    last = last.filter(|known| known.listed.elapsed() <= KEPT);
                    reasons.push(error.to_string());
                }
            }
            if let Some(known) = &mut last {
                known.processes = processes(&sources, &kubernetes.proc_root);
            }
            let reason = (!reasons.is_empty()).then(|| reasons.join("; "));
            publish.send_modify(|part| part.take(started, up, last.clone(), reason));
        }
    });
    receive
}

async fn first(sources: &mut Sources) {
    // Errors mean that the others are gone: then there is nothing to wait for.
    let _ = sources.gpus.wait_for(|part| part.ended.is_some()).await;
    if let Some(pods) = &mut sources.pods {
        let _ = pods.wait_for(|part| part.ended.is_some()).await;
    }
}

/// Uuids of claimed devices; asked for only where there are claims, kept when they do not come.
async fn claims(
    sources: &Sources,
    kubernetes: &Kubernetes,
    holdings: &[Holding],
    before: Arc<Slices>,
    reasons: &mut Vec<String>,
) -> Arc<Slices> {
    let claimed = holdings.iter().any(|holding| !holding.claims.is_empty());
    let Some(api) = sources.api.as_deref().filter(|_| claimed) else {
        return before;
    };
    match slices::of_node(api, &kubernetes.node, DEADLINE).await {
        Ok(slices) => Arc::new(slices),
        Err(error) => {
            reasons.push(error.to_string());
            before
        }
    }
}

/// Containers of the processes on the GPUs.
fn processes(sources: &Sources, proc_root: &Path) -> BTreeMap<u32, Owner> {
    let gpus = sources.gpus.borrow().brought.clone();
    let pods = sources
        .pods
        .as_ref()
        .map(|pods| pods.borrow().brought.clone());
    let (Some(gpus), Some(Some(pods))) = (gpus, pods) else {
        return BTreeMap::new();
    };
    let by_uid: BTreeMap<&str, &Pod> = pods.iter().map(|pod| (pod.uid.as_str(), pod)).collect();
    let running = gpus.gpus.iter().filter_map(|gpu| gpu.processes.value());
    let owner = |pid: u32| {
        // A process that ended since is no fault.
        let text = std::fs::read_to_string(proc_root.join(pid.to_string()).join("cgroup"));
        let member = cgroup::member(&text.ok()?)?;
        let pod = by_uid.get(member.pod_uid.as_str())?;
        let mut containers = pod.containers.iter();
        let container = containers
            .find(|container| container.id.is_some() && container.id == member.container_id);
        Some(Owner {
            namespace: pod.namespace.clone(),
            pod: pod.name.clone(),
            container: container
                .map(|found| found.name.clone())
                .unwrap_or_default(),
            share: None,
        })
    };
    let numbers = running.flatten().map(|process| process.pid);
    (numbers.take(MOST_PROCESSES))
        .filter_map(|pid| Some((pid, owner(pid)?)))
        .collect()
}
