//! JSON Schemas: each compiles, and none asks the network for anything (B-04, J-04).

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use jsonschema::{PatternOptions, Retrieve, Uri, ValidationOptions, Validator};
use serde_json::Value;

use super::{Bundle, Files, cost, gather::Parts};
use crate::problem::{Code, Problem};

/// The address under which a bundle's own files are known to each other while schemas are compiled.
pub(super) const BASE: &str = "bundle:///";

/// Most steps back in one match of a pattern; beyond, it cannot be told whether it matches.
const BACKTRACKING: usize = 100_000;

/// The path that a schema outside any schema file is given: its references find the files of `schemas/`.
const INLINE: &str = "schemas/inline.schema.json";

type Schemas = BTreeMap<String, Value>;

/// What a schema without references to files is measured among.
static NONE: Schemas = Schemas::new();

/// What is wrong with a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the schema does not compile: {0}")]
pub struct SchemaError(pub String);

// === impl Bundle ===

impl Bundle {
    /// A validator of a schema that may refer to the bundle's schema files; it never reaches for the network.
    ///
    /// # Errors
    /// When the schema does not compile.
    pub fn validator(&self, schema: &Value) -> Result<Validator, SchemaError> {
        compile(INLINE, schema, Arc::new(self.schemas.clone()))
    }

    /// How many steps a validation of `value` takes at worst; `None` when it is more than `most`. To be asked before a
    /// value of somebody else's is validated: a validator itself has no bound (J-04).
    #[must_use]
    pub fn validation_steps(&self, schema: &Value, value: &Value, most: u64) -> Option<u64> {
        cost::steps(INLINE, schema, &self.schemas, value, most)
    }
}

/// [`Bundle::validation_steps`] of a schema that belongs to no bundle yet.
pub(crate) fn steps_alone(schema: &Value, value: &Value, most: u64) -> Option<u64> {
    cost::steps(INLINE, schema, &NONE, value, most)
}

/// Reports references to the network, references that find nothing, and schemas that do not compile.
pub(super) fn check(parts: &mut Parts, files: &Files) {
    let schemas = Arc::new(std::mem::take(&mut parts.schemas));
    let mut found = Vec::new();
    for (path, schema) in schemas.iter() {
        let place = Place { file: path, text: files.get(path).map(Bytes::as_ref), base: path };
        place.check(schema, "", &schemas, &mut found);
    }
    for snapshot in &parts.tools {
        let text = files.get(&snapshot.path).map(Bytes::as_ref);
        let place = Place { file: &snapshot.path, text, base: INLINE };
        for tool in &snapshot.tools {
            let declared = [("inputSchema", Some(&tool.input_schema)), ("outputSchema", tool.output_schema.as_ref())];
            for (key, schema) in declared {
                let what = format!("tool `{}`, {key}: ", crate::yaml::clip(&tool.name));
                schema.into_iter().for_each(|s| place.check(s, &what, &schemas, &mut found));
            }
        }
    }
    parts.schemas = Arc::unwrap_or_clone(schemas);
    parts.problems.append(&mut found);
}

/// Where a schema stands.
struct Place<'a> {
    file: &'a str,
    /// The file's bytes, to find the line of a reference.
    text: Option<&'a [u8]>,
    /// The path against which its references are resolved.
    base: &'a str,
}

// === impl Place ===

impl Place<'_> {
    fn check(&self, schema: &Value, what: &str, schemas: &Arc<Schemas>, found: &mut Vec<Problem>) {
        let mut references = Vec::new();
        collect(schema, &mut references);
        let alone = references.iter().all(|reference| reference.starts_with('#'));
        let before = found.len();
        for reference in references {
            if let Some((code, wrong)) = refused(reference, schemas) {
                let message = format!("{what}`$ref` to `{}` {wrong}", crate::yaml::clip(reference));
                let problem = Problem::new(self.file, code, message).on_line(self.line(reference));
                found.push(problem.hint("put the schema into schemas/ and refer to its file"));
            }
        }
        if found.len() == before
            && let Err(much) = cost::paths(self.base, schema, if alone { &NONE } else { schemas })
        {
            let message = match much {
                cost::TooMuch::Paths => format!("one value would meet more than {} schemas", cost::MOST_PATHS),
                cost::TooMuch::Hops => format!("more than {} references follow each other", cost::MOST_HOPS),
            };
            let problem = Problem::new(self.file, Code::SchemaTooComplex, format!("{what}{message}"));
            found.push(problem.hint("let fewer alternatives refer to each other"));
        }
        // A schema whose references are wrong does not compile for the same reason: one problem says it.
        if found.len() == before
            && let Err(error) = compile(self.base, schema, Arc::clone(schemas))
        {
            found.push(Problem::new(self.file, Code::SchemaInvalid, format!("{what}{error}")));
        }
    }

    /// The first line that holds a reference; JSON values carry no positions.
    fn line(&self, reference: &str) -> Option<u32> {
        let text = std::str::from_utf8(self.text?).ok()?;
        let quoted = format!("\"{reference}\"");
        let line = text.lines().position(|l| l.contains(&quoted))?;
        u32::try_from(line + 1).ok()
    }
}

/// The texts of all references of a schema, not those inside values that only look like schemas.
fn collect<'s>(schema: &'s Value, out: &mut Vec<&'s str>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match (key.as_str(), value) {
                    ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => out.push(reference),
                    ("const" | "enum" | "default" | "examples", _) => {}
                    _ => collect(value, out),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, out)),
        _ => {}
    }
}

fn refused(reference: &str, schemas: &Schemas) -> Option<(Code, &'static str)> {
    let document = reference.split('#').next().unwrap_or_default();
    let known_id = || schemas.values().any(|s| s.get("$id").and_then(Value::as_str) == Some(document));
    if document.is_empty() || document.starts_with("https://json-schema.org/draft") || known_id() {
        return None;
    }
    if document.contains(':') || document.starts_with("//") {
        return Some((Code::RemoteReference, "leaves the bundle; nothing is fetched"));
    }
    if super::files::path_problem(document).is_some() {
        return Some((Code::PathRefused, "leaves schemas/"));
    }
    let found = schemas.contains_key(&format!("schemas/{document}"));
    (!found).then_some((Code::ReferenceMissing, "finds no file in schemas/"))
}

fn compile(path: &str, schema: &Value, schemas: Arc<Schemas>) -> Result<Validator, SchemaError> {
    let options: ValidationOptions<'_> = jsonschema::options();
    let options = options.with_base_uri(format!("{BASE}{path}")).with_retriever(BundleSchemas(schemas));
    let options = options.with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACKING));
    options.build(schema).map_err(|error| {
        let pointer = error.instance_path().as_str();
        let at = if pointer.is_empty() { String::new() } else { format!("{pointer}: ") };
        SchemaError(crate::yaml::clip(&format!("{at}{error}")))
    })
}

/// Gives the bundle's own schemas, by path or by `$id`, and nothing else.
struct BundleSchemas(Arc<Schemas>);

// === impl BundleSchemas ===

impl Retrieve for BundleSchemas {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        let text = uri.as_str().trim_end_matches('#');
        let by_path = text.strip_prefix(BASE).and_then(|path| self.0.get(path));
        let by_id = || self.0.values().find(|s| s.get("$id").and_then(Value::as_str) == Some(text));
        by_path.or_else(by_id).cloned().ok_or_else(|| "not in the bundle".into())
    }
}
