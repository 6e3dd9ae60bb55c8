//! `foresail simulate`: one scenario under Foresail's core and its rivals, at the level of single requests.
//! Reads the scenario and what it names, prints a table of scores; touches nothing.

mod load;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use autoscaler_core::capacity::replicas_for;
use autoscaler_sim::{
    policy::{NAMES, named},
    replay::{self, Rates},
    scenario::Scenario,
    score::Score,
};
use serde::Serialize;

use crate::{
    file,
    words::{self, Usage},
};

/// Bytes of a scenario at most.
const LARGEST: u64 = 1 << 20;

/// Arguments of `foresail simulate`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Scenario as YAML; docs/simulator.md has its keys
    #[arg(value_name = "SCENARIO")]
    scenario: PathBuf,
    /// Policies to compare, each NAME or NAME@KNOB, such as foresail@0.99 or hpa@0.8; all when absent
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    policy: Vec<String>,
    /// Another number draws other requests; the scenario's own when absent
    #[arg(long)]
    seed: Option<u64>,
    /// A table for people, or every score
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// `--format`.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A line a policy
    Table,
    /// Every score, version 1
    Json,
}

/// The shape of `--format json`, version 1.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    version: u32,
    scenario: String,
    seed: u64,
    hours: f64,
    policies: Vec<Row>,
}

/// One policy of it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    policy: String,
    late_share: f64,
    #[serde(flatten)]
    score: Score,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let mut scenario = read(&args.scenario)?;
    if let Some(seed) = args.seed {
        scenario.seed = seed;
    }
    let folder = args.scenario.parent().unwrap_or(Path::new(""));
    let rates = load::rates(&scenario, folder)?;
    let names: Vec<String> = if args.policy.is_empty() {
        NAMES.map(str::to_owned).to_vec()
    } else {
        args.policy.clone()
    };
    let begin = begin(&scenario, &rates);
    // All names are looked at before the first run, which may take long.
    for name in &names {
        if let Err(error) = named(name, &scenario, &rates.minutes, begin) {
            bail!(Usage(format!("--policy: {error}")));
        }
    }
    let mut rows = Vec::new();
    for name in names {
        words::progress(format_args!("simulating {name}"));
        let mut policy = named(&name, &scenario, &rates.minutes, begin)?;
        let (score, _) = replay::run(&scenario, &rates, policy.as_mut(), begin);
        rows.push(Row {
            policy: name,
            late_share: score.late_share(),
            score,
        });
    }
    words::progress(format_args!(""));
    let report = Report {
        version: 1,
        scenario: scenario.name,
        seed: scenario.seed,
        hours: scenario.hours,
        policies: rows,
    };
    let text = match args.format {
        Format::Json => serde_json::to_string_pretty(&report)? + "\n",
        Format::Table => table(&report),
    };
    words::print(text.as_bytes())
}

fn read(path: &Path) -> anyhow::Result<Scenario> {
    let text = file::read(path, LARGEST)?;
    let scenario: Scenario = serde_yaml::from_str(&text)
        .with_context(|| format!("{} is no scenario", path.display()))?;
    scenario
        .check()
        .with_context(|| path.display().to_string())?;
    Ok(scenario)
}

/// Replicas at the begin, the same for all: what the first minute needs, and one.
fn begin(scenario: &Scenario, rates: &Rates) -> u32 {
    let first = rates.minutes.first().copied().unwrap_or(0.0);
    let need = replicas_for(first, scenario.replicas.capacity)
        .0
        .saturating_add(1);
    need.clamp(scenario.replicas.min, scenario.replicas.max)
}

fn table(report: &Report) -> String {
    let mut lines = vec![
        format!(
            "{}: {} h, seed {}",
            report.scenario, report.hours, report.seed
        ),
        format!(
            "{:<20} {:>9} {:>9} {:>11} {:>9} {:>9} {:>6} {:>8} {:>9}",
            "policy",
            "GPU-hours",
            "late",
            "violation s",
            "P50 s",
            "P99 s",
            "util",
            "changes",
            "reversals"
        ),
    ];
    let seconds =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
    for row in &report.policies {
        let score = &row.score;
        lines.push(format!(
            "{:<20} {:>9.1} {:>7.2} % {:>11.0} {:>9} {:>9} {:>4.0} % {:>8} {:>9}",
            row.policy,
            score.gpu_hours,
            100.0 * row.late_share,
            score.violation_seconds,
            seconds(score.p50_seconds),
            seconds(score.p99_seconds),
            100.0 * score.utilization,
            score.changes,
            score.reversals,
        ));
    }
    lines.push(String::new());
    lines.join("\n")
}
