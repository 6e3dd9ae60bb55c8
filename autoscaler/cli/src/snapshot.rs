//! `foresail snapshot`: what the running controller saw, as a file that `foresail plan` reads.
//! Reads the controller, changes nothing.

use std::{io::Write as _, path::PathBuf};

use anyhow::Context as _;
use autoscaler_core::snapshot::Snapshot;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{Request, Uri, body::Bytes};
use hyper_util::rt::TokioIo;

/// Bytes of a snapshot that are read at most.
const LIMIT: usize = 1 << 30;
/// Seconds that the controller may take.
const PATIENCE: u64 = 30;

/// Arguments of `foresail snapshot`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Address of the controller; `kubectl port-forward deploy/foresail-autoscaler 8080` brings it here
    #[arg(long, default_value = "http://127.0.0.1:8080", value_name = "URL")]
    controller: Uri,
    /// Where the snapshot is written; standard output when absent
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let patience = std::time::Duration::from_secs(PATIENCE);
    let answer = crate::cluster::block_on(async {
        tokio::time::timeout(patience, fetch(&args.controller)).await
    })?;
    let body =
        answer.with_context(|| format!("{} took longer than {PATIENCE} s", args.controller))??;
    let snapshot: Snapshot = serde_json::from_slice(&body).with_context(|| {
        format!(
            "{} did not answer with a snapshot: is it foresail-autoscaler?",
            args.controller
        )
    })?;
    match &args.output {
        Some(path) => {
            std::fs::write(path, &body)
                .with_context(|| format!("cannot write {}", path.display()))?;
            eprintln!(
                "{}: {} target(s) as of {}",
                path.display(),
                snapshot.targets.len(),
                snapshot.now
            );
        }
        None => std::io::stdout().lock().write_all(&body)?,
    }
    Ok(())
}

async fn fetch(controller: &Uri) -> anyhow::Result<Bytes> {
    let wrong =
        || format!("--controller: '{controller}' is no http address; http://127.0.0.1:8080 is one");
    anyhow::ensure!(controller.scheme_str() == Some("http"), wrong());
    let host = controller.host().with_context(wrong)?;
    let port = controller.port_u16().unwrap_or(80);
    let stream = tokio::net::TcpStream::connect((host, port))
        .await
        .with_context(|| format!("cannot reach the controller at {controller}"))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let request = Request::get("/snapshot")
        .header("host", host)
        .body(Empty::<Bytes>::new())?;
    let response = sender
        .send_request(request)
        .await
        .with_context(|| format!("no answer from {controller}"))?;
    let status = response.status();
    let body = Limited::new(response.into_body(), LIMIT).collect().await;
    connection.abort();
    let body = body
        .map_err(|error| anyhow::anyhow!("the answer of {controller} broke off: {error}"))?
        .to_bytes();
    anyhow::ensure!(
        status.is_success(),
        "{controller} answered {status}: {}",
        String::from_utf8_lossy(&body)
            .chars()
            .take(200)
            .collect::<String>()
            .trim()
    );
    Ok(body)
}
