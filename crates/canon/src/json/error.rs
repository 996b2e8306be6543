//! Why bytes are no acceptable JSON, and where.

/// Why and where bytes are no acceptable JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {kind}")]
pub struct JsonError {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// Why.
    pub kind: JsonErrorKind,
}

/// Why bytes are no acceptable JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonErrorKind {
    /// More bytes than the limit.
    #[error("{bytes} bytes, more than the limit of {limit}")]
    TooLarge {
        /// How many there are.
        bytes: usize,
        /// How many are allowed.
        limit: usize,
    },
    /// Arrays and objects nested deeper than the limit.
    #[error("nested deeper than {limit} levels")]
    TooDeep {
        /// How many levels are allowed.
        limit: u8,
    },
    /// More values than the limit.
    #[error("more than {limit} values")]
    TooMany {
        /// How many are allowed.
        limit: u32,
    },
    /// Starts with a byte order mark (RFC 8259 §8.1).
    #[error("starts with a byte order mark; JSON has none")]
    ByteOrderMark,
    /// Bytes that are not UTF-8.
    #[error("bytes that are not UTF-8")]
    NotUtf8,
    /// The document ends in the middle.
    #[error("ends too early, expected {expected}")]
    EndsEarly {
        /// What would have followed.
        expected: &'static str,
    },
    /// Another character than the grammar allows here.
    #[error("found `{found}`, expected {expected}", found = found.escape_default())]
    Unexpected {
        /// The character.
        found: char,
        /// What was expected.
        expected: &'static str,
    },
    /// More bytes after the value.
    #[error("more bytes after the end of the value")]
    TrailingBytes,
    /// A key that the object already has, after unescaping.
    #[error("the key `{key}` occurs twice in one object", key = key.escape_debug())]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// A control character inside a string (RFC 8259 §7).
    #[error("control character U+{code:04X} inside a string; write it as an escape")]
    ControlCharacter {
        /// The character's code.
        code: u8,
    },
    /// An escape that is none.
    #[error("no such escape; allowed are \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four hexadecimal digits")]
    BadEscape,
    /// Half of a surrogate pair (RFC 7493 §2.1).
    #[error("half of a surrogate pair")]
    LoneSurrogate,
    /// A number that a double cannot hold at all.
    #[error("the number `{text}` is out of range")]
    NumberOutOfRange {
        /// The number as written, shortened.
        text: String,
    },
    /// An integer that would silently become another one.
    #[error("the integer `{text}` would lose digits; write it as a string")]
    IntegerNotExact {
        /// The number as written, shortened.
        text: String,
    },
}

// === impl JsonError ===

impl JsonError {
    /// The error at byte `offset` of `bytes`.
    pub(super) fn at(bytes: &[u8], offset: usize, kind: JsonErrorKind) -> Self {
        let before = &bytes[..offset.min(bytes.len())];
        let line_start = before.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        let lines = before.iter().filter(|&&b| b == b'\n').count();
        // Continuation bytes are not counted, so that an editor's column is met.
        let characters = before[line_start..].iter().filter(|&&b| b & 0xC0 != 0x80).count();
        Self { line: saturating(lines + 1), column: saturating(characters + 1), kind }
    }
}

fn saturating(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
