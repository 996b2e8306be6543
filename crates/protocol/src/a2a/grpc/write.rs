//! From ProtoJSON to protobuf bytes: a request that was written for every binding becomes one of gRPC.
//!
//! Lenient as ProtoJSON readers are (`null` is unset, numbers of enums, base64 in both alphabets). A member that the
//! message does not have is refused: it could not be sent, and leaving it out in silence would test something else.

use base64::{
    Engine as _,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use jiff::Timestamp;
use serde_json::Value;

use super::{
    read::is_default,
    schema::{Enum, Field, KNOWN_DETAILS, Kind, Message, Rule},
    wire::{put_bytes, put_double, put_number},
};

/// Why a value cannot be sent as a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {why}", if path.is_empty() { "the message" } else { path.as_str() })]
pub struct WriteError {
    /// Which member, from the message downwards.
    pub path: String,
    /// What is wrong with it.
    pub why: String,
}

/// Writes a value as a message.
///
/// # Errors
/// When the message cannot hold it.
pub fn write(message: &Message, value: &Value) -> Result<Vec<u8>, WriteError> {
    let Value::Object(members) = value else { return Err(wrong(format!("a {} must be an object", message.name))) };
    if let Some(unknown) = members.keys().find(|k| message.named(k).is_none()) {
        return Err(wrong(format!("{} has no member `{unknown}`", message.name)));
    }
    let mut out = Vec::new();
    for field in message.fields {
        let Some(value) = members.get(field.json) else { continue };
        if value.is_null() && !matches!(field.kind, Kind::Value) {
            continue;
        }
        put_field(&mut out, field, value).map_err(|e| e.under(field.json))?;
    }
    Ok(out)
}

fn put_field(out: &mut Vec<u8>, field: &Field, value: &Value) -> Result<(), WriteError> {
    match (field.rule, value) {
        (Rule::Map, Value::Object(members)) => {
            for (key, value) in members {
                let mut entry = Vec::new();
                put_bytes(&mut entry, 1, key.as_bytes());
                put(&mut entry, 2, field.kind, value).map_err(|e| e.under(key))?;
                put_bytes(out, field.number, &entry);
            }
            Ok(())
        }
        (Rule::Map, _) => Err(wrong("it must be an object")),
        (Rule::List | Rule::RequiredList, Value::Array(items)) => {
            for (n, item) in items.iter().enumerate() {
                put(out, field.number, field.kind, item).map_err(|e| e.under(&n.to_string()))?;
            }
            Ok(())
        }
        (Rule::List | Rule::RequiredList, _) => Err(wrong("it must be an array")),
        (Rule::Plain | Rule::Required, value) if is_default(field.kind, value) => Ok(()),
        (Rule::Plain | Rule::Required | Rule::Present, value) => put(out, field.number, field.kind, value),
    }
}

fn put(out: &mut Vec<u8>, number: u32, kind: Kind, value: &Value) -> Result<(), WriteError> {
    match kind {
        Kind::Text => put_bytes(out, number, text(value)?.as_bytes()),
        Kind::Bytes => put_bytes(out, number, &bytes(text(value)?)?),
        Kind::Bool => put_number(out, number, value.as_bool().ok_or_else(|| wrong("it must be true or false"))?.into()),
        Kind::Int32 => put_number(out, number, int32(value)?),
        Kind::Enum(names) => put_number(out, number, number_of(names, value)?),
        Kind::Message(message) => put_bytes(out, number, &write(message, value)?),
        Kind::Struct if value.is_object() => put_bytes(out, number, &object(value)),
        Kind::Struct => return Err(wrong("it must be an object")),
        Kind::Value => put_bytes(out, number, &any_value(value)),
        Kind::Timestamp => put_bytes(out, number, &timestamp(text(value)?)?),
        Kind::Any => put_bytes(out, number, &any(value)?),
    }
    Ok(())
}

fn object(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        let mut entry = Vec::new();
        put_bytes(&mut entry, 1, key.as_bytes());
        put_bytes(&mut entry, 2, &any_value(value));
        put_bytes(&mut out, 1, &entry);
    }
    out
}

/// `google.protobuf.Value`; a number becomes a double, as ProtoJSON has it.
fn any_value(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    match value {
        Value::Null => put_number(&mut out, 1, 0),
        Value::Number(n) => put_double(&mut out, 2, n.as_f64().unwrap_or_default()),
        Value::String(text) => put_bytes(&mut out, 3, text.as_bytes()),
        Value::Bool(yes) => put_number(&mut out, 4, (*yes).into()),
        Value::Object(_) => put_bytes(&mut out, 5, &object(value)),
        Value::Array(items) => {
            let mut list = Vec::new();
            items.iter().for_each(|item| put_bytes(&mut list, 1, &any_value(item)));
            put_bytes(&mut out, 6, &list);
        }
    }
    out
}

/// `google.protobuf.Any` of a detail that is known, or of one that comes as its bytes.
fn any(value: &Value) -> Result<Vec<u8>, WriteError> {
    let url = text(value.get("@type").unwrap_or(&Value::Null)).map_err(|e| e.under("@type"))?;
    let name = url.rsplit_once('/').map_or(url, |(_, name)| name);
    let mut members = value.clone();
    members.as_object_mut().map(|members| members.remove("@type"));
    let bytes = match (KNOWN_DETAILS.iter().find(|m| m.name == name), value.get("value")) {
        (Some(message), _) => write(message, &members)?,
        (None, Some(value)) => bytes(text(value)?)?,
        (None, None) => return Err(wrong(format!("`{url}` names no type that is known here"))),
    };
    let mut out = Vec::new();
    put_bytes(&mut out, 1, url.as_bytes());
    put_bytes(&mut out, 2, &bytes);
    Ok(out)
}

fn timestamp(text: &str) -> Result<Vec<u8>, WriteError> {
    let time: Timestamp = text.parse().map_err(|_| wrong(format!("`{text}` is no time in RFC 3339")))?;
    let (mut seconds, mut nanos) = (time.as_second(), time.subsec_nanosecond());
    if nanos < 0 {
        (seconds, nanos) = (seconds - 1, nanos + 1_000_000_000);
    }
    let mut out = Vec::new();
    put_number(&mut out, 1, seconds.cast_unsigned());
    put_number(&mut out, 2, i64::from(nanos).cast_unsigned());
    Ok(out)
}

fn text(value: &Value) -> Result<&str, WriteError> {
    value.as_str().ok_or_else(|| wrong("it must be text"))
}

fn bytes(text: &str) -> Result<Vec<u8>, WriteError> {
    let lenient = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let alphabet = if text.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
    GeneralPurpose::new(alphabet, lenient).decode(text).map_err(|_| wrong("it must be base64"))
}

fn int32(value: &Value) -> Result<u64, WriteError> {
    let number = value.as_i64().or_else(|| value.as_str().and_then(|t| t.parse().ok()));
    let number = number.filter(|n| i32::try_from(*n).is_ok());
    number.map(i64::cast_unsigned).ok_or_else(|| wrong("it must be an integer of 32 bits"))
}

fn number_of(names: &Enum, value: &Value) -> Result<u64, WriteError> {
    let by_name = value.as_str().and_then(|name| names.names.iter().position(|n| *n == name));
    match by_name.and_then(|n| u64::try_from(n).ok()) {
        Some(number) => Ok(number),
        None if value.is_number() => int32(value),
        None => Err(wrong(format!("{value} is no name of {}", names.name))),
    }
}

fn wrong(why: impl Into<String>) -> WriteError {
    WriteError { path: String::new(), why: why.into() }
}

// === impl WriteError ===

impl WriteError {
    fn under(mut self, member: &str) -> Self {
        self.path = if self.path.is_empty() { member.to_owned() } else { format!("{member}.{}", self.path) };
        self
    }
}
