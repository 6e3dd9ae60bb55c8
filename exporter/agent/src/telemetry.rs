//! Logs: fields, on stderr, filtered by `RUST_LOG`.

use std::{io::Write, process::ExitCode};

use tracing_subscriber::EnvFilter;

use crate::args::dcgm::{Flags, LogFormat, Switch};

/// Starts logging; a second call does nothing.
pub(crate) fn start(flags: &Flags) {
    let level = if flags.debug == Some(Switch(true)) {
        "debug"
    } else {
        "info"
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        // Would report an unwritable stderr to stderr, and panic.
        .log_internal_errors(false);
    // Fails only when something logs already, which is as good.
    let _ = match flags.log_format.unwrap_or_default() {
        LogFormat::Text => logs.try_init(),
        LogFormat::Json => logs.json().try_init(),
    };
}

/// Says why the program ends, in one line, and gives its status.
pub(crate) fn fail(error: &anyhow::Error) -> ExitCode {
    // Not eprintln!, which panics when nobody reads; there is nobody left to tell.
    let _ = writeln!(std::io::stderr(), "foresail-exporter: {error:#}");
    ExitCode::FAILURE
}
