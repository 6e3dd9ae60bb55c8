//! The pods of the own node, and the servers that they are. Asks the API server only for this node's.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use exporter_core::{pod::Pod, queue::discovery};
use tokio::sync::watch;

use super::{KEPT, part::Part, servers::Targets};
use crate::{
    apiserver::{ApiServer, pods},
    config::Config,
};

/// Time after which the list is given up.
const DEADLINE: Duration = Duration::from_secs(10);

/// The pods of the node.
pub(super) type Pods = Arc<Vec<Pod>>;

/// Starts to list pods, and to ask the servers among them.
pub(super) fn start(
    api: Arc<ApiServer>,
    config: &Config,
    mut targets: Targets,
) -> watch::Receiver<Part<Pods>> {
    let (publish, receive) = watch::channel(Part::new("pods", None));
    let (node, interval) = (config.kubernetes.node.clone(), config.interval);
    tokio::spawn(async move {
        let mut last: Option<(Pods, Instant)> = None;
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !publish.is_closed() {
            ticks.tick().await;
            let started = Instant::now();
            let answer = pods::of_node(&api, &node, DEADLINE.min(interval)).await;
            match answer {
                Ok(pods) => {
                    let faults = replace(&mut targets, &pods);
                    let pods = Arc::new(pods);
                    last = Some((Arc::clone(&pods), Instant::now()));
                    publish.send_modify(|part| part.take(started, true, Some(pods), faults));
                }
                Err(error) => {
                    // An address may by now be another pod's.
                    last = last.filter(|(_, listed)| listed.elapsed() <= KEPT);
                    if last.is_none() {
                        targets.replace(Vec::new());
                    }
                    let pods = last.as_ref().map(|(pods, _)| Arc::clone(pods));
                    let reason = Some(error.to_string());
                    publish.send_modify(|part| part.take(started, false, pods, reason));
                }
            }
        }
    });
    receive
}

/// Asks the servers among `pods`; returns what is wrong with annotations, in one line.
fn replace(targets: &mut Targets, pods: &[Pod]) -> Option<String> {
    let (mut all, mut faults) = (Vec::new(), Vec::new());
    for pod in pods {
        match discovery::servers(pod) {
            Ok(found) => all.extend(found),
            Err(fault) => faults.push(format!("pod {}/{}: {fault}", pod.namespace, pod.name)),
        }
    }
    targets.replace(all);
    (!faults.is_empty()).then(|| faults.join("; "))
}
