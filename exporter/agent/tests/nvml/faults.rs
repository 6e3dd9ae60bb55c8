//! Faults that other exporters have shown, as far as no other test holds them: docs/decisions/known-faults.md lists all.

use std::fmt::Write;

use crate::exporter::Exporter;

/// Eight boards cut into seven each.
pub(crate) fn dense() -> String {
    let mut world = String::new();
    for gpu in 0..8 {
        writeln!(world, "gpu {gpu} board H200\ngpu {gpu} mig on").unwrap();
        for place in 0..7 {
            let id = 7 + place;
            writeln!(
                world,
                "gpu {gpu} instance 1g.18gb id {id} start {place} used 1"
            )
            .unwrap();
        }
    }
    world
}

#[test]
fn a_board_that_comes_later_is_found() {
    let mut exporter = Exporter::start("gpu 0 board T4\n");
    exporter.scrape_until("the first", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 1);
    exporter.becomes("gpu 0 board T4\ngpu 1 board L4\n");
    exporter.scrape_until("the second", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 2);
    exporter.becomes("gpu 1 board L4\n");
    exporter.scrape_until("the first to go", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 1);
}

#[test]
fn a_driver_that_answers_unknown_to_all_is_opened_anew() {
    let world = "gpu 0 board L4\n";
    let mut exporter = Exporter::start(world);
    exporter.scrape_until("the board", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 1);
    exporter.becomes(&format!("{world}fault * return 999\n"));
    let scrape = exporter.scrape_until("the report", |s| s.source_up() == Some(0.0));
    assert_eq!(
        scrape.names("DCGM_FI_DEV_GPU_TEMP"),
        0,
        "nothing old is shown"
    );
    exporter.becomes(world);
    exporter.scrape_until("its return", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 1);
}

#[test]
fn odd_answers_about_partitions_end_nothing() {
    for call in [
        "nvmlDeviceGetMigMode",
        "nvmlDeviceGetMaxMigDeviceCount",
        "nvmlDeviceGetMigDeviceHandleByIndex",
        "nvmlDeviceGetGpuInstanceId",
        "nvmlDeviceGetAttributes_v2",
    ] {
        let mut exporter = Exporter::start(&format!(
            "gpu 0 board A100\ngpu 0 mig on\ngpu 0 instance 3g.40gb id 2 start 4 used 26\n\
             gpu 0 fault {call} return 4711\ngpu 1 board L4\n"
        ));
        let scrape = exporter.scrape_until(call, |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 2);
        assert_eq!(scrape.source_up(), Some(1.0), "{call}");
    }
}

#[test]
fn many_instances_behind_a_slow_driver_are_served() {
    // 20 ms for each of 64 reads: longer in all than the time after which one call is taken for a hung one.
    let mut exporter = Exporter::start(&format!(
        "{}fault nvmlDeviceGetMemoryInfo_v2 delay 20\n",
        dense()
    ));
    assert!(
        exporter
            .scrape_until("any answer", |s| !s.0.is_empty())
            .0
            .contains(" 200 ")
    );
    let scrape = exporter.scrape_until("all", |s| s.names("DCGM_FI_DEV_FB_USED") == 8 * 8);
    assert_eq!(scrape.names("DCGM_FI_DEV_POWER_USAGE"), 8);
}

#[test]
fn scrapes_make_no_calls() {
    let calls = |scrapes: usize| {
        let mut exporter = Exporter::gathering_once(&dense());
        exporter.scrape_until("all", |s| s.names("DCGM_FI_DEV_FB_USED") == 8 * 8);
        std::thread::scope(|scope| {
            for _ in 0..scrapes {
                scope.spawn(|| exporter.get("/metrics").unwrap());
            }
        });
        exporter.end();
        exporter.state("calls")
    };
    let without = calls(0);
    assert!(without.is_some_and(|calls| calls > 100), "{without:?}");
    assert_eq!(calls(32), without);
}

#[test]
fn a_value_that_is_not_there_for_a_while_is_absent_and_comes_back() {
    let world = "gpu 0 board A100\n";
    let name = "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS";
    let mut exporter = Exporter::start(world);
    exporter.scrape_until("a zero", |s| s.value(name, &[]) == Some(0.0));
    exporter.becomes(&format!("{world}gpu 0 fault field:143 return 3\n"));
    exporter.scrape_until("its absence", |s| s.names(name) == 0);
    exporter.becomes(&format!("{world}gpu 0 set remapped_uncorrectable 2\n"));
    exporter.scrape_until("its return", |s| s.value(name, &[]) == Some(2.0));
}

#[test]
fn no_sentinel_is_ever_shown() {
    let boards = "gpu 0 board H100\ngpu 1 board P100\ngpu 2 board L4\ngpu 2 fault * return 3\n\
                  gpu 3 board A100\ngpu 3 mig on\ngpu 3 process 41 compute used na\n";
    let mut exporter = Exporter::start(boards);
    let scrape = exporter.scrape_until("boards", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 3);
    for sample in scrape.samples() {
        // DCGM's blanks begin at 0x7ffffffffffffff0 and 140737488355328; NVML's "not available" is all ones.
        let blank = sample.value >= 140_737_488_355_328.0 && !sample.name.ends_with("_bytes");
        assert!(
            !blank && sample.value < 9e18,
            "{} {}",
            sample.name,
            sample.value
        );
    }
}

#[test]
fn links_that_do_not_work_are_told_from_those_that_are_not_there() {
    let mut exporter =
        Exporter::start("gpu 0 board H100\ngpu 0 set nvlinks_up 16\ngpu 1 board L40S\n");
    let links = "foresail_gpu_nvlinks";
    let scrape = exporter.scrape_until("the links", |s| s.names(links) == 2);
    let of = |state| scrape.value(links, &[("gpu", "0"), ("state", state)]);
    assert_eq!(
        (of("up"), of("down")),
        (Some(16.0), Some(2.0)),
        "{}",
        scrape.0
    );
}

#[test]
fn memory_adds_up() {
    let mut exporter = Exporter::start("gpu 0 board H100\ngpu 0 set memory_used_mib 40000\n");
    let scrape = exporter.scrape_until("the board", |s| s.names("DCGM_FI_DEV_FB_USED") == 1);
    let mib = |name: &str| {
        scrape
            .value(&format!("DCGM_FI_DEV_FB_{name}"), &[])
            .unwrap()
    };
    let sum = mib("USED") + mib("FREE") + mib("RESERVED");
    assert!((sum - 81_559.0).abs() < 1e-6, "{sum}");
}
