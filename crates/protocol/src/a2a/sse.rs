//! Server-sent events, read as they come and in bounded memory (WHATWG HTML §9.2).
//!
//! Tolerant of comments, `id:`/`event:`/`retry:` lines, any of the three line ends, a byte-order mark and pieces cut
//! anywhere; strict about nothing but the bound. What the text rules would silently repair (an event that the end of
//! the stream cut off, bytes that are no UTF-8) is reported instead.

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The joined `data:` lines, as bytes.
    pub data: Vec<u8>,
    /// The `event:` name.
    pub name: Option<String>,
    /// The `id:` value.
    pub id: Option<String>,
    /// Whether the stream ended before the blank line that dispatches the event.
    pub unterminated: bool,
}

/// Why no further event can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// One event is larger than allowed.
    #[error("an event is larger than {limit} bytes")]
    TooLarge {
        /// The bound.
        limit: usize,
    },
}

/// Reads events from pieces of a body.
#[derive(Debug)]
pub struct SseParser {
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    after_cr: bool,
    at_start: bool,
    limit: usize,
}

/// The UTF-8 byte-order mark, which one stream may begin with.
const BOM: &[u8] = b"\xef\xbb\xbf";

// === impl SseEvent ===

impl SseEvent {
    /// The data as text, where it is UTF-8.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.data).ok()
    }
}

// === impl SseParser ===

impl SseParser {
    /// A parser at the start of a body that refuses events of more than `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        let event = SseEvent::default();
        Self { line: Vec::new(), event, has_data: false, after_cr: false, at_start: true, limit }
    }

    /// Takes the next piece and gives the events that it completes.
    ///
    /// # Errors
    /// When one event grows over the bound.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<SseEvent>, SseError> {
        let mut out = Vec::new();
        for &byte in piece {
            let follows_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if follows_cr => {}
                b'\n' | b'\r' => out.extend(self.end_of_line()),
                _ => self.line.push(byte),
            }
            if self.line.len() + self.event.data.len() > self.limit {
                return Err(SseError::TooLarge { limit: self.limit });
            }
        }
        Ok(out)
    }

    /// Ends the body; gives the event that it cut off, if any.
    #[must_use]
    pub fn finish(mut self) -> Option<SseEvent> {
        let dispatched = if self.line.is_empty() { None } else { self.end_of_line() };
        if dispatched.is_some() || !self.has_data {
            return dispatched;
        }
        self.event.unterminated = true;
        Some(self.event)
    }

    fn end_of_line(&mut self) -> Option<SseEvent> {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.at_start) && line.starts_with(BOM) {
            line.drain(..BOM.len());
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let (field, value) = split_field(&line);
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push(b'\n');
                }
                self.event.data.extend_from_slice(value);
            }
            b"event" => self.event.name = Some(String::from_utf8_lossy(value).into_owned()),
            b"id" if !value.contains(&0) => self.event.id = Some(String::from_utf8_lossy(value).into_owned()),
            _ => {}
        }
        None
    }
}

/// Splits `name: value`, less one leading space; a comment has an empty name.
fn split_field(line: &[u8]) -> (&[u8], &[u8]) {
    let Some(colon) = line.iter().position(|&b| b == b':') else {
        return (line, b"");
    };
    let value = &line[colon + 1..];
    (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<SseEvent> {
        let mut parser = SseParser::new(1 << 16);
        let mut out: Vec<_> = pieces.iter().flat_map(|p| parser.push(p).unwrap()).collect();
        out.extend(parser.finish());
        out
    }

    fn data(pieces: &[&[u8]]) -> Vec<String> {
        read(pieces).iter().map(|e| e.text().unwrap_or("not utf-8").to_owned()).collect()
    }

    #[test]
    fn all_three_line_ends_and_comments_are_read() {
        assert_eq!(data(&[b": ping\n\ndata: a\n\n"]), ["a"]);
        assert_eq!(data(&[b"data: a\r\n\r\ndata:b\r\n\r\n"]), ["a", "b"]);
        assert_eq!(data(&[b"data: a\r\rdata: b\r\r"]), ["a", "b"]);
        assert_eq!(data(&[b"\xef\xbb\xbfdata: a\n\n"]), ["a"]);
    }

    #[test]
    fn several_data_lines_are_one_event() {
        assert_eq!(data(&[b"data: {\ndata: }\nretry: 10\nunknown: x\n\n"]), ["{\n}"]);
    }

    #[test]
    fn pieces_may_be_cut_anywhere() {
        let body = b"id: 7\r\nevent: message\r\ndata: one\r\n\r\ndata: two\r\n\r\n";
        let whole = read(&[body]);
        assert_eq!(whole[0].id.as_deref(), Some("7"));
        assert_eq!(whole[0].name.as_deref(), Some("message"));
        for cut in 1..body.len() {
            assert_eq!(read(&[&body[..cut], &body[cut..]]), whole, "cut at {cut}");
        }
    }

    #[test]
    fn an_event_cut_off_by_the_end_is_marked() {
        let events = read(&[b"data: a\n\ndata: {\"half\":"]);
        assert_eq!(events.iter().map(|e| e.unterminated).collect::<Vec<_>>(), [false, true]);
        assert!(read(&[b"data: a\n\n: bye"]).iter().all(|e| !e.unterminated));
    }

    #[test]
    fn bytes_that_are_no_text_are_kept_and_shown() {
        assert_eq!(data(&[b"data: \xff\xfe\n\n"]), ["not utf-8"]);
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut parser = SseParser::new(100);
        let error = (0..20).find_map(|_| parser.push(b"data: aaaaaaaaaa\n").err());
        assert_eq!(error, Some(SseError::TooLarge { limit: 100 }));
        let mut parser = SseParser::new(100);
        assert!(parser.push(&[b'x'; 200]).is_err());
    }
}
