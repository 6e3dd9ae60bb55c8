//! The HTTP server. Answers from what is published and never waits for a source.

use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use exporter_core::{
    collect::collect_under,
    contract::Contract,
    exposition::text::{CONTENT_TYPE, render},
};
use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::watch,
    task::JoinSet,
};

use crate::{
    gather::Published,
    web::{Rules, Verdict, Web},
};

use room::{Guest, Room};
use watched::Watched;

mod encoding;

mod landing;

mod room;

mod secure;

mod watched;

/// Connections served at once; a further one takes the place of the one that is quiet for the longest.
const MOST_CONNECTIONS: usize = 128;
/// Time for a client to send a request's head, and for an idle connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Time for a client to take an answer, as in dcgm-exporter.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes that the kernel keeps for a client that does not read; more is not needed to fill a network.
const SEND_BUFFER: u32 = 256 << 10;
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;
/// Time for open answers to end when the process is told to.
const GRACE: Duration = Duration::from_secs(3);

/// Version of this program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What all clients are answered from.
struct Served {
    published: Published,
    contract: watch::Receiver<Arc<Contract>>,
    web: Web,
}

type Answer = Response<Full<Bytes>>;

/// A listener on `address` whose clients cannot make the kernel hold much for them.
pub(crate) fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // As the standard library does: a restart need not wait until old connections are forgotten.
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves until `stop` ends, then lets open answers end.
pub(crate) async fn serve(
    listener: TcpListener,
    published: Published,
    contract: watch::Receiver<Arc<Contract>>,
    web: Web,
    stop: impl Future<Output = ()>,
) {
    let served = Arc::new(Served {
        published,
        contract,
        web,
    });
    let room = Room::new(MOST_CONNECTIONS);
    let (end, ending) = watch::channel(());
    let mut connections = JoinSet::new();
    tokio::pin!(stop);
    loop {
        while connections.try_join_next().is_some() {}
        let next = async {
            match listener.accept().await {
                Ok((stream, _)) => Some((stream, room.enter().await)),
                Err(error) => {
                    // Out of file descriptors, mostly: give connections time to end.
                    tracing::warn!(%error, "cannot accept");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    None
                }
            }
        };
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = next => accepted,
        };
        if let Some((stream, guest)) = accepted {
            let (served, ending) = (Arc::clone(&served), ending.clone());
            connections.spawn(connection(stream, guest, served, ending));
        }
    }
    drop(end);
    let all = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(GRACE, all).await.is_err() {
        tracing::warn!("connections are still open; closing them");
    }
}

/// One client, from its first byte to its last. What it does wrong concerns it alone.
async fn connection(
    stream: TcpStream,
    guest: Guest,
    served: Arc<Served>,
    end: watch::Receiver<()>,
) {
    let rules = served.web.rules();
    let leave = guest.leave();
    let mut ending = end.clone();
    let talk = async {
        let Some(tls) = rules.tls.clone() else {
            return talk(
                Watched::new(stream, guest, ANSWER_TIMEOUT),
                served,
                rules,
                end,
            )
            .await;
        };
        let hello = secure::hello(stream, guest, tls, ANSWER_TIMEOUT);
        let stream = tokio::select! {
            hello = tokio::time::timeout(HEAD_TIMEOUT, hello) => hello,
            _ = ending.changed() => return,
        };
        match stream {
            Ok(Ok(stream)) => talk(stream, served, rules, end).await,
            Ok(Err(error)) => tracing::debug!(%error, "no TLS connection"),
            Err(_) => tracing::debug!("no TLS connection in time"),
        }
    };
    tokio::select! {
        () = talk => {}
        () = leave => {}
    }
}

async fn talk<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    served: Arc<Served>,
    rules: Arc<Rules>,
    mut end: watch::Receiver<()>,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (served, rules) = (Arc::clone(&served), Arc::clone(&rules));
        async move { Ok::<Answer, Infallible>(guarded(&request, &served, &rules).await) }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(64 << 10);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let outcome = tokio::select! {
        outcome = connection.as_mut() => outcome,
        _ = end.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "connection ended");
    }
}

/// The answer to whoever may have one; every path is guarded, as in exporter-toolkit.
async fn guarded<B>(request: &Request<B>, served: &Served, rules: &Rules) -> Answer {
    let said = request.headers().get(header::AUTHORIZATION);
    let mut answer = match rules.judge(said.map(header::HeaderValue::as_bytes)).await {
        Verdict::Welcome => answer(request, served),
        Verdict::Unknown => {
            let mut answer = plain(StatusCode::UNAUTHORIZED, "Unauthorized\n");
            let basic = header::HeaderValue::from_static("Basic");
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, basic);
            answer
        }
    };
    answer.headers_mut().extend(rules.headers.clone());
    answer
}

fn answer<B>(request: &Request<B>, served: &Served) -> Answer {
    let known = ["/", "/metrics", "/health", "/healthz", "/readyz"];
    if !known.contains(&request.uri().path()) {
        let text = "not found; there are /, /metrics, /health, /healthz and /readyz\n";
        return plain(StatusCode::NOT_FOUND, text);
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let text = "only GET and HEAD are answered\n";
        let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, text);
        let allowed = header::HeaderValue::from_static("GET, HEAD");
        answer.headers_mut().insert(header::ALLOW, allowed);
        return answer;
    }
    match request.uri().path() {
        "/metrics" => metrics(request, served),
        // dcgm-exporter's, always 200 like there.
        "/health" => plain(StatusCode::OK, "OK"),
        "/healthz" if served.published.alive() => plain(StatusCode::OK, "ok\n"),
        "/healthz" => plain(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the thread that owns the GPUs has ended\n",
        ),
        "/readyz" if served.published.ready() => plain(StatusCode::OK, "ok\n"),
        "/readyz" => plain(
            StatusCode::SERVICE_UNAVAILABLE,
            "the first gather is not finished\n",
        ),
        _ => {
            let page = landing::page(&served.published.snapshot(), VERSION);
            typed(StatusCode::OK, "text/html; charset=utf-8", page.into())
        }
    }
}

fn metrics<B>(request: &Request<B>, served: &Served) -> Answer {
    let contract = Arc::clone(&served.contract.borrow());
    let text = render(&collect_under(
        &contract,
        &served.published.snapshot(),
        VERSION,
    ));
    let asked = request.headers().get_all(header::ACCEPT_ENCODING).iter();
    let asked: Vec<&str> = asked.filter_map(|value| value.to_str().ok()).collect();
    let packed = encoding::wants_gzip(&asked.join(",")).then(|| encoding::gzip(text.as_bytes()));
    let gzipped = matches!(packed, Some(Ok(_)));
    let body = match packed {
        Some(Ok(packed)) => packed,
        _ => text.into_bytes(),
    };
    let mut answer = typed(StatusCode::OK, CONTENT_TYPE, body);
    let headers = answer.headers_mut();
    headers.insert(
        header::VARY,
        header::HeaderValue::from_static("Accept-Encoding"),
    );
    if gzipped {
        headers.insert(
            header::CONTENT_ENCODING,
            header::HeaderValue::from_static("gzip"),
        );
    }
    answer
}

fn plain(status: StatusCode, text: &'static str) -> Answer {
    typed(status, "text/plain; charset=utf-8", text.into())
}

fn typed(status: StatusCode, kind: &'static str, body: Vec<u8>) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = status;
    let kind = header::HeaderValue::from_static(kind);
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}
