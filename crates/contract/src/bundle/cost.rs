//! How much work a validation is, told before it is done (J-04).
//!
//! References let a small schema be a huge one: forty definitions that each name the next one twice are a million million
//! paths. A validator walks them all, so that each schema is measured when the bundle is read ([`paths`]), and each pair
//! of schema and value before it is validated ([`steps`]). Both count and never look at a clock: the same input gives the
//! same answer on every machine.

use std::collections::HashMap;

use serde_json::{Map, Value};

use index::{Index, Node, Target};

mod index;

/// Most schemas that one value may meet without going deeper into it.
pub(super) const MOST_PATHS: u64 = 10_000;

/// Most references and combinators in a row for one value.
pub(super) const MOST_HOPS: u32 = 256;

/// Matches of a pattern that may have to go back count as so many, since their cost is bounded by the engine alone.
const BACKTRACKING: u64 = 200;

/// A metaschema meets each part of a value with about so many schemas.
const METASCHEMA: u64 = 50;

/// Keywords whose schemas look at the same value again.
const SAME_LIST: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SAME_ONE: [&str; 4] = ["not", "if", "then", "else"];
const SAME_MAP: [&str; 2] = ["dependentSchemas", "dependencies"];
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Why a schema is refused when a bundle is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TooMuch {
    /// More than [`MOST_PATHS`].
    Paths,
    /// More than [`MOST_HOPS`].
    Hops,
}

/// The files that a schema's references may find.
pub(super) type Schemas = std::collections::BTreeMap<String, Value>;

/// Measures a schema of the file `path`, and every schema inside it.
pub(super) fn paths(path: &str, schema: &Value, schemas: &Schemas) -> Result<(), TooMuch> {
    let index = Index::of(path, schema, schemas);
    let mut counted = HashMap::new();
    index.inside(schema).into_iter().try_for_each(|node| {
        let paths = count(&index, node, 0, &mut counted)?;
        if paths > MOST_PATHS { Err(TooMuch::Paths) } else { Ok(()) }
    })
}

/// How many schemas one value meets at this one. What is being counted already is a circle, which has no number: it counts
/// as one here, and [`steps`] never comes to its end.
fn count<'s>(
    index: &Index<'s>,
    node: Node<'s>,
    hops: u32,
    counted: &mut HashMap<*const Value, u64>,
) -> Result<u64, TooMuch> {
    if let Some(known) = counted.get(&node.key()) {
        return Ok(*known);
    }
    if hops >= MOST_HOPS {
        return Err(TooMuch::Hops);
    }
    counted.insert(node.key(), 1);
    let mut sum = 1_u64;
    for target in same(index, node) {
        let more = if let Target::Schema(next) = target { count(index, next, hops + 1, counted)? } else { 1 };
        sum = sum.saturating_add(more);
    }
    counted.insert(node.key(), sum);
    Ok(sum)
}

/// The schemas that look at the same value as this one.
fn same<'s>(index: &Index<'s>, node: Node<'s>) -> Vec<Target<'s>> {
    let Some(members) = node.schema.as_object() else { return Vec::new() };
    let lists = SAME_LIST.iter().filter_map(|key| members.get(*key)?.as_array()).flatten();
    let ones = SAME_ONE.iter().filter_map(|key| members.get(*key));
    let maps = SAME_MAP.iter().filter_map(|key| members.get(*key)?.as_object()).flat_map(Map::values);
    let inside = lists.chain(ones).chain(maps).filter(|s| s.is_object());
    let mut out: Vec<Target<'s>> = inside.map(|s| Target::Schema(index.enter(node, s))).collect();
    for key in REFERENCES {
        if let Some(reference) = members.get(key).and_then(Value::as_str) {
            index.resolve(node, reference, key != "$ref", &mut out);
        }
    }
    out
}

/// How many steps it takes to validate `value`; `None` when it is more than `most`. It is what a validator does at worst:
/// nothing is cut short, as when each alternative of a failed `anyOf` is looked at for its errors.
pub(super) fn steps(path: &str, schema: &Value, schemas: &Schemas, value: &Value, most: u64) -> Option<u64> {
    let index = Index::of(path, schema, schemas);
    let mut walk = Walk { index: &index, stack: Vec::new(), spent: 0, most };
    walk.push(index.root(), value, 1)?;
    while let Some((node, value, times)) = walk.stack.pop() {
        walk.step(node, value, times)?;
    }
    Some(walk.spent)
}

/// Pairs of schema and value that are still to be met, each so many times.
struct Walk<'w, 's, 'v> {
    index: &'w Index<'s>,
    stack: Vec<(Node<'s>, &'v Value, u64)>,
    spent: u64,
    most: u64,
}

/// What a member's name is when a schema looks at it.
static NAME: Value = Value::Null;

// === impl Walk ===

impl<'s, 'v> Walk<'_, 's, 'v> {
    /// `None` once more is spent than there is; also for what is only noted to be done, so that the stack is bounded.
    fn spend(&mut self, steps: u64) -> Option<()> {
        self.spent = self.spent.saturating_add(steps);
        (self.spent <= self.most).then_some(())
    }

    fn push(&mut self, node: Node<'s>, value: &'v Value, times: u64) -> Option<()> {
        self.spend(times)?;
        if node.schema.is_object() {
            self.stack.push((node, value, times));
        }
        Some(())
    }

    fn step(&mut self, node: Node<'s>, value: &'v Value, times: u64) -> Option<()> {
        let Some(members) = node.schema.as_object() else { return Some(()) };
        self.spend(own(members, value).saturating_mul(times))?;
        // what nothing has evaluated is found by asking all others again, member by member
        let asked_again = ["unevaluatedProperties", "unevaluatedItems"].iter().any(|key| members.contains_key(*key));
        let again = if asked_again { times.saturating_mul(1 + length(value)) } else { times };
        for target in same(self.index, node) {
            match target {
                Target::Schema(next) => self.push(next, value, again)?,
                Target::Metaschema => self.spend(again.saturating_mul(METASCHEMA).saturating_mul(size(value)))?,
                // a reference that is not understood may lead anywhere
                Target::Unknown => self.spend(u64::MAX)?,
            }
        }
        match value {
            Value::Object(object) => self.object(node, members, object, times),
            Value::Array(items) => self.array(node, members, items, times),
            _ => Some(()),
        }
    }

    fn object(
        &mut self,
        node: Node<'s>,
        members: &'s Map<String, Value>,
        object: &'v Map<String, Value>,
        times: u64,
    ) -> Option<()> {
        for (name, schema) in members.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if let Some(value) = object.get(name) {
                self.push(self.index.enter(node, schema), value, times)?;
            }
        }
        for (pattern, schema) in members.get("patternProperties").and_then(Value::as_object).into_iter().flatten() {
            let each = matching(pattern, 0).saturating_mul(times);
            self.spend(each.saturating_mul(object.len() as u64))?;
            for value in object.values() {
                self.push(self.index.enter(node, schema), value, times)?;
            }
        }
        for key in ["additionalProperties", "unevaluatedProperties"] {
            for (schema, value) in members.get(key).into_iter().flat_map(|s| object.values().map(move |v| (s, v))) {
                self.push(self.index.enter(node, schema), value, times)?;
            }
        }
        match members.get("propertyNames") {
            Some(schema) => self.push(self.index.enter(node, schema), &NAME, times.saturating_mul(object.len() as u64)),
            None => Some(()),
        }
    }

    fn array(&mut self, node: Node<'s>, members: &'s Map<String, Value>, items: &'v [Value], times: u64) -> Option<()> {
        let lists = ["prefixItems", "items"].iter().filter_map(|key| members.get(*key)?.as_array());
        for (schema, value) in lists.flat_map(|list| list.iter().zip(items)) {
            self.push(self.index.enter(node, schema), value, times)?;
        }
        let all = ["items", "additionalItems", "contains", "unevaluatedItems"].iter();
        for schema in all.filter_map(|key| members.get(*key).filter(|s| !s.is_array())) {
            for value in items {
                self.push(self.index.enter(node, schema), value, times)?;
            }
        }
        Some(())
    }
}

/// What the keywords of one schema do with a value by themselves.
fn own(members: &Map<String, Value>, value: &Value) -> u64 {
    let listed = |key: &str| members.get(key).and_then(Value::as_array).map_or(0, |list| list.len() as u64 / 8);
    let unique = if members.get("uniqueItems") == Some(&Value::Bool(true)) { size(value) } else { 0 };
    let pattern = match (members.get("pattern"), value) {
        (Some(Value::String(pattern)), Value::String(text)) => matching(pattern, text.len()),
        // a member's name: how long it is has been forgotten
        (Some(Value::String(pattern)), Value::Null) => matching(pattern, 0),
        _ => 0,
    };
    listed("enum") + listed("required") + unique + pattern
}

/// What one match of a pattern costs; look-around and back references make an engine go back.
fn matching(pattern: &str, bytes: usize) -> u64 {
    let refers_back = pattern.as_bytes().windows(2).any(|w| w[0] == b'\\' && (w[1].is_ascii_digit() || w[1] == b'k'));
    let looks_around = ["(?=", "(?!", "(?<", "(?>"].iter().any(|mark| pattern.contains(mark));
    let linear = 1 + bytes as u64 / 64;
    if refers_back || looks_around { linear.saturating_add(BACKTRACKING) } else { linear }
}

/// How many members or items a value has.
fn length(value: &Value) -> u64 {
    match value {
        Value::Object(members) => members.len() as u64,
        Value::Array(items) => items.len() as u64,
        _ => 0,
    }
}

/// How many values a value is, with all inside it. A value that was read is bounded in depth.
fn size(value: &Value) -> u64 {
    match value {
        Value::Object(members) => 1 + members.values().map(size).sum::<u64>(),
        Value::Array(items) => 1 + items.iter().map(size).sum::<u64>(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests;
