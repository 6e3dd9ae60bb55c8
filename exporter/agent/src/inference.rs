//! Asks one inference server for its metrics, within its deadline and a size limit.

use exporter_core::{
    exposition::{self, ParseError},
    queue::{Server, vllm},
};

use crate::config;

/// Bytes that an answer may have; vLLM's is some hundred kilobytes.
const LARGEST: usize = 16 << 20;

/// Why a server gave nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InferenceError {
    /// No connection, no answer in time, or a broken one.
    #[error("no answer: {0}")]
    Unreachable(String),
    /// Another status than 200.
    #[error("answered {0} instead of 200")]
    Status(u16),
    /// Too much.
    #[error("the answer is larger than {} MiB", LARGEST >> 20)]
    TooLarge,
    /// Not text.
    #[error("the answer is not UTF-8 text")]
    NotText,
    /// Not an exposition.
    #[error("the answer is not an exposition: {0}")]
    Form(#[from] ParseError),
    /// Another program's exposition.
    #[error(transparent)]
    Vllm(#[from] vllm::VllmError),
}

impl InferenceError {
    /// Whether the server could be reached at all.
    pub(crate) fn reached(&self) -> bool {
        !matches!(self, Self::Unreachable(_))
    }
}

/// A client for all servers.
pub(crate) fn client() -> Result<reqwest::Client, reqwest::Error> {
    // Fails only when a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let agent = concat!("foresail-exporter/", env!("CARGO_PKG_VERSION"));
    reqwest::Client::builder()
        .user_agent(agent)
        .no_proxy()
        .build()
}

/// The models that `server` serves now.
pub(crate) async fn ask(
    client: &reqwest::Client,
    server: &config::Server,
) -> Result<Vec<Server>, InferenceError> {
    let answer = fetch(client, server.url.reveal());
    let answer = tokio::time::timeout(server.deadline, answer).await;
    let late = || format!("nothing within {} s", server.deadline.as_secs_f64());
    let text = answer.map_err(|_| InferenceError::Unreachable(late()))??;
    Ok(vllm::servers(&server.target, &exposition::parse(&text)?)?)
}

async fn fetch(client: &reqwest::Client, url: &str) -> Result<String, InferenceError> {
    let unreachable = |error: reqwest::Error| InferenceError::Unreachable(innermost(&error));
    let mut answer = client.get(url).send().await.map_err(unreachable)?;
    if answer.status() != reqwest::StatusCode::OK {
        return Err(InferenceError::Status(answer.status().as_u16()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(unreachable)? {
        body.extend_from_slice(&chunk);
        if body.len() > LARGEST {
            return Err(InferenceError::TooLarge);
        }
    }
    String::from_utf8(body).map_err(|_| InferenceError::NotText)
}

/// The last cause: "connection refused" says more than "error sending request".
fn innermost(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => innermost(source),
        None => error.to_string(),
    }
}
