//! Partitioned boards: what shows beside them, what fits on them, and what happens when they are cut anew.

use crate::exporter::{Exporter, Scrape};

const CUT: &str = "gpu 0 board H100\ngpu 0 mig on\ngpu 0 set gpm_graphics 60\n";

fn placeable(scrape: &Scrape, profile: &str) -> (Option<f64>, Option<f64>) {
    let of = |name: &str| scrape.value(name, &[("gpu", "0"), ("profile", profile)]);
    (
        of("foresail_mig_placeable_instances"),
        of("foresail_mig_placeable_instances_compacted"),
    )
}

#[test]
fn instances_show_beside_their_board() {
    let mut exporter = Exporter::start(&format!(
        "{CUT}gpu 0 instance 3g.40gb id 2 start 4 used 26\ngpu 0 instance 1g.10gb id 9 start 2 used 9\n\
         gpu 0 set gpm_graphics.2 75\ngpu 0 set gpm_tensor.2 50\ngpu 0 set gpm_dram.2 25\n"
    ));
    let instance = [("GPU_I_PROFILE", "3g.40gb"), ("GPU_I_ID", "2")];
    let scrape = exporter.scrape_until("a second pass", |s| {
        s.value("DCGM_FI_PROF_GR_ENGINE_ACTIVE", &instance)
            .is_some()
    });
    let small = [("GPU_I_PROFILE", "1g.10gb"), ("GPU_I_ID", "9")];
    assert_eq!(scrape.value("DCGM_FI_DEV_FB_USED", &instance), Some(26.0));
    assert_eq!(scrape.value("DCGM_FI_DEV_FB_FREE", &small), Some(9975.0));
    for (name, ratio) in [
        ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.75),
        ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.5),
        ("DCGM_FI_PROF_DRAM_ACTIVE", 0.25),
    ] {
        assert_eq!(scrape.value(name, &instance), Some(ratio), "{name}");
    }
    // Power is the board's alone; utilization is not known while MIG is on.
    for (name, count) in [
        ("DCGM_FI_DEV_POWER_USAGE", 1),
        ("DCGM_FI_DEV_GPU_TEMP", 1),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 1),
        ("DCGM_FI_DEV_GPU_UTIL", 0),
        ("DCGM_FI_DEV_ENC_UTIL", 0),
    ] {
        assert_eq!(scrape.names(name), count, "{name}");
    }
    // 40448 + 9984 MiB claimed, 26 + 9 used, of 81559.
    let fragmented = scrape.value("foresail_gpu_memory_fragmentation_ratio", &[("gpu", "0")]);
    assert!((fragmented.unwrap() - (50_432.0 - 35.0) / 81_559.0).abs() < 1e-9);
}

#[test]
fn what_fits_is_told_as_the_board_is_cut_anew() {
    // kubernetes-sigs/dra-driver-nvidia-gpu#933: a real listing.
    let mut exporter = Exporter::start(&format!(
        "{CUT}gpu 0 instance 1g.10gb id 7 start 0 used 1\ngpu 0 instance 1g.10gb id 8 start 1 used 1\n\
         gpu 0 instance 1g.10gb id 12 start 5 used 1\n"
    ));
    let ratio = "foresail_mig_fragmentation_ratio";
    let scrape = exporter.scrape_until("the layout", |s| s.names(ratio) == 1);
    assert_eq!(placeable(&scrape, "1g.10gb"), (Some(4.0), Some(4.0)));
    assert_eq!(placeable(&scrape, "2g.20gb"), (Some(1.0), Some(2.0)));
    assert_eq!(placeable(&scrape, "3g.40gb"), (Some(0.0), Some(1.0)));
    assert_eq!(scrape.value(ratio, &[]), Some(0.5));
    let slices = [("kind", "memory")];
    assert_eq!(scrape.value("foresail_mig_free_slices", &slices), Some(5.0));
    assert_eq!(
        scrape.value("foresail_mig_stranded_slices", &slices),
        Some(0.0)
    );
    let place = [("GPU_I_ID", "12"), ("start", "5"), ("size", "1")];
    assert_eq!(
        scrape.value("foresail_mig_instance_info", &place),
        Some(1.0)
    );
    // One instance goes and two come, one of them without a compute instance: within one pass.
    exporter.becomes(&format!(
        "{CUT}gpu 0 instance 1g.10gb id 7 start 0 used 1\ngpu 0 instance 1g.10gb id 8 start 1 used 1\n\
         gpu 0 instance 2g.20gb id 4 start 2 used 0 bare\ngpu 0 instance 3g.40gb id 2 start 4 used 3\n"
    ));
    let scrape = exporter.scrape_until("the new layout", |s| s.value(ratio, &[]) == Some(0.0));
    assert_eq!(scrape.names("foresail_mig_instance_info"), 4);
    assert_eq!(scrape.names("foresail_mig_compute_instance_info"), 3);
    assert_eq!(scrape.value("foresail_mig_free_slices", &slices), Some(0.0));
    let bare = [("GPU_I_ID", "4"), ("GPU_I_PROFILE", "2g.20gb")];
    assert_eq!(scrape.value("DCGM_FI_DEV_FB_FREE", &bare), Some(20_096.0));
    assert_eq!(scrape.names("foresail_gpu_memory_fragmentation_ratio"), 1);
}

#[test]
fn without_privileges_places_are_absent_with_a_reason_and_all_else_goes_on() {
    let mut exporter = Exporter::start(&format!(
        "{CUT}gpu 0 instance 3g.40gb id 2 start 4 used 26\n\
         gpu 0 fault nvmlDeviceGetGpuInstancePossiblePlacements_v2 return 4\n\
         gpu 0 fault nvmlDeviceGetGpuInstances return 4\n"
    ));
    let instance = [("GPU_I_PROFILE", "3g.40gb"), ("GPU_I_ID", "2")];
    let scrape = exporter.scrape_until("the instance", |s| {
        s.value("DCGM_FI_DEV_FB_USED", &instance) == Some(26.0)
    });
    for name in [
        "foresail_mig_placeable_instances",
        "foresail_mig_fragmentation_ratio",
        "foresail_mig_free_slices",
    ] {
        assert_eq!(scrape.names(name), 0, "{name}");
    }
    let reason = [
        ("what", "mig_placement"),
        (
            "reason",
            "nvmlDeviceGetGpuInstancePossiblePlacements_v2 failed with NO_PERMISSION",
        ),
    ];
    assert_eq!(
        scrape.value("foresail_gpu_absent_info", &reason),
        Some(1.0),
        "{}",
        scrape.0
    );
    let source = [("source", "nvml")];
    assert_eq!(
        scrape.value("foresail_source_success", &source),
        Some(1.0),
        "a lasting state"
    );
    assert_eq!(
        scrape.value("foresail_mig_instance_info", &instance),
        Some(1.0)
    );
}

#[test]
fn a_part_of_an_instance_is_told_from_the_whole() {
    // NVIDIA's B300 gives an 18-multiprocessor compute instance in a GPU instance of 30.
    let mut exporter = Exporter::start(
        "gpu 0 board B300\ngpu 0 mig on\ngpu 0 instance 1g.67gb id 3 start 0 used 1 bare\n\
         gpu 0 compute 0 in 3 slices 1 multiprocessors 18\n\
         gpu 0 instance 3g.135gb id 2 start 4 used 1 bare\ngpu 0 compute 0 in 2 slices 1 multiprocessors 16\n\
         gpu 0 compute 1 in 2 slices 2 multiprocessors 32\n",
    );
    let devices = "foresail_mig_compute_instance_info";
    let scrape = exporter.scrape_until("the devices", |s| s.names(devices) == 3);
    let whole = scrape.value(
        "foresail_mig_instance_multiprocessors",
        &[("GPU_I_ID", "3")],
    );
    let part = scrape.value(
        "foresail_mig_compute_instance_multiprocessors",
        &[("GPU_I_ID", "3")],
    );
    assert_eq!((whole, part), (Some(30.0), Some(18.0)));
    let second = [
        ("GPU_I_ID", "2"),
        ("GPU_I_PROFILE", "3g.135gb"),
        ("compute_instance", "1"),
        ("compute_profile", "2c.3g.135gb"),
    ];
    assert_eq!(scrape.value(devices, &second), Some(1.0), "{}", scrape.0);
    let memory = [("GPU_I_ID", "2")];
    assert!(
        scrape.value("DCGM_FI_DEV_FB_USED", &memory).is_some(),
        "once for the instance"
    );
}

#[test]
fn an_id_that_is_used_again_starts_anew() {
    let busy = |profile: &str, id_and_start: &str| {
        format!(
            "{CUT}gpu 0 instance {profile} {id_and_start} used 5\ngpu 0 set gpm_graphics.9 90\n"
        )
    };
    let mut exporter = Exporter::start(&busy("1g.10gb", "id 9 start 2"));
    let engine = "DCGM_FI_PROF_GR_ENGINE_ACTIVE";
    let small = [("GPU_I_PROFILE", "1g.10gb"), ("GPU_I_ID", "9")];
    exporter.scrape_until("the first", |s| s.value(engine, &small) == Some(0.9));
    // Another instance with the number, and so with the UUID, of the first.
    exporter.becomes(&busy("2g.20gb", "id 9 start 2"));
    let large = [("GPU_I_PROFILE", "2g.20gb"), ("GPU_I_ID", "9")];
    let scrape = exporter.scrape_until("the second", |s| {
        s.value("DCGM_FI_DEV_FB_USED", &large).is_some()
    });
    assert_eq!(scrape.value("DCGM_FI_DEV_FB_USED", &small), None);
    assert_eq!(
        scrape.value(engine, &large),
        None,
        "no window reaches over both"
    );
    exporter.scrape_until("its own window", |s| s.value(engine, &large) == Some(0.9));
}

#[test]
fn a_node_may_be_mixed_and_a_cut_board_may_be_empty() {
    let mut exporter = Exporter::start(
        "gpu 0 board A30\ngpu 0 mig on\ngpu 1 board L4\ngpu 2 board H200\ngpu 3 board P100\n",
    );
    let scrape = exporter.scrape_until("the boards", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 4);
    let fits = [("gpu", "0"), ("profile", "2g.12gb")];
    assert_eq!(
        scrape.value("foresail_mig_placeable_instances", &fits),
        Some(2.0)
    );
    for gpu in ["1", "2", "3"] {
        assert_eq!(
            scrape.value("foresail_mig_fragmentation_ratio", &[("gpu", gpu)]),
            None
        );
        assert_eq!(
            scrape.value(
                "foresail_gpu_absent_info",
                &[("gpu", gpu), ("what", "mig_placement")]
            ),
            None
        );
        assert_eq!(
            scrape.value("DCGM_FI_DEV_GPU_UTIL", &[("gpu", gpu)]),
            Some(0.0)
        );
    }
    let unmeasured = [("gpu", "0"), ("what", "utilization")];
    assert_eq!(
        scrape.value("foresail_gpu_absent_info", &unmeasured),
        Some(1.0)
    );
    exporter.scrape_until("a third pass", |_| true);
    let mut waited = 0;
    while !exporter.log().contains("its load is unknown, not zero") {
        exporter.scrape_until("the next", |_| true);
        std::thread::sleep(std::time::Duration::from_millis(50));
        waited += 1;
        assert!(waited < 400, "{}", exporter.log());
    }
}
