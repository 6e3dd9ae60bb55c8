//! The autoscaler's process: parses the arguments, starts the logs, runs until it is told to stop.
//! Exit status 1 when it cannot start, 2 for wrong usage.

use std::process::ExitCode;

use autoscaler_controller::{Args, run, telemetry};
use clap::Parser;

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    telemetry::start_logs(args.log_format);
    match run::run(args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("foresail-autoscaler: {error:#}");
            ExitCode::from(1)
        }
    }
}
