//! The demo's web server: the page, and the metrics of the simulated GPUs, on loopback only.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use autoscaler_view::Page;
use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{CONTENT_TYPE, HeaderValue},
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpListener, sync::Semaphore};

/// What is served.
#[derive(Default)]
pub(super) struct Shown {
    /// The newest page; absent while history is loaded.
    pub(super) page: Option<Page>,
    /// The newest exposition of the GPUs.
    pub(super) metrics: String,
}

/// Connections at once; further ones wait in the listener's queue.
const MOST: usize = 64;
/// Time that a connection may last, whether it is used or not.
const LONGEST: Duration = Duration::from_secs(20);

/// Serves until the task is ended.
pub(super) async fn serve(listener: TcpListener, shown: Arc<Mutex<Shown>>) {
    let room = Arc::new(Semaphore::new(MOST));
    loop {
        // Never closed, so a permit always comes.
        let permit = Arc::clone(&room).acquire_owned().await;
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file handles, most likely: wait until some are given back.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let shown = shown.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                std::future::ready(Ok::<_, Infallible>(answer(&request, &shown)))
            });
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(Duration::from_secs(10))
                .serve_connection(TokioIo::new(stream), service);
            // A browser that goes away early, or stays too long, is no concern of the demo.
            let _ = tokio::time::timeout(LONGEST, connection).await;
            drop(permit);
        });
    }
}

fn answer(request: &Request<Incoming>, shown: &Mutex<Shown>) -> Response<Full<Bytes>> {
    let known = matches!(request.uri().path(), "/" | "/metrics");
    let (status, kind, text) = match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/") => {
            (StatusCode::OK, "text/html; charset=utf-8", page(shown))
        }
        (&Method::GET | &Method::HEAD, "/metrics") => {
            let metrics = shown
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .metrics
                .clone();
            (
                StatusCode::OK,
                "text/plain; version=0.0.4; charset=utf-8",
                metrics,
            )
        }
        _ if known => (
            StatusCode::METHOD_NOT_ALLOWED,
            "text/plain",
            "only GET is answered here\n".to_owned(),
        ),
        _ => (
            StatusCode::NOT_FOUND,
            "text/plain",
            "there are / and /metrics\n".to_owned(),
        ),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn page(shown: &Mutex<Shown>) -> String {
    let page = shown
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .page
        .clone();
    autoscaler_view::page(&page.unwrap_or_else(|| Page {
        title: "Foresail demo".to_owned(),
        subtitle: "loading 7 days of history ...".to_owned(),
        refresh: Some(1),
        targets: vec![autoscaler_view::Target {
            name: "serving/chat".to_owned(),
            ..autoscaler_view::Target::default()
        }],
        ..Page::default()
    }))
}

/// Registers for SIGINT and SIGTERM at once; the future ends when one comes.
pub(super) fn stopped() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut interrupt) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
