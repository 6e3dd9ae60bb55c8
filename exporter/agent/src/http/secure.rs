//! The beginning of a TLS connection. A client that speaks plain HTTP is told so, instead of being hung up on.

use std::{io, sync::Arc, time::Duration};

use rustls::ServerConfig;
use tokio::{io::AsyncWriteExt, net::TcpStream};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::{room::Guest, watched::Watched};

/// First byte of every TLS connection: a record of the handshake.
const HANDSHAKE: u8 = 22;

/// What a client that speaks plain HTTP gets, as from Go's servers.
const PLAIN: &[u8] =
    b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// Agrees on keys with a client; its answers have `limit` each.
pub(super) async fn hello(
    mut stream: TcpStream,
    guest: Guest,
    config: Arc<ServerConfig>,
    limit: Duration,
) -> io::Result<TlsStream<Watched<TcpStream>>> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 1 && first[0] != HANDSHAKE {
        stream.write_all(PLAIN).await?;
        stream.shutdown().await?;
        return Err(io::Error::other("the client does not speak TLS"));
    }
    let stream = Watched::new(stream, guest, limit);
    TlsAcceptor::from(config).accept(stream).await
}
