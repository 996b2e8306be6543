//! Which schema a reference means: by file, `$id`, anchor or pointer.

use std::collections::HashMap;

use serde_json::Value;

use super::Schemas;
use crate::bundle::schemas::BASE;

/// A schema, and the address that its references are relative to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node<'s> {
    pub(super) schema: &'s Value,
    base: u32,
}

/// What a reference leads to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target<'s> {
    /// A schema of the bundle.
    Schema(Node<'s>),
    /// The schema of schemas.
    Metaschema,
    /// Nothing that is known here.
    Unknown,
}

/// Everything that can be referred to.
pub(super) struct Index<'s> {
    root: Node<'s>,
    bases: Vec<String>,
    by_address: HashMap<String, Node<'s>>,
    anchors: HashMap<(u32, &'s str), Node<'s>>,
    /// A dynamic reference may lead to each anchor of its name.
    dynamic: HashMap<&'s str, Vec<Node<'s>>>,
}

// === impl Node ===

impl Node<'_> {
    /// The schema's identity: the same text elsewhere is another schema.
    pub(super) fn key(self) -> *const Value {
        std::ptr::from_ref(self.schema)
    }
}

// === impl Index ===

impl<'s> Index<'s> {
    /// Of a schema that stands in the file `path`, among the files of `schemas/`.
    pub(super) fn of(path: &str, schema: &'s Value, schemas: &'s Schemas) -> Self {
        let root = Node { schema, base: 0 };
        let mut index = Self {
            root,
            bases: Vec::new(),
            by_address: HashMap::new(),
            anchors: HashMap::new(),
            dynamic: HashMap::new(),
        };
        for (name, file) in schemas.iter().filter(|(name, _)| *name != path) {
            index.document(format!("{BASE}{name}"), file);
        }
        // last, since the schema that is looked at goes before files that claim its address
        index.root = index.document(format!("{BASE}{path}"), schema);
        index
    }

    pub(super) const fn root(&self) -> Node<'s> {
        self.root
    }

    /// Every schema inside one, itself included; also what only looks like one.
    pub(super) fn inside(&self, schema: &'s Value) -> Vec<Node<'s>> {
        let root = Node { schema, ..self.root };
        let (mut out, mut open) = (Vec::new(), vec![root]);
        while let Some(node) = open.pop() {
            open.extend(below(node.schema).map(|s| self.enter(node, s)));
            out.extend(node.schema.is_object().then_some(node));
        }
        out
    }

    /// The same address, unless the schema has its own.
    pub(super) fn enter(&self, from: Node<'s>, schema: &'s Value) -> Node<'s> {
        let own = id(schema).and_then(|id| self.by_address.get(&join(self.address(from.base), id)));
        Node { schema, base: own.map_or(from.base, |node| node.base) }
    }

    /// Adds what a reference may lead to.
    pub(super) fn resolve(&self, from: Node<'s>, reference: &str, dynamic: bool, out: &mut Vec<Target<'s>>) {
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if dynamic && let Some(all) = self.dynamic.get(fragment) {
            out.extend(all.iter().copied().map(Target::Schema));
            return;
        }
        let base = self.address(from.base);
        let address = if document.is_empty() { base.to_owned() } else { join(base, document) };
        let found = self.by_address.get(&address).and_then(|resource| self.part(*resource, fragment));
        out.push(match found {
            Some(node) => Target::Schema(node),
            None if address.contains("://json-schema.org/draft") => Target::Metaschema,
            None => Target::Unknown,
        });
    }

    fn part(&self, resource: Node<'s>, fragment: &str) -> Option<Node<'s>> {
        if fragment.is_empty() {
            return Some(resource);
        }
        let Some(pointer) = fragment.strip_prefix('/') else {
            return self.anchors.get(&(resource.base, fragment)).copied();
        };
        let pointer = percent_decoded(pointer)?;
        pointer.split('/').try_fold(resource, |node, token| {
            let token = token.replace("~1", "/").replace("~0", "~");
            let next = match node.schema {
                Value::Object(members) => members.get(&token),
                Value::Array(items) => token.parse::<usize>().ok().and_then(|n| items.get(n)),
                _ => None,
            };
            next.map(|schema| self.enter(node, schema))
        })
    }

    fn address(&self, base: u32) -> &str {
        self.bases.get(base as usize).map_or("", String::as_str)
    }

    fn base(&mut self, address: String) -> u32 {
        let n = u32::try_from(self.bases.len()).unwrap_or(u32::MAX);
        self.bases.push(address);
        n
    }

    fn document(&mut self, address: String, schema: &'s Value) -> Node<'s> {
        let base = self.base(address.clone());
        let mut root = Node { schema, base };
        let mut open = vec![root];
        while let Some(mut node) = open.pop() {
            if let Some(id) = id(node.schema) {
                let own = join(self.address(node.base), id);
                node.base = self.base(own.clone());
                self.by_address.insert(own, node);
            }
            if std::ptr::eq(node.schema, schema) {
                root = node;
            }
            self.names(node);
            open.extend(below(node.schema).map(|schema| Node { schema, base: node.base }));
        }
        self.by_address.insert(address, root);
        root
    }

    fn names(&mut self, node: Node<'s>) {
        let text = |key: &str| node.schema.get(key).and_then(Value::as_str);
        let old = text("$id").and_then(|id| id.strip_prefix('#'));
        for name in text("$anchor").into_iter().chain(text("$dynamicAnchor")).chain(old) {
            self.anchors.insert((node.base, name), node);
        }
        if let Some(name) = text("$dynamicAnchor") {
            self.dynamic.entry(name).or_default().push(node);
        }
        if node.schema.get("$recursiveAnchor") == Some(&Value::Bool(true)) {
            self.dynamic.entry("").or_default().push(node);
        }
    }
}

/// The address that a schema gives itself; `#name` is an anchor in old dialects.
fn id(schema: &Value) -> Option<&str> {
    let id = schema.get("$id")?.as_str()?.trim_end_matches('#');
    (!id.is_empty() && !id.starts_with('#')).then_some(id)
}

/// The values below one, but for those that only look like schemas.
fn below(schema: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match schema {
        Value::Object(members) => {
            let plain = |key: &str| matches!(key, "const" | "enum" | "default" | "examples");
            Box::new(
                members.iter().filter(move |(key, v)| !plain(key) || v.is_object() && *key != "const").map(|m| m.1),
            )
        }
        Value::Array(items) => Box::new(items.iter()),
        _ => Box::new(std::iter::empty()),
    }
}

/// An address relative to another, as far as bundles use them; what is put together wrongly is found nowhere.
fn join(base: &str, reference: &str) -> String {
    if reference.contains("://") || reference.starts_with("urn:") {
        return reference.to_owned();
    }
    let root = base.find("://").map_or(0, |at| base[at + 3..].find('/').map_or(base.len(), |slash| at + 3 + slash));
    let (root, path) = base.split_at(root);
    let from =
        if reference.starts_with('/') { "" } else { path.rsplit_once('/').map_or("", |(directory, _)| directory) };
    let mut parts: Vec<&str> = from.split('/').filter(|p| !p.is_empty()).collect();
    for part in reference.split('/').filter(|p| !p.is_empty() && *p != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    format!("{root}/{}", parts.join("/"))
}

/// A pointer in a fragment writes what addresses cannot hold as `%20`.
fn percent_decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut out = parts.next()?.as_bytes().to_vec();
    for part in parts {
        out.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        out.extend(&part.as_bytes()[2..]);
    }
    String::from_utf8(out).ok()
}
