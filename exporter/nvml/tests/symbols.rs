//! Every function this crate names is one that real drivers export, by recordings of real boards. Skipped aloud where
//! the recordings are not at hand; it never loads a driver.
#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

/// Names of functions in quotes, as they stand in the errors.
fn named_in_source() -> BTreeSet<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut names = BTreeSet::new();
    for file in std::fs::read_dir(source).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let quoted = text.split('"').filter(|word| word.starts_with("nvml"));
        let function = |word: &&str| word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        names.extend(quoted.filter(function).map(str::to_owned));
    }
    names
}

/// Says so on the terminal and in the list that the test run checks, when it asks for one.
fn skipped(line: &str) {
    eprintln!("skipped {line}");
    if let Some(log) = std::env::var_os("FORESAIL_SKIP_LOG") {
        let mut options = std::fs::OpenOptions::new();
        let mut log = options.create(true).append(true).open(log).unwrap();
        writeln!(log, "{line}").unwrap();
    }
}

#[test]
fn real_drivers_export_every_function_that_is_called() {
    let called = named_in_source();
    assert!(called.contains("nvmlDeviceGetGpuInstances"), "{called:?}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures/boards");
    let Ok(recordings) = std::fs::read_dir(&folder) else {
        skipped("real_drivers_export_every_function_that_is_called: no recordings of real boards");
        return;
    };
    let mut compared = 0;
    for recording in recordings {
        let path = recording.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let exported: BTreeSet<&str> = text.lines().filter(|l| l.starts_with("nvml")).collect();
        if exported.is_empty() {
            continue;
        }
        compared += 1;
        let missing: Vec<_> = (called.iter())
            .filter(|call| !exported.contains(call.as_str()))
            .collect();
        assert!(missing.is_empty(), "{}: {missing:?}", path.display());
    }
    assert!(compared > 0, "no list of symbols in {}", folder.display());
}
