//! `foresail snapshot`: what the running controller saw, as a file that `foresail plan` reads.
//! Reads the controller, changes nothing.

use std::path::PathBuf;

use anyhow::Context as _;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{Request, Uri, body::Bytes};
use hyper_util::rt::TokioIo;

use crate::{cluster, file, plan, words};

/// Seconds that the controller may take.
const PATIENCE: u64 = 30;

/// Arguments of `foresail snapshot`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Address of the controller; `kubectl port-forward deploy/foresail-autoscaler 8080` brings it here
    #[arg(long, default_value = "http://127.0.0.1:8080", value_name = "URL", value_parser = controller)]
    controller: Controller,
    /// Where the snapshot is written; standard output when absent
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Where the controller listens.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Controller {
    /// As a resolver takes it: an IPv6 address without brackets.
    host: String,
    port: u16,
    /// As the header `host` has it.
    authority: String,
    /// Of the snapshot, below whatever path the address has.
    path: String,
}

impl Controller {
    fn address(&self) -> String {
        format!("http://{}{}", self.authority, self.path)
    }
}

fn controller(text: &str) -> Result<Controller, String> {
    let wrong = "no http address; http://127.0.0.1:8080 is one".to_owned();
    let uri: Uri = text.parse().map_err(|_| wrong.clone())?;
    if uri.scheme_str() == Some("https") {
        return Err(
            "the controller speaks http; `kubectl port-forward` brings it here safely".to_owned(),
        );
    }
    let authority = uri.authority().map(hyper::http::uri::Authority::as_str);
    let (Some("http"), Some(host), Some(authority)) = (uri.scheme_str(), uri.host(), authority)
    else {
        return Err(wrong);
    };
    if authority.contains('@') {
        return Err("a user name has no place in it; http://127.0.0.1:8080 is one".to_owned());
    }
    let port = match authority[host.len()..].strip_prefix(':') {
        None => 80,
        Some(port) => (port.parse().ok().filter(|port| *port > 0))
            .ok_or_else(|| format!("'{port}' is no port; one is 1 to 65535"))?,
    };
    if uri.query().is_some() {
        return Err("a query has no place in it; http://127.0.0.1:8080 is one".to_owned());
    }
    Ok(Controller {
        host: host.trim_matches(['[', ']']).to_owned(),
        port,
        authority: authority.to_owned(),
        path: format!("{}/snapshot", uri.path().trim_end_matches('/')),
    })
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(path) = &args.output {
        file::writable("--output", path, &[])?;
    }
    let patience = std::time::Duration::from_secs(PATIENCE);
    let answer =
        cluster::block_on(async { tokio::time::timeout(patience, fetch(&args.controller)).await })?;
    let address = args.controller.address();
    let body = answer.with_context(|| format!("{address} took longer than {PATIENCE} s"))??;
    let text = std::str::from_utf8(&body)
        .ok()
        .with_context(|| format!("{address} is not UTF-8 text: is it foresail-autoscaler?"))?;
    let snapshot = plan::parse(&address, text)?;
    let Some(path) = &args.output else {
        return words::print(&body);
    };
    file::write(path, &body)?;
    words::tell(format_args!(
        "{}: {} target(s) as of {}",
        path.display(),
        snapshot.targets.len(),
        snapshot.now
    ));
    Ok(())
}

async fn fetch(controller: &Controller) -> anyhow::Result<Bytes> {
    let address = controller.address();
    let stream = tokio::net::TcpStream::connect((controller.host.as_str(), controller.port))
        .await
        .with_context(|| format!("cannot reach the controller at {address}"))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let request = Request::get(&controller.path)
        .header("host", &controller.authority)
        .body(Empty::<Bytes>::new())?;
    let response = sender
        .send_request(request)
        .await
        .with_context(|| format!("no answer from {address}"))?;
    let status = response.status();
    let most = usize::try_from(plan::LARGEST)?;
    let body = Limited::new(response.into_body(), most).collect().await;
    connection.abort();
    let body = body
        .map_err(|error| anyhow::anyhow!("the answer of {address} broke off: {error}"))?
        .to_bytes();
    anyhow::ensure!(
        status.is_success(),
        "{address} answered {status}: {}",
        words::line(&String::from_utf8_lossy(&body), 200)
    );
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_ports_and_paths_are_read_as_they_stand() {
        let read = |text| controller(text).map(|found| (found.host, found.port, found.path));
        let is = |host: &str, port, path: &str| Ok((host.to_owned(), port, path.to_owned()));
        assert_eq!(read("http://[::1]:81"), is("::1", 81, "/snapshot"));
        assert_eq!(read("http://node"), is("node", 80, "/snapshot"));
        assert_eq!(
            read("http://a:8080/scale/"),
            is("a", 8080, "/scale/snapshot")
        );
        assert_eq!(controller("http://[::1]:81").unwrap().authority, "[::1]:81");
    }

    #[test]
    fn what_is_no_address_is_told_what_would_be_right() {
        for (text, words) in [
            ("ftp://node", "no http address"),
            ("node:8080", "no http address"),
            ("https://node", "speaks http"),
            ("http://node:70000", "'70000' is no port"),
            ("http://node:0", "'0' is no port"),
            ("http://me:secret@node", "user name"),
            ("http://node/?at=1", "query"),
        ] {
            let error = controller(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
