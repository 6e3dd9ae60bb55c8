//! The command line. A flag wins over its environment variable, this over the file, the file over the default.

use std::{
    net::{Ipv4Addr, SocketAddr, ToSocketAddrs},
    path::PathBuf,
};

use crate::config::Other;
use exporter_core::{contract::Version, simulated::fleet::Spec};

pub(crate) use dcgm::Switch;

pub(crate) mod dcgm;

mod without_effect;

/// Serves the GPUs and inference servers of this node to Prometheus.
#[derive(clap::Parser, Debug)]
#[command(name = "foresail-exporter", version)]
pub(crate) struct Args {
    /// YAML file with the configuration
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Address to serve on [default: 0.0.0.0:9400]
    #[arg(short, long, value_name = "ADDRESS", value_parser = address, env = "DCGM_EXPORTER_LISTEN")]
    pub(crate) address: Option<SocketAddr>,

    /// Serve GPUs that do not exist, such as 8xH100-SXM5-80GB:mig=3g.40gb@4+2g.20gb@0,2xL40S
    #[arg(long, value_name = "SPEC")]
    pub(crate) simulated: Option<Spec>,

    /// File of NVIDIA's management library, or folder that holds the driver [default: where the loader finds
    /// libnvidia-ml.so.1, else /, /run/nvidia/driver and /home/kubernetes/bin/nvidia]
    #[arg(long, value_name = "FILE")]
    pub(crate) nvml_library: Option<PathBuf>,

    /// A dcgm-exporter on this node that lends the profiling ratios which the driver library does not measure: those of
    /// boards before Hopper
    #[arg(long, value_name = "URL", value_parser = other, env = "FORESAIL_DCGM_EXPORTER_URL")]
    pub(crate) dcgm_exporter_url: Option<Other>,

    /// Serve the batch queues of the whole cluster instead of this node; for one replica
    #[arg(long, conflicts_with = "simulated")]
    pub(crate) cluster: bool,

    /// Print one exposition and exit
    #[arg(long)]
    pub(crate) once: bool,

    /// Print what a swap with the dcgm-exporter at URL would lose, gain or relabel, and exit with 0 or, when something
    /// is lost or changed, 3
    #[arg(long, value_name = "URL", value_parser = other, conflicts_with = "once")]
    pub(crate) compare: Option<Other>,

    /// Whose labels and order: 4.8.2 (Hostname) or 4.8.3 (hostname) [default: 4.8.2]
    #[arg(long, value_name = "VERSION", value_parser = version, env = "FORESAIL_DIALECT")]
    pub(crate) dialect: Option<Version>,

    #[command(flatten)]
    pub(crate) dcgm: dcgm::Flags,

    #[command(flatten)]
    pub(crate) without_effect: without_effect::WithoutEffect,
}

/// A URL; its path is `/metrics` when it has none.
pub(crate) fn other(text: &str) -> Result<Other, String> {
    let full = match text.trim_end_matches('/').rsplit_once("://") {
        Some((_, host)) if !host.contains('/') && !host.contains('?') => {
            format!("{}/metrics", text.trim_end_matches('/'))
        }
        _ => text.to_string(),
    };
    let (url, shown) = crate::config::read_url(&full)
        .map_err(|_| "not a URL such as http://10.0.0.5:9400/metrics".to_string())?;
    Ok(Other { url, shown })
}

/// `0.0.0.0:9400`, `[::]:9400`, `:9400` for all of IPv4, `localhost:9400`.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    if let Some(port) = text.strip_prefix(':').and_then(|port| port.parse().ok()) {
        return Ok((Ipv4Addr::UNSPECIFIED, port).into());
    }
    let found = text
        .to_socket_addrs()
        .ok()
        .and_then(|mut found| found.next());
    found.ok_or_else(|| "not an address and port such as 0.0.0.0:9400".to_string())
}

/// The dcgm-exporter that changed the labels, or the one before it.
pub(crate) fn version(text: &str) -> Result<Version, String> {
    match text {
        "4.8.2" => Ok(Version::V482),
        "4.8.3" => Ok(Version::V483),
        _ => Err(format!(
            "{text:?} is no dialect; write 4.8.2 (label Hostname) or 4.8.3 (label hostname)"
        )),
    }
}
