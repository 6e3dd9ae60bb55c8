//! A node with a whole GPU, a partitioned one and one that is shared.

use super::*;
use crate::device::{ComputeInstance, Identity};

fn gpu(minor: u32, uuid: &str) -> Gpu {
    Gpu {
        identity: Identity {
            uuid: uuid.into(),
            minor,
            ..Identity::default()
        },
        ..Gpu::default()
    }
}

fn node() -> Vec<Gpu> {
    let instance = |id, uuid: &str| Instance {
        id,
        uuid: uuid.into(),
        ..Instance::default()
    };
    let mut cut = gpu(1, "GPU-b1");
    cut.partitioning = Partitioning::Mig(vec![instance(3, "MIG-c3"), instance(7, "MIG-c7")]);
    vec![gpu(0, "GPU-a0"), cut, gpu(2, "GPU-a2")]
}

fn holding(pod: &str, devices: &[&str]) -> Holding {
    let device = |id: &&str| ("nvidia.com/gpu".to_string(), (*id).to_string());
    Holding {
        namespace: "serving".into(),
        pod: pod.into(),
        container: "main".into(),
        devices: devices.iter().map(device).collect(),
        ..Holding::default()
    }
}

fn claim(pod: &str, device: &str) -> Holding {
    Holding {
        claims: vec![Claimed {
            driver: DRA_DRIVER.into(),
            pool: "node-1".into(),
            device: device.into(),
            share: None,
        }],
        ..holding(pod, &[])
    }
}

/// Pods that hold a GPU of `node()`, or its instance of that id.
fn pods(found: &Attribution, gpu: usize, instance: Option<u32>) -> Vec<String> {
    let owners = found.owners_of(&node()[gpu], instance).iter();
    owners.map(|owner| owner.pod.clone()).collect()
}

#[test]
fn devices_find_their_containers() {
    let holdings = [
        holding("whole", &["GPU-a0"]),
        holding("part", &["MIG-c7"]),
        holding("b", &["GPU-a2::1"]),
        holding("a", &["GPU-a2::0", "GPU-a2::0"]),
    ];
    let found = join(&node(), &holdings, &Slices::new(), &[]);
    assert_eq!(pods(&found, 0, None), ["whole"]);
    assert_eq!(
        pods(&found, 1, None),
        [""; 0],
        "the board of instances is nobody's"
    );
    assert_eq!(pods(&found, 1, Some(7)), ["part"]);
    assert_eq!(
        pods(&found, 2, None),
        ["a", "b"],
        "all sharers, each share once"
    );
    let shared = found.owners_of(&node()[2], None);
    assert_eq!(shared[1].share.as_deref(), Some("1"));
    let expected = Tally {
        held: 2,
        shared: 1,
        free: 1,
        unknown: vec![],
    };
    assert_eq!(found.tally, expected);
}

#[test]
fn gke_and_old_drivers_name_devices_by_number() {
    let holdings = [
        holding("whole", &["nvidia0"]),
        holding("part", &["nvidia1/gi3"]),
        holding("old", &["MIG-GPU-b1/7/0"]),
        holding("sliced", &["nvidia2/vgpu1"]),
    ];
    let found = join(&node(), &holdings, &Slices::new(), &[]);
    assert_eq!((found.tally.held, found.tally.free), (4, 0));
    assert_eq!(pods(&found, 1, Some(3)), ["part"]);
    assert_eq!(pods(&found, 1, Some(7)), ["old"]);
    assert_eq!(
        found.owners_of(&node()[2], None)[0].share.as_deref(),
        Some("1")
    );
}

#[test]
fn a_compute_instance_is_a_part_of_its_gpu_instance() {
    let mut gpus = node();
    let Partitioning::Mig(instances) = &mut gpus[1].partitioning else {
        panic!("not cut");
    };
    instances[0].compute = ["MIG-d0", "MIG-d1"]
        .map(|uuid| ComputeInstance {
            uuid: uuid.into(),
            ..ComputeInstance::default()
        })
        .to_vec();
    let holdings = [holding("a", &["MIG-d0"]), holding("b", &["MIG-d1"])];
    let found = join(&gpus, &holdings, &Slices::new(), &[]);
    assert_eq!(pods(&found, 1, Some(3)), ["a", "b"]);
    assert_eq!(found.tally.shared, 1);
}

#[test]
fn claims_are_found_by_their_slices_or_by_number() {
    let key = |device: &str| (DRA_DRIVER.into(), "node-1".into(), device.into());
    let slices = Slices::from([(key("gpu-1-mig-9-4-4"), "MIG-c3".into())]);
    let other = Holding {
        claims: vec![Claimed {
            driver: "net.example.com".into(),
            device: "gpu-0".into(),
            ..Claimed::default()
        }],
        ..holding("net", &[])
    };
    let holdings = [
        claim("part", "gpu-1-mig-9-4-4"),
        claim("whole", "gpu-2"),
        other,
    ];
    let found = join(&node(), &holdings, &slices, &[]);
    assert_eq!(pods(&found, 1, Some(3)), ["part"]);
    assert_eq!(pods(&found, 2, None), ["whole"]);
    assert_eq!(
        (pods(&found, 0, None).len(), found.tally.unknown.len()),
        (0, 0)
    );
}

#[test]
fn what_nobody_knows_is_counted_and_other_makers_are_not() {
    let mut holdings = [
        holding("gone", &["GPU-ff", "nvidia9", "MIG-ff", "nvidia1/gi9", "x"]),
        claim("new", "gpu-1-mig-1-1-1"),
        holding("nic", &["mlx5_0"]),
        holding("own", &["GPU-a0"]),
    ];
    holdings[2].devices[0].0 = "rdma/hca".into();
    holdings[3].devices[0].0 = "example.com/gpu".into();
    let resources = ["example.com/gpu".to_string()];
    let found = join(&node(), &holdings, &Slices::new(), &resources);
    let expected = [
        "GPU-ff",
        "MIG-ff",
        "node-1/gpu-1-mig-1-1-1",
        "nvidia1/gi9",
        "nvidia9",
        "x",
    ];
    assert_eq!(found.tally.unknown, expected);
    assert_eq!(pods(&found, 0, None), ["own"]);
}

#[test]
fn labels_name_only_what_all_owners_have_in_common() {
    let owner = |pod: &str, container: &str| Owner {
        pod: pod.into(),
        container: container.into(),
        ..Owner::default()
    };
    assert_eq!(common(&[]), None);
    let (a, b) = (owner("p", "a"), owner("p", "b"));
    assert_eq!(common(&[a.clone(), a.clone()]), Some((&a, true)));
    assert_eq!(common(&[a.clone(), b]), Some((&a, false)));
    assert_eq!(common(&[a, owner("q", "a")]), None);
}
