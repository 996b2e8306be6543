//! Tool snapshots: what a server's `tools/list` said, as one tool, a list, or the whole result.

use serde_json::Value;

/// The tools of one server as one profile sees them.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSnapshot {
    /// The server's name.
    pub server: String,
    /// `<client>.<auth-profile>.<tenant-class>`, where one is named.
    pub profile: Option<String>,
    /// Where it lies in the bundle.
    pub path: String,
    /// Digest of the server's artifact, where declared.
    pub artifact_digest: Option<ostiary_canon::DeclaredDigest>,
    /// The tools.
    pub tools: Vec<Tool>,
    /// The file as a whole.
    pub value: Value,
}

/// One tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it takes.
    pub input_schema: Value,
    /// What it gives, where declared.
    pub output_schema: Option<Value>,
    /// What it says about its effects.
    pub annotations: Option<Value>,
    /// All of it, as declared.
    pub value: Value,
}

// === impl Tool ===

impl Tool {
    /// Reads one tool.
    ///
    /// # Errors
    /// What is missing, in words.
    pub fn from_value(value: &Value) -> Result<Self, String> {
        let name = value.get("name").and_then(Value::as_str).filter(|n| !n.is_empty());
        let name = name.ok_or("a tool has no `name`")?.to_owned();
        let schema = |key: &str| -> Result<Option<Value>, String> {
            match value.get(key) {
                None | Some(Value::Null) => Ok(None),
                Some(schema @ Value::Object(_)) => Ok(Some(schema.clone())),
                Some(_) => Err(format!("the `{key}` of tool `{name}` is no object")),
            }
        };
        let input_schema = schema("inputSchema")?.ok_or(format!("tool `{name}` has no `inputSchema`"))?;
        let output_schema = schema("outputSchema")?;
        let annotations = value.get("annotations").cloned();
        Ok(Self { name, input_schema, output_schema, annotations, value: value.clone() })
    }

    /// Reads a snapshot's tools from any of its forms.
    ///
    /// # Errors
    /// Everything that is wrong, in words.
    pub fn list(value: &Value) -> Result<Vec<Self>, Vec<String>> {
        let result = value.get("result").unwrap_or(value);
        let items: Vec<&Value> = match (result, result.get("tools")) {
            (_, Some(Value::Array(tools))) => tools.iter().collect(),
            (Value::Array(tools), _) => tools.iter().collect(),
            (Value::Object(one), None) if one.contains_key("inputSchema") || one.contains_key("name") => vec![result],
            _ => {
                return Err(vec![
                    "the file is neither a tool, nor a list of tools, nor a tools/list result".to_owned(),
                ]);
            }
        };
        let (mut tools, mut wrong) = (Vec::<Self>::new(), Vec::new());
        for (n, item) in items.into_iter().enumerate() {
            match Self::from_value(item) {
                Ok(tool) if tools.iter().any(|t| t.name == tool.name) => {
                    wrong.push(format!("tool `{}` stands twice in the snapshot", tool.name));
                }
                Ok(tool) => tools.push(tool),
                Err(error) => wrong.push(format!("{error} (tool number {})", n + 1)),
            }
        }
        if wrong.is_empty() { Ok(tools) } else { Err(wrong) }
    }
}
