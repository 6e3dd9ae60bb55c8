//! House rules that a compiler does not check: sizes, first lines, forbidden words, the dependency
//! lists of the pure crates. A limit that nothing checks is broken within a month.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Files that git tracks or would track, relative to the root, that still exist.
fn files() -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git ls-files failed: is this a checkout?"
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let files: Vec<_> = text
        .lines()
        .map(str::to_owned)
        .filter(|file| root().join(file).is_file())
        .collect();
    assert!(
        files.len() > 50,
        "git ls-files found only {} files",
        files.len()
    );
    files
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Rust sources with their text.
fn sources() -> Vec<(String, String)> {
    files()
        .into_iter()
        .filter(|file| {
            Path::new(file)
                .extension()
                .is_some_and(|extension| extension == "rs")
        })
        .map(|file| {
            let text = read(&file);
            (file, text)
        })
        .collect()
}

/// Fails with every complaint at once, so that one run shows them all.
fn complain(complaints: &[String]) {
    assert!(
        complaints.is_empty(),
        "{} complaint(s):\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}

#[test]
fn a_file_has_at_most_400_lines_and_says_what_it_is() {
    let mut complaints = Vec::new();
    for (file, text) in sources() {
        let lines = text.lines().count();
        if lines > 400 {
            complaints.push(format!("{file}: {lines} lines, at most 400"));
        }
        if !text.starts_with("//!") {
            complaints.push(format!("{file}: the first line must start with //!"));
        }
        let name = Path::new(&file)
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let limit = match name {
            "main.rs" if !file.contains("tests/") && !file.contains("/cli/") => 40,
            "run.rs" => 150,
            _ => 400,
        };
        if lines > limit {
            complaints.push(format!("{file}: {lines} lines, at most {limit}"));
        }
    }
    complain(&complaints);
}

#[test]
fn no_unfinished_marks_and_no_silent_exceptions() {
    // Written in two halves, so that this file does not contain what it forbids.
    let forbidden = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("dbg", "!("),
        concat!("#[ig", "nore"),
        concat!("#[should", "_panic"),
    ];
    let mut complaints = Vec::new();
    for (file, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            for word in forbidden {
                if line.contains(word) {
                    complaints.push(format!("{file}:{}: {word}", number + 1));
                }
            }
        }
        complaints.extend(exceptions_without_reason(&file, &text));
    }
    complain(&complaints);
}

/// `allow` and `expect` attributes must carry a reason.
fn exceptions_without_reason(file: &str, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for mark in ["#[allow(", "#![allow(", "#[expect(", "#![expect("] {
        for (position, _) in text.match_indices(mark) {
            let attribute = text[position..].split(")]").next().unwrap_or_default();
            let quoted = text[..position].ends_with('"');
            if !quoted && !attribute.contains("reason = ") {
                let line = text[..position].lines().count() + 1;
                complaints.push(format!("{file}:{line}: {mark}…)] without a reason"));
            }
        }
    }
    complaints
}

#[test]
fn names_say_what_a_file_holds() {
    let vague = [
        "utils", "util", "common", "commons", "misc", "helpers", "helper",
    ];
    let mut complaints = Vec::new();
    for file in files() {
        let path = Path::new(&file);
        for part in path
            .components()
            .filter_map(|part| part.as_os_str().to_str())
        {
            let stem = part.split('.').next().unwrap_or_default();
            if vague.contains(&stem) {
                complaints.push(format!("{file}: '{stem}' says nothing"));
            }
        }
        if path.file_name().is_some_and(|name| name == "mod.rs") {
            complaints.push(format!("{file}: no mod.rs, name the file after its module"));
        }
    }
    complain(&complaints);
}

#[test]
fn texts_speak_of_foresail_alone() {
    let forbidden = [
        concat!("crates", ".io"),
        concat!("pypi", ".org"),
        concat!("proxy.go", "lang"),
        concat!("registry.npm", "js"),
        concat!("deb.deb", "ian"),
        concat!("sub", "agent"),
        concat!("/work", "/"),
        concat!("/ro", "ot/"),
    ];
    let mut complaints = Vec::new();
    for file in files() {
        let lock = file.ends_with("Cargo.lock") || file.ends_with("go.sum");
        let Ok(text) = fs::read_to_string(root().join(&file)) else {
            continue;
        };
        for (number, line) in text.lines().enumerate().filter(|_| !lock) {
            for word in forbidden {
                if line.contains(word) {
                    complaints.push(format!("{file}:{}: {word}", number + 1));
                }
            }
        }
    }
    complain(&complaints);
}

/// Direct dependencies of a crate: the keys of `[dependencies]`.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let text = read(manifest);
    let mut inside = false;
    let mut names = BTreeSet::new();
    for line in text.lines() {
        if line.starts_with('[') {
            inside = line == "[dependencies]";
        } else if inside && !line.trim().is_empty() && !line.starts_with('#') {
            let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
            names.insert(name.to_owned());
        }
    }
    names
}

#[test]
fn pure_crates_depend_on_what_is_listed_and_nothing_else() {
    let lists: [(&str, &[&str]); 5] = [
        ("exporter/core", &["thiserror"]),
        (
            "autoscaler/core",
            &["exporter-core", "jiff", "serde", "thiserror"],
        ),
        (
            "autoscaler/sim",
            &[
                "autoscaler-core",
                "exporter-core",
                "fastrand",
                "serde",
                "thiserror",
            ],
        ),
        ("autoscaler/view", &["autoscaler-core"]),
        (
            "exporter/nvml",
            &[
                "libloading",
                "nvml-wrapper",
                "nvml-wrapper-sys",
                "thiserror",
            ],
        ),
    ];
    let mut complaints = Vec::new();
    for (folder, allowed) in lists {
        for name in dependencies(&format!("{folder}/Cargo.toml")) {
            if !allowed.contains(&name.as_str()) {
                complaints.push(format!(
                    "{folder}: depends on {name}, which is not on its list"
                ));
            }
        }
    }
    complain(&complaints);
}

#[test]
fn arrows_between_crates_are_those_of_the_architecture() {
    let arrows: [(&str, &[&str]); 9] = [
        ("exporter/core", &[]),
        ("exporter/nvml", &[]),
        ("exporter/agent", &["exporter-core", "exporter-nvml"]),
        ("autoscaler/api", &[]),
        ("autoscaler/core", &["exporter-core"]),
        ("autoscaler/sim", &["autoscaler-core", "exporter-core"]),
        ("autoscaler/view", &["autoscaler-core"]),
        (
            "autoscaler/controller",
            &[
                "autoscaler-api",
                "autoscaler-core",
                "autoscaler-view",
                "exporter-core",
            ],
        ),
        (
            "autoscaler/cli",
            &[
                "autoscaler-api",
                "autoscaler-core",
                "autoscaler-sim",
                "autoscaler-view",
                "exporter-core",
            ],
        ),
    ];
    let mut complaints = Vec::new();
    for (folder, allowed) in arrows {
        let own = |name: &String| name.starts_with("exporter-") || name.starts_with("autoscaler-");
        for name in dependencies(&format!("{folder}/Cargo.toml"))
            .into_iter()
            .filter(own)
        {
            if !allowed.contains(&name.as_str()) {
                complaints.push(format!(
                    "{folder}: an arrow to {name} is not drawn in docs/architecture.md"
                ));
            }
        }
    }
    complain(&complaints);
}

#[test]
fn pure_crates_ban_clock_files_environment_and_threads() {
    let shared = [
        "too-many-lines-threshold = 60",
        "allow-unwrap-in-tests = true",
    ];
    let bans = [
        "SystemTime::now",
        "Instant::now",
        "std::env::var",
        "std::fs::read_to_string",
        "std::net::TcpStream::connect",
        "std::thread::spawn",
        "std::collections::HashMap",
    ];
    let mut complaints = Vec::new();
    for folder in [
        "exporter/core",
        "autoscaler/core",
        "autoscaler/sim",
        "autoscaler/view",
    ] {
        let text = read(&format!("{folder}/clippy.toml"));
        for line in shared.iter().chain(&bans) {
            if !text.contains(line) {
                complaints.push(format!("{folder}/clippy.toml: lacks {line}"));
            }
        }
    }
    complain(&complaints);
}

#[test]
fn dependencies_stay_within_their_budget_and_have_reasons() {
    let packages = read("Cargo.lock")
        .lines()
        .filter(|line| *line == "[[package]]")
        .count();
    let mut complaints = Vec::new();
    if packages > 550 {
        complaints.push(format!("Cargo.lock: {packages} packages, at most 550"));
    }
    let manifest = read("Cargo.toml");
    let section = manifest
        .split("[workspace.dependencies]")
        .nth(1)
        .unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    for line in section.lines().filter(|line| line.contains(" = ")) {
        let own = line.contains("path = ");
        if !own && !line.contains("# ") {
            complaints.push(format!("Cargo.toml: no reason beside: {line}"));
        }
    }
    for (file, text) in files()
        .into_iter()
        .filter(|file| file.ends_with("Cargo.toml"))
        .map(|file| {
            let text = read(&file);
            (file, text)
        })
    {
        if text.lines().any(|line| line == "[features]") {
            complaints.push(format!("{file}: no cargo features"));
        }
    }
    complain(&complaints);
}

#[test]
fn every_crate_obeys_the_lints_of_the_workspace() {
    let mut complaints = Vec::new();
    for file in files()
        .into_iter()
        .filter(|file| file.ends_with("/Cargo.toml"))
    {
        if !read(&file).contains("[lints]\nworkspace = true") {
            complaints.push(format!("{file}: lacks [lints] workspace = true"));
        }
    }
    for (file, text) in sources() {
        let allowed = file.starts_with("exporter/nvml/") || file.starts_with("tests/nvml/");
        let keyword = concat!("unsafe", " {");
        if !allowed && text.contains(keyword) {
            complaints.push(format!(
                "{file}: unsafe code belongs to exporter/nvml and tests/nvml alone"
            ));
        }
    }
    complain(&complaints);
}
