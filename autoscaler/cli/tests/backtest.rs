//! `foresail backtest` as a whole process: its formats, its errors, its exit statuses.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    process::{Command, Output},
};

fn foresail(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_foresail"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

/// Two days of a daily swing in steps of ten minutes, with one gap.
fn load() -> String {
    let mut text = "timestamp,value\n".to_owned();
    for step in (0..288).filter(|step| *step != 100) {
        let phase = f64::from(step) / 144.0 * std::f64::consts::TAU;
        let (stamp, value) = (1_764_547_200 + step * 600, 50.0 - 30.0 * phase.cos());
        writeln!(text, "{stamp},{value:.3}").unwrap();
    }
    text
}

#[test]
fn forecasts_are_written_in_the_scorers_format_and_repeat_exactly() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("web.csv"), load()).unwrap();
    let run = |output: &str| {
        let result = foresail(
            &["backtest", "web.csv", "--output", output, "--plot", "p.svg"],
            folder.path(),
        );
        assert!(
            result.status.success(),
            "{}",
            String::from_utf8_lossy(&result.stderr)
        );
        let table = String::from_utf8(result.stderr).unwrap();
        assert!(table.contains("web") && table.contains("WQL"), "{table}");
        fs::read_to_string(folder.path().join(output)).unwrap()
    };
    let first = run("a.csv");
    assert!(first.starts_with("series,origin,target,level,value\nweb,"));
    // Six steps of ten minutes at four levels an origin.
    assert_eq!((first.lines().count() - 1) % 24, 0);
    assert_eq!(first, run("b.csv"));
    assert!(
        fs::read_to_string(folder.path().join("p.svg"))
            .unwrap()
            .starts_with("<svg")
    );
}

#[test]
fn a_wrong_flag_is_usage_and_a_bad_file_is_input() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("bad.csv"),
        "timestamp,value\n0,1\n60,-2\n",
    )
    .unwrap();
    assert_eq!(
        foresail(&["backtest", "bad.csv", "--levels", "2"], folder.path())
            .status
            .code(),
        Some(2)
    );
    for (arguments, expected) in [
        (
            vec!["backtest", "bad.csv"],
            "bad.csv: line 3: '-2' is negative; a load is 0 or more",
        ),
        (vec!["backtest", "none.csv"], "cannot read none.csv"),
    ] {
        let result = foresail(&arguments, folder.path());
        let error = String::from_utf8(result.stderr).unwrap();
        assert_eq!(result.status.code(), Some(1), "{error}");
        let line = error.lines().last().unwrap();
        assert!(
            line.starts_with("foresail: ") && line.contains(expected),
            "{error}"
        );
    }
}
