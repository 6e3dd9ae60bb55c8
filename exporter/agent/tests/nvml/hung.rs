//! Calls that do not return: what they cost, and that everything is given back all the same.

use std::time::Duration;

use crate::exporter::Exporter;

const BOARDS: &str = "gpu 0 board H100\ngpu 1 board T4\ngpu 2 board H100\n";

#[test]
fn a_hung_call_costs_its_own_board_until_it_returns() {
    let mut exporter = Exporter::start(BOARDS);
    exporter.scrape_until("the boards", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 3);
    exporter.becomes(&format!(
        "{BOARDS}gpu 1 fault nvmlDeviceGetPowerUsage hang\n"
    ));
    let up = |gpu| [("gpu", gpu)];
    let scrape = exporter.scrape_until("the fence", |s| {
        s.value("foresail_gpu_up", &up("1")) == Some(0.0)
    });
    let reason = [
        ("gpu", "1"),
        ("UUID", "GPU-00000000-0000-0000-0000-000000000001"),
        ("reason", "nvmlDeviceGetPowerUsage does not return"),
    ];
    assert_eq!(
        scrape.value("foresail_gpu_up", &reason),
        Some(0.0),
        "{}",
        scrape.0
    );
    assert_eq!(scrape.value("DCGM_FI_DEV_GPU_TEMP", &up("1")), None);
    assert_eq!(scrape.names("DCGM_FI_DEV_GPU_TEMP"), 2);
    assert_eq!(
        scrape.source_up(),
        Some(1.0),
        "the source itself is reached"
    );
    // The others go on: their values are new ones.
    exporter.becomes(&format!(
        "{BOARDS}gpu 1 fault nvmlDeviceGetPowerUsage hang\ngpu 2 set temperature 61\n"
    ));
    exporter.scrape_until("a new value of another board", |s| {
        s.value("DCGM_FI_DEV_GPU_TEMP", &up("2")) == Some(61.0)
    });
    exporter.becomes(BOARDS);
    exporter.scrape_until("its return", |s| {
        s.value("foresail_gpu_up", &up("1")) == Some(1.0) && s.names("DCGM_FI_DEV_GPU_TEMP") == 3
    });
    assert_eq!(
        exporter.state("open"),
        Some(1),
        "one initialisation, whatever happened"
    );
}

#[test]
fn every_board_may_hang_and_the_process_serves() {
    let mut exporter = Exporter::start(BOARDS);
    exporter.scrape_until("the boards", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 3);
    let all = "fault * hang\n";
    exporter.becomes(&format!("{BOARDS}gpu 0 {all}gpu 1 {all}gpu 2 {all}"));
    let scrape = exporter.scrape_until("the fences", |s| {
        s.samples()
            .iter()
            .filter(|x| x.name == "foresail_gpu_up")
            .all(|x| x.value == 0.0)
            && s.names("foresail_gpu_up") == 3
    });
    assert_eq!(scrape.names("DCGM_FI_DEV_GPU_TEMP"), 0);
    assert!(
        exporter
            .get("/healthz")
            .unwrap()
            .starts_with("HTTP/1.1 200")
    );
    exporter.becomes(BOARDS);
    exporter.scrape_until("their return", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 3);
}

#[test]
fn a_slow_driver_is_not_taken_for_a_hung_one() {
    // Longer than the deadline in all, each call shorter.
    let slow: String = [
        "nvmlDeviceGetTemperature",
        "nvmlDeviceGetPowerUsage",
        "nvmlDeviceGetClockInfo",
    ]
    .map(|call| format!("gpu 0 fault {call} delay 400\n"))
    .concat();
    let mut exporter = Exporter::start(&format!("gpu 0 board T4\n{slow}"));
    let scrape = exporter.scrape_until("the board", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 1);
    assert_eq!(scrape.value("foresail_gpu_up", &[("gpu", "0")]), Some(1.0));
}

#[test]
fn a_library_that_does_not_start_is_reported_and_found_when_it_does() {
    let mut exporter = Exporter::start("gpu 0 board T4\nfault nvmlInit_v2 hang\n");
    let scrape = exporter.scrape_until("the report", |s| s.source_up() == Some(0.0));
    assert_eq!(scrape.names("DCGM_FI_DEV_GPU_TEMP"), 0);
    exporter.becomes("gpu 0 board T4\n");
    exporter.scrape_until("the board", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 1);
    assert_eq!(exporter.state("open"), Some(1));
}

#[test]
fn a_signal_closes_every_handle_within_five_seconds() {
    let mut exporter = Exporter::start(BOARDS);
    exporter.scrape_until("a second pass", |s| {
        s.names("DCGM_FI_PROF_GR_ENGINE_ACTIVE") == 2
    });
    assert_eq!(exporter.state("open"), Some(1));
    assert!(exporter.end() < Duration::from_secs(5));
    for what in ["open", "event_sets", "samples"] {
        assert_eq!(exporter.state(what), Some(0), "{what}");
    }
}

#[test]
fn a_signal_closes_the_library_within_five_seconds_while_a_call_hangs() {
    for fence in [false, true] {
        let mut exporter = Exporter::start(BOARDS);
        exporter.scrape_until("the boards", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 3);
        exporter.becomes(&format!("{BOARDS}gpu 1 fault * hang\n"));
        if fence {
            exporter.scrape_until("the fence", |s| {
                s.value("foresail_gpu_up", &[("gpu", "1")]) == Some(0.0)
            });
        }
        assert!(
            exporter.end() < Duration::from_secs(5),
            "{}",
            exporter.log()
        );
        assert_eq!(exporter.state("open"), Some(0), "{}", exporter.log());
    }
}

#[test]
fn a_call_to_give_back_may_hang_too() {
    let mut exporter = Exporter::start(BOARDS);
    exporter.scrape_until("the boards", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 3);
    exporter.becomes(&format!("{BOARDS}fault nvmlEventSetFree hang\n"));
    assert!(
        exporter.end() < Duration::from_secs(5),
        "{}",
        exporter.log()
    );
    assert_eq!(exporter.state("open"), Some(0), "{}", exporter.log());
}

#[test]
fn scrapes_at_once_make_no_calls_at_once() {
    let mut exporter = Exporter::start(BOARDS);
    exporter.scrape_until("the boards", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 3);
    std::thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let answer = exporter.get("/metrics").unwrap();
                    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
                }
            });
        }
    });
    assert_eq!(exporter.state("most_at_once"), Some(1));
}
