//! From columns to values, and back. What cannot have been written by us is reported with table, column and row.

use std::{fmt::Display, str::FromStr};

use jiff::Timestamp;
use ostiary_canon::Revision;
use ostiary_domain::StoreError;
use serde::{Serialize, de::DeserializeOwned};

/// The row that is being read.
pub(crate) struct Row {
    /// Its table.
    pub(crate) table: &'static str,
    /// Its key, in words.
    pub(crate) id: String,
}

// === impl Row ===

impl Row {
    pub(crate) fn bad(&self, column: &'static str, why: impl Display) -> StoreError {
        StoreError::Inconsistent { table: self.table, column, id: self.id.clone(), why: why.to_string() }
    }

    pub(crate) fn parse<T: FromStr<Err: Display>>(&self, column: &'static str, text: &str) -> Result<T, StoreError> {
        text.parse().map_err(|why| self.bad(column, why))
    }

    pub(crate) fn json<T: DeserializeOwned>(&self, column: &'static str, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|why| self.bad(column, why))
    }

    /// An enum that is stored as its bare name.
    pub(crate) fn word<T: DeserializeOwned>(&self, column: &'static str, text: &str) -> Result<T, StoreError> {
        serde_json::from_value(serde_json::Value::String(text.to_owned())).map_err(|why| self.bad(column, why))
    }

    pub(crate) fn time(&self, column: &'static str, nanoseconds: i64) -> Result<Timestamp, StoreError> {
        Timestamp::from_nanosecond(nanoseconds.into()).map_err(|why| self.bad(column, why))
    }

    pub(crate) fn unsigned(&self, column: &'static str, number: i64) -> Result<u64, StoreError> {
        u64::try_from(number).map_err(|why| self.bad(column, why))
    }

    pub(crate) fn small(&self, column: &'static str, number: i64) -> Result<u32, StoreError> {
        u32::try_from(number).map_err(|why| self.bad(column, why))
    }

    pub(crate) fn revision(&self, column: &'static str, number: i64) -> Result<Revision, StoreError> {
        self.unsigned(column, number).map(Revision)
    }
}

/// A time as stored; what lies beyond the year 2262 is stored as that year's.
pub(crate) fn nanos(time: Timestamp) -> i64 {
    let nanoseconds = time.as_nanosecond();
    i64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 { i64::MIN } else { i64::MAX })
}

/// A counter as stored.
pub(crate) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A value as its JSON.
pub(crate) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("values of the domain hold only texts, numbers and lists")
}

/// A person's or a program's free text as stored: PostgreSQL keeps no NUL in a text, and refuses the whole row for it.
pub(crate) fn text(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// An enum as its bare name.
pub(crate) fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        _ => unreachable!("only enums without data are stored as words"),
    }
}
