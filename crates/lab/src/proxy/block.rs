//! Blocks of an event stream: cut out of the bytes, looked into, and put together again.

use bytes::{Bytes, BytesMut};
use serde_json::Value;

/// Most bytes of one block.
pub(super) const MAX_BLOCK: usize = 4 << 20;

/// Cuts blocks at blank lines; a stream keeps to one kind of line end.
#[derive(Default)]
pub(super) struct Blocks {
    pending: BytesMut,
    scanned: usize,
}

// === impl Blocks ===

impl Blocks {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// The next block with the blank line that ends it.
    pub(super) fn next_block(&mut self) -> Option<Bytes> {
        const ENDS: [&[u8]; 3] = [b"\n\n", b"\r\n\r\n", b"\r\r"];
        let found = (self.scanned..self.pending.len())
            .find_map(|at| ENDS.iter().find(|e| self.pending[at..].starts_with(e)).map(|e| at + e.len()));
        self.scanned = if found.is_some() { 0 } else { self.pending.len().saturating_sub(3) };
        found.map(|end| self.pending.split_to(end).freeze())
    }

    /// Bytes whose blank line has not come.
    pub(super) fn held(&self) -> usize {
        self.pending.len()
    }

    /// What is left when the stream ends.
    pub(super) fn rest(&mut self) -> Bytes {
        self.pending.split().freeze()
    }
}

/// The data of a block; `None` when it has none.
pub(super) fn data(block: &[u8]) -> Option<Vec<u8>> {
    let lines = lines(block).filter_map(|line| line.strip_prefix(b"data:"));
    let lines: Vec<_> = lines.map(|line| line.strip_prefix(b" ").unwrap_or(line)).collect();
    (!lines.is_empty()).then(|| lines.join(&b'\n'))
}

/// The block with other data; its other lines and its line ends stay.
pub(super) fn with_data(block: &[u8], data: &str) -> Bytes {
    let end = line_end(block);
    let mut out = Vec::with_capacity(block.len() + data.len());
    let mut placed = false;
    for line in lines(block).filter(|line| !line.is_empty()) {
        if !line.starts_with(b"data:") {
            out.extend_from_slice(line);
        } else if std::mem::replace(&mut placed, true) {
            continue;
        } else {
            out.extend_from_slice(b"data: ");
            out.extend_from_slice(data.as_bytes());
        }
        out.extend_from_slice(end);
    }
    out.extend_from_slice(end);
    Bytes::from(out)
}

/// A new block.
pub(super) fn new(data: &str) -> Bytes {
    Bytes::from(format!("data: {data}\n\n"))
}

/// The blocks that take the place of one: what is still the agent's own keeps the agent's bytes.
pub(super) fn retold(block: &Bytes, own: &Value, items: &[Value]) -> Vec<Bytes> {
    let blocks = items.iter().enumerate().map(|(n, item)| match n {
        _ if item == own => block.clone(),
        0 => with_data(block, &item.to_string()),
        _ => new(&item.to_string()),
    });
    blocks.collect()
}

fn line_end(block: &[u8]) -> &'static [u8] {
    match block.iter().position(|b| matches!(b, b'\r' | b'\n')) {
        Some(at) if block[at..].starts_with(b"\r\n") => b"\r\n",
        Some(at) if block[at] == b'\r' => b"\r",
        _ => b"\n",
    }
}

fn lines(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = line_end(block);
    let separator = end[end.len() - 1];
    block.split(move |&b| b == separator).map(move |line| line.strip_suffix(b"\r").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_keep_their_bytes_and_line_ends() {
        for stream in
            ["data: 1\n\n: ping\n\ndata: 2", "data: 1\r\n\r\n: ping\r\n\r\ndata: 2", "data: 1\r\r: ping\r\rdata: 2"]
        {
            for cut in 0..stream.len() {
                let mut blocks = Blocks::default();
                let mut out = Vec::new();
                for piece in [&stream[..cut], &stream[cut..]] {
                    blocks.feed(piece.as_bytes());
                    out.extend(std::iter::from_fn(|| blocks.next_block()));
                }
                assert_eq!(out.len(), 2, "{stream:?} cut at {cut}");
                out.push(blocks.rest());
                assert_eq!(out.concat(), stream.as_bytes());
            }
        }
    }

    #[test]
    fn data_is_replaced_and_everything_else_stays() {
        let block = b"event: message\r\nid: 7\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\n";
        assert_eq!(data(block).unwrap(), b"{\"a\":\n1}");
        assert_eq!(&with_data(block, "{}")[..], b"event: message\r\nid: 7\r\ndata: {}\r\n\r\n");
        assert_eq!(data(b": ping\n\n"), None);
    }
}
