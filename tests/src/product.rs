//! Foresail's own programs as processes. They are built by `make test` before the tests run, into the
//! folder in which the test's own binary lies.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    time::Duration,
};

use anyhow::{Context, ensure};

use crate::{
    free_port,
    service::{Service, answers},
};

/// The path of one of the programs.
pub fn program(name: &str) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    // target/debug/deps/it-… → target/debug
    let folder = own
        .parent()
        .and_then(Path::parent)
        .context("no target folder")?;
    let path = folder.join(name);
    ensure!(
        path.exists(),
        "{} is not built: run `cargo build --workspace --bins`",
        path.display()
    );
    Ok(path)
}

/// A running autoscaler.
pub struct Controller {
    /// The process.
    pub service: Service,
    /// The address of its web server.
    pub url: String,
}

impl Controller {
    /// Starts the autoscaler with short beats and waits for its first pass.
    pub async fn start(
        kubeconfig: &Path,
        prometheus: &str,
        extra: &[&str],
    ) -> anyhow::Result<Self> {
        let address = format!("127.0.0.1:{}", free_port()?);
        let mut command = Command::new(program("foresail-autoscaler")?);
        command
            .env("KUBECONFIG", kubeconfig)
            .args([
                format!("--prometheus-url={prometheus}"),
                format!("--address={address}"),
            ])
            .args(extra);
        let log =
            kubeconfig.with_file_name(format!("autoscaler-{}.log", address.replace(':', "-")));
        let mut service = Service::start("foresail-autoscaler", &mut command, log)?;
        let (client, url) = (reqwest::Client::new(), format!("http://{address}"));
        let ready = format!("{url}/readyz");
        service
            .wait(Duration::from_secs(90), || answers(&client, &ready))
            .await?;
        Ok(Self { service, url })
    }
}

/// Runs the command line against a cluster.
pub fn foresail(kubeconfig: &Path, arguments: &[&str]) -> anyhow::Result<Output> {
    Ok(Command::new(program("foresail")?)
        .env("KUBECONFIG", kubeconfig)
        .args(arguments)
        .output()?)
}

/// Starts the exporter on simulated GPUs; the process and its address.
pub async fn exporter(folder: &Path, spec: &str) -> anyhow::Result<(Service, String)> {
    exporter_with(folder, &[format!("--simulated={spec}")]).await
}

/// Starts the exporter with these flags and the environment of the driver library for tests, which looks for its boards
/// in the file `world` of the folder; the process and its address.
pub async fn exporter_with(folder: &Path, flags: &[String]) -> anyhow::Result<(Service, String)> {
    // The first provider wins.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let address = format!("127.0.0.1:{}", free_port()?);
    let mut command = Command::new(program("foresail-exporter")?);
    command
        .arg(format!("--address={address}"))
        .args(flags)
        .env("FORESAIL_TEST_NVML", folder.join("world"))
        .env("NODE_NAME", "node-1");
    let log = folder.join(format!("exporter-{}.log", address.replace(':', "-")));
    let mut service = Service::start("foresail-exporter", &mut command, log)?;
    let (client, ready) = (reqwest::Client::new(), format!("http://{address}/readyz"));
    service
        .wait(Duration::from_secs(30), || answers(&client, &ready))
        .await?;
    Ok((service, address))
}
