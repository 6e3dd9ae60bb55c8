//! Logs: fields, on stderr, filtered by `RUST_LOG`.

use tracing_subscriber::EnvFilter;

/// Starts logging; a second call does nothing.
pub(crate) fn start() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let logs = tracing_subscriber::fmt().with_env_filter(filter);
    // Fails only when something logs already, which is as good.
    let _ = logs
        .with_writer(std::io::stderr)
        .with_ansi(false)
        // Would report an unwritable stderr to stderr, and panic.
        .log_internal_errors(false)
        .try_init();
}
