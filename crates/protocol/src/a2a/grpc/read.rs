//! From protobuf bytes to ProtoJSON: what checks read is the same for every binding.
//!
//! Lenient where proto3 is (fields in any order, unknown ones, unknown numbers of enums), and exact about the rest:
//! what cannot be read is named with its place. A field that has no presence and that the specification demands is
//! written even where it is the default, since on this binding the default is all there is to see.

use std::cell::Cell;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use ostiary_canon::json::Limits;
use serde_json::{Map, Number, Value};

use crate::a2a::codec::MAP;

use super::{
    schema::{Enum, Field, KNOWN_DETAILS, Kind, Message, Rule},
    wire::{Fields, Payload, WireError},
};

/// Why bytes are not the message that they should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {why}", if path.is_empty() { "the message" } else { path.as_str() })]
pub struct ReadError {
    /// Which member, from the message downwards: `task.status.state`.
    pub path: String,
    /// What is wrong with it.
    pub why: String,
}

/// Deeper messages are not read; the same as JSON's bound for what comes over a wire.
const DEPTH: usize = 96;
/// More values are not read: two bytes can be a message that takes hundreds in memory.
const VALUES: u32 = Limits::WIRE.values;
/// What JSON numbers keep exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// What may still be read.
#[derive(Clone, Copy)]
struct Room<'r> {
    depth: usize,
    values: &'r Cell<u32>,
}

/// Reads a message as ProtoJSON.
///
/// # Errors
/// When the bytes are not such a message.
pub fn read(message: &Message, bytes: &[u8]) -> Result<Value, ReadError> {
    read_within(message, bytes, &mut VALUES.clone())
}

/// The same, of one of several messages that together may have so many values; none are left where that was too few.
///
/// # Errors
/// When the bytes are not such a message, or have too many values.
pub fn read_within(message: &Message, bytes: &[u8], values: &mut u32) -> Result<Value, ReadError> {
    let left = Cell::new(*values);
    let read = at(message, bytes, Room { depth: DEPTH, values: &left });
    *values = left.get();
    read
}

fn at(message: &Message, bytes: &[u8], room: Room<'_>) -> Result<Value, ReadError> {
    let room = room.inside("messages")?;
    room.takes(MAP)?;
    let mut out = Map::new();
    let merged = merged(message, bytes)?;
    for field in Fields::of(&merged) {
        let (number, payload) = field.map_err(broken)?;
        // what a newer minor version adds is ignored (§3.6)
        let Some(field) = message.field(number) else { continue };
        if field.rule == Rule::Map {
            let (key, value) = entry(field, payload, room).map_err(|e| e.under(field.json))?;
            let map = out.entry(field.json).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(map) = map {
                map.insert(key, value);
            }
            continue;
        }
        let value = value(field.kind, payload, room).map_err(|e| e.under(field.json))?;
        if field.repeats() {
            if let Value::Array(list) = out.entry(field.json).or_insert_with(|| Value::Array(Vec::new())) {
                list.push(value);
            }
        } else if field.rule == Rule::Plain && is_default(field.kind, &value) {
            // sent although it is the default: to a reader the same as not sent
            out.remove(field.json);
        } else {
            out.insert(field.json.to_owned(), value);
        }
    }
    for field in message.fields.iter().filter(|f| f.required()) {
        if let (None, Some(default)) = (out.get(field.json), default_of(field)) {
            room.one_more()?;
            out.insert(field.json.to_owned(), default);
        }
    }
    Ok(Value::Object(out))
}

/// A message in a field that stands once may come in pieces, which are one message (protobuf's rule of merging).
fn merged<'b>(message: &Message, bytes: &'b [u8]) -> Result<std::borrow::Cow<'b, [u8]>, ReadError> {
    let single = |number: u32| {
        message.field(number).filter(|f| matches!(f.kind, Kind::Message(_)) && !f.repeats()).map(|f| f.number)
    };
    let mut seen = std::collections::BTreeMap::<u32, usize>::new();
    for field in Fields::of(bytes) {
        if let Some(number) = single(field.map_err(broken)?.0) {
            *seen.entry(number).or_default() += 1;
        }
    }
    if seen.values().all(|n| *n == 1) {
        return Ok(bytes.into());
    }
    let mut pieces = std::collections::BTreeMap::<u32, Vec<u8>>::new();
    let mut out = Vec::with_capacity(bytes.len());
    for field in Fields::of(bytes) {
        match field.map_err(broken)? {
            (number, Payload::Bytes(piece)) if single(number).is_some() => {
                pieces.entry(number).or_default().extend_from_slice(piece);
            }
            (number, Payload::Bytes(piece)) => super::wire::put_bytes(&mut out, number, piece),
            (number, Payload::Varint(n)) => super::wire::put_number(&mut out, number, n),
            (number, Payload::Fixed64(n)) => super::wire::put_double(&mut out, number, f64::from_bits(n)),
            // no field of ours has four bytes, so that it is unknown and left out
            (_, Payload::Fixed32(_)) => {}
        }
    }
    for (number, piece) in pieces {
        super::wire::put_bytes(&mut out, number, &piece);
    }
    Ok(out.into())
}

fn value(kind: Kind, payload: Payload<'_>, room: Room<'_>) -> Result<Value, ReadError> {
    room.one_more()?;
    match (kind, payload) {
        (Kind::Text, Payload::Bytes(bytes)) => text(bytes).map(Value::String),
        (Kind::Bytes, Payload::Bytes(bytes)) => Ok(Value::String(STANDARD.encode(bytes))),
        (Kind::Bool, Payload::Varint(n)) => Ok(Value::Bool(n != 0)),
        (Kind::Int32, Payload::Varint(n)) => Ok(Value::from(int32(n))),
        (Kind::Enum(names), Payload::Varint(n)) => Ok(named(names, int32(n))),
        (Kind::Message(message), Payload::Bytes(bytes)) => at(message, bytes, room),
        (Kind::Struct, Payload::Bytes(bytes)) => object(bytes, room),
        (Kind::Value, Payload::Bytes(bytes)) => any_value(bytes, room),
        (Kind::Timestamp, Payload::Bytes(bytes)) => timestamp(bytes),
        (Kind::Any, Payload::Bytes(bytes)) => any(bytes, room),
        (_, other) => Err(wrong(format!("it is {}, which this field cannot be", other.name()))),
    }
}

fn entry(field: &Field, payload: Payload<'_>, room: Room<'_>) -> Result<(String, Value), ReadError> {
    let Payload::Bytes(bytes) = payload else { return Err(wrong("an entry of a map is no message")) };
    let (mut key, mut found) = (String::new(), None);
    for part in Fields::of(bytes) {
        match part.map_err(broken)? {
            (1, Payload::Bytes(bytes)) => key = text(bytes)?,
            (2, payload) => found = Some(value(field.kind, payload, room)?),
            _ => {}
        }
    }
    let found = found.map_or_else(|| empty(field.kind, room), Ok)?;
    Ok((key, found))
}

/// The value of an entry that names none.
fn empty(kind: Kind, room: Room<'_>) -> Result<Value, ReadError> {
    room.one_more()?;
    match kind {
        Kind::Message(message) => at(message, &[], room),
        Kind::Text => Ok(Value::String(String::new())),
        _ => Ok(Value::Null),
    }
}

fn object(bytes: &[u8], room: Room<'_>) -> Result<Value, ReadError> {
    let room = room.inside("values")?;
    room.takes(MAP)?;
    let mut out = Map::new();
    for field in Fields::of(bytes) {
        let (1, Payload::Bytes(bytes)) = field.map_err(broken)? else { continue };
        let (mut key, mut found) = (String::new(), Value::Null);
        for part in Fields::of(bytes) {
            match part.map_err(broken)? {
                (1, Payload::Bytes(bytes)) => key = text(bytes)?,
                (2, Payload::Bytes(bytes)) => found = any_value(bytes, room).map_err(|e| e.under(&key))?,
                _ => {}
            }
        }
        out.insert(key, found);
    }
    Ok(Value::Object(out))
}

fn any_value(bytes: &[u8], room: Room<'_>) -> Result<Value, ReadError> {
    let room = room.inside("values")?;
    room.one_more()?;
    let mut out = None;
    for field in Fields::of(bytes) {
        out = Some(match field.map_err(broken)? {
            (1, Payload::Varint(_)) => Value::Null,
            (2, Payload::Fixed64(bits)) => double(f64::from_bits(bits))?,
            (3, Payload::Bytes(bytes)) => Value::String(text(bytes)?),
            (4, Payload::Varint(n)) => Value::Bool(n != 0),
            (5, Payload::Bytes(bytes)) => object(bytes, room)?,
            (6, Payload::Bytes(bytes)) => list(bytes, room)?,
            _ => continue,
        });
    }
    out.ok_or_else(|| wrong("a value without any of its kinds"))
}

fn list(bytes: &[u8], room: Room<'_>) -> Result<Value, ReadError> {
    let mut out = Vec::new();
    for field in Fields::of(bytes) {
        if let (1, Payload::Bytes(bytes)) = field.map_err(broken)? {
            out.push(any_value(bytes, room).map_err(|e| e.under(&out.len().to_string()))?);
        }
    }
    Ok(Value::Array(out))
}

/// Whole numbers stay whole: JSON does not tell `3` from `3.0`, and schemas of integers should not either.
fn double(n: f64) -> Result<Value, ReadError> {
    if n.fract() == 0.0 && n.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53, as the line above says")]
        let whole = n as i64;
        return Ok(Value::from(whole));
    }
    Number::from_f64(n).map(Value::Number).ok_or_else(|| wrong(format!("{n} is no number of JSON")))
}

fn timestamp(bytes: &[u8]) -> Result<Value, ReadError> {
    let (mut seconds, mut nanos) = (0_i64, 0_i32);
    for field in Fields::of(bytes) {
        match field.map_err(broken)? {
            (1, Payload::Varint(n)) => seconds = n.cast_signed(),
            (2, Payload::Varint(n)) => nanos = int32(n),
            _ => {}
        }
    }
    let out_of_range = || wrong(format!("{seconds} s and {nanos} ns are no time between the years 1 and 9999"));
    if !(0..1_000_000_000).contains(&nanos) {
        return Err(out_of_range());
    }
    let time = Timestamp::new(seconds, nanos).map_err(|_| out_of_range())?;
    Ok(Value::String(time.to_string()))
}

/// A detail of an error with the name of its type; one whose type is not known is shown as its bytes.
fn any(bytes: &[u8], room: Room<'_>) -> Result<Value, ReadError> {
    let (mut url, mut value) = (String::new(), &[][..]);
    for field in Fields::of(bytes) {
        match field.map_err(broken)? {
            (1, Payload::Bytes(bytes)) => url = text(bytes)?,
            (2, Payload::Bytes(bytes)) => value = bytes,
            _ => {}
        }
    }
    let name = url.rsplit_once('/').map_or(url.as_str(), |(_, name)| name);
    let known = KNOWN_DETAILS.iter().find(|m| m.name == name);
    let mut out = Map::new();
    out.insert("@type".to_owned(), Value::String(url.clone()));
    match known {
        Some(message) => {
            if let Value::Object(members) = at(message, value, room)? {
                out.extend(members);
            }
        }
        None => {
            out.insert("value".to_owned(), Value::String(STANDARD.encode(value)));
        }
    }
    Ok(Value::Object(out))
}

fn named(names: &Enum, number: i32) -> Value {
    let name = usize::try_from(number).ok().and_then(|n| names.names.get(n));
    name.map_or_else(|| Value::from(number), |name| Value::from(*name))
}

/// Whether a value is what a field without presence has when it is not sent.
pub(super) fn is_default(kind: Kind, value: &Value) -> bool {
    match kind {
        Kind::Text | Kind::Bytes => value == "",
        Kind::Bool => *value == false,
        Kind::Int32 => *value == 0,
        Kind::Enum(names) => *value == names.names[0],
        Kind::Message(_) | Kind::Struct | Kind::Value | Kind::Timestamp | Kind::Any => false,
    }
}

/// The default of a field without presence; a message that is not there is not there.
fn default_of(field: &Field) -> Option<Value> {
    if field.rule == Rule::RequiredList {
        return Some(Value::Array(Vec::new()));
    }
    match field.kind {
        Kind::Text | Kind::Bytes => Some(Value::from("")),
        Kind::Bool => Some(Value::Bool(false)),
        Kind::Int32 => Some(Value::from(0)),
        Kind::Enum(names) => Some(Value::from(names.names[0])),
        Kind::Message(_) | Kind::Struct | Kind::Value | Kind::Timestamp | Kind::Any => None,
    }
}

/// The low 32 bits, as parsers take them of a longer number.
#[expect(clippy::cast_possible_truncation, reason = "protobuf's rule for int32: the higher bits are dropped")]
const fn int32(n: u64) -> i32 {
    n as i32
}

fn text(bytes: &[u8]) -> Result<String, ReadError> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| wrong("the text is not UTF-8"))
}

fn wrong(why: impl Into<String>) -> ReadError {
    ReadError { path: String::new(), why: why.into() }
}

#[expect(clippy::needless_pass_by_value, reason = "stands where errors are mapped")]
fn broken(error: WireError) -> ReadError {
    wrong(error.to_string())
}

// === impl Room ===

impl Room<'_> {
    /// One level deeper.
    fn inside(self, what: &str) -> Result<Self, ReadError> {
        let depth = self.depth.checked_sub(1).ok_or_else(|| wrong(format!("{what} lie too deep in each other")))?;
        Ok(Self { depth, ..self })
    }

    fn one_more(self) -> Result<(), ReadError> {
        self.takes(1)
    }

    fn takes(self, values: u32) -> Result<(), ReadError> {
        let left = self.values.get().checked_sub(values);
        self.values.set(left.unwrap_or(0));
        left.map(drop).ok_or_else(|| wrong("more values than are read"))
    }
}

// === impl ReadError ===

impl ReadError {
    fn under(mut self, member: &str) -> Self {
        self.path = if self.path.is_empty() { member.to_owned() } else { format!("{member}.{}", self.path) };
        self
    }
}
