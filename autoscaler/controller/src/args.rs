//! Flags of the autoscaler. Each can be given in the environment as well.

use std::net::SocketAddr;

/// Forecasts the load of GPU inference services and scales them ahead of it.
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "foresail-autoscaler", version)]
pub struct Args {
    /// Address of Prometheus: `http://prometheus.monitoring:9090` is one
    #[arg(long, env = "FORESAIL_PROMETHEUS_URL", value_parser = url)]
    pub prometheus_url: reqwest::Url,
    /// Seconds between two decisions
    #[arg(long, env = "FORESAIL_TICK", default_value_t = 15, value_parser = clap::value_parser!(i64).range(1..=300))]
    pub tick: i64,
    /// Seconds of a step of the history
    #[arg(long, env = "FORESAIL_STEP", default_value_t = 60, value_parser = clap::value_parser!(i64).range(5..=600))]
    pub step: i64,
    /// Days of history that are read from Prometheus
    #[arg(long, env = "FORESAIL_HISTORY_DAYS", default_value_t = 7, value_parser = clap::value_parser!(i64).range(1..=14))]
    pub history_days: i64,
    /// Seconds after which the newest sample is stale
    #[arg(long, env = "FORESAIL_STALE_AFTER", default_value_t = 120, value_parser = clap::value_parser!(i64).range(10..=3600))]
    pub stale_after: i64,
    /// Seconds that a query may take
    #[arg(long, env = "FORESAIL_QUERY_TIMEOUT", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=120))]
    pub query_timeout: u64,
    /// Where metrics, health and the page are served
    #[arg(long, env = "FORESAIL_ADDRESS", default_value = "127.0.0.1:8080")]
    pub address: SocketAddr,
    /// How logs are written
    #[arg(long, env = "FORESAIL_LOG_FORMAT", value_enum, default_value = "text")]
    pub log_format: LogFormat,
}

/// How logs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For collectors.
    Json,
}

fn url(text: &str) -> Result<reqwest::Url, String> {
    let url: reqwest::Url = text
        .parse()
        .map_err(|error| format!("{error}; http://host:9090 would be right"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err("not an http or https address; http://host:9090 would be right".to_owned());
    }
    Ok(url)
}
