//! HTTP/1.1 answers, read in bounded steps and believed in nothing.
//!
//! RFC 9112 §6 decides where an answer ends. An end that comes before that place is an error here, never a short body.

mod body;
mod head;

use bytes::{Bytes, BytesMut};
use ostiary_record::{Blob, End, event::RawHeaders};
use tokio::io::{AsyncRead, AsyncReadExt};

use self::body::Framing;
pub(crate) use self::head::Head;

/// Bytes asked of the socket at once.
const STEP: usize = 16 << 10;
/// Interim answers (1xx) that are passed over before one answer.
const MAX_INTERIM: u32 = 8;

/// Why an answer could not be read to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WireError {
    #[error("{0}")]
    Broken(String),
    #[error("more than the bound `{0}`")]
    Limit(&'static str),
}

/// Reads answers off one connection.
pub(crate) struct Reader<R> {
    io: R,
    unread: BytesMut,
    header_bytes: usize,
    framing: Framing,
    keep_alive: bool,
    trailers: RawHeaders,
}

// === impl Reader ===

impl<R: AsyncRead + Unpin> Reader<R> {
    pub(crate) fn new(io: R, unread: BytesMut, header_bytes: u32) -> Self {
        let header_bytes = header_bytes as usize;
        Self { io, unread, header_bytes, framing: Framing::None, keep_alive: false, trailers: Vec::new() }
    }

    /// Reads the head of the answer to a request of that method; interim answers are passed over.
    pub(crate) async fn head(&mut self, method: &str) -> Result<Head, WireError> {
        for _ in 0..=MAX_INTERIM {
            let head = self.any_head().await?;
            if head.status / 100 == 1 && head.status != 101 {
                continue;
            }
            (self.framing, self.keep_alive) = body::framing(&head, method)?;
            return Ok(head);
        }
        Err(WireError::Broken(format!("more than {MAX_INTERIM} interim answers")))
    }

    /// The next piece of the body, as it arrived; `None` at its proper end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, WireError> {
        loop {
            match self.framing.take(&mut self.unread, self.header_bytes)? {
                body::Step::Data(bytes) => return Ok(Some(bytes)),
                body::Step::Done(trailers) => {
                    self.trailers.extend(trailers);
                    return Ok(None);
                }
                body::Step::More => {}
            }
            if !self.fill().await? {
                return if self.framing == Framing::UntilClose { Ok(None) } else { Err(self.framing.cut_short()) };
            }
        }
    }

    /// Trailer fields that came with the end of the body.
    pub(crate) fn trailers(&mut self) -> RawHeaders {
        std::mem::take(&mut self.trailers)
    }

    /// Whether another request may follow, once the body has ended properly.
    pub(crate) fn reusable(&self) -> bool {
        self.keep_alive && self.framing.is_over() && self.unread.is_empty()
    }

    /// Gives the stream back, with what was read beyond the answer.
    pub(crate) fn into_parts(self) -> (R, BytesMut) {
        (self.io, self.unread)
    }

    async fn any_head(&mut self) -> Result<Head, WireError> {
        let mut scanned = 0;
        loop {
            head::begins_like_http(&self.unread)?;
            if let Some(end) = head::end(&self.unread, scanned) {
                if end > self.header_bytes {
                    return Err(WireError::Limit("header_bytes"));
                }
                return head::parse(&self.unread.split_to(end));
            }
            if self.unread.len() > self.header_bytes {
                return Err(WireError::Limit("header_bytes"));
            }
            scanned = self.unread.len().saturating_sub(3);
            if !self.fill().await? {
                let what = if self.unread.is_empty() { "before the answer" } else { "within the head of the answer" };
                return Err(WireError::Broken(format!("connection closed {what}")));
            }
        }
    }

    /// Reads a little more; false at the end of the stream.
    async fn fill(&mut self) -> Result<bool, WireError> {
        self.unread.reserve(STEP);
        let got = self.io.read_buf(&mut self.unread).await.map_err(|e| WireError::Broken(e.to_string()))?;
        Ok(got > 0)
    }
}

// === impl WireError ===

impl From<WireError> for End {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Broken(why) => Self::PeerReset { why },
            WireError::Limit(which) => Self::Limit { which: which.to_owned() },
        }
    }
}

/// A field's bytes.
fn blob(value: &[u8]) -> Blob {
    Blob(Bytes::copy_from_slice(value))
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        pin::Pin,
        task::{Context, Poll},
    };

    use proptest::prelude::*;
    use tokio::io::ReadBuf;

    use super::*;

    /// Gives its bytes a few at a time, as the sizes say.
    struct Dripping<'a> {
        bytes: &'a [u8],
        sizes: std::iter::Cycle<std::slice::Iter<'a, usize>>,
    }

    impl AsyncRead for Dripping<'_> {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            let most = self.sizes.next().copied().unwrap_or(1).clamp(1, buf.remaining());
            let (now, later) = self.bytes.split_at(most.min(self.bytes.len()));
            buf.put_slice(now);
            self.bytes = later;
            Poll::Ready(Ok(()))
        }
    }

    /// Head, body and end of an answer that arrives in pieces of these sizes.
    fn read(bytes: &[u8], sizes: &[usize]) -> (Option<Head>, Vec<u8>, Result<(), WireError>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let io = Dripping { bytes, sizes: sizes.iter().cycle() };
            let mut reader = Reader::new(io, BytesMut::new(), 512);
            let head = match reader.head("GET").await {
                Ok(head) => head,
                Err(error) => return (None, Vec::new(), Err(error)),
            };
            let mut body = Vec::new();
            loop {
                match reader.chunk().await {
                    Ok(Some(piece)) => body.extend_from_slice(&piece),
                    Ok(None) => return (Some(head), body, Ok(())),
                    Err(error) => return (Some(head), body, Err(error)),
                }
            }
        })
    }

    fn answer() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just("HTTP/1.1 200 OK\r\n"),
            Just("HTTP/1.0 404 \r\n"),
            Just("HTTP/1.1 100 Continue\r\n\r\n"),
            Just("Content-Length: 5\r\n"),
            Just("content-length: 7, 7\r\n"),
            Just("Transfer-Encoding: chunked\r\n"),
            Just("Connection: close\r\n"),
            Just("\r\n"),
            Just("\n"),
            Just("3\r\nabc\r\n"),
            Just("a;x=y\r\n0123456789\r\n"),
            Just("0\r\n\r\n"),
            Just("0\r\nX-T: 1\r\n\r\n"),
            Just("\u{0}"),
            Just("hello"),
        ];
        let noise = proptest::collection::vec(any::<u8>(), 0..20);
        let tail = (proptest::collection::vec(piece, 0..12), noise);
        tail.prop_map(|(pieces, noise)| {
            let mut bytes = b"HTTP/1.1 200 OK\r\n".to_vec();
            bytes.extend(pieces.concat().into_bytes());
            bytes.extend(noise);
            bytes
        })
    }

    proptest! {
        #[test]
        fn how_an_answer_is_cut_into_packets_changes_nothing(
            bytes in answer(),
            sizes in proptest::collection::vec(1_usize..9, 1..6),
        ) {
            let whole = read(&bytes, &[usize::MAX]);
            prop_assert_eq!(read(&bytes, &sizes), whole.clone());
            prop_assert!(whole.1.len() <= bytes.len());
        }

        #[test]
        fn noise_never_becomes_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assume!(!bytes.starts_with(b"HTTP/1."));
            prop_assert!(matches!(read(&bytes, &[7]), (None, _, Err(WireError::Broken(_)))));
        }
    }
}
