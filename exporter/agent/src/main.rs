//! `foresail-exporter`: reads the GPUs and inference servers of a node and serves them to Prometheus.
//! Ends with 0 when told to end, 1 when its input is at fault, 2 on wrong usage,
//! 3 when a comparison finds something lost or changed.

use std::process::ExitCode;

use clap::Parser;

mod args;

mod config;

mod run;

mod print;

mod source;

mod gather;

mod inference;

mod kubelet;

mod other;

mod apiserver;

mod http;

mod telemetry;

mod web;

fn main() -> ExitCode {
    let args = args::Args::parse();
    telemetry::start(&args.dcgm);
    args.without_effect.report();
    run::run(&args).unwrap_or_else(|error| telemetry::fail(&error))
}
