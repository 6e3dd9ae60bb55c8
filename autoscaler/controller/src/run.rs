//! Starts everything and keeps the beat: one line a task. Never decides.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use kube::Client;
use tokio::{net::TcpListener, sync::watch, time::MissedTickBehavior};

use crate::{
    Args, http,
    observe::{cluster::Stores, prometheus::Prometheus},
    reconcile::{Context, reconcile},
    report::Reporter,
    telemetry::Metrics,
};

/// Runs until SIGTERM or SIGINT.
pub async fn run(args: Args) -> anyhow::Result<()> {
    // The first provider wins; a second call is no error that matters.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let metrics = Arc::new(Metrics::default());
    let (published, seen) = watch::channel(http::Published::default());
    let listener = TcpListener::bind(args.address)
        .await
        .with_context(|| format!("cannot listen on {} (--address)", args.address))?;
    let server = tokio::spawn(http::serve(listener, metrics.clone(), seen));

    let config = kube::Config::infer().await.context(
        "no Kubernetes configuration: neither a service account nor a kubeconfig (KUBECONFIG) was found",
    )?;
    let client = Client::try_from(config).context("the Kubernetes configuration cannot be used")?;
    let prometheus =
        Prometheus::new(&args, metrics.clone()).context("the Prometheus client cannot start")?;
    let stores = Stores::watch(&client);
    let reporter = Reporter::new(client.clone(), metrics.clone());
    let mut context = Context::new(
        args, client, prometheus, stores, reporter, metrics, published,
    );

    tokio::select! {
        () = beat(&mut context) => {}
        result = stop() => result.context("cannot wait for signals")?,
    }
    tracing::info!("stopping");
    server.abort();
    Ok(())
}

/// One reconciliation a tick, for ever.
async fn beat(context: &mut Context) {
    context.stores.ready().await;
    let period = Duration::from_secs(context.args.tick.unsigned_abs());
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        reconcile(context).await;
    }
}

/// Returns when the process is asked to stop.
async fn stop() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
