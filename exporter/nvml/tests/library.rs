//! The safe calls against the driver library for tests, loaded as the real one is: values, "not supported" and
//! failures come through as what they are. It never needs a GPU.
#![expect(
    unsafe_code,
    reason = "the library's file is named by the environment of this process"
)]
#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use exporter_nvml::{
    Field, GpmSample, GpuInstance, Library, List, Memory, MigMode, Placement, XidEvent, XidWatch,
};

const MIB: u64 = 1 << 20;

/// One world at a time: the library reads one file for the whole process.
struct World {
    library: PathBuf,
    file: PathBuf,
    _turn: MutexGuard<'static, ()>,
}

impl World {
    fn new(text: &str) -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        static FILES: OnceLock<(PathBuf, PathBuf)> = OnceLock::new();
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let (library, file) = FILES.get_or_init(|| {
            let file = std::env::temp_dir().join(format!("nvml-world-{}", std::process::id()));
            // SAFETY: under the lock that every test of this process takes before it calls anything.
            unsafe { std::env::set_var("FORESAIL_TEST_NVML", &file) };
            (build(), file)
        });
        let world = Self {
            library: library.clone(),
            file: file.clone(),
            _turn: turn,
        };
        world.becomes(text);
        world
    }

    /// In one step: the library looks whether the file is another one.
    fn becomes(&self, text: &str) {
        let next = self.file.with_extension("next");
        std::fs::write(&next, text).unwrap();
        std::fs::rename(next, &self.file).unwrap();
    }

    fn open(&self) -> Library {
        Library::open(Some(&self.library)).unwrap()
    }
}

impl World {
    /// A count that the library keeps beside the file.
    fn state(&self, name: &str) -> i64 {
        let text = std::fs::read_to_string(format!("{}.state", self.file.display())).unwrap();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap().parse().unwrap()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(format!("{}.state", self.file.display()));
        let _ = std::fs::remove_file(&self.file);
    }
}

/// Builds the library into the folder that this test was built into.
fn build() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).unwrap();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--package", "tests-nvml"])
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .unwrap();
    assert!(built.success(), "cargo build --package tests-nvml failed");
    let library = target.join("debug/libtests_nvml.so");
    assert!(library.is_file(), "not built: {}", library.display());
    library
}

#[test]
fn a_board_reads_as_the_driver_says() {
    let world =
        World::new("gpu 0 board H100\ngpu 0 set power 612345\ngpu 0 set memory_used_mib 1000\n");
    let library = world.open();
    assert_eq!(library.driver_version().unwrap(), "590.48.01");
    assert_eq!(library.device_count().unwrap(), 1);
    let gpu = library.device(0).unwrap();
    let identity = gpu.identity().unwrap();
    assert_eq!(identity.name, "NVIDIA H100 80GB HBM3");
    assert_eq!(identity.pci_bus_id, "00000000:1A:00.0");
    assert_eq!(identity.uuid, "GPU-00000000-0000-0000-0000-000000000000");
    assert_eq!(identity.minor, Some(0));
    assert_eq!(gpu.power().unwrap(), 612_345);
    assert_eq!(gpu.sm_clock().unwrap(), 396);
    assert_eq!(gpu.sm_clock_limit().unwrap(), 1980);
    assert_eq!(gpu.enforced_power_limit().unwrap(), 700_000);
    assert_eq!(gpu.clock_events().unwrap(), 1);
    assert!(gpu.nvlink_works(17).unwrap());
    assert_eq!(gpu.memory_clock().unwrap(), 2619);
    let mut fields = gpu.fields().unwrap();
    assert_eq!(fields.take(Field::MemoryTemperature).unwrap(), 48);
    assert_eq!(fields.take(Field::NvlinkCount).unwrap(), 18);
    assert_eq!(gpu.vgpu_license_status().unwrap(), 0);
    let expected = Memory {
        total: 81_559 * MIB,
        used: 1000 * MIB,
        free: (81_559 - 1000 - 479) * MIB,
        reserved: Some(479 * MIB),
    };
    assert_eq!(gpu.memory().unwrap(), expected);
}

#[test]
fn an_old_driver_reads_memory_by_the_first_version() {
    let world = World::new(
        "driver 470.256.02\ngpu 0 board T4\ngpu 0 set memory_used_mib 100\n\
         gpu 0 fault nvmlDeviceGetMemoryInfo_v2 return 13\n",
    );
    let memory = world.open().device(0).unwrap().memory().unwrap();
    assert_eq!(memory.reserved, None);
    assert_eq!(memory.used, (100 + 448) * MIB);
}

#[test]
fn unsupported_and_failed_are_told_apart_and_stay_local() {
    let world = World::new(
        "gpu 0 board L40S\ngpu 0 set gpu_utilization 100\ngpu 0 fault nvmlDeviceGetTemperature return 4711\n\
         gpu 0 fault field:142 return 4\ngpu 1 board T4\ngpu 1 fault * return 15\n",
    );
    let library = world.open();
    let gpu = library.device(0).unwrap();
    assert_eq!(gpu.mig_mode().unwrap_err().code(), "NOT_SUPPORTED");
    let mut fields = gpu.fields().unwrap();
    let mut absent = |field| fields.take(field).unwrap_err().is_unsupported();
    assert!(absent(Field::MemoryTemperature) && absent(Field::NvlinkSentKib));
    let refused = fields.take(Field::RemappedCorrectable).unwrap_err();
    assert_eq!(
        (refused.code(), refused.is_refused()),
        ("NO_PERMISSION", true)
    );
    assert_eq!(fields.take(Field::RemappedUncorrectable).unwrap(), 0);
    let odd = gpu.temperature().unwrap_err();
    assert_eq!((odd.code(), odd.is_unsupported()), ("UNKNOWN_CODE", false));
    assert_eq!(gpu.utilization().unwrap().gpu, 100);
    assert!(library.device(1).err().unwrap().is_lost());
}

#[test]
fn instances_carry_the_drivers_names_places_and_memory() {
    let text = "gpu 0 board H100\ngpu 0 mig on\n\
                gpu 0 instance 3g.40gb id 2 start 4 used 26\ngpu 0 instance 1g.10gb+me id 9 start 2 used 9\n";
    let world = World::new(text);
    let library = world.open();
    let gpu = library.device(0).unwrap();
    let on = MigMode {
        current: true,
        pending: true,
    };
    assert_eq!(gpu.mig_mode().unwrap(), on);
    assert!(gpu.utilization().unwrap_err().is_unsupported());
    assert!(gpu.power().is_ok(), "the board's own readings stay");
    let devices: Vec<_> = gpu.mig_devices().unwrap();
    let devices: Vec<_> = devices.into_iter().map(Result::unwrap).collect();
    let [large, small] = &devices[..] else {
        panic!("{devices:?}")
    };
    assert_eq!(large.profile.as_ref().unwrap(), "3g.40gb");
    assert_eq!(small.profile.as_ref().unwrap(), "1g.10gb+me");
    assert_eq!((large.gpu_instance, large.compute_instance), (2, 0));
    assert_eq!(large.multiprocessors.as_ref().unwrap(), &60);
    let memory = large.memory.as_ref().unwrap();
    assert_eq!((memory.total, memory.used), (40_448 * MIB, 26 * MIB));
}

#[test]
fn places_are_the_drivers_and_need_privileges() {
    let text = "gpu 0 board H100\ngpu 0 mig on\ngpu 0 instance 3g.40gb id 2 start 4 used 26\n";
    let world = World::new(text);
    let library = world.open();
    let gpu = library.device(0).unwrap();
    let profiles = gpu.gpu_profiles().unwrap();
    let names: Vec<&str> = profiles.iter().map(|p| p.name.as_str()).collect();
    let expected = [
        "1g.10gb",
        "1g.10gb+me",
        "1g.20gb",
        "2g.20gb",
        "3g.40gb",
        "4g.40gb",
        "7g.80gb",
    ];
    assert_eq!(names, expected);
    let third = &profiles[4];
    assert_eq!(
        (third.id, third.slices, third.most, third.multiprocessors),
        (9, 3, 2, 60)
    );
    let places = gpu.possible_placements(third.id).unwrap();
    assert_eq!(
        places,
        [
            Placement { start: 0, size: 4 },
            Placement { start: 4, size: 4 }
        ]
    );
    let instance = GpuInstance {
        id: 2,
        profile: 9,
        placement: Placement { start: 4, size: 4 },
    };
    assert_eq!(gpu.gpu_instances(third).unwrap(), [instance]);

    // Without privileges places are unknown, and the names are still known from the devices themselves.
    world.becomes(&format!(
        "{text}gpu 0 fault nvmlDeviceGetGpuInstancePossiblePlacements_v2 return 4\n\
         gpu 0 fault nvmlDeviceGetGpuInstances return 4\n"
    ));
    assert!(gpu.possible_placements(9).unwrap_err().is_refused());
    assert!(gpu.gpu_instances(third).unwrap_err().is_refused());
    let large = gpu
        .mig_devices()
        .unwrap()
        .into_iter()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(large.profile.unwrap(), "3g.40gb");
}

#[test]
fn processes_are_read_by_whatever_call_the_driver_has() {
    let text = "gpu 0 board T4\ngpu 0 process 41 compute used 500 busy 40 20\n\
                gpu 0 process 42 compute used na\ngpu 0 process 43 graphics used 7\n\
                gpu 1 board H100\ngpu 1 mig on\ngpu 1 instance 1g.10gb id 9 start 2 used 9\n\
                gpu 1 process 44 mps used 8 in 9\n";
    let world = World::new(text);
    let library = world.open();
    let gpu = library.device(0).unwrap();
    let read = || {
        let found = gpu.processes(List::Compute).unwrap();
        found.iter().map(|p| (p.pid, p.memory)).collect::<Vec<_>>()
    };
    let expected = [(41, Some(500 * MIB)), (42, None)];
    assert_eq!(read(), expected);
    assert_eq!(gpu.processes(List::Graphics).unwrap()[0].pid, 43);
    assert_eq!(gpu.processes(List::Mps).unwrap(), []);
    let sample = gpu.process_samples(0).unwrap();
    assert_eq!(sample.len(), 1, "{sample:?}");
    assert_eq!(
        (sample[0].pid, sample[0].sm, sample[0].memory),
        (41, 40, 20)
    );
    let partitioned = library.device(1).unwrap();
    let client = partitioned.processes(List::Mps).unwrap()[0];
    assert_eq!(
        (client.gpu_instance, client.compute_instance),
        (Some(9), Some(0))
    );
    assert!(partitioned.process_samples(0).unwrap_err().is_unsupported());

    let call = "nvmlDeviceGetComputeRunningProcesses";
    let old = format!(
        "{text}gpu 0 fault {call}_v3 return 13\ngpu 0 fault nvmlDeviceGetProcessesUtilizationInfo return 13\n"
    );
    world.becomes(&old);
    assert_eq!(read(), expected, "second version");
    assert_eq!(gpu.process_samples(0).unwrap().len(), 1, "the older call");
    world.becomes(&format!("{old}gpu 0 fault {call}_v2 return 13\n"));
    assert_eq!(read(), expected, "first version");
    world.becomes("gpu 0 board T4\n");
    assert_eq!(read(), []);
    assert_eq!(gpu.process_samples(0).unwrap(), [], "not found means idle");
}

#[test]
fn a_closed_library_is_shut_down_once_whoever_still_holds_it() {
    let world = World::new("gpu 0 board T4\n");
    let first = Arc::new(world.open());
    let held = Arc::clone(&first);
    first.close();
    drop(first);
    assert_eq!(held.device_count().unwrap_err().code(), "UNINITIALIZED");
    let second = world.open();
    drop(held);
    assert_eq!(second.device_count().unwrap(), 1, "the second stays open");
    drop(second);
    assert_eq!(world.state("open"), 0);
}

#[test]
fn a_partitioned_board_without_instances_is_no_fault() {
    let world = World::new("gpu 0 board A100\ngpu 0 mig on\n");
    let library = world.open();
    assert!(library.device(0).unwrap().mig_devices().unwrap().is_empty());
}

#[test]
fn an_xid_is_reported_once_and_only_to_its_board() {
    let boards = "gpu 0 board H100\ngpu 0 xid 13\ngpu 1 board H100\n";
    let world = World::new(boards);
    let library = Arc::new(world.open());
    let first = XidWatch::start(&library, 0).unwrap();
    let second = XidWatch::start(&library, 1).unwrap();
    assert_eq!(first.next().unwrap(), None, "older than the watch");
    world.becomes(&format!("{boards}gpu 1 xid 79\ngpu 1 xid 79\n"));
    let lost = XidEvent {
        xid: 79,
        gpu_instance: None,
    };
    assert_eq!(first.next().unwrap(), None);
    assert_eq!(second.next().unwrap(), Some(lost));
    assert_eq!(second.next().unwrap(), Some(lost), "the same number twice");
    assert_eq!(second.next().unwrap(), None);
}

#[test]
fn engines_are_measured_between_two_samples_of_the_same_thing() {
    let world = World::new(
        "gpu 0 board H100\ngpu 0 mig on\ngpu 0 instance 1g.10gb id 9 start 2 used 9\n\
         gpu 0 set gpm_graphics 50\ngpu 0 unset gpm_dram\ngpu 0 set gpm_graphics.9 75\ngpu 1 board T4\n",
    );
    let library = Arc::new(world.open());
    let gpu = library.device(0).unwrap();
    let take = |instance| GpmSample::take(&library, &gpu, instance).unwrap();
    let (first, second) = (take(None), take(None));
    let ratios = second.since(&first).unwrap();
    assert!((ratios.graphics_engine.unwrap() - 0.5).abs() < 1e-9);
    assert!(ratios.dram.unwrap_err().is_unsupported());
    let (early, late) = (take(Some(9)), take(Some(9)));
    let own = late.since(&early).unwrap().graphics_engine.unwrap();
    assert!((own - 0.75).abs() < 1e-9);
    assert!(late.since(&first).is_err(), "an instance against its board");
    let t4 = library.device(1).unwrap();
    let none = GpmSample::take(&library, &t4, None).err().unwrap();
    assert!(none.is_unsupported(), "{none}");
}

#[test]
fn a_library_that_is_absent_or_refuses_can_be_tried_again() {
    let world = World::new("gpu 0 board T4\nfault nvmlInit_v2 return 9\n");
    let absent = Library::open(Some(Path::new("/nonexistent/libnvidia-ml.so.1")));
    let absent = absent.err().unwrap();
    assert_eq!(absent.code(), "LIBRARY_NOT_FOUND");
    assert!(
        absent
            .to_string()
            .contains("/nonexistent/libnvidia-ml.so.1")
    );
    let refuses = Library::open(Some(&world.library)).err().unwrap();
    assert_eq!(refuses.code(), "DRIVER_NOT_LOADED");
    world.becomes("gpu 0 board T4\n");
    assert_eq!(world.open().device_count().unwrap(), 1);
}
