//! What differs between two lists of tools, as far as anybody could act on it. Pure.
//!
//! Order never counts: not of tools, not of members, not of `required`, `enum` and `type`. What only people look at
//! (titles, icons, `_meta`) and white space in descriptions differ without harm, and are told.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// The tool's name.
    pub(super) tool: String,
    /// What became of it.
    pub(super) kind: Kind,
    /// Where in the tool, for what changed: the deepest place that holds all of one change.
    pub(super) pointer: String,
}

/// What became of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// Something that a consumer acts on changed.
    Changed,
    /// Something changed that nothing depends on.
    Cosmetic,
}

/// Differences told of one tool.
const MOST_EACH: usize = 20;
/// Members that only people look at.
const COSMETIC: [&str; 3] = ["title", "icons", "_meta"];
/// Lists whose order means nothing.
const SETS: [&str; 3] = ["required", "enum", "type"];

/// All differences, tools in the order of their names.
pub(super) fn differences(before: &[&Value], now: &[&Value]) -> Vec<Difference> {
    let (before, now) = (by_name(before), by_name(now));
    let mut out = Vec::new();
    for (name, tool) in &before {
        match now.get(name) {
            None => out.push(whole(name, Kind::Removed)),
            Some(other) => changed(name, tool, other, &mut out),
        }
    }
    out.extend(now.keys().filter(|name| !before.contains_key(*name)).map(|name| whole(name, Kind::Added)));
    out
}

fn by_name<'a>(tools: &[&'a Value]) -> BTreeMap<&'a str, &'a Value> {
    tools.iter().filter_map(|tool| Some((tool.get("name")?.as_str()?, *tool))).collect()
}

fn whole(name: &str, kind: Kind) -> Difference {
    Difference { tool: name.to_owned(), kind, pointer: String::new() }
}

fn changed(name: &str, before: &Value, now: &Value, out: &mut Vec<Difference>) {
    let mut places = Vec::new();
    walk(before, now, &mut String::new(), &mut places);
    let difference = |(pointer, kind)| Difference { tool: name.to_owned(), kind, pointer };
    out.extend(places.into_iter().map(difference));
}

fn walk(before: &Value, now: &Value, at: &mut String, out: &mut Vec<(String, Kind)>) {
    if out.len() >= MOST_EACH || same(before, now) {
        return;
    }
    if let (Value::Object(a), Value::Object(b)) = (before, now) {
        for name in names(a, b) {
            let length = at.len();
            at.push('/');
            at.push_str(&name.replace('~', "~0").replace('/', "~1"));
            match (a.get(name), b.get(name)) {
                (Some(a), Some(b)) if is_set(name) && same_set(a, b) => {}
                (Some(a), Some(b)) => walk(a, b, at, out),
                _ => out.push((at.clone(), kind(at, None))),
            }
            at.truncate(length);
        }
        return;
    }
    out.push((at.clone(), kind(at, Some((before, now)))));
}

/// The members of both, those of the first in their order.
fn names<'a>(a: &'a Map<String, Value>, b: &'a Map<String, Value>) -> Vec<&'a str> {
    let more = b.keys().filter(|name| !a.contains_key(*name));
    a.keys().chain(more).map(String::as_str).take(10_000).collect()
}

fn kind(at: &str, values: Option<(&Value, &Value)>) -> Kind {
    let first = at.split('/').nth(1).unwrap_or_default();
    let words = |v: &Value| v.as_str().map(|t| t.split_whitespace().collect::<Vec<_>>().join(" "));
    let spaced = || values.is_some_and(|(a, b)| words(a).is_some() && words(a) == words(b));
    if COSMETIC.contains(&first) || at == "/annotations/title" || (at.ends_with("/description") && spaced()) {
        Kind::Cosmetic
    } else {
        Kind::Changed
    }
}

fn is_set(name: &str) -> bool {
    SETS.contains(&name)
}

fn same_set(a: &Value, b: &Value) -> bool {
    let (Value::Array(a), Value::Array(b)) = (a, b) else { return same(a, b) };
    a.len() == b.len() && a.iter().all(|x| b.iter().any(|y| same(x, y)))
}

/// Equality of JSON: a number is a number however it is written, and members have no order.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || (x.as_f64() == y.as_f64() && (x.is_f64() || y.is_f64())),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(name, x)| y.get(name).is_some_and(|y| same(x, y)))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(before: &Value, now: &Value) -> Vec<(Kind, String)> {
        let found = differences(&[before], &[now]);
        found.into_iter().map(|d| (d.kind, d.pointer)).collect()
    }

    fn tool() -> Value {
        json!({"name": "a", "description": "Adds  two numbers", "inputSchema": {"type": "object",
            "required": ["x", "y"], "properties": {"x": {"type": "integer", "maximum": 10}}}})
    }

    #[test]
    fn order_and_spelling_of_numbers_are_no_difference() {
        let mut other = tool();
        other["inputSchema"]["required"] = json!(["y", "x"]);
        other["inputSchema"]["properties"]["x"] = json!({"maximum": 10.0, "type": "integer"});
        assert_eq!(told(&tool(), &other), []);
    }

    #[test]
    fn a_change_is_told_with_its_place() {
        let mut other = tool();
        other["inputSchema"]["properties"]["x"]["maximum"] = json!(11);
        other["outputSchema"] = json!({});
        let expect = [
            (Kind::Changed, "/inputSchema/properties/x/maximum".to_owned()),
            (Kind::Changed, "/outputSchema".to_owned()),
        ];
        assert_eq!(told(&tool(), &other), expect);
    }

    #[test]
    fn what_only_people_see_is_cosmetic() {
        let mut other = tool();
        other["title"] = json!("Add");
        other["description"] = json!("Adds two\nnumbers");
        assert!(told(&tool(), &other).iter().all(|(kind, _)| *kind == Kind::Cosmetic));
        other["description"] = json!("Adds two numbers and mails them");
        assert!(told(&tool(), &other).contains(&(Kind::Changed, "/description".to_owned())));
    }

    #[test]
    fn tools_come_and_go_by_name() {
        let (a, b) = (tool(), json!({"name": "b"}));
        let kinds =
            |before: &[&Value], now: &[&Value]| differences(before, now).iter().map(|d| d.kind).collect::<Vec<_>>();
        assert_eq!(kinds(&[&a, &b], &[&b, &a]), []);
        assert_eq!(kinds(&[&a], &[&b]), [Kind::Removed, Kind::Added]);
    }
}
