//! Why boards do little: workloads whose limit is known are put on boards of the library for tests, and the exporter
//! tells the limit from the counters alone.

use std::fmt::Write;

use crate::exporter::Exporter;

const CAUSES: [&str; 6] = [
    "idle",
    "throttled",
    "transfer",
    "host",
    "memory_bandwidth",
    "small_batches",
];

/// Cases of each cause, and as many of boards that are well used.
const CASES: usize = 15;

#[test]
fn the_cause_is_right_in_nine_of_ten_labelled_cases() {
    let mut world = String::new();
    let mut labels = Vec::new();
    for (kind, cause) in CAUSES.iter().copied().chain(["none"]).enumerate() {
        for case in 0..CASES {
            let gpu = labels.len();
            let seed = 100 * kind + case;
            writeln!(
                world,
                "gpu {gpu} board H100\ngpu {gpu} workload {cause} seed {seed}"
            )
            .unwrap();
            labels.push(cause);
        }
    }
    let mut exporter = Exporter::start(&world);
    let low = "foresail_gpu_low_use";
    let all = labels.len() * CAUSES.len();
    let scrape = exporter.scrape_until("a judgement of each", |s| {
        s.0.matches("\nforesail_gpu_low_use{").count() == all
    });
    let mut found = vec![Vec::new(); labels.len()];
    for sample in scrape
        .samples()
        .iter()
        .filter(|s| s.name == low && s.value > 0.5)
    {
        let gpu: usize = sample.labels["gpu"].parse().unwrap();
        found[gpu].push(sample.labels["cause"].clone());
    }
    let mut wrong = Vec::new();
    for (label, found) in labels.iter().zip(found) {
        assert!(found.len() <= 1, "{label}: {found:?}");
        let found = found.into_iter().next().unwrap_or("none".into());
        if found != *label {
            wrong.push((*label, found));
        }
    }
    let right = labels.len() - wrong.len();
    assert!(
        right * 10 >= labels.len() * 9,
        "{right} of {}: {wrong:?}",
        labels.len()
    );
}

#[test]
fn an_old_board_is_judged_by_what_it_measures() {
    let mut exporter = Exporter::start(
        "gpu 0 board T4\ngpu 0 workload host seed 1\ngpu 1 board A100\ngpu 1 mig on\n",
    );
    let judged = |cause| [("gpu", "0"), ("cause", cause)];
    let scrape = exporter.scrape_until("the judgement", |s| s.names("foresail_gpu_low_use") > 0);
    assert_eq!(
        scrape.value("foresail_gpu_low_use", &judged("idle")),
        Some(0.0)
    );
    assert_eq!(
        scrape.value("foresail_gpu_low_use", &judged("throttled")),
        Some(0.0)
    );
    assert_eq!(scrape.value("foresail_gpu_low_use", &judged("host")), None);
    assert_eq!(
        scrape.value("foresail_gpu_low_use", &[("gpu", "1"), ("cause", "idle")]),
        None
    );
}
