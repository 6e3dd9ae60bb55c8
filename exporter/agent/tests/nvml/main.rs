//! The real exporter process on the driver library for tests: what a scrape says about boards that work, are
//! partitioned, lost, hung or not there at all. It never needs a GPU and waits for conditions, not for time to pass.
#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod budget;

mod diagnosis;

mod exporter;

mod faults;

mod hung;

mod mig;

mod optional;

#[path = "../stand_in/server.rs"]
mod server;

mod soak;

use self::exporter::{Exporter, library};

#[test]
fn boards_show_under_dcgms_names_and_labels() {
    let mut exporter = Exporter::start(
        "gpu 0 board H100\ngpu 0 set power 612345\ngpu 0 set memory_used_mib 1000\n\
         gpu 0 set gpu_utilization 97\ngpu 1 board L40S\ngpu 1 set gpu_utilization 100\n",
    );
    let scrape = exporter.scrape_until("two boards", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 2);
    let labels = "gpu=\"0\",UUID=\"GPU-00000000-0000-0000-0000-000000000000\",\
                  pci_bus_id=\"00000000:1A:00.0\",device=\"nvidia0\",\
                  modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"node-1\",\
                  DCGM_FI_DRIVER_VERSION=\"590.48.01\"";
    for (name, value) in [
        ("DCGM_FI_DEV_SM_CLOCK", "396"),
        ("DCGM_FI_DEV_MEM_CLOCK", "2619"),
        ("DCGM_FI_DEV_MEMORY_TEMP", "48"),
        ("DCGM_FI_DEV_GPU_TEMP", "42"),
        ("DCGM_FI_DEV_POWER_USAGE", "612.345000"),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "1234567"),
        ("DCGM_FI_DEV_GPU_UTIL", "97"),
        ("DCGM_FI_DEV_FB_USED", "1000"),
        ("DCGM_FI_DEV_FB_FREE", "80080"),
        ("DCGM_FI_DEV_FB_RESERVED", "479"),
        ("DCGM_FI_DEV_ROW_REMAP_FAILURE", "0"),
    ] {
        let line = format!("{name}{{{labels}}} {value}");
        assert!(scrape.0.lines().any(|l| l == line), "{line}\n{}", scrape.0);
    }
    // The second board has no memory sensor and no links: absent, not zero.
    let l40s = [("gpu", "1")];
    assert_eq!(scrape.value("DCGM_FI_DEV_GPU_UTIL", &l40s), Some(100.0));
    assert_eq!(scrape.value("DCGM_FI_DEV_MEMORY_TEMP", &l40s), None);
    let links = "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL";
    assert_eq!(scrape.value(links, &l40s), None);
    assert_eq!(scrape.source_up(), Some(1.0));
}

#[test]
fn a_failing_call_costs_its_own_series_and_an_xid_shows() {
    let world = "gpu 0 board A100\ngpu 0 fault nvmlDeviceGetTemperature return 4711\n";
    let mut exporter = Exporter::start(world);
    let gpu = [("gpu", "0")];
    let scrape = exporter.scrape_until("the board", |s| s.names("DCGM_FI_DEV_SM_CLOCK") == 1);
    assert_eq!(scrape.value("DCGM_FI_DEV_GPU_TEMP", &gpu), None);
    assert_eq!(scrape.value("DCGM_FI_DEV_XID_ERRORS", &gpu), Some(0.0));
    exporter.becomes("gpu 0 board A100\ngpu 0 xid 94\n");
    let scrape = exporter.scrape_until("the Xid", |s| {
        s.value("DCGM_FI_DEV_XID_ERRORS", &gpu) == Some(94.0)
    });
    assert_eq!(scrape.value("DCGM_FI_DEV_GPU_TEMP", &gpu), Some(42.0));
}

#[test]
fn a_lost_board_leaves_the_others_and_is_reported() {
    let boards = "gpu 0 board H100\ngpu 1 board H100\n";
    let mut exporter = Exporter::start(boards);
    exporter.scrape_until("both boards", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 2);
    exporter.becomes(&format!("{boards}gpu 1 fault * return 15\n"));
    let scrape = exporter.scrape_until("the loss", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 1);
    assert!(
        scrape
            .value("DCGM_FI_DEV_GPU_TEMP", &[("gpu", "0")])
            .is_some()
    );
    let up = |gpu| scrape.value("foresail_gpu_up", &[("gpu", gpu)]);
    assert_eq!((up("0"), up("1")), (Some(1.0), Some(0.0)), "{}", scrape.0);
    exporter.becomes(boards);
    exporter.scrape_until("its return", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 2);
}

#[test]
fn an_absent_library_is_no_crash_and_is_found_when_it_comes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libnvidia-ml.so.1");
    let mut exporter = Exporter::with_library("gpu 0 board T4\n", &path);
    let scrape = exporter.scrape_until("the report", |s| s.source_up() == Some(0.0));
    assert_eq!(scrape.names("DCGM_FI_DEV_GPU_TEMP"), 0);
    std::fs::copy(library(), folder.path().join("next")).unwrap();
    std::fs::rename(folder.path().join("next"), &path).unwrap();
    exporter.scrape_until("the board", |s| {
        s.source_up() == Some(1.0) && s.names("DCGM_FI_DEV_GPU_TEMP") == 1
    });
}

#[test]
fn a_driver_that_is_not_loaded_yet_is_tried_again() {
    let mut exporter = Exporter::start("gpu 0 board T4\nfault nvmlInit_v2 return 9\n");
    exporter.scrape_until("the report", |s| s.source_up() == Some(0.0));
    exporter.becomes("gpu 0 board T4\n");
    exporter.scrape_until("the board", |s| s.source_up() == Some(1.0));
}
