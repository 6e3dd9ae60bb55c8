//! `foresail demo` as a whole process: it ends by itself, says why it decides, serves its page, and ends
//! cleanly when it is interrupted.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

fn start(arguments: &[&str]) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_foresail"))
        .arg("demo")
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    (child, out)
}

/// Reads lines until one holds `text`; all of them.
fn read_until(out: &mut impl BufRead, text: &str) -> String {
    let mut all = String::new();
    while !all.contains(text) {
        assert!(
            out.read_line(&mut all).unwrap() > 0,
            "'{text}' never came:\n{all}"
        );
    }
    all
}

fn get(address: &str, path: &str) -> String {
    ask("GET", address, path)
}

fn ask(method: &str, address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The address that the demo printed.
fn address(header: &str) -> String {
    let rest = header.split("http://").nth(1).unwrap();
    rest.split_whitespace().next().unwrap().to_owned()
}

#[test]
fn a_day_ends_by_itself_with_reasons_and_a_score() {
    let (mut child, mut out) = start(&["--for", "5s"]);
    let header = read_until(&mut out, "the day begins");
    let address = address(&header);
    let first = read_until(&mut out, "replicas (");
    assert!(first.contains("quantile"), "{first}");
    let page = get(&address, "/");
    assert!(
        page.starts_with("HTTP/1.1 200") && page.contains("<svg") && page.contains("serving/chat"),
        "{page}"
    );
    assert!(get(&address, "/metrics").contains("DCGM_FI_DEV_GPU_UTIL{"));
    assert!(get(&address, "/nothing").starts_with("HTTP/1.1 404"));
    assert!(ask("POST", &address, "/").starts_with("HTTP/1.1 405"));
    let head = ask("HEAD", &address, "/metrics");
    assert!(
        head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    for expected in [
        "24.0 simulated hours",
        "foresail ",
        "hpa ",
        "fixed peak ",
        "GPU-hours",
        "late requests",
    ] {
        assert!(rest.contains(expected), "{expected} is not in:\n{rest}");
    }
}

#[test]
fn an_interrupt_ends_it_cleanly_with_the_score_so_far() {
    let (mut child, mut out) = start(&["--for", "1h"]);
    read_until(&mut out, "the day begins");
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert!(
        rest.contains("stopped; the score so far") && rest.contains("fixed peak"),
        "{rest}"
    );
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn any_seed_gives_a_day() {
    let (mut child, mut out) = start(&["--for", "5s", "--seed", &u64::MAX.to_string()]);
    read_until(&mut out, "the day begins");
    let killed = Command::new("kill").arg(child.id().to_string()).status();
    assert!(killed.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn it_ends_when_its_reader_is_gone() {
    let (mut child, mut out) = start(&["--for", "1h"]);
    read_until(&mut out, "Foresail demo");
    drop(out);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn bad_arguments_and_a_taken_port_are_told() {
    let run = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_foresail"))
            .arg("demo")
            .args(arguments)
            .output()
            .unwrap()
    };
    for arguments in [["--for", "soon"], ["--for", "1s"], ["--port", "70000"]] {
        assert_eq!(run(&arguments).status.code(), Some(2), "{arguments:?}");
    }
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = run(&["--port", &port]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        error.contains(&format!("port {port} cannot be used")) && error.lines().count() == 1,
        "{error}"
    );
}
