//! A schema of a tool, as far as MCP itself says something about it: dialect, root type, size, references.

use std::io::{self, Write};

use serde_json::{Map, Value};

use super::reference::{DATA, MAPS, References, references, under};

/// A JSON Schema dialect that is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// draft-04
    Draft4,
    /// draft-06
    Draft6,
    /// draft-07
    Draft7,
    /// 2019-09
    Draft201909,
    /// 2020-12
    Draft202012,
}

/// What `$schema` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stated<'a> {
    /// Nothing, or null.
    Absent,
    /// A dialect that is recognised.
    Known(Dialect),
    /// Another text.
    Unknown(&'a str),
    /// No text.
    NotText,
}

/// How large a schema is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Bytes of its compact JSON.
    pub bytes: usize,
    /// Most arrays and objects inside each other.
    pub depth: usize,
}

/// A schema as it stands.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'a>(pub &'a Value);

// === impl Schema ===

impl<'a> Schema<'a> {
    /// What `$schema` says.
    #[must_use]
    pub fn stated(self) -> Stated<'a> {
        match self.0.get("$schema") {
            None | Some(Value::Null) => Stated::Absent,
            Some(Value::String(uri)) => Dialect::of_uri(uri).map_or(Stated::Unknown(uri), Stated::Known),
            Some(_) => Stated::NotText,
        }
    }

    /// Whether the root says `type: object`, as MCP writes it: the text, no list of types.
    #[must_use]
    pub fn is_object_typed(self) -> bool {
        self.0.get("type").and_then(Value::as_str) == Some("object")
    }

    /// How large it is.
    #[must_use]
    pub fn measure(self) -> Measure {
        let mut counter = Counter(0);
        // a counter refuses no byte, and a JSON value has text keys
        let _ = serde_json::to_writer(&mut counter, self.0);
        Measure { bytes: counter.0, depth: depth(self.0) }
    }

    /// Visits this schema and every schema in it, outermost first, with its JSON pointer; what only looks like a schema
    /// (defaults, examples, names of properties) is passed over.
    pub fn each(self, mut visit: impl FnMut(&'a Map<String, Value>, &str)) {
        each(self.0, &mut String::new(), &mut visit);
    }

    /// Its references, each resolved inside the schema alone.
    #[must_use]
    pub fn references(self) -> References {
        references(self.0)
    }
}

// === impl Dialect ===

impl Dialect {
    /// The dialect that a `$schema` names; scheme and empty fragment do not matter.
    #[must_use]
    pub fn of_uri(uri: &str) -> Option<Self> {
        let uri = uri.strip_suffix('#').unwrap_or(uri);
        let rest = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"))?;
        Some(match rest.strip_prefix("json-schema.org/")? {
            "draft-04/schema" => Self::Draft4,
            "draft-06/schema" => Self::Draft6,
            "draft-07/schema" => Self::Draft7,
            "draft/2019-09/schema" => Self::Draft201909,
            "draft/2020-12/schema" => Self::Draft202012,
            _ => return None,
        })
    }

    /// Its name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draft4 => "draft-04",
            Self::Draft6 => "draft-06",
            Self::Draft7 => "draft-07",
            Self::Draft201909 => "2019-09",
            Self::Draft202012 => "2020-12",
        }
    }
}

/// Counts what is written.
struct Counter(usize);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn each<'a>(value: &'a Value, at: &mut String, visit: &mut dyn FnMut(&'a Map<String, Value>, &str)) {
    match value {
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                under(at, &n.to_string(), |at| each(item, at, visit));
            }
        }
        Value::Object(members) => {
            visit(members, at);
            for (key, value) in members.iter().filter(|(key, _)| !DATA.contains(&key.as_str())) {
                match value {
                    Value::Object(map) if MAPS.contains(&key.as_str()) => under(at, key, |at| {
                        map.iter().for_each(|(name, schema)| under(at, name, |at| each(schema, at, visit)));
                    }),
                    _ => under(at, key, |at| each(value, at, visit)),
                }
            }
        }
        _ => {}
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dialects_are_recognised_in_all_their_spellings() {
        for uri in ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema"] {
            assert_eq!(Dialect::of_uri(uri), Some(Dialect::Draft7), "{uri}");
        }
        assert_eq!(Dialect::of_uri("https://json-schema.org/draft/2020-12/schema"), Some(Dialect::Draft202012));
        for uri in ["https://json-schema.org/draft/next/schema", "https://schemas.example/mine", "2020-12", ""] {
            assert_eq!(Dialect::of_uri(uri), None, "{uri}");
        }
    }

    #[test]
    fn every_schema_is_visited_and_no_data() {
        let schema = json!({
            "properties": {"default": {"items": {}}, "a/b": true}, "default": {"x": {}}, "enum": [{}], "anyOf": [{}],
            "$defs": {"d": {}}
        });
        let mut seen = Vec::new();
        Schema(&schema).each(|_, at| seen.push(at.to_owned()));
        assert_eq!(seen, ["", "/properties/default", "/properties/default/items", "/anyOf/0", "/$defs/d"]);
    }

    #[test]
    fn size_and_root_are_told() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        assert_eq!(Schema(&schema).measure(), Measure { bytes: schema.to_string().len(), depth: 3 });
        assert!(Schema(&schema).is_object_typed());
        for root in [json!({}), json!({"type": ["object"]}), json!({"type": "array"}), json!(true)] {
            assert!(!Schema(&root).is_object_typed(), "{root}");
        }
    }
}
