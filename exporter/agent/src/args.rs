//! The command line. A flag wins over the file, the file over the default.

use std::{net::SocketAddr, path::PathBuf};

use exporter_core::simulated::fleet::Spec;

/// Serves the GPUs and inference servers of this node to Prometheus.
#[derive(clap::Parser, Debug)]
#[command(name = "foresail-exporter", version)]
pub(crate) struct Args {
    /// YAML file with the configuration
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Address to serve on [default: 0.0.0.0:9400]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) address: Option<SocketAddr>,

    /// Serve GPUs that do not exist, such as 8xH100-SXM5-80GB:mig=3g.40gb@4+2g.20gb@0,2xL40S
    #[arg(long, value_name = "SPEC")]
    pub(crate) simulated: Option<Spec>,

    /// File of NVIDIA's management library, or folder that holds the driver [default: where the loader finds
    /// libnvidia-ml.so.1, else /, /run/nvidia/driver and /home/kubernetes/bin/nvidia]
    #[arg(long, value_name = "FILE")]
    pub(crate) nvml_library: Option<PathBuf>,

    /// Print one exposition and exit
    #[arg(long)]
    pub(crate) once: bool,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let wrong = |_| "not an address and port; write one like 0.0.0.0:9400".to_string();
    text.parse().map_err(wrong)
}
