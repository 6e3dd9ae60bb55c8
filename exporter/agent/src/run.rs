//! What the program does: gather and serve until told to end, or print one exposition.

use std::{
    io::{ErrorKind, Write},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, bail};
use exporter_core::{collect::collect_under, exposition::text::render};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    apiserver::ApiServer,
    args::Args,
    config::{self, Config},
    gather::{self, Clients, Owner, Published},
    http, inference,
    kubelet::Kubelet,
    source::{
        nvml::{self, Nvml},
        simulated::Simulated,
    },
};

mod node;

/// Longest time that one exposition waits for its sources: a driver call may never return.
const ONCE: Duration = Duration::from_mins(1);
/// Longest time that the end waits for the thread that owns the GPUs.
const PATIENCE: Duration = Duration::from_millis(2500);

/// Runs until the work is done or a signal ends it.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let config = config::load(args, node::hostname(), node::service())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    let outcome = runtime.block_on(async {
        if args.once {
            once(&config).await
        } else {
            serve(&config).await
        }
    });
    // Not drop: a name lookup that hangs must not hold up the end.
    runtime.shutdown_background();
    outcome
}

fn start(config: &Config) -> anyhow::Result<(Published, Owner)> {
    let kubernetes = &config.kubernetes;
    let api = kubernetes.api.as_ref().map(ApiServer::new).transpose();
    let kubelet = kubernetes.pod_resources.as_deref().map(Kubelet::new);
    let clients = Clients {
        servers: inference::client().context("cannot make an HTTP client")?,
        api: api.context("kubernetes.discovery")?.map(Arc::new),
        kubelet: kubelet
            .transpose()
            .context("kubernetes.podResourcesSocket")?,
    };
    let started = match &config.simulated {
        Some(spec) => gather::start(config, Simulated::new(spec, config.seed), clients),
        None => gather::start(
            config,
            Nvml::new(config.nvml_library.clone(), config.nvml_deadline),
            clients,
        ),
    };
    started.context("cannot start the thread that owns the gpus")
}

async fn once(config: &Config) -> anyhow::Result<()> {
    if let (None, Some(library)) = (&config.simulated, &config.nvml_library) {
        usable(library.clone()).await?;
    }
    let (mut published, owner) = start(config)?;
    if tokio::time::timeout(ONCE, published.complete())
        .await
        .is_err()
    {
        tracing::warn!(
            seconds = ONCE.as_secs(),
            "a source does not answer; printing without it"
        );
    }
    let text = render(&collect_under(
        &config.contract,
        &published.snapshot(),
        http::VERSION,
    ));
    owner.stop(PATIENCE);
    match std::io::stdout().write_all(text.as_bytes()) {
        // Whoever reads has enough, as `head` does.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.context("cannot write to standard output"),
    }
}

/// Fails when a library that was named cannot be used. Opened apart from the gather, which would try again.
async fn usable(library: PathBuf) -> anyhow::Result<()> {
    let name = library.display().to_string();
    let open = tokio::task::spawn_blocking(move || nvml::usable(&library));
    let wrong = match tokio::time::timeout(ONCE, open).await {
        Ok(Ok(Ok(()))) => return Ok(()),
        Ok(Ok(Err(wrong))) => wrong,
        Ok(Err(_)) | Err(_) => "it does not answer".into(),
    };
    bail!(
        "{name}: cannot be used as NVIDIA's management library: {wrong}; name libnvidia-ml.so.1 of the driver that runs"
    )
}

async fn serve(config: &Config) -> anyhow::Result<()> {
    let address = config.address;
    let listener = http::listen(address)
        .with_context(|| format!("cannot serve on {address}; choose a free one with --address"))?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot watch for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot watch for SIGINT")?;
    let (published, owner) = start(config)?;
    let bound = listener.local_addr().unwrap_or(address);
    tracing::info!(address = %bound, version = http::VERSION, "serving");
    let stop = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("ending");
    };
    http::serve(listener, published, Arc::clone(&config.contract), stop).await;
    owner.stop(PATIENCE);
    Ok(())
}
