//! What a recorded event takes in memory, at most: its bytes, and the values that they become when they are read.

use ostiary_protocol::a2a::grpc::{
    PREFIX,
    wire::{Fields, Payload},
};
use ostiary_record::{Kind, event::RawHeaders, ports::Carrier};

/// An event without its bytes.
const EVENT: u64 = 256;
/// A value of JSON: itself, its name, and its place in a map.
const VALUE: u64 = 64;
/// A map of JSON: one of a single member has room for eleven.
const MAP: u64 = 640;
/// A field of a message: most are texts or numbers, and one that is a message brings those that it must have.
const FIELD: u64 = 160;
/// Messages inside each other that are looked into. Whether bytes are a message or a text is guessed; deeper ones hardly
/// matter.
const DEPTH: u8 = 12;

/// The weight of an event in bytes.
pub(super) fn of(kind: &Kind, carrier: Carrier) -> u64 {
    match kind {
        Kind::Frame { bytes, .. } => EVENT + frame(bytes.as_bytes(), carrier),
        Kind::Head { headers, .. } | Kind::Trailers { headers, .. } => EVENT + fields(headers),
        _ => EVENT,
    }
}

fn fields(headers: &RawHeaders) -> u64 {
    headers.iter().map(|(name, value)| VALUE + (name.len() + value.as_bytes().len()) as u64).sum()
}

fn frame(bytes: &[u8], carrier: Carrier) -> u64 {
    let read = match carrier {
        Carrier::Http | Carrier::Stdio => bytes.iter().map(|byte| begun(*byte)).sum(),
        Carrier::Grpc => FIELD * members(bytes.get(PREFIX..).unwrap_or_default(), DEPTH).unwrap_or(0),
    };
    // once as they came, and once in what they become
    2 * bytes.len() as u64 + read
}

/// What a character of JSON may begin.
const fn begun(byte: u8) -> u64 {
    match byte {
        b'{' => MAP,
        b',' | b'[' => VALUE,
        _ => 0,
    }
}

/// How many fields there are, those of messages inside included; `None` where the bytes are no message.
fn members(bytes: &[u8], depth: u8) -> Option<u64> {
    let inner = depth.checked_sub(1)?;
    let mut count = 0;
    for field in Fields::of(bytes) {
        count += match field.ok()?.1 {
            Payload::Bytes(bytes) => 1 + members(bytes, inner).unwrap_or(0),
            Payload::Varint(_) | Payload::Fixed64(_) | Payload::Fixed32(_) => 1,
        };
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use ostiary_record::{Blob, ExchangeId};

    use super::*;

    fn weight(bytes: &[u8], carrier: Carrier) -> u64 {
        of(&Kind::Frame { x: ExchangeId(0), n: 0, bytes: Blob::from(bytes.to_vec()) }, carrier)
    }

    #[test]
    fn small_values_weigh_what_they_become() {
        let many = format!("[{}0]", "0,".repeat(1_000));
        assert!(weight(many.as_bytes(), Carrier::Http) > 1_000 * VALUE);
        let prose = "a text of many words. ".repeat(100);
        assert!(weight(prose.as_bytes(), Carrier::Http) < 3 * prose.len() as u64 + EVENT);
        // a thousand empty messages in a list
        let list = [0x0a, 0].repeat(1_000);
        assert!(weight(&[&[0; PREFIX], &list[..]].concat(), Carrier::Grpc) > 1_000 * FIELD);
        assert!(weight(&[&[0; PREFIX], prose.as_bytes()].concat(), Carrier::Grpc) < 3 * prose.len() as u64 + EVENT);
    }
}
