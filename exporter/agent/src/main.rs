//! `foresail-exporter`: reads the GPUs and inference servers of a node and serves them to Prometheus.
//! Ends with 0 when told to end, 1 when its input is at fault, 2 on wrong usage.

use std::{io::Write, process::ExitCode};

use clap::Parser;

mod args;

mod config;

mod run;

mod source;

mod gather;

mod inference;

mod kubelet;

mod apiserver;

mod http;

mod telemetry;

fn main() -> ExitCode {
    let args = args::Args::parse();
    telemetry::start(&args.dcgm);
    args.without_effect.report();
    match run::run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Not eprintln!, which panics when nobody reads; there is nobody left to tell.
            let _ = writeln!(std::io::stderr(), "foresail-exporter: {error:#}");
            ExitCode::FAILURE
        }
    }
}
