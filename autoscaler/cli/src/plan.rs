//! `foresail plan`: the controller's own decision, reproduced from a snapshot file. Reads that file
//! and nothing else: the same file gives the same output, byte for byte.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use autoscaler_core::{
    check::check,
    explain,
    plan::{Plan, plan},
    snapshot::{self, Snapshot},
};
use serde::Deserialize;

use crate::{file, words};

/// Bytes of a snapshot at most: a thousand targets with 14 days of minutes each.
pub(crate) const LARGEST: u64 = 1 << 30;

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
    words::print(output.as_bytes())
}

/// The version alone: read first, so that a file of another version is named as that.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

fn read(path: &Path) -> anyhow::Result<Snapshot> {
    let text = file::read(path, LARGEST)?;
    parse(&path.display().to_string(), &text)
}

/// A snapshot that a plan may rest on, from the text that stands at `name`.
pub(crate) fn parse(name: &str, text: &str) -> anyhow::Result<Snapshot> {
    // A number that is cut off is a wrong number to the parser, at the very end.
    let last = text.lines().last().unwrap_or_default().len();
    let whole = |error: &serde_json::Error| {
        let at_end = error.line() == text.lines().count() && error.column() + 1 >= last;
        if last > 1 && (error.is_eof() || at_end) && text.trim_start().starts_with('{') {
            format!("{name} ends in the middle, it was cut off; take the snapshot again")
        } else {
            format!("{name} is no snapshot, it has to be JSON with a `version`")
        }
    };
    let version: Result<Version, _> = serde_json::from_str(text);
    let Version { version } = version.map_err(|error| {
        let said = whole(&error);
        anyhow::Error::new(error).context(said)
    })?;
    if version != snapshot::VERSION {
        bail!(
            "{name} is a snapshot of version {version}, this program reads version {}",
            snapshot::VERSION
        );
    }
    let snapshot = serde_json::from_str(text).with_context(|| {
        format!("{name} does not hold what a snapshot of version {version} holds")
    })?;
    snapshot::sound(&snapshot).with_context(|| name.to_owned())?;
    Ok(snapshot)
}

fn text(plan: &Plan) -> String {
    if plan.decisions.is_empty() {
        return format!("no targets at {}\n", plan.now);
    }
    let decisions: Vec<String> = plan.decisions.iter().map(explain::text).collect();
    decisions.join("\n")
}
