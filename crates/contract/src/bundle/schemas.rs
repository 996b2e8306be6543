//! JSON Schemas: each compiles, and none asks the network for anything (B-04, J-04).

use std::collections::BTreeMap;

use jsonschema::{Retrieve, Uri, ValidationOptions, Validator};
use serde_json::Value;

use super::{Bundle, Files, gather::Parts};
use crate::problem::{Code, Problem};

/// The address under which a bundle's own files are known to each other while schemas are compiled.
const BASE: &str = "bundle:///";

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
        compile("schemas/inline.schema.json", schema, &self.schemas)
    }
}

/// Reports references to the network, references that find nothing, and schemas that do not compile.
pub(super) fn check(parts: &mut Parts, files: &Files) {
    let mut found = Vec::new();
    for (path, schema) in &parts.schemas {
        let lines = Lines { file: path, text: files.get(path).map(|b| String::from_utf8_lossy(b).into_owned()) };
        check_one(&lines, path, schema, "", &parts.schemas, &mut found);
    }
    for snapshot in &parts.tools {
        let text = files.get(&snapshot.path).map(|b| String::from_utf8_lossy(b).into_owned());
        let lines = Lines { file: &snapshot.path, text };
        for tool in &snapshot.tools {
            let mut one = |key: &str, schema: &Value| {
                let what = format!("tool `{}`, {key}: ", crate::yaml::clip(&tool.name));
                check_one(&lines, "schemas/inline.schema.json", schema, &what, &parts.schemas, &mut found);
            };
            one("inputSchema", &tool.input_schema);
            if let Some(schema) = &tool.output_schema {
                one("outputSchema", schema);
            }
        }
    }
    parts.problems.append(&mut found);
}

/// The text of a file, to find the line of a reference.
struct Lines<'a> {
    file: &'a str,
    text: Option<String>,
}

// === impl Lines ===

impl Lines<'_> {
    fn problem(&self, code: Code, reference: &str, message: String) -> Problem {
        let quoted = format!("\"{reference}\"");
        let line = self.text.iter().flat_map(|t| t.lines().enumerate()).find(|(_, l)| l.contains(&quoted));
        Problem::new(self.file, code, message).on_line(line.and_then(|(n, _)| u32::try_from(n + 1).ok()))
    }
}

fn check_one(
    lines: &Lines<'_>,
    base: &str,
    schema: &Value,
    what: &str,
    schemas: &BTreeMap<String, Value>,
    found: &mut Vec<Problem>,
) {
    let before = found.len();
    let mut references = Vec::new();
    collect(schema, &mut references);
    for reference in references {
        if let Some((code, wrong)) = refused(reference, schemas) {
            let message = format!("{what}`$ref` to `{}` {wrong}", crate::yaml::clip(reference));
            found.push(
                lines.problem(code, reference, message).hint("put the schema into schemas/ and refer to its file"),
            );
        }
    }
    // A schema whose references are wrong does not compile for the same reason: one problem says it.
    if found.len() == before
        && let Err(error) = compile(base, schema, schemas)
    {
        found.push(Problem::new(lines.file, Code::SchemaInvalid, format!("{what}{error}")));
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

fn refused(reference: &str, schemas: &BTreeMap<String, Value>) -> Option<(Code, &'static str)> {
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

fn compile(path: &str, schema: &Value, schemas: &BTreeMap<String, Value>) -> Result<Validator, SchemaError> {
    let options: ValidationOptions<'_> = jsonschema::options();
    let retriever = BundleSchemas(schemas.clone());
    let options = options.with_base_uri(format!("{BASE}{path}")).with_retriever(retriever);
    options.build(schema).map_err(|error| SchemaError(crate::yaml::clip(&error.to_string())))
}

/// Gives the bundle's own schemas, by path or by `$id`, and nothing else.
struct BundleSchemas(BTreeMap<String, Value>);

// === impl BundleSchemas ===

impl Retrieve for BundleSchemas {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        let text = uri.as_str().trim_end_matches('#');
        let by_path = text.strip_prefix(BASE).and_then(|path| self.0.get(path));
        let by_id = || self.0.values().find(|s| s.get("$id").and_then(Value::as_str) == Some(text));
        by_path.or_else(by_id).cloned().ok_or_else(|| "not in the bundle".into())
    }
}
