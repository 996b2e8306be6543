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
