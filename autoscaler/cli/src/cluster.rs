//! The connection to a cluster, as kubectl would make it.

use anyhow::Context as _;
use kube::Client;

/// Runs one future to its end.
pub(crate) fn block_on<F: Future>(future: F) -> anyhow::Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("no runtime")?;
    Ok(runtime.block_on(future))
}

/// A client by KUBECONFIG, the default kubeconfig or the service account.
pub(crate) async fn client() -> anyhow::Result<Client> {
    // The first provider wins; a second call is no error that matters.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = kube::Config::infer()
        .await
        .context("no cluster: set KUBECONFIG, or run `kubectl config current-context`")?;
    Client::try_from(config).context("the kubeconfig cannot be used")
}
