//! A connection to a caller that can be told to break: after everything that was written before is on its way.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll, ready},
};

use ostiary_record::{Down, Fault};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// What a connection is told; the last order holds.
#[derive(Clone, Default)]
pub(in crate::proxy) struct Orders(Arc<AtomicU8>);

/// A connection under orders.
pub(in crate::proxy) struct Line {
    tcp: TcpStream,
    orders: Orders,
    half_closed: bool,
}

const RESET: u8 = 1;
const CLOSE: u8 = 2;
const HALF_CLOSE: u8 = 3;

// === impl Orders ===

impl Orders {
    /// Orders what a fault does to a connection; holds for faults that only keep it waiting, too: then nothing is done.
    pub(in crate::proxy) fn give(&self, fault: Fault) {
        let order = match fault {
            Fault::Reset { .. } | Fault::Down { how: Down::Refuse } => RESET,
            Fault::Partial { .. } => CLOSE,
            Fault::HalfClose { .. } => HALF_CLOSE,
            _ => return,
        };
        self.0.store(order, Ordering::Release);
    }

    fn now(&self) -> u8 {
        self.0.load(Ordering::Acquire)
    }
}

// === impl Line ===

impl Line {
    pub(in crate::proxy) const fn new(tcp: TcpStream, orders: Orders) -> Self {
        Self { tcp, orders, half_closed: false }
    }
}

impl AsyncRead for Line {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_read(cx, buf)
    }
}

impl AsyncWrite for Line {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    /// Whoever writes flushes when it has nothing more to write: then orders are carried out.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.tcp).poll_flush(cx))?;
        match self.orders.now() {
            RESET => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            CLOSE => {
                ready!(Pin::new(&mut self.tcp).poll_shutdown(cx))?;
                Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()))
            }
            HALF_CLOSE if !self.half_closed => {
                ready!(Pin::new(&mut self.tcp).poll_shutdown(cx))?;
                self.half_closed = true;
                Poll::Ready(Ok(()))
            }
            _ => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.orders.now() == RESET {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.orders.now() == RESET {
            // Without it the connection is closed, not reset; there is nobody left to tell.
            let _ = self.tcp.set_zero_linger();
        }
    }
}
