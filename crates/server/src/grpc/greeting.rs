//! Connections that never speak are cut: a peer has a bounded time for the greeting of HTTP/2.

use std::{
    future::Future as _,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    time::{Sleep, sleep},
};
use tokio_stream::Stream;
use tonic::transport::server::{Connected, TcpConnectInfo};

/// Connections as they come in, each with its deadline.
pub struct Incoming {
    listener: TcpListener,
    patience: Duration,
    pause: Option<Pin<Box<Sleep>>>,
}

/// A connection whose peer has a deadline for its greeting, and none after it: then pings find out who is gone.
pub struct Greeted {
    stream: TcpStream,
    missing: usize,
    deadline: Option<Pin<Box<Sleep>>>,
}

/// What a client of HTTP/2 says first: `PRI * HTTP/2.0 … SM …`.
const GREETING: usize = 24;

/// Pause after a connection could not be taken: file descriptors have run out, and come back.
const PAUSE: Duration = Duration::from_millis(100);

// === impl Incoming ===

impl Incoming {
    /// The connections of `listener`.
    pub const fn new(listener: TcpListener, patience: Duration) -> Self {
        Self { listener, patience, pause: None }
    }
}

impl Stream for Incoming {
    type Item = io::Result<Greeted>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(pause) = &mut self.pause {
                std::task::ready!(pause.as_mut().poll(cx));
                self.pause = None;
            }
            match std::task::ready!(self.listener.poll_accept(cx)) {
                Ok((stream, _)) => return Poll::Ready(Some(Greeted::new(stream, self.patience))),
                Err(error) => {
                    tracing::warn!(%error, "no gRPC connection could be taken");
                    self.pause = Some(Box::pin(sleep(PAUSE)));
                }
            }
        }
    }
}

// === impl Greeted ===

impl Greeted {
    fn new(stream: TcpStream, patience: Duration) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { stream, missing: GREETING, deadline: Some(Box::pin(sleep(patience))) })
    }
}

impl AsyncRead for Greeted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.missing = self.missing.saturating_sub(buf.filled().len() - before);
        if self.missing == 0 {
            self.deadline = None;
        }
        match (&mut self.deadline, &read) {
            (Some(deadline), Poll::Pending) => deadline
                .as_mut()
                .poll(cx)
                .map(|()| Err(io::Error::new(io::ErrorKind::TimedOut, "the peer never said what it speaks"))),
            _ => read,
        }
    }
}

impl AsyncWrite for Greeted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }
}

impl Connected for Greeted {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio_stream::StreamExt as _;

    use super::*;

    /// What reading says when the peer first sends `text` and then nothing.
    async fn read(text: &[u8], patience: Duration) -> (usize, io::Result<usize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address: SocketAddr = listener.local_addr().expect("bound");
        let mut incoming = Incoming::new(listener, patience);
        let mut client = TcpStream::connect(address).await.expect("listens");
        client.write_all(text).await.expect("sent");
        let mut server = incoming.next().await.expect("goes on").expect("a connection");
        let mut greeting = vec![0; text.len()];
        server.read_exact(&mut greeting).await.expect("what was sent");
        let mut more = [0; 1];
        let waited = tokio::time::timeout(patience * 5, server.read(&mut more)).await;
        (greeting.len(), waited.unwrap_or_else(|_| Err(io::ErrorKind::WouldBlock.into())))
    }

    #[tokio::test]
    async fn a_peer_that_never_speaks_is_cut() {
        for text in [&b""[..], b"PRI * HTTP/2.0\r\n"] {
            let (_, more) = read(text, Duration::from_millis(50)).await;
            assert_eq!(more.expect_err("it is cut").kind(), io::ErrorKind::TimedOut);
        }
    }

    #[tokio::test]
    async fn a_peer_that_greeted_may_be_silent() {
        let (_, more) = read(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Duration::from_millis(50)).await;
        assert_eq!(more.expect_err("nothing came").kind(), io::ErrorKind::WouldBlock);
    }
}
