//! Where a body ends (RFC 9112 §6.3), and the chunked coding.

use bytes::{Bytes, BytesMut};
use ostiary_record::event::RawHeaders;

use super::{Head, WireError, blob};

/// Most bytes of a chunk's size line, extensions included.
const MAX_SIZE_LINE: usize = 1024;
/// Most trailer fields.
const MAX_TRAILERS: usize = 64;

/// How far a body has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is no more of it.
    None,
    /// So many bytes are left.
    Length(u64),
    /// Chunked.
    Chunked(Chunk),
    /// It lasts until the peer closes.
    UntilClose,
}

/// What the chunked coding expects next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    Size,
    Data(u64),
    DataEnd,
    Trailers,
}

/// What the bytes at hand give.
pub(super) enum Step {
    Data(Bytes),
    Done(RawHeaders),
    More,
}

/// Decides by the head; the flag says whether the connection may live on.
pub(super) fn framing(head: &Head, method: &str) -> Result<(Framing, bool), WireError> {
    let keep = keep_alive(head);
    if method == "HEAD" || matches!(head.status, 204 | 304) {
        return Ok((Framing::None, keep));
    }
    if head.status == 101 {
        return Ok((Framing::None, false));
    }
    if let Some(coding) = head.values("transfer-encoding").last() {
        let chunked = coding.rsplit(',').next().unwrap_or_default().trim().eq_ignore_ascii_case("chunked");
        // A length beside it is the stuff of request smuggling: read on, but never reuse.
        let keep = keep && head.values("content-length").next().is_none();
        return Ok(if chunked { (Framing::Chunked(Chunk::Size), keep) } else { (Framing::UntilClose, false) });
    }
    match content_length(head)? {
        Some(length) => Ok((Framing::Length(length), keep)),
        None => Ok((Framing::UntilClose, false)),
    }
}

// === impl Framing ===

impl Framing {
    pub(super) const fn is_over(self) -> bool {
        matches!(self, Self::None | Self::Length(0))
    }

    /// Takes what the bytes at hand give.
    pub(super) fn take(&mut self, unread: &mut BytesMut, header_bytes: usize) -> Result<Step, WireError> {
        loop {
            match self {
                Self::None | Self::Length(0) => return Ok(Step::Done(Vec::new())),
                Self::Length(left) => return Ok(data(unread, left)),
                Self::UntilClose => return Ok(data(unread, &mut u64::MAX.clone())),
                Self::Chunked(Chunk::Data(left)) if *left > 0 => return Ok(data(unread, left)),
                Self::Chunked(Chunk::Data(_)) => *self = Self::Chunked(Chunk::DataEnd),
                Self::Chunked(Chunk::DataEnd) => match line(unread, 2)? {
                    Some(rest) if rest.is_empty() => *self = Self::Chunked(Chunk::Size),
                    Some(_) => return Err(WireError::Broken("chunk longer than its size says".to_owned())),
                    None => return Ok(Step::More),
                },
                Self::Chunked(Chunk::Size) => match line(unread, MAX_SIZE_LINE)? {
                    Some(text) => {
                        let size = chunk_size(&text)?;
                        *self = Self::Chunked(if size == 0 { Chunk::Trailers } else { Chunk::Data(size) });
                    }
                    None => return Ok(Step::More),
                },
                Self::Chunked(Chunk::Trailers) => {
                    let Some(trailers) = trailers(unread, header_bytes)? else {
                        return Ok(Step::More);
                    };
                    *self = Self::None;
                    return Ok(Step::Done(trailers));
                }
            }
        }
    }

    /// The error for a stream that ends here.
    pub(super) fn cut_short(self) -> WireError {
        WireError::Broken(match self {
            Self::Length(left) => {
                format!("connection closed {left} bytes before the end that content-length announced")
            }
            _ => "connection closed before the last chunk".to_owned(),
        })
    }
}

fn keep_alive(head: &Head) -> bool {
    let says = |word: &str| {
        head.values("connection").any(|v| v.split(',').any(|option| option.trim().eq_ignore_ascii_case(word)))
    };
    if head.minor == 0 { says("keep-alive") } else { !says("close") }
}

/// Repeated equal lengths are one length; different ones are no length at all.
fn content_length(head: &Head) -> Result<Option<u64>, WireError> {
    let mut length = None;
    for value in head.values("content-length").flat_map(|v| v.split(',')).map(str::trim) {
        let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
        let parsed = value.parse::<u64>().ok().filter(|_| digits);
        match (parsed, length) {
            (Some(new), None) => length = Some(new),
            (Some(new), Some(old)) if new == old => {}
            _ => return Err(WireError::Broken(format!("content-length `{}` is not one number", value.escape_debug()))),
        }
    }
    Ok(length)
}

fn data(unread: &mut BytesMut, left: &mut u64) -> Step {
    if unread.is_empty() {
        return Step::More;
    }
    let n = usize::try_from(*left).unwrap_or(usize::MAX).min(unread.len());
    *left -= n as u64;
    Step::Data(unread.split_to(n).freeze())
}

/// One line without its end; `None` = not all of it is here.
fn line(unread: &mut BytesMut, most: usize) -> Result<Option<Bytes>, WireError> {
    match unread.iter().take(most).position(|&b| b == b'\n') {
        Some(at) => {
            let line = unread.split_to(at + 1).freeze();
            let text = line.strip_suffix(b"\r\n").or(line.strip_suffix(b"\n")).unwrap_or_default();
            Ok(Some(line.slice_ref(text)))
        }
        None if unread.len() >= most => Err(WireError::Broken("malformed chunk".to_owned())),
        None => Ok(None),
    }
}

fn chunk_size(line: &[u8]) -> Result<u64, WireError> {
    let broken = || WireError::Broken("malformed size of a chunk".to_owned());
    let text = std::str::from_utf8(line).map_err(|_| broken())?;
    let digits = text.split(';').next().unwrap_or_default().trim_end();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(broken());
    }
    u64::from_str_radix(digits, 16).map_err(|_| broken())
}

fn trailers(unread: &mut BytesMut, most: usize) -> Result<Option<RawHeaders>, WireError> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_TRAILERS];
    let (used, trailers) = match httparse::parse_headers(unread, &mut fields) {
        Ok(httparse::Status::Complete((used, fields))) => {
            (used, fields.iter().map(|h| (h.name.to_owned(), blob(h.value))).collect())
        }
        Ok(httparse::Status::Partial) if unread.len() > most => return Err(WireError::Limit("header_bytes")),
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(WireError::Limit("header_bytes")),
        Err(error) => return Err(WireError::Broken(format!("malformed trailers: {error}"))),
    };
    let _ = unread.split_to(used);
    Ok(Some(trailers))
}
