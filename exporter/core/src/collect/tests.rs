//! Whole expositions, as files that a person can review. `UPDATE_GOLDEN=1` rewrites them.

use std::path::PathBuf;

use super::*;
use crate::{
    attribution::{self, Holding, Owner},
    contract::{Dialect, Hostname, Version},
    device::{Process, ProcessUtilization},
    exposition::{parse, text::render},
    queue::{LimitSource, Server, Target},
    simulated::fleet::Fleet,
};

pub(crate) fn golden(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name);
    if option_env_update() {
        write(&path, text);
    }
    let wanted = read(&path);
    assert!(
        wanted == text,
        "{} differs; run with UPDATE_GOLDEN=1 and review the difference",
        path.display()
    );
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test may ask whether to rewrite its files"
)]
fn option_env_update() -> bool {
    std::env::var_os("UPDATE_GOLDEN").is_some()
}

#[expect(clippy::disallowed_methods, reason = "golden files lie on disk")]
fn read(path: &PathBuf) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[expect(clippy::disallowed_methods, reason = "golden files lie on disk")]
fn write(path: &PathBuf, text: &str) {
    std::fs::write(path, text).unwrap();
}

fn busy(spec: &str, load: &[f64]) -> Snapshot {
    let mut fleet = Fleet::new(&spec.parse().unwrap(), 7);
    fleet.advance(60.0, load);
    fleet.snapshot(1_800_000_000.0, "node-1")
}

fn text(snapshot: &Snapshot) -> String {
    render(&collect(snapshot, "0.0.0"))
}

fn server(limit: Option<u64>) -> Server {
    Server {
        target: Target {
            url: "http://10.0.0.5:8000/metrics".into(),
            namespace: Some("serving".into()),
            pod: Some("chat-0".into()),
            ..Target::default()
        },
        server: "vllm",
        model: "say \"hi\"".into(),
        waiting: Some(3.0),
        running: Some(12.0),
        batch_limit: limit.map(|limit| (limit, LimitSource::Configured)),
        batch_efficiency: limit.map(|limit| 12.0 / limit as f64),
        ..Server::default()
    }
}

#[test]
fn whole_gpus() {
    golden(
        "golden/whole.txt",
        &text(&busy("1xH100-SXM5-80GB,1xL40S", &[0.7, 0.0])),
    );
}

#[test]
fn partitioned_gpus() {
    let spec = "1xH100-SXM5-80GB:mig=3g.40gb@4+2g.20gb@0+1g.10gb@2";
    golden("golden/mig.txt", &text(&busy(spec, &[0.7])));
}

#[test]
fn servers_and_faults() {
    let mut snapshot = busy("2xL4", &[0.5, 0.5]);
    snapshot.gpus[0].lost = Some("gpu is lost".into());
    snapshot.gpus[1].readings.power = Reading::Failed("unknown error".into());
    snapshot.gpus[1].readings.last_xid = Reading::Value(79);
    snapshot.servers = vec![server(Some(16))];
    snapshot.sources.push(SourceStatus {
        name: "vllm".into(),
        target: Some("http://10.0.0.6:8000/metrics".into()),
        failures: 4,
        duration: Some(1.0),
        ..SourceStatus::default()
    });
    golden("golden/faults.txt", &text(&snapshot));
}

#[test]
fn the_other_dialect() {
    let spec = "1xH100-SXM5-80GB:mig=3g.40gb@4+1g.10gb@2";
    let contract = Arc::new(Contract::new(Dialect::of(Version::V483)));
    let families = collect_under(&contract, &busy(spec, &[0.7]), "0.0.0");
    golden("golden/dialect-4.8.3.txt", &render(&families));
}

#[test]
fn a_counters_file_in_the_names_of_version_1() {
    let counters = "DCGM_FI_DEV_GPU_TEMP_CELSIUS, gauge, Heat \\ \u{e9}\n\
        dcgm_power_usage, counter, Watts\nDCGM_FI_DEV_FB_USED_RATIO, gauge, Share\n\
        DCGM_FI_SYSTEM_DRIVER_VERSION, label, Driver\nDCGM_FI_DEV_ECC_DBE_VOL_TOTAL, counter, Errors\n";
    let dialect = Dialect {
        hostname: Hostname::Absent,
        old_namespace: true,
        dashes_in_model: true,
        version: Version::V482,
    };
    let (contract, _) = Contract::read(counters, dialect).unwrap();
    let snapshot = busy("1xH100-SXM5-80GB:mig=3g.40gb@4", &[0.7]);
    let mut families = collect_under(&Arc::new(contract), &snapshot, "0.0.0");
    families.retain(|family| family.metric.name.starts_with("DCGM_"));
    golden("golden/version-1.txt", &render(&families));
}

#[test]
fn the_exposition_reads_back() {
    let snapshot = busy("1xH100-SXM5-80GB:mig=3g.40gb@4,1xL40S", &[0.3, 0.9]);
    let families = collect(&snapshot, "0.0.0");
    let samples = parse(&render(&families)).unwrap();
    let written: Vec<_> = (families.iter())
        .flat_map(|family| {
            family
                .series
                .iter()
                .map(move |series| (format!("{}{}", family.metric.name, series.suffix), series))
        })
        .collect();
    assert_eq!(samples.len(), written.len());
    for (sample, (name, series)) in samples.iter().zip(written) {
        assert_eq!(sample.name, name);
        let labels = series
            .labels
            .iter()
            .map(|(name, value)| ((*name).to_string(), value.clone()));
        assert_eq!(sample.labels, labels.collect());
        let value = match series.value {
            Value::Whole(value) => value as f64,
            Value::Fixed(value) | Value::Exact(value) => value,
        };
        assert!((sample.value - value).abs() <= 5e-7, "{name}");
    }
}

#[test]
fn a_limit_that_nobody_knows_gives_no_series() {
    let mut snapshot = busy("1xL4", &[0.5]);
    snapshot.servers = vec![server(None)];
    let text = text(&snapshot);
    assert!(text.contains("foresail_inference_queue_depth"));
    assert!(!text.contains("foresail_inference_batch"));
}

#[test]
fn power_of_a_partitioned_gpu_is_counted_once() {
    let samples = parse(&text(&busy(
        "1xH100-SXM5-80GB:mig=3g.40gb@4+3g.40gb@0",
        &[1.0],
    )))
    .unwrap();
    let of = |name: &str| samples.iter().filter(|sample| sample.name == name).count();
    assert_eq!(of("DCGM_FI_DEV_POWER_USAGE"), 1);
    assert_eq!(of("DCGM_FI_DEV_FB_USED"), 3, "the board and two instances");
    assert_eq!(
        of("DCGM_FI_DEV_GPU_UTIL"),
        0,
        "unknown on a partitioned board, so absent"
    );
}

fn held(pod: &str, id: &str) -> Holding {
    Holding {
        namespace: "serving".into(),
        pod: pod.into(),
        container: "main".into(),
        devices: vec![("nvidia.com/gpu".into(), id.into())],
        ..Holding::default()
    }
}

fn process(pid: u32, memory: u64, percent: u32) -> Process {
    Process {
        pid,
        memory: Reading::Value(memory),
        utilization: Reading::Value(ProcessUtilization {
            sm: percent,
            ..ProcessUtilization::default()
        }),
        ..Process::default()
    }
}

/// A partitioned GPU, one of a pod's own, one that two share, and a free one.
fn owned() -> Snapshot {
    let spec = "1xH100-SXM5-80GB:mig=3g.40gb@4+1g.10gb@0,3xL4";
    let mut snapshot = busy(spec, &[0.7, 0.5, 0.5, 0.0]);
    let Partitioning::Mig(instances) = &snapshot.gpus[0].partitioning else {
        panic!("not partitioned");
    };
    let uuid = |gpu: usize| snapshot.gpus[gpu].identity.uuid.clone();
    let holdings = [
        held("part", &instances[0].uuid),
        held("whole", &uuid(1)),
        held("a", &format!("{}::0", uuid(2))),
        held("b", &format!("{}::1", uuid(2))),
        held("gone", "GPU-00"),
    ];
    let mut found = attribution::join(&snapshot.gpus, &holdings, &BTreeMap::new(), &[]);
    found.age = 2.5;
    let owner = |pod: &str| Owner {
        namespace: "serving".into(),
        pod: pod.into(),
        container: "main".into(),
        share: None,
    };
    found.processes = [(11, owner("a")), (12, owner("a")), (13, owner("b"))].into();
    snapshot.attribution = Some(found);
    let processes = [(11, 100, 10), (12, 50, 15), (13, 7, 0), (14, 1, 1)];
    let processes = processes.map(|(pid, memory, percent)| process(pid, memory, percent));
    snapshot.gpus[2].processes = Reading::Value(processes.to_vec());
    snapshot
}

#[test]
fn containers_stand_on_what_they_hold() {
    let starts = [
        "foresail_attribution_",
        "foresail_container_",
        "foresail_gpu_memory_",
        "foresail_gpu_pod_info{",
        "DCGM_FI_DEV_FB_USED{",
        "DCGM_FI_DEV_POWER_USAGE{",
    ];
    let wanted = |line: &&str| starts.iter().any(|start| line.starts_with(start));
    let text = text(&owned());
    let lines = text.lines().filter(wanted);
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    golden("golden/owners.txt", &text);
}
