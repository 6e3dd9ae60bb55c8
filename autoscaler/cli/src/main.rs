//! The command line of Foresail: parses the arguments and hands over. Exit status: 0 done, 1 the
//! input or the cluster is at fault, 2 wrong usage.

mod backtest;
mod cluster;
mod demo;
mod duration;
mod explain;
mod file;
mod plan;
mod simulate;
mod snapshot;
mod words;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Forecasts GPU inference load, scales ahead of it, and says why.
#[derive(Parser)]
#[command(name = "foresail", version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Shows a whole day of decisions on simulated GPUs: no cluster, no GPU, no Prometheus.
    Demo(demo::Args),
    /// Scores the forecaster on recorded load, in CSV files of `timestamp,value`.
    Backtest(backtest::Args),
    /// Says why the last decision about a target was what it was.
    Explain(explain::Args),
    /// Reproduces the controller's decision from a snapshot file.
    Plan(plan::Args),
    /// Compares policies on a scenario, request by request.
    Simulate(simulate::Args),
    /// Writes what the running controller saw into a file.
    Snapshot(snapshot::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().verb {
        Verb::Demo(args) => demo::run(&args),
        Verb::Backtest(args) => backtest::run(&args),
        Verb::Explain(args) => explain::run(&args),
        Verb::Plan(args) => plan::run(&args),
        Verb::Simulate(args) => simulate::run(&args),
        Verb::Snapshot(args) => snapshot::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            words::tell(format_args!("foresail: {}", words::causes(&error)));
            ExitCode::from(if error.is::<words::Usage>() { 2 } else { 1 })
        }
    }
}
