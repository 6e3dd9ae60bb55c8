//! A client's connection that must take an answer within a bounded time and says when a part of one went out. Never
//! looks at what is sent.

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

use super::room::Guest;

/// A connection with its place in the room.
pub(super) struct Watched<T> {
    inner: T,
    guest: Guest,
    /// Time for a client to take one answer.
    limit: Duration,
    /// Runs from the first byte of an answer until the last one is taken.
    late: Option<Pin<Box<Sleep>>>,
}

impl<T> Watched<T> {
    pub(super) fn new(inner: T, guest: Guest, limit: Duration) -> Self {
        Self {
            inner,
            guest,
            limit,
            late: None,
        }
    }

    /// The outcome of a write, or an error once the answer takes too long.
    fn judge(
        &mut self,
        context: &mut Context<'_>,
        wrote: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if matches!(wrote, Poll::Ready(Ok(count)) if count > 0) {
            self.guest.moved();
        }
        let limit = self.limit;
        let late = self.late.get_or_insert_with(|| Box::pin(sleep(limit)));
        if late.as_mut().poll(context).is_ready() {
            let why = "the client does not take its answer";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)));
        }
        wrote
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Watched<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.judge(context, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.judge(context, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        // Asked only when everything was written.
        if flushed.is_ready() {
            self.late = None;
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;
    use crate::http::room::Room;

    const LIMIT: Duration = Duration::from_millis(200);

    #[tokio::test]
    async fn an_answer_that_is_not_taken_fails() {
        let (_client, server) = duplex(16);
        let mut server = Watched::new(server, Room::new(1).enter().await, LIMIT);
        let error = server.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn reading_byte_by_byte_buys_no_time() {
        let (mut client, server) = duplex(1);
        let mut server = Watched::new(server, Room::new(1).enter().await, LIMIT);
        let reader = tokio::spawn(async move {
            while client.read_u8().await.is_ok() {
                tokio::time::sleep(LIMIT / 20).await;
            }
        });
        let error = server.write_all(&[0; 10_000]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(server);
        reader.await.unwrap();
    }

    #[tokio::test]
    async fn each_answer_has_its_own_time() {
        let (mut client, server) = duplex(16);
        let mut server = Watched::new(server, Room::new(1).enter().await, LIMIT);
        for _ in 0..3 {
            server.write_all(&[0; 16]).await.unwrap();
            server.flush().await.unwrap();
            tokio::time::sleep(LIMIT).await;
            client.read_exact(&mut [0; 16]).await.unwrap();
        }
    }
}
