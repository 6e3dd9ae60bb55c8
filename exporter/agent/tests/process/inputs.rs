//! What the program is told: files and flags that are good, bad or no files at all, and outputs that cannot be written.

use std::{
    fs::{self, File},
    process::{Command, Stdio},
};

use exporter_core::exposition::parse;

use crate::exporter::{Exporter, command, output, testdata, text};
use crate::server::fake_server;

#[test]
fn good_files_are_taken() {
    for file in testdata(".good.yaml") {
        let path = file.to_str().unwrap();
        let output = output(&["--once", "--simulated", "1xL4", "--config", path]);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{path}: {}",
            text(&output.stderr)
        );
        let samples = parse(&text(&output.stdout)).unwrap();
        let gpus = samples
            .iter()
            .filter(|sample| sample.name == "foresail_gpu_up")
            .count();
        assert_eq!(gpus, 1, "{path}: the flag wins over the file");
    }
}

#[test]
fn bad_files_are_one_clear_line_and_status_1() {
    for file in testdata(".bad.yaml") {
        let path = file.to_str().unwrap();
        let content = fs::read_to_string(&file).unwrap();
        let expected = content
            .lines()
            .next()
            .unwrap()
            .strip_prefix("# expect: ")
            .unwrap();
        let output = output(&["--once", "--config", path]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{path}: {error}");
        assert_eq!(error.lines().count(), 1, "{path}: {error}");
        assert!(
            error.contains(expected) && error.contains(path),
            "{path}: {error}"
        );
        assert!(output.stdout.is_empty(), "{path}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let output = output(&["--once", "--config", "/nonexistent.yaml"]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        error.starts_with("foresail-exporter: /nonexistent.yaml: cannot be read: No such file"),
        "{error}"
    );
    assert_eq!(error.matches("No such file").count(), 1, "{error}");
}

#[test]
fn what_is_no_configuration_is_one_clear_line() {
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("large.yaml");
    File::create(&large).unwrap().set_len(2 << 20).unwrap();
    let binary = folder.path().join("binary.yaml");
    fs::write(&binary, b"\xff\xfe").unwrap();
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    for (path, said) in [
        ("/dev/zero", "is a device or a pipe; name a file"),
        (pipe.to_str().unwrap(), "is a device or a pipe; name a file"),
        ("/etc", "is a folder; name a file"),
        (large.to_str().unwrap(), "is larger than 1 MiB"),
        (binary.to_str().unwrap(), "is not UTF-8 text"),
    ] {
        let output = output(&["--once", "--config", path]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{path}: {error}");
        assert_eq!(error.lines().count(), 1, "{path}: {error}");
        let expected = format!("foresail-exporter: {path}: {said}");
        assert!(error.starts_with(&expected), "{path}: {error}");
    }
}

#[test]
fn a_mounted_config_map_and_a_byte_order_mark_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("..2026_12_01");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("config.yaml"), "\u{feff}simulated: 1xL4\n").unwrap();
    std::os::unix::fs::symlink("..2026_12_01", folder.path().join("..data")).unwrap();
    let mounted = folder.path().join("config.yaml");
    std::os::unix::fs::symlink("..data/config.yaml", &mounted).unwrap();
    let output = output(&["--once", "--config", mounted.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("foresail_gpu_up{"));
}

#[test]
fn passwords_of_servers_are_never_shown() {
    let url = fake_server("500 Internal Server Error", "oops");
    let url = url.replace("http://", "http://scraper:hunter2@") + "?token=hunter2";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    fs::write(
        &file,
        format!("servers: [{{kind: vllm, url: \"{url}\"}}]\n"),
    )
    .unwrap();
    let path = file.to_str().unwrap();
    let once = output(&["--once", "--simulated", "1xL4", "--config", path]);
    let shown = text(&once.stdout) + &text(&once.stderr);
    assert!(shown.contains("?token=***"), "{shown}");
    let exporter = Exporter::start(&["--simulated", "1xL4", "--config", path]);
    exporter.ready();
    let page = text(&exporter.ask("GET", "/", "").1);
    assert!(page.contains("?token=***"), "{page}");
    fs::write(
        &file,
        format!("servers: [{{kind: vllm, url: \"x{url}\"}}]\n"),
    )
    .unwrap();
    let refused = text(&output(&["--once", "--config", path]).stderr);
    assert!(refused.contains("is not a URL"), "{refused}");
    for text in [shown, page, refused] {
        assert!(
            !text.contains("hunter2") && !text.contains("scraper"),
            "{text}"
        );
    }
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let mut exporter = command()
        .args(["--once", "--simulated", "64xH100-SXM5-80GB"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // More than a pipe holds comes, and nobody reads it.
    drop(exporter.stdout.take());
    assert_eq!(exporter.wait().unwrap().code(), Some(0));
    let full = File::options().write(true).open("/dev/full").unwrap();
    let args = ["--once", "--simulated", "1xL4"];
    let output = command().args(args).stdout(full).output().unwrap();
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("cannot write to standard output"), "{error}");
}

#[test]
fn a_named_library_that_is_none_is_status_1_once() {
    for library in ["/etc/passwd", "/nonexistent/libnvidia-ml.so.1"] {
        let output = output(&["--once", "--nvml-library", library]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        let said = format!("foresail-exporter: {library}: cannot be used as NVIDIA's");
        assert!(error.starts_with(&said), "{error}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_stderr_that_cannot_be_written_is_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("libnvidia-ml.so.1");
    let file = folder.path().join("config.yaml");
    fs::write(&file, format!("nvmlLibrary: {}\n", missing.display())).unwrap();
    let (unread, closed) = std::io::pipe().unwrap();
    drop(unread);
    let full = || File::options().write(true).open("/dev/full").unwrap();
    for stderr in [Stdio::from(full()), Stdio::from(closed)] {
        // Refused with a message that nobody gets.
        let args = ["--once", "--config", file.to_str().unwrap()];
        let status = command().args(args).stderr(stderr).status().unwrap();
        assert_eq!(status.code(), Some(1));
    }
    // Served with a log that nobody gets: a gather fails and is logged.
    let server = fake_server("500 Internal Server Error", "oops");
    fs::write(
        &file,
        format!("servers: [{{kind: vllm, url: \"{server}\"}}]\n"),
    )
    .unwrap();
    let args = [
        "--once",
        "--simulated",
        "1xL4",
        "--config",
        file.to_str().unwrap(),
    ];
    let output = command()
        .args(args)
        .stderr(full())
        .stdout(Stdio::piped())
        .spawn();
    let output = output.unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(parse(&text(&output.stdout)).unwrap().len() > 10);
}
