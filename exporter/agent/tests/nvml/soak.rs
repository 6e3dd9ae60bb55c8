//! That nothing is kept of what came and went. `make bench` does the same for a hundred thousand scrapes.

use std::fmt::Write;

use crate::exporter::Exporter;

/// Boards whose instances and processes differ from turn to turn.
fn world(turn: u32) -> String {
    let mut world = String::from("gpu 0 board H100\ngpu 0 mig on\ngpu 1 board L4\n");
    for place in 0..=turn % 7 {
        let id = 7 + (turn + place) % 7;
        writeln!(
            world,
            "gpu 0 instance 1g.10gb id {id} start {place} used {turn}"
        )
        .unwrap();
    }
    for process in 0..20 {
        let pid = 100 + turn * 20 + process;
        writeln!(world, "gpu 1 process {pid} compute used 9 busy 40 20").unwrap();
    }
    writeln!(world, "gpu 1 xid {}", turn % 120).unwrap();
    world
}

#[test]
fn memory_stays_flat_while_instances_and_processes_come_and_go() {
    let mut exporter = Exporter::start(&world(0));
    exporter.scrape_until("the boards", |s| s.names("DCGM_FI_DEV_GPU_TEMP") == 2);
    let mut resident = Vec::new();
    for turn in 0..12 {
        exporter.becomes(&world(turn));
        for _ in 0..250 {
            let answer = exporter.get("/metrics").unwrap();
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
        resident.push(exporter.resident_kib());
    }
    // The first turns fill what is bounded: buffers, threads' stacks, the window of errors.
    let (early, late) = (resident[3], resident[11]);
    assert!(late < early + early / 20 + 1024, "{resident:?} KiB");
}
