//! What the program does: gather and serve until told to end, or print and end.

use std::{process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

use crate::{
    apiserver::ApiServer,
    args::Args,
    config::{self, Config},
    gather::{self, Clients, Owner, Published},
    http, inference,
    kubelet::Kubelet,
    print,
    source::{nothing::Nothing, nvml::Nvml, simulated::Simulated},
    web::Web,
};

mod counters;

mod node;

/// Longest time that the end waits for the thread that owns the GPUs.
pub(crate) const PATIENCE: Duration = Duration::from_millis(2500);

/// Runs until the work is done or a signal ends it.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut config = config::load(args, node::hostname(), node::service())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    let outcome = runtime.block_on(async {
        config.contract = counters::read(&config).await?;
        if let Some(other) = &args.compare {
            print::comparison(config, other).await
        } else if args.once {
            print::exposition(&config).await
        } else {
            serve(&config, args).await
        }
    });
    // Not drop: a name lookup that hangs must not hold up the end.
    runtime.shutdown_background();
    outcome
}

/// Starts gathering; must be called inside the async runtime.
pub(crate) fn start(config: &Config) -> anyhow::Result<(Published, Owner)> {
    let kubernetes = &config.kubernetes;
    let api = kubernetes.api.as_ref().map(ApiServer::new).transpose();
    let kubelet = kubernetes.pod_resources.as_deref().map(Kubelet::new);
    let clients = Clients {
        servers: inference::client().context("cannot make an HTTP client")?,
        api: api.context("kubernetes.apiServer")?.map(Arc::new),
        kubelet: kubelet
            .transpose()
            .context("kubernetes.podResourcesSocket")?,
    };
    let started = match &config.simulated {
        Some(spec) => gather::start(config, Simulated::new(spec, config.seed), clients),
        None if kubernetes.cluster => gather::start(config, Nothing, clients),
        None => gather::start(
            config,
            Nvml::new(config.nvml_library.clone(), config.nvml_deadline),
            clients,
        ),
    };
    started.context("cannot start the thread that owns the gpus")
}

async fn serve(config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let web = Web::open(config.web.as_deref())?;
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
    let (served, contract) = watch::channel(Arc::clone(&config.contract));
    tokio::select! {
        () = http::serve(listener, published, contract, web, stop) => {}
        Err(error) = counters::follow(args, served) => return Err(error),
    }
    owner.stop(PATIENCE);
    Ok(ExitCode::SUCCESS)
}
