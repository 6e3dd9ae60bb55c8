//! Jobs and Kueue's workloads of the whole cluster.

use std::{collections::BTreeMap, time::Duration};

use exporter_core::{
    pod::is_gpu,
    queue::batch::{Job, Queue, Stage, Workload, queues},
};
use serde::Deserialize;

use super::{ApiError, ApiServer};

/// Kueue's workloads, newest version last: the older is served by more releases.
const WORKLOADS: [&str; 2] = [
    "/apis/kueue.x-k8s.io/v1beta1/workloads",
    "/apis/kueue.x-k8s.io/v1beta2/workloads",
];

/// Batch work by queue; workloads are none where Kueue is not installed.
pub(crate) async fn of_cluster(
    api: &ApiServer,
    deadline: Duration,
) -> Result<Vec<Queue>, ApiError> {
    let jobs: Vec<JobObject> = api.list("/apis/batch/v1/jobs", &[], deadline).await?;
    let mut workloads: Vec<WorkloadObject> = Vec::new();
    for path in WORKLOADS {
        match api.list(path, &[], deadline).await {
            Ok(found) => {
                workloads = found;
                break;
            }
            Err(ApiError::Status { status: 404, .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let jobs: Vec<Job> = jobs.into_iter().map(job).collect();
    let workloads: Vec<Workload> = workloads.into_iter().map(workload).collect();
    Ok(queues(&jobs, &workloads))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    owner_references: Vec<OwnerReference>,
}

#[derive(Deserialize)]
struct OwnerReference {
    uid: String,
}

#[derive(Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    name: String,
    status: String,
}

#[derive(Deserialize)]
struct JobObject {
    metadata: Metadata,
    #[serde(default)]
    spec: JobSpec,
    #[serde(default)]
    status: JobStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct JobSpec {
    suspend: bool,
    template: Template,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct JobStatus {
    ready: u64,
    conditions: Vec<Condition>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Template {
    spec: TemplateSpec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TemplateSpec {
    containers: Vec<Container>,
}

#[derive(Deserialize)]
struct Container {
    #[serde(default)]
    resources: Resources,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Resources {
    limits: BTreeMap<String, serde_json::Value>,
    claims: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct WorkloadObject {
    metadata: Metadata,
    #[serde(default)]
    spec: WorkloadSpec,
    #[serde(default)]
    status: WorkloadStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WorkloadSpec {
    queue_name: String,
    active: Option<bool>,
    pod_sets: Vec<PodSet>,
}

#[derive(Deserialize)]
struct PodSet {
    #[serde(default)]
    template: Template,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WorkloadStatus {
    conditions: Vec<Condition>,
}

fn asks_for_gpus(template: &Template) -> bool {
    template.spec.containers.iter().any(|container| {
        let resources = &container.resources;
        resources.limits.keys().any(|name| is_gpu(name)) || !resources.claims.is_empty()
    })
}

fn holds(conditions: &[Condition], name: &str) -> bool {
    let wanted = |condition: &Condition| condition.name == name && condition.status == "True";
    conditions.iter().any(wanted)
}

fn owners(metadata: Metadata) -> (String, String, Vec<String>) {
    let owners = metadata.owner_references.into_iter().map(|owner| owner.uid);
    (metadata.namespace, metadata.uid, owners.collect())
}

fn job(object: JobObject) -> Job {
    let conditions = &object.status.conditions;
    let stage = if holds(conditions, "Complete") || holds(conditions, "Failed") {
        Stage::Ended
    } else if object.spec.suspend {
        Stage::Suspended
    } else if object.status.ready > 0 {
        Stage::Running
    } else {
        Stage::Pending
    };
    let (namespace, uid, owners) = owners(object.metadata);
    Job {
        namespace,
        uid,
        owners,
        stage,
        gpus: asks_for_gpus(&object.spec.template),
    }
}

fn workload(object: WorkloadObject) -> Workload {
    let conditions = &object.status.conditions;
    let stage = if holds(conditions, "Finished") {
        Stage::Ended
    } else if holds(conditions, "Admitted") {
        // Also one that is put off, until its pods are gone.
        Stage::Running
    } else if object.spec.active == Some(false) {
        Stage::Suspended
    } else {
        Stage::Pending
    };
    let (namespace, _, owners) = owners(object.metadata);
    Workload {
        namespace,
        owners,
        queue: object.spec.queue_name,
        stage,
        gpus: (object.spec.pod_sets.iter()).any(|set| asks_for_gpus(&set.template)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_read() {
        let text = r#"{"metadata":{"name":"train","namespace":"research","uid":"j1","ownerReferences":[{"kind":"JobSet","uid":"s1"}]},
            "spec":{"suspend":true,"template":{"spec":{"containers":[{"name":"c","resources":{"limits":{"nvidia.com/mig-1g.10gb":1}}}]}}},
            "status":{"active":2,"ready":1,"conditions":[{"type":"Suspended","status":"True"},{"type":"Failed","status":"False"}]}}"#;
        let expected = Job {
            namespace: "research".into(),
            uid: "j1".into(),
            owners: vec!["s1".into()],
            stage: Stage::Suspended,
            gpus: true,
        };
        assert_eq!(job(serde_json::from_str(text).unwrap()), expected);
        let bare = job(serde_json::from_str(r#"{"metadata":{}}"#).unwrap());
        assert_eq!(bare, Job::default());
    }

    #[test]
    fn stages_are_told_by_conditions() {
        let stage = |text: &str| job(serde_json::from_str(text).unwrap()).stage;
        let with = |status: &str| format!(r#"{{"metadata":{{}},"status":{status}}}"#);
        assert_eq!(stage(&with(r#"{"active":1}"#)), Stage::Pending);
        assert_eq!(stage(&with(r#"{"active":1,"ready":1}"#)), Stage::Running);
        let ended = with(r#"{"conditions":[{"type":"Complete","status":"True"}]}"#);
        assert_eq!(stage(&ended), Stage::Ended);
        let stage = |text: &str| workload(serde_json::from_str(text).unwrap()).stage;
        let with = |spec: &str, condition: &str| {
            let conditions = format!(r#"[{{"type":"{condition}","status":"True"}}]"#);
            format!(r#"{{"metadata":{{}},"spec":{spec},"status":{{"conditions":{conditions}}}}}"#)
        };
        assert_eq!(stage(&with("{}", "QuotaReserved")), Stage::Pending);
        assert_eq!(
            stage(&with(r#"{"active":false}"#, "Evicted")),
            Stage::Suspended
        );
        assert_eq!(
            stage(&with(r#"{"active":false}"#, "Admitted")),
            Stage::Running
        );
        assert_eq!(stage(&with("{}", "Finished")), Stage::Ended);
    }

    #[test]
    fn a_workload_is_read() {
        let text = r#"{"metadata":{"namespace":"research","uid":"w1","ownerReferences":[{"uid":"j1"}]},
            "spec":{"queueName":"gpus","podSets":[{"name":"main","count":8,"template":{"spec":{"containers":[{"resources":{"limits":{"nvidia.com/gpu":"8"}}}]}}}]},
            "status":{"conditions":[{"type":"QuotaReserved","status":"True"},{"type":"Admitted","status":"True"}]}}"#;
        let expected = Workload {
            namespace: "research".into(),
            queue: "gpus".into(),
            owners: vec!["j1".into()],
            stage: Stage::Running,
            gpus: true,
        };
        assert_eq!(workload(serde_json::from_str(text).unwrap()), expected);
    }
}
