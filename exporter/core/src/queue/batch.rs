//! Batch work that waits: Jobs, and Kueue's workloads. Each piece of work counts once, however many pods or
//! ranks it has and however many objects stand for it. Only work that asks for GPUs counts. Asks nobody.

use std::collections::{BTreeMap, BTreeSet};

/// How far a piece of work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Stage {
    /// It waits for room.
    #[default]
    Pending,
    /// It is held back on purpose.
    Suspended,
    /// It runs.
    Running,
    /// It ended, well or badly.
    Ended,
}

/// A Job, as far as it is counted.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Job {
    /// Its namespace.
    pub namespace: String,
    /// Its uid.
    pub uid: String,
    /// Uids of what owns it, such as a set of jobs.
    pub owners: Vec<String>,
    /// How far it is; it runs when one of its pods is ready.
    pub stage: Stage,
    /// Whether its pods ask for GPUs.
    pub gpus: bool,
}

/// A workload of Kueue, which stands for a job of any kind.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Workload {
    /// Its namespace.
    pub namespace: String,
    /// The queue that it was put into.
    pub queue: String,
    /// Uids of what it stands for.
    pub owners: Vec<String>,
    /// How far it is; it runs from when it was let in until its pods are gone.
    pub stage: Stage,
    /// Whether it asks for GPUs.
    pub gpus: bool,
}

/// Work of one queue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Queue {
    /// Namespace of the work.
    pub namespace: String,
    /// `job` or `workload`.
    pub kind: &'static str,
    /// Kueue's queue; empty for Jobs.
    pub queue: String,
    /// Work that waits for room.
    pub pending: u64,
    /// Work that is held back on purpose.
    pub suspended: u64,
    /// Work that runs.
    pub running: u64,
}

/// Work by queue, sorted. A Job that a workload stands for, itself or by its owner, counts as the workload.
pub fn queues(jobs: &[Job], workloads: &[Workload]) -> Vec<Queue> {
    let managed: BTreeSet<&str> = (workloads.iter())
        .flat_map(|workload| workload.owners.iter().map(String::as_str))
        .collect();
    let mut found: BTreeMap<(&str, &'static str, &str), Queue> = BTreeMap::new();
    let mut count = |namespace, kind, queue, stage| {
        let entry = found.entry((namespace, kind, queue)).or_default();
        match stage {
            Stage::Pending => entry.pending += 1,
            Stage::Suspended => entry.suspended += 1,
            Stage::Running => entry.running += 1,
            Stage::Ended => {}
        }
    };
    let counts = |gpus: bool, stage: Stage| gpus && stage != Stage::Ended;
    for one in workloads.iter().filter(|one| counts(one.gpus, one.stage)) {
        count(
            one.namespace.as_str(),
            "workload",
            one.queue.as_str(),
            one.stage,
        );
    }
    for one in jobs.iter().filter(|one| counts(one.gpus, one.stage)) {
        let mut names = one.owners.iter().chain([&one.uid]);
        if !names.any(|uid| managed.contains(uid.as_str())) {
            count(&one.namespace, "job", "", one.stage);
        }
    }
    let queues = found.into_iter();
    let named = queues.map(|((namespace, kind, queue), counted)| Queue {
        namespace: namespace.into(),
        kind,
        queue: queue.into(),
        ..counted
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(uid: &str) -> Job {
        Job {
            namespace: "research".into(),
            uid: uid.into(),
            gpus: true,
            ..Job::default()
        }
    }

    fn workload(owner: &str) -> Workload {
        Workload {
            namespace: "research".into(),
            queue: "gpus".into(),
            owners: vec![owner.into()],
            gpus: true,
            ..Workload::default()
        }
    }

    fn counts(queue: &Queue) -> (&str, &str, u64, u64, u64) {
        let Queue {
            kind,
            queue,
            pending,
            suspended,
            running,
            ..
        } = queue;
        (kind, queue.as_str(), *pending, *suspended, *running)
    }

    fn at(stage: Stage, job: Job) -> Job {
        Job { stage, ..job }
    }

    #[test]
    fn jobs_wait_are_held_or_run() {
        let without = Job {
            gpus: false,
            ..job("e")
        };
        let jobs = [
            job("a"),
            at(Stage::Suspended, job("b")),
            at(Stage::Running, job("c")),
            at(Stage::Ended, job("d")),
            without,
        ];
        let found = queues(&jobs, &[]);
        assert_eq!(found.len(), 1);
        assert_eq!(counts(&found[0]), ("job", "", 1, 1, 1));
    }

    #[test]
    fn a_job_of_kueue_counts_once() {
        let own = at(Stage::Suspended, job("a"));
        let of_a_set = Job {
            owners: vec!["set".into()],
            ..job("b")
        };
        let mut let_in = workload("set");
        let_in.stage = Stage::Running;
        let found = queues(&[own, of_a_set], &[workload("a"), let_in]);
        assert_eq!(found.len(), 1);
        assert_eq!(counts(&found[0]), ("workload", "gpus", 1, 0, 1));
    }

    #[test]
    fn a_job_whose_workload_ended_is_not_counted_anew() {
        let mut ended = workload("a");
        ended.stage = Stage::Ended;
        assert_eq!(queues(&[job("a")], &[ended]), []);
    }

    #[test]
    fn namespaces_and_queues_stand_apart() {
        let other = Job {
            namespace: "a".into(),
            ..job("x")
        };
        let found = queues(&[job("y"), other], &[workload("z")]);
        let names: Vec<_> = found
            .iter()
            .map(|q| (q.namespace.as_str(), q.kind))
            .collect();
        assert_eq!(
            names,
            [("a", "job"), ("research", "job"), ("research", "workload")]
        );
    }
}
