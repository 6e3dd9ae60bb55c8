//! `foresail plan` as a whole process, on a snapshot that is checked in: what it prints, that it is
//! what the controller would write, and how it refuses files that are none.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use autoscaler_core::{
    memory::Memory,
    observe::{self, Grid, Means, RawSeries, SignalInput, TargetInput},
    plan::plan,
    snapshot::{Policy, ReplicaCounts, Snapshot},
    units::{Replicas, TargetId, Timestamp},
};

const NOW: Timestamp = Timestamp(1_788_000_000);

fn testdata(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("testdata")
        .join(name)
}

fn foresail(snapshot: &str, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_foresail"))
        .args(["plan", "--snapshot", snapshot])
        .args(more)
        .output()
        .unwrap()
}

/// An hour of load that has begun to rise, and a target whose source is silent.
fn snapshot() -> Snapshot {
    let points = (0..60_i32)
        .map(|minute| {
            let time = 1_788_000_000.0 - 60.0 * f64::from(59 - minute);
            let rise = 3.0 * f64::from((minute - 50).max(0));
            (time, 90.0 + f64::from(minute * 7 % 5) + rise)
        })
        .collect();
    let answer = Ok(vec![RawSeries {
        partial: None,
        labels: BTreeMap::new(),
        points,
    }]);
    let silent = Err("the query found no series, it has to give exactly one".to_owned());
    let grid = Grid {
        step: 60,
        stale_after: 120,
        tick: 15,
    };
    let targets = vec![target("chat", answer), target("embed", silent)];
    observe::snapshot(NOW, grid, targets, vec![], Memory::default())
}

fn target(name: &str, answer: Result<Vec<RawSeries>, String>) -> TargetInput {
    TargetInput {
        id: TargetId {
            namespace: "serving".to_owned(),
            name: name.to_owned(),
        },
        policy: Policy {
            time_zone: "Europe/Berlin".to_owned(),
            ..Policy::new(2, 40, 12.0)
        },
        problem: None,
        replicas: ReplicaCounts {
            desired: Replicas(9),
            current: Replicas(9),
            ready: Replicas(9),
            ..ReplicaCounts::default()
        },
        startups_seen: vec![61.0, 74.0],
        signals: vec![SignalInput {
            name: "arrivals".to_owned(),
            means: Means::Arrivals,
            answer,
        }],
    }
}

/// Compares with the file in `testdata`; a difference leaves what it should be beside the build.
fn golden(name: &str, actual: &str) {
    let expected = fs::read_to_string(testdata(name)).unwrap_or_default();
    if expected != actual {
        let kept = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&kept, actual).unwrap();
        panic!("testdata/{name} differs from {}:\n{actual}", kept.display());
    }
}

#[test]
fn the_checked_in_snapshot_is_what_observing_gives() {
    golden(
        "snapshot.json",
        &(serde_json::to_string_pretty(&snapshot()).unwrap() + "\n"),
    );
}

#[test]
fn the_text_says_what_is_done_and_why() {
    let result = foresail(testdata("snapshot.json").to_str().unwrap(), &[]);
    assert!(
        result.status.success(),
        "{}",
        String::from_utf8_lossy(&result.stderr)
    );
    let text = String::from_utf8(result.stdout).unwrap();
    golden("plan.txt", &text);
    let page = fs::read_to_string(testdata("../../../docs/deciding.md")).unwrap();
    assert!(
        page.contains(&text),
        "docs/deciding.md does not show what is printed"
    );
}

#[test]
fn the_json_is_the_plan_of_the_core_byte_for_byte() {
    let file = testdata("snapshot.json");
    let run = || foresail(file.to_str().unwrap(), &["--format", "json"]).stdout;
    let expected = serde_json::to_string_pretty(&plan(&snapshot()).plan).unwrap() + "\n";
    assert_eq!(String::from_utf8(run()).unwrap(), expected);
    assert_eq!(run(), run());
}

#[test]
fn what_is_no_snapshot_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let good = serde_json::to_string(&snapshot()).unwrap();
    let no_capacity = good.replacen(
        "\"capacity_per_replica\":12.0",
        "\"capacity_per_replica\":0.0",
        1,
    );
    for (name, text, words) in [
        (
            "text.json",
            "hello",
            "is no snapshot, it has to be JSON with a `version`",
        ),
        ("cut.json", &good[..good.len() / 2], "it was cut off"),
        (
            "old.json",
            &good.replacen("\"version\":1", "\"version\":7", 1),
            "version 7, this program",
        ),
        (
            "more.json",
            &good.replacen("\"tick\"", "\"tock\"", 1),
            "unknown field `tock`",
        ),
        (
            "step.json",
            &good.replace("\"step\":60", "\"step\":4611686018427387904"),
            "series.step: is 4611686018427387904 s",
        ),
        (
            "zero.json",
            &no_capacity,
            "targets[0].policy: capacity_per_replica is 0",
        ),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        refused(path.to_str().unwrap(), name, words);
    }
    refused("absent.json", "absent.json", "cannot read absent.json");
    let usage = foresail("x", &["--format", "xml"]);
    assert_eq!(usage.status.code(), Some(2));
}

fn refused(path: &str, name: &str, words: &str) {
    let result = foresail(path, &[]);
    let message = String::from_utf8(result.stderr).unwrap();
    assert_eq!(result.status.code(), Some(1), "{message}");
    assert!(
        message.contains(name) && message.contains(words),
        "{message} lacks {words}"
    );
    assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    assert!(result.stdout.is_empty());
}
