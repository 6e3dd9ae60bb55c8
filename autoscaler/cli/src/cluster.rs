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
        .map_err(|error| unusable(&error))?;
    Client::try_from(config).context("the kubeconfig cannot be used")
}

/// Of the two ways to find a cluster, a person at a command line means the kubeconfig: its fault alone is said.
fn unusable(error: &kube::config::InferConfigError) -> anyhow::Error {
    let fault = std::error::Error::source(error).map(|kubeconfig| {
        let text = kubeconfig.to_string();
        text.lines().next().unwrap_or_default().to_owned()
    });
    let fault = fault.unwrap_or_else(|| error.to_string());
    anyhow::anyhow!(
        "no cluster: {fault}; `kubectl config current-context` has to name one (KUBECONFIG)"
    )
}
