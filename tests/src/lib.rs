//! Real programs for tests: started on free loopback ports in folders of their own, awaited by their
//! own readiness, ended with the test. Nothing here decides what a test asserts.

pub mod service;

pub mod control_plane;

pub mod kwok;

pub mod prometheus;

pub mod load;

pub mod vllm;

pub mod external_metrics;

pub mod product;

pub mod gguf;

pub mod inference;

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, ensure};

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folder with the binaries of a peer, which `make peers` builds.
pub fn peer(name: &str) -> anyhow::Result<PathBuf> {
    let recipe = match name {
        "triton" | "llama" => "servers.sh",
        _ => "build.sh",
    };
    let output = Command::new(root().join("tests/peers").join(recipe))
        .args(["--dir", name])
        .output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let folder = PathBuf::from(String::from_utf8(output.stdout)?.trim());
    ensure!(
        folder.join(".complete").exists(),
        "{name} is not built: run `make peers`"
    );
    Ok(folder)
}

/// A port on loopback that was free a moment ago.
pub fn free_port() -> anyhow::Result<u16> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).context("no free port")?;
    Ok(listener.local_addr()?.port())
}

/// Notes aloud that a test did not run. `make test` fails unless the name stands on `tests/skips.txt`.
pub fn skip(name: &str, reason: &str) {
    eprintln!("SKIPPED {name}: {reason}");
    if let Some(path) = std::env::var_os("FORESAIL_SKIP_LOG")
        && let Ok(mut log) = fs::OpenOptions::new().create(true).append(true).open(path)
    {
        // A log that cannot be written must not fail the test that says it was skipped.
        let _ = writeln!(log, "{name}: {reason}");
    }
}
