//! References inside one schema: where they lead, without ever leaving the document (J-04).
//!
//! A reference to elsewhere is told, never followed. Recursion is legal and told; a circle that no instance ever leaves,
//! since every step of it judges the same value again, is told apart.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use url::Url;

/// References that are resolved in one schema; the largest file seen in the field has 370.
pub const MOST: usize = 2_000;

/// The base against which identifiers without one are resolved; nothing is ever fetched from there.
const BASE: &str = "schema:///";

/// All references of a schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// Each reference, in document order; at most [`MOST`].
    pub all: Vec<Reference>,
    /// Whether there were more.
    pub too_many: bool,
    /// The pointer of a reference that closes a recursion, where there is one.
    pub recursive: Option<String>,
    /// The pointer of a reference in a circle without end.
    pub endless: Option<String>,
}

/// One reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// JSON pointer, in the schema, of the object that holds it.
    pub pointer: String,
    /// Its text.
    pub text: String,
    /// Where it leads.
    pub target: Target,
}

/// Where a reference leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// To a schema of this document, by JSON pointer.
    Inside(String),
    /// To a metaschema that every validator has.
    Metaschema,
    /// Nowhere.
    Dangling,
    /// Out of the document.
    Outside,
}

/// Reads and resolves all references.
#[must_use]
pub fn references(schema: &Value) -> References {
    let mut walk = Walk::default();
    walk.schema(schema, &mut String::new(), &Resource { root: String::new(), base: Url::parse(BASE).ok() });
    if walk.found.is_empty() {
        return References::default();
    }
    let all: Vec<Reference> = walk.found.iter().map(|found| walk.resolve(schema, found)).collect();
    let graph = Graph::of(&all);
    let recursive = graph.circle(|_, _| true);
    let endless = graph.circle(in_place);
    References { too_many: walk.too_many, recursive, endless, all }
}

/// The resource that a part of a schema belongs to: what `$id` opens, else the document.
#[derive(Clone)]
struct Resource {
    root: String,
    base: Option<Url>,
}

struct Found {
    pointer: String,
    text: String,
    resource: Resource,
}

/// Collects references and everything that they may name.
#[derive(Default)]
struct Walk {
    found: Vec<Found>,
    too_many: bool,
    /// Address without fragment, to the pointer of the resource.
    ids: BTreeMap<String, String>,
    /// Root of a resource and anchor, to the pointer of the schema.
    anchors: BTreeMap<(String, String), String>,
}

/// Keywords whose members are schemas by free names.
pub(super) const MAPS: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

/// Keywords whose values are data, however much they look like a schema.
pub(super) const DATA: [&str; 4] = ["const", "enum", "default", "examples"];

// === impl Walk ===

impl Walk {
    fn schema(&mut self, value: &Value, at: &mut String, outer: &Resource) {
        match value {
            Value::Array(items) => self.items(items, at, outer),
            Value::Object(members) => {
                let inner = self.opens(value, at, outer);
                let resource = inner.as_ref().unwrap_or(outer);
                self.names(value, at, resource);
                for (key, value) in members {
                    match key.as_str() {
                        "$ref" | "$dynamicRef" | "$recursiveRef" => self.reference(value, at, resource),
                        key if DATA.contains(&key) => {}
                        key if value.is_object() && MAPS.contains(&key) => {
                            under(at, key, |at| self.map(value, at, resource));
                        }
                        key if value.is_object() || value.is_array() => {
                            under(at, key, |at| self.schema(value, at, resource));
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn items(&mut self, items: &[Value], at: &mut String, resource: &Resource) {
        for (n, item) in items.iter().enumerate() {
            if item.is_object() || item.is_array() {
                under(at, &n.to_string(), |at| self.schema(item, at, resource));
            }
        }
    }

    fn map(&mut self, value: &Value, at: &mut String, resource: &Resource) {
        for (name, value) in value.as_object().into_iter().flatten() {
            under(at, name, |at| self.schema(value, at, resource));
        }
    }

    /// The resource that an `$id` opens here.
    fn opens(&mut self, value: &Value, at: &str, outer: &Resource) -> Option<Resource> {
        let id = value.get("$id").or_else(|| value.get("id")).and_then(Value::as_str)?;
        let id = id.split('#').next().filter(|id| !id.is_empty())?;
        let base = outer.base.as_ref().and_then(|base| base.join(id).ok()).or_else(|| Url::parse(id).ok());
        self.ids.insert(id.to_owned(), at.to_owned());
        if let Some(base) = &base {
            self.ids.insert(base.to_string(), at.to_owned());
        }
        Some(Resource { root: at.to_owned(), base })
    }

    fn names(&mut self, value: &Value, at: &str, resource: &Resource) {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let by_id = text("$id").and_then(|id| id.strip_prefix('#'));
        for name in [text("$anchor"), text("$dynamicAnchor"), by_id].into_iter().flatten() {
            self.anchors.insert((resource.root.clone(), name.to_owned()), at.to_owned());
        }
    }

    fn reference(&mut self, value: &Value, at: &str, resource: &Resource) {
        let Value::String(text) = value else { return };
        if self.found.len() >= MOST {
            self.too_many = true;
            return;
        }
        self.found.push(Found { pointer: at.to_owned(), text: text.clone(), resource: resource.clone() });
    }

    fn resolve(&self, schema: &Value, found: &Found) -> Reference {
        let (document, fragment) = found.text.split_once('#').unwrap_or((&found.text, ""));
        let target = match self.root_of(document, &found.resource) {
            Err(target) => target,
            Ok(root) => self.inside(schema, root, fragment).map_or(Target::Dangling, Target::Inside),
        };
        Reference { pointer: found.pointer.clone(), text: found.text.clone(), target }
    }

    /// The root of the resource that the part of a reference before `#` names.
    fn root_of<'s>(&'s self, document: &str, from: &'s Resource) -> Result<&'s str, Target> {
        if document.is_empty() {
            return Ok(&from.root);
        }
        let joined = from.base.as_ref().and_then(|base| base.join(document).ok()).map(|url| url.to_string());
        let known = self.ids.get(document).or_else(|| joined.as_ref().and_then(|url| self.ids.get(url)));
        match known {
            Some(root) => Ok(root),
            None if super::Dialect::of_uri(document).is_some() => Err(Target::Metaschema),
            None => Err(Target::Outside),
        }
    }

    fn inside(&self, schema: &Value, root: &str, fragment: &str) -> Option<String> {
        let fragment = percent_decoded(fragment)?;
        if !fragment.is_empty() && !fragment.starts_with('/') {
            return self.anchors.get(&(root.to_owned(), fragment)).cloned();
        }
        let pointer = format!("{root}{fragment}");
        let target = schema.pointer(&pointer)?;
        (target.is_object() || target.is_boolean()).then_some(pointer)
    }
}

/// Which target leads to which: by the references below it.
struct Graph<'a> {
    inside: Vec<(&'a str, &'a str)>,
}

// === impl Graph ===

impl<'a> Graph<'a> {
    fn of(all: &'a [Reference]) -> Self {
        let inside = all.iter().filter_map(|r| match &r.target {
            Target::Inside(target) => Some((r.pointer.as_str(), target.as_str())),
            _ => None,
        });
        Self { inside: inside.collect() }
    }

    /// The reference that closes a circle among those that `counts` for the schema they stand in.
    fn circle(&self, counts: impl Fn(&str, &str) -> bool) -> Option<String> {
        let mut done = BTreeSet::new();
        for (_, start) in &self.inside {
            if done.contains(start) {
                continue;
            }
            // depth first with a stack of our own: chains are as long as whoever wrote the schema wants
            let mut path = vec![(*start, 0_usize)];
            let mut open = BTreeSet::from([*start]);
            while let Some((at, next)) = path.last_mut() {
                let here = *at;
                let edge = self.inside.iter().enumerate().skip(*next);
                let edge = edge.into_iter().find(|(_, (from, _))| is_below(from, here) && counts(from, here));
                match edge {
                    None => {
                        open.remove(here);
                        done.insert(here);
                        path.pop();
                    }
                    Some((n, (from, to))) => {
                        *next = n + 1;
                        if open.contains(to) {
                            return Some((*from).to_owned());
                        }
                        if !done.contains(to) {
                            open.insert(to);
                            path.push((to, 0));
                        }
                    }
                }
            }
        }
        None
    }
}

fn is_below(pointer: &str, root: &str) -> bool {
    pointer.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether what stands at `pointer` judges the same value as `root` does: all steps between are in-place applicators.
fn in_place(pointer: &str, root: &str) -> bool {
    const APPLICATORS: [&str; 7] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];
    let steps = pointer.strip_prefix(root).unwrap_or(pointer).split('/').skip(1);
    steps.into_iter().all(|step| APPLICATORS.contains(&step) || step.bytes().all(|b| b.is_ascii_digit()))
}

/// Does something one step below a pointer.
pub(super) fn under(at: &mut String, step: &str, then: impl FnOnce(&mut String)) {
    let length = at.len();
    at.push('/');
    if step.contains(['~', '/']) {
        at.push_str(&step.replace('~', "~0").replace('/', "~1"));
    } else {
        at.push_str(step);
    }
    then(at);
    at.truncate(length);
}

/// A fragment of a URI as it is meant; `None` where it is not well-formed.
fn percent_decoded(fragment: &str) -> Option<String> {
    if !fragment.contains('%') {
        return Some(fragment.to_owned());
    }
    let mut out = Vec::with_capacity(fragment.len());
    let mut bytes = fragment.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
        out.push(digit(bytes.next()?)? * 16 + digit(bytes.next()?)?);
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests;
