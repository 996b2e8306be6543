//! Lines off a pipe, each within a bound.

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes asked of the pipe at once.
const STEP: usize = 16 << 10;

/// Cuts a pipe into lines.
pub(super) struct Lines<R> {
    pipe: R,
    unread: BytesMut,
    /// How far `unread` was searched.
    seen: usize,
    most: usize,
}

/// What a pipe gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A line with its end, or the last one without.
    Line(Bytes),
    /// The beginning of a line that is longer than the bound.
    TooLong(Bytes),
    /// The pipe is closed.
    End,
}

// === impl Lines ===

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(pipe: R, most: u64) -> Self {
        Self { pipe, unread: BytesMut::new(), seen: 0, most: usize::try_from(most).unwrap_or(usize::MAX) }
    }

    pub(super) async fn next(&mut self) -> Piece {
        loop {
            if let Some(end) = self.unread[self.seen..].iter().position(|b| *b == b'\n') {
                let line = self.unread.split_to(self.seen + end + 1).freeze();
                self.seen = 0;
                return if line.len() > self.most { Piece::TooLong(line) } else { Piece::Line(line) };
            }
            self.seen = self.unread.len();
            if self.seen > self.most {
                self.seen = 0;
                return Piece::TooLong(self.unread.split().freeze());
            }
            self.unread.reserve(STEP);
            // a pipe that cannot be read is one that gives nothing more
            if self.pipe.read_buf(&mut self.unread).await.unwrap_or(0) == 0 {
                self.seen = 0;
                let rest = self.unread.split().freeze();
                return if rest.is_empty() { Piece::End } else { Piece::Line(rest) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn pieces(bytes: &[u8], most: u64) -> Vec<String> {
        let mut lines = Lines::new(bytes, most);
        let mut out = Vec::new();
        loop {
            let (mark, bytes) = match lines.next().await {
                Piece::Line(line) => ("", line),
                Piece::TooLong(line) => ("!", line),
                Piece::End => return out,
            };
            out.push(format!("{mark}{}", String::from_utf8_lossy(&bytes)));
        }
    }

    #[tokio::test]
    async fn lines_are_cut_at_their_ends_and_bounded() {
        assert_eq!(pieces(b"a\r\n\nbc", 9).await, ["a\r\n", "\n", "bc"]);
        assert_eq!(pieces(b"abcdef\ng\n", 4).await, ["!abcdef\n", "g\n"]);
        assert_eq!(pieces(&[b'x'; 100_000], 50_000).await.first().map(|l| l.starts_with('!')), Some(true));
    }
}
