//! Reads the exposition of a running dcgm-exporter.

use std::time::Duration;

use anyhow::{Context, bail};

use crate::{config::Other, inference};

/// Bytes that its answer may have.
const LARGEST: usize = 64 << 20;

/// Its answer, within `deadline`.
pub(crate) async fn fetch(other: &Other, deadline: Duration) -> anyhow::Result<String> {
    let shown = &other.shown;
    let client = inference::client().context("cannot make an HTTP client")?;
    let ask = async {
        let answer = client.get(other.url.reveal()).send().await?;
        let mut answer = answer.error_for_status()?;
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            body.extend_from_slice(&chunk);
            if body.len() > LARGEST {
                break;
            }
        }
        Ok::<_, reqwest::Error>(body)
    };
    let Ok(body) = tokio::time::timeout(deadline, ask).await else {
        bail!(
            "{shown}: no answer within {} s; is a dcgm-exporter there?",
            deadline.as_secs()
        );
    };
    // Without its URL, which may carry a password.
    let body = body.map_err(reqwest::Error::without_url);
    let body =
        body.with_context(|| format!("{shown}: cannot be read; is a dcgm-exporter there?"))?;
    if body.len() > LARGEST {
        bail!("{shown}: the answer is larger than {} MiB", LARGEST >> 20);
    }
    String::from_utf8(body).with_context(|| format!("{shown}: the answer is not UTF-8 text"))
}
