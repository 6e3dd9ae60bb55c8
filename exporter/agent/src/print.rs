//! Prints one exposition, or how one differs from a running dcgm-exporter's, and ends. Serves nobody.

use std::{
    io::{ErrorKind, Write},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, bail};
use exporter_core::{collect::collect_under, compare::Comparison, exposition::text::render};

use crate::{
    config::{Config, Other},
    gather::Published,
    http,
    other::fetch,
    run::{PATIENCE, start},
    source::nvml,
};

/// Longest time that one exposition waits for its sources: a driver call may never return.
const ONCE: Duration = Duration::from_mins(1);
/// Time between the two gathers of a comparison: rates need two.
const BETWEEN: Duration = Duration::from_secs(1);
/// Time for the other exporter to answer; dcgm-exporter's own limit is 10 s.
const OTHER: Duration = Duration::from_secs(15);
/// Status of a comparison in which something of the other exporter is lost, relabelled or retyped.
const CHANGED: u8 = 3;

/// Prints one exposition.
pub(crate) async fn exposition(config: &Config) -> anyhow::Result<ExitCode> {
    if let (None, Some(library)) = (&config.simulated, &config.nvml_library) {
        usable(library.clone()).await?;
    }
    let (mut published, owner) = start(config)?;
    if tokio::time::timeout(ONCE, published.complete())
        .await
        .is_err()
    {
        tracing::warn!(
            seconds = ONCE.as_secs(),
            "a source does not answer; printing without it"
        );
    }
    let text = text(config, &published);
    owner.stop(PATIENCE);
    write(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Fails when a library that was named cannot be used. Opened apart from the gather, which would try again.
async fn usable(library: PathBuf) -> anyhow::Result<()> {
    let name = library.display().to_string();
    let open = tokio::task::spawn_blocking(move || nvml::usable(&library));
    let wrong = match tokio::time::timeout(ONCE, open).await {
        Ok(Ok(Ok(()))) => return Ok(()),
        Ok(Ok(Err(wrong))) => wrong,
        Ok(Err(_)) | Err(_) => "it does not answer".into(),
    };
    bail!(
        "{name}: cannot be used as NVIDIA's management library: {wrong}; name libnvidia-ml.so.1 of the driver that runs"
    )
}

/// Prints what of `other` would be lost, gained or labelled otherwise.
pub(crate) async fn comparison(mut config: Config, other: &Other) -> anyhow::Result<ExitCode> {
    let there = fetch(other, OTHER).await?;
    config.interval = BETWEEN;
    let (mut published, owner) = start(&config)?;
    if tokio::time::timeout(ONCE, published.twice()).await.is_err() {
        tracing::warn!(
            seconds = ONCE.as_secs(),
            "a source does not answer; comparing without it"
        );
    }
    let here = text(&config, &published);
    owner.stop(PATIENCE);
    let compared = Comparison::of(&there, &here);
    let compared =
        compared.with_context(|| format!("{}: the answer is not an exposition", other.shown))?;
    write(&format!("compared with {}\n{compared}", other.shown))?;
    Ok(if compared.changes_what_was() {
        ExitCode::from(CHANGED)
    } else {
        ExitCode::SUCCESS
    })
}

fn text(config: &Config, published: &Published) -> String {
    let snapshot = published.snapshot();
    render(&collect_under(&config.contract, &snapshot, http::VERSION))
}

fn write(text: &str) -> anyhow::Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        // Whoever reads has enough, as `head` does.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("cannot write to standard output"),
    }
}
