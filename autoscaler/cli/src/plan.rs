//! `foresail plan`: the controller's own decision, reproduced from a snapshot file. Reads that file
//! and nothing else: the same file gives the same output, byte for byte.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use autoscaler_core::{
    check::check,
    explain,
    plan::{Plan, plan},
    snapshot::{self, Snapshot},
};
use serde::Deserialize;

/// Arguments of `foresail plan`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Snapshot as `foresail snapshot` writes it
    #[arg(long, value_name = "FILE")]
    snapshot: PathBuf,
    /// Words for people, or the plan as the controller writes it
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// `--format`.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Every decision with the way to it
    Text,
    /// The plan, version 1
    Json,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let snapshot = read(&args.snapshot)?;
    let plan = plan(&snapshot).plan;
    if let Some(violation) = check(&snapshot, &plan).first() {
        bail!(
            "{}: the plan breaks an invariant, report this: {violation}",
            args.snapshot.display()
        );
    }
    let output = match args.format {
        Format::Text => text(&plan),
        Format::Json => serde_json::to_string_pretty(&plan)? + "\n",
    };
    match std::io::stdout().lock().write_all(output.as_bytes()) {
        // Whoever reads may have had enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("standard output cannot be written"),
    }
}

/// The version alone: read first, so that a file of another version is named as that.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

fn read(path: &Path) -> anyhow::Result<Snapshot> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{name} cannot be read, it has to be a snapshot file"))?;
    let Version { version } = serde_json::from_str(&text)
        .with_context(|| format!("{name} is no snapshot, it has to be JSON with a `version`"))?;
    if version != snapshot::VERSION {
        bail!(
            "{name} is a snapshot of version {version}, this program reads version {}",
            snapshot::VERSION
        );
    }
    let snapshot = serde_json::from_str(&text).with_context(|| {
        format!("{name} does not hold what a snapshot of version {version} holds")
    })?;
    snapshot::sound(&snapshot).with_context(|| name.to_string())?;
    Ok(snapshot)
}

fn text(plan: &Plan) -> String {
    if plan.decisions.is_empty() {
        return format!("no targets at {}\n", plan.now);
    }
    let decisions: Vec<String> = plan.decisions.iter().map(explain::text).collect();
    decisions.join("\n")
}
