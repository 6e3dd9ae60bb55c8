//! Input and output of the command line that once did harm: files destroyed, panics, empty results called
//! done, messages that filled a screen.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{Read as _, Write as _},
    net::TcpListener,
    path::Path,
    process::{Command, Output, Stdio},
};

fn command(arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foresail"));
    command.args(arguments).current_dir(folder);
    command
}

fn foresail(arguments: &[&str], folder: &Path) -> Output {
    command(arguments, folder).output().unwrap()
}

/// Fails with `code` and one line on standard error that holds `words`.
fn refused(arguments: &[&str], folder: &Path, code: i32, words: &str) {
    let result = foresail(arguments, folder);
    let message = String::from_utf8(result.stderr).unwrap();
    assert_eq!(result.status.code(), Some(code), "{arguments:?}: {message}");
    assert!(message.contains(words), "{arguments:?}: {message}");
    if code == 1 {
        assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    }
}

/// Six hours of minutes.
fn load() -> String {
    let mut text = "timestamp,value\n".to_owned();
    for minute in 0..360 {
        let (stamp, value) = (1_764_547_200 + minute * 60, 50 + minute % 7);
        writeln!(text, "{stamp},{value}").unwrap();
    }
    text
}

#[test]
fn an_input_is_never_destroyed_by_an_output() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    fs::write(here.join("web.csv"), load()).unwrap();
    fs::write(here.join("kept.csv"), "an earlier result").unwrap();
    for flag in ["--output", "--plot"] {
        let arguments = ["backtest", "web.csv", flag, "./web.csv"];
        refused(&arguments, here, 1, "is an input as well");
    }
    assert_eq!(fs::read_to_string(here.join("web.csv")).unwrap(), load());
    let arguments = ["backtest", "none.csv", "--output", "kept.csv"];
    refused(&arguments, here, 1, "cannot read none.csv");
    let kept = fs::read_to_string(here.join("kept.csv")).unwrap();
    assert_eq!(kept, "an earlier result");
    let arguments = ["backtest", "web.csv", "--output", "/dev/full"];
    let message = foresail(&arguments, here).stderr;
    assert!(
        String::from_utf8(message)
            .unwrap()
            .contains("cannot write /dev/full")
    );
}

#[test]
fn nothing_forecast_is_not_done() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    fs::write(here.join("web.csv"), load()).unwrap();
    fs::write(here.join("early.csv"), "series,origin\nweb,1000\n").unwrap();
    let arguments = ["backtest", "web.csv", "--origins", "early.csv"];
    let result = foresail(&arguments, here);
    assert_eq!(result.status.code(), Some(1));
    let message = String::from_utf8(result.stderr).unwrap();
    assert!(
        message.contains("nothing can be forecast at 1 origin(s)"),
        "{message}"
    );
    let arguments = ["backtest", "web.csv", "--horizon", "30s"];
    refused(
        &arguments,
        here,
        1,
        "step of 60 s is longer than the horizon",
    );
}

#[test]
fn wrong_usage_is_told_apart_from_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    fs::write(here.join("web.csv"), load()).unwrap();
    for (flag, value, words) in [
        ("--levels", ".9,.5", "--levels must rise"),
        ("--horizon", "2h", "at most 1h"),
        ("--time-zone", "Mars/Base", "no IANA zone"),
    ] {
        refused(&["backtest", "web.csv", flag, value], here, 2, words);
    }
    for address in ["ftp://node", "http://node:70000"] {
        refused(
            &["snapshot", "--controller", address],
            here,
            2,
            "--controller",
        );
    }
}

#[test]
fn names_with_commas_are_quoted() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a,b.csv"), load()).unwrap();
    let arguments = ["backtest", "a,b.csv", "--output", "out.csv"];
    assert!(foresail(&arguments, folder.path()).status.success());
    let text = fs::read_to_string(folder.path().join("out.csv")).unwrap();
    assert!(text.lines().nth(1).unwrap().starts_with("\"a,b\",1764"));
}

#[test]
fn a_full_or_closed_standard_error_is_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let full = || Stdio::from(File::create("/dev/full").unwrap());
    let status = command(&["backtest", "none.csv"], folder.path())
        .stderr(full())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(1));
    let mut closed = Command::new("sh");
    let script = "exec \"$0\" backtest none.csv 2>&-";
    let program = env!("CARGO_BIN_EXE_foresail");
    let status = closed.args(["-c", script, program]).status().unwrap();
    assert_eq!(status.code(), Some(1));
}

#[test]
fn what_never_ends_is_not_read_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    refused(&["backtest", "/dev/zero"], here, 1, "larger than 256 MiB");
    refused(&["backtest", "."], here, 1, "it is a folder");
}

#[test]
fn a_broken_kubeconfig_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("config"),
        "clusters:\n  - name: [\nusers: {",
    )
    .unwrap();
    let result = command(&["explain", "serving/chat"], folder.path())
        .env("KUBECONFIG", "config")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .output()
        .unwrap();
    let message = String::from_utf8(result.stderr).unwrap();
    assert_eq!(result.status.code(), Some(1), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.contains("no cluster: "), "{message}");
}

/// Answers one request with `text` and ends.
fn answer_once(text: &'static str) -> (String, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 1024];
        let _ = stream.read(&mut head).unwrap();
        write!(
            stream,
            "{text}\r\nconnection: close\r\n\r\nbad \x1b[31mnews\x1b[0m\nmore"
        )
        .unwrap();
    });
    (address, thread)
}

#[test]
fn what_another_server_says_is_one_line_without_escapes() {
    let folder = tempfile::tempdir().unwrap();
    for (head, words) in [
        (
            "HTTP/1.1 500 Oops",
            "500 Internal Server Error: bad [31mnews [0m more",
        ),
        ("HTTP/1.1 200 OK", "is no snapshot"),
    ] {
        let (address, thread) = answer_once(head);
        refused(
            &["snapshot", "--controller", &address],
            folder.path(),
            1,
            words,
        );
        thread.join().unwrap();
    }
}
