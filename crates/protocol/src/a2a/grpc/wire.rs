//! The wire format of protobuf: tags, numbers, lengths. Bounded by the bytes that are there.

/// Why bytes are no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The bytes end in the middle.
    #[error("the bytes end in the middle of {0}")]
    CutOff(&'static str),
    /// A number of more than ten bytes.
    #[error("a number of more than 64 bits")]
    NumberTooLong,
    /// A field number that no message can have.
    #[error("field number {0} is out of range")]
    FieldNumber(u64),
    /// A wire type that proto3 does not have.
    #[error("field {field} has wire type {wire_type}, which proto3 does not have")]
    WireType {
        /// The field's number.
        field: u32,
        /// The wire type.
        wire_type: u8,
    },
}

/// What stands behind a tag.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Payload<'a> {
    /// A number of variable length.
    Varint(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// As many bytes as a length says.
    Bytes(&'a [u8]),
    /// Four bytes.
    Fixed32(u32),
}

/// One field after the other, as they stand.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    left: &'a [u8],
}

/// The highest number that a field can have.
const MAX_FIELD: u64 = (1 << 29) - 1;

// === impl Payload ===

impl Payload<'_> {
    /// How it is called in messages to people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Varint(_) => "a number",
            Self::Fixed64(_) => "eight bytes",
            Self::Bytes(_) => "bytes with a length",
            Self::Fixed32(_) => "four bytes",
        }
    }
}

// === impl Fields ===

impl<'a> Fields<'a> {
    /// The fields of a message.
    #[must_use]
    pub const fn of(bytes: &'a [u8]) -> Self {
        Self { left: bytes }
    }

    fn field(&mut self) -> Result<(u32, Payload<'a>), WireError> {
        let tag = self.varint("a tag")?;
        let number = tag >> 3;
        let field = u32::try_from(number).ok().filter(|_| (1..=MAX_FIELD).contains(&number));
        let field = field.ok_or(WireError::FieldNumber(number))?;
        let payload = match tag & 7 {
            0 => Payload::Varint(self.varint("a number")?),
            1 => Payload::Fixed64(u64::from_le_bytes(self.fixed()?)),
            2 => {
                let length = usize::try_from(self.varint("a length")?).unwrap_or(usize::MAX);
                Payload::Bytes(self.take(length)?)
            }
            5 => Payload::Fixed32(u32::from_le_bytes(self.fixed()?)),
            other => return Err(WireError::WireType { field, wire_type: u8::try_from(other).unwrap_or(u8::MAX) }),
        };
        Ok((field, payload))
    }

    fn varint(&mut self, what: &'static str) -> Result<u64, WireError> {
        let mut value = 0_u64;
        for shift in (0..70).step_by(7) {
            let (&byte, rest) = self.left.split_first().ok_or(WireError::CutOff(what))?;
            self.left = rest;
            // the tenth byte has room for one bit; parsers drop what lies beyond
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(WireError::NumberTooLong)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.left.split_at_checked(length).ok_or(WireError::CutOff("a value"))?;
        self.left = rest;
        Ok(taken)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (taken, rest) = self.left.split_first_chunk::<N>().ok_or(WireError::CutOff("a value"))?;
        self.left = rest;
        Ok(*taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Payload<'a>), WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            // nothing can be read behind what could not be read
            self.left = &[];
        }
        Some(field)
    }
}

/// Writes a number of variable length.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let low = u8::try_from(value & 0x7f).unwrap_or_default();
        value >>= 7;
        if value == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}

/// Writes a field that is a number.
pub fn put_number(out: &mut Vec<u8>, field: u32, value: u64) {
    put_varint(out, u64::from(field) << 3);
    put_varint(out, value);
}

/// Writes a field that is a double.
pub fn put_double(out: &mut Vec<u8>, field: u32, value: f64) {
    put_varint(out, u64::from(field) << 3 | 1);
    out.extend_from_slice(&value.to_bits().to_le_bytes());
}

/// Writes a field that is bytes, text or a message.
pub fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_varint(out, u64::from(field) << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<Result<(u32, Payload<'_>), WireError>> {
        Fields::of(bytes).collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let mut out = Vec::new();
        put_number(&mut out, 1, u64::MAX);
        put_bytes(&mut out, 2, b"two");
        put_double(&mut out, 536_870_911, 1.5);
        let read = read(&out);
        assert_eq!(read[0], Ok((1, Payload::Varint(u64::MAX))));
        assert_eq!(read[1], Ok((2, Payload::Bytes(b"two"))));
        assert_eq!(read[2], Ok((536_870_911, Payload::Fixed64(1.5_f64.to_bits()))));
    }

    #[test]
    fn what_is_cut_off_is_said_once() {
        assert_eq!(read(&[0x0a, 5, b'x']), [Err(WireError::CutOff("a value"))]);
        assert_eq!(read(&[0x80]), [Err(WireError::CutOff("a tag"))]);
        assert_eq!(read(&[0x08]), [Err(WireError::CutOff("a number"))]);
        assert_eq!(read(&[0x0d, 1, 2]), [Err(WireError::CutOff("a value"))]);
        assert_eq!(
            read(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
            [Err(WireError::CutOff("a value"))]
        );
    }

    #[test]
    fn what_no_message_can_hold_is_named() {
        assert_eq!(read(&[0xff; 11]), [Err(WireError::NumberTooLong)]);
        assert_eq!(read(&[0x00, 1]), [Err(WireError::FieldNumber(0))]);
        assert_eq!(read(&[0x0b]), [Err(WireError::WireType { field: 1, wire_type: 3 })]);
    }
}
