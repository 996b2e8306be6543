//! The reader: one pass over the bytes, recursion bounded by the depth limit.

use serde_json::{Map, Value};

use super::{JsonError, JsonErrorKind, Limits, number};

/// Reads exactly one JSON value.
///
/// # Errors
/// With line, column and kind, when the bytes or values are too many, too deep, not UTF-8, not JSON, more than one value, hold a
/// key twice in one object (in any spelling), or a number that would change.
pub fn parse_strict(bytes: &[u8], limits: Limits) -> Result<Value, JsonError> {
    if bytes.len() > limits.bytes {
        let kind = JsonErrorKind::TooLarge { bytes: bytes.len(), limit: limits.bytes };
        return Err(JsonError { line: 1, column: 1, kind });
    }
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        return Err(JsonError::at(bytes, 0, JsonErrorKind::ByteOrderMark));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| JsonError::at(bytes, error.valid_up_to(), JsonErrorKind::NotUtf8))?;
    let mut reader = Reader { text, at: 0, values: 0, limits };
    reader.document().map_err(|(at, kind)| JsonError::at(bytes, at, kind))
}

/// A refusal with the byte it points at.
type Refused = (usize, JsonErrorKind);

struct Reader<'a> {
    text: &'a str,
    /// Byte offset of what is read next; always at the start of a character.
    at: usize,
    /// How many values have begun.
    values: u32,
    limits: Limits,
}

// === impl Reader ===

impl<'a> Reader<'a> {
    fn document(&mut self) -> Result<Value, Refused> {
        let value = self.value(0)?;
        self.white_space();
        if self.at < self.text.len() { Err((self.at, JsonErrorKind::TrailingBytes)) } else { Ok(value) }
    }

    fn value(&mut self, depth: u8) -> Result<Value, Refused> {
        self.white_space();
        if self.values >= self.limits.values {
            return Err((self.at, JsonErrorKind::TooMany { limit: self.limits.values }));
        }
        self.values += 1;
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true", Value::Bool(true)),
            Some(b'f') => self.literal("false", Value::Bool(false)),
            Some(b'n') => self.literal("null", Value::Null),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn object(&mut self, depth: u8) -> Result<Value, Refused> {
        let depth = self.enter(depth)?;
        let mut members = Map::new();
        self.white_space();
        if self.eat(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            self.white_space();
            let key_at = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key in quotes"));
            }
            let key = self.string()?;
            if members.contains_key(&key) {
                return Err((key_at, JsonErrorKind::DuplicateKey { key }));
            }
            self.white_space();
            if !self.eat(b':') {
                return Err(self.unexpected("`:`"));
            }
            let value = self.value(depth)?;
            members.insert(key, value);
            self.white_space();
            if self.eat(b'}') {
                return Ok(Value::Object(members));
            }
            if !self.eat(b',') {
                return Err(self.unexpected("`,` or `}`"));
            }
        }
    }

    fn array(&mut self, depth: u8) -> Result<Value, Refused> {
        let depth = self.enter(depth)?;
        let mut items = Vec::new();
        self.white_space();
        if self.eat(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            self.white_space();
            if self.eat(b']') {
                return Ok(Value::Array(items));
            }
            if !self.eat(b',') {
                return Err(self.unexpected("`,` or `]`"));
            }
        }
    }

    /// Steps over the opening bracket, one level deeper.
    fn enter(&mut self, depth: u8) -> Result<u8, Refused> {
        if depth >= self.limits.depth {
            return Err((self.at, JsonErrorKind::TooDeep { limit: self.limits.depth }));
        }
        self.at += 1;
        Ok(depth + 1)
    }

    fn string(&mut self) -> Result<String, Refused> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let run = self.at;
            while self.peek().is_some_and(|b| b >= 0x20 && b != b'"' && b != b'\\') {
                self.at += 1;
            }
            out.push_str(&self.text[run..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(code) => return Err((self.at, JsonErrorKind::ControlCharacter { code })),
                None => return Err((self.at, JsonErrorKind::EndsEarly { expected: "the closing quote of a string" })),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Refused> {
        let start = self.at;
        self.at += 1;
        let letter = self.peek().ok_or((self.at, JsonErrorKind::EndsEarly { expected: "an escape" }))?;
        let plain = match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode(start);
            }
            _ => return Err((start, JsonErrorKind::BadEscape)),
        };
        self.at += 1;
        Ok(plain)
    }

    /// The character of one or two `\uXXXX`; the first `\u` is already read.
    fn unicode(&mut self, start: usize) -> Result<char, Refused> {
        let first = self.four_digits(start)?;
        if !(0xD800..=0xDFFF).contains(&first) {
            return char::from_u32(first).ok_or((start, JsonErrorKind::LoneSurrogate));
        }
        if first >= 0xDC00 || !self.text[self.at..].starts_with("\\u") {
            return Err((start, JsonErrorKind::LoneSurrogate));
        }
        let second_at = self.at;
        self.at += 2;
        let second = self.four_digits(second_at)?;
        if !(0xDC00..=0xDFFF).contains(&second) {
            return Err((start, JsonErrorKind::LoneSurrogate));
        }
        char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00))
            .ok_or((start, JsonErrorKind::LoneSurrogate))
    }

    fn four_digits(&mut self, start: usize) -> Result<u32, Refused> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).ok_or((start, JsonErrorKind::BadEscape))?;
        let mut code = 0;
        for &digit in digits {
            let value = char::from(digit).to_digit(16).ok_or((start, JsonErrorKind::BadEscape))?;
            code = code * 16 + value;
        }
        self.at += 4;
        Ok(code)
    }

    fn number(&mut self) -> Result<Value, Refused> {
        let start = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        let whole_ends = self.at;
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _sign = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        let text = &self.text[start..self.at];
        number::value(text, self.at == whole_ends, self.limits.integers)
            .map(Value::Number)
            .map_err(|kind| (start, kind))
    }

    /// One digit or more.
    fn digits(&mut self) -> Result<(), Refused> {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(self.unexpected("a digit")) } else { Ok(()) }
    }

    fn literal(&mut self, word: &'static str, value: Value) -> Result<Value, Refused> {
        for &wanted in word.as_bytes() {
            if !self.eat(wanted) {
                return Err(self.unexpected("`true`, `false` or `null`"));
            }
        }
        Ok(value)
    }

    fn white_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    /// The refusal of whatever stands at the current place.
    fn unexpected(&self, expected: &'static str) -> Refused {
        let kind = match self.rest().chars().next() {
            Some(found) => JsonErrorKind::Unexpected { found, expected },
            None => JsonErrorKind::EndsEarly { expected },
        };
        (self.at, kind)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }
}
