//! Cuts an event stream into its blocks, bytes kept: all frames together are the body.

use bytes::{Bytes, BytesMut};

/// Finds the ends of blocks in a byte stream; LF, CRLF and CR end lines (WHATWG HTML, server-sent events).
#[derive(Default)]
pub(crate) struct Splitter {
    pending: BytesMut,
    /// How far `pending` has been looked at.
    seen: usize,
    /// Whether the line being read has a character.
    line_begun: bool,
    /// Whether the block being read has a line that is not blank.
    block_begun: bool,
    /// Whether the last character was a CR: an LF after it belongs to the same line end.
    after_cr: bool,
}

// === impl Splitter ===

impl Splitter {
    /// Takes bytes as they arrive.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// The next complete block with the blank line that ends it.
    pub(crate) fn next_block(&mut self) -> Option<Bytes> {
        while let Some(&byte) = self.pending.get(self.seen) {
            self.seen += 1;
            let second_half = byte == b'\n' && self.after_cr;
            self.after_cr = byte == b'\r';
            match byte {
                _ if second_half => {}
                b'\n' | b'\r' if !self.line_begun && self.block_begun => return Some(self.cut(byte)),
                b'\n' | b'\r' => self.line_begun = false,
                _ => (self.line_begun, self.block_begun) = (true, true),
            }
        }
        None
    }

    /// Bytes of a block whose end has not come.
    pub(crate) fn held(&self) -> usize {
        self.pending.len()
    }

    /// What is left when the stream ends without a blank line.
    pub(crate) fn rest(&mut self) -> Bytes {
        self.seen = 0;
        self.pending.split().freeze()
    }

    fn cut(&mut self, end: u8) -> Bytes {
        // A CR that is the last byte so far ends the block now; waiting for its LF would delay the event.
        if end == b'\r' && self.pending.get(self.seen) == Some(&b'\n') {
            self.seen += 1;
            self.after_cr = false;
        }
        self.block_begun = false;
        let block = self.pending.split_to(self.seen).freeze();
        self.seen = 0;
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(chunks: &[&str]) -> (Vec<String>, String) {
        let mut splitter = Splitter::default();
        let mut out = Vec::new();
        let text = |b: Bytes| String::from_utf8(b.to_vec()).unwrap();
        for chunk in chunks {
            splitter.feed(chunk.as_bytes());
            while let Some(block) = splitter.next_block() {
                out.push(text(block));
            }
        }
        (out, text(splitter.rest()))
    }

    #[test]
    fn every_line_end_makes_the_same_blocks() {
        for end in ["\n", "\r\n", "\r"] {
            let stream = "data: 1~~event: x~data: 2~~: ping~~".replace('~', end);
            let (found, rest) = blocks(&[&stream]);
            assert_eq!(found.len(), 3, "{end:?}");
            assert_eq!(found.concat() + &rest, stream);
        }
    }

    #[test]
    fn cuts_between_any_two_bytes_change_nothing() {
        let stream = "data: 1\r\n\r\ndata: 2\n\n\n\ndata: 3\r\rdata: 4";
        let whole = blocks(&[stream]);
        assert_eq!(whole.0.len(), 3);
        assert_eq!(whole.1, "data: 4");
        for at in 0..stream.len() {
            let (found, rest) = blocks(&[&stream[..at], &stream[at..]]);
            assert_eq!(found.len(), 3, "cut at {at}");
            assert_eq!(found.concat() + &rest, stream, "cut at {at}");
        }
    }

    #[test]
    fn an_event_is_out_before_the_next_byte_comes() {
        let (found, _) = blocks(&["data: 1\r\n\r"]);
        assert_eq!(found, ["data: 1\r\n\r"]);
    }
}
