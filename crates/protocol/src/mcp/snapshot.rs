//! What kind of document a tool snapshot is, and where its tools stand (M-04).
//!
//! Half of what people keep as "our tools" is something else: the first page of a list, a catalogue for readers, the
//! function form of a model's API. Each gets one name here, so that a report says one thing instead of forty.

use serde_json::{Map, Value};

use super::{Revision, tool::Tool};

/// A form that holds MCP tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The result of `tools/list`.
    ListResult,
    /// That result inside its JSON-RPC response.
    Envelope,
    /// The tools alone: whether that was all of them cannot be seen.
    Bare,
    /// One tool.
    Single,
}

/// A document that is no tool list, by what it is instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTools {
    /// A JSON-RPC error.
    RpcError,
    /// A JSON-RPC request or notification.
    RpcRequest,
    /// The result of `initialize` or `server/discover`.
    Handshake,
    /// Another MCP list: prompts, resources or templates.
    OtherList,
    /// The result of `tools/call`.
    CallResult,
    /// `server.json` of the MCP registry, or an answer of the registry.
    Registry,
    /// The configuration of an MCP client.
    ClientConfiguration,
    /// A catalogue for readers: tools with names and descriptions, or with arguments in a form of their own.
    Catalogue,
    /// Functions as OpenAI's APIs take them.
    OpenAi,
    /// Tools as Anthropic's API takes them.
    Anthropic,
    /// Function declarations as Google's API takes them.
    Gemini,
    /// Tool specifications as Amazon Bedrock takes them.
    Bedrock,
    /// An A2A agent card.
    AgentCard,
    /// An `OpenAPI` document.
    OpenApi,
    /// A JSON Schema.
    JsonSchema,
    /// Nothing that we know.
    Unknown,
}

/// A recognised list: a view of the document, nothing copied.
#[derive(Clone, Debug)]
pub struct Snapshot<'a> {
    /// Its form.
    pub form: Form,
    /// Its tools with their places; members of the list that are no objects are among them.
    pub tools: Vec<Tool<'a>>,
    /// JSON pointer of the list.
    pub pointer: &'static str,
    /// The result object, where the form has one, with its JSON pointer.
    pub result: Option<(&'a Map<String, Value>, &'static str)>,
}

/// Says what a document is.
///
/// # Errors
/// What it is instead of a tool list.
pub fn recognise(value: &Value) -> Result<Snapshot<'_>, NotTools> {
    match value {
        Value::Array(items) => match foreign(items) {
            Some(other) => Err(other),
            None if items.iter().all(|i| i.get("name").is_none()) && !items.is_empty() => Err(NotTools::Unknown),
            None => Ok(listed(Form::Bare, items, "", None)),
        },
        Value::Object(members) => of_object(value, members),
        _ => Err(NotTools::Unknown),
    }
}

fn of_object<'a>(value: &'a Value, members: &'a Map<String, Value>) -> Result<Snapshot<'a>, NotTools> {
    if let Some(Value::Object(result)) = members.get("result")
        && (members.contains_key("jsonrpc") || members.contains_key("id") || result.contains_key("tools"))
    {
        return of_result(result, Form::Envelope, "/result/tools", "/result");
    }
    if members.contains_key("jsonrpc") {
        return Err(if members.contains_key("error") { NotTools::RpcError } else { NotTools::RpcRequest });
    }
    if let Some(tool) = single(value) {
        return tool.map(|tool| Snapshot { form: Form::Single, tools: vec![tool], pointer: "", result: None });
    }
    of_result(members, Form::ListResult, "/tools", "")
}

fn of_result<'a>(
    result: &'a Map<String, Value>,
    form: Form,
    pointer: &'static str,
    at: &'static str,
) -> Result<Snapshot<'a>, NotTools> {
    let Some(Value::Array(items)) = result.get("tools") else { return Err(instead_of_list(result)) };
    if ["supportedInterfaces", "mcpServers"].iter().any(|m| result.contains_key(*m)) {
        return Err(instead_of_list(result));
    }
    foreign(items).map_or_else(|| Ok(listed(form, items, pointer, Some((result, at)))), Err)
}

fn listed<'a>(
    form: Form,
    items: &'a [Value],
    pointer: &'static str,
    result: Option<(&'a Map<String, Value>, &'static str)>,
) -> Snapshot<'a> {
    let tools = items.iter().enumerate().map(|(n, item)| Tool::new(item, format!("{pointer}/{n}"))).collect();
    Snapshot { form, tools, pointer, result }
}

/// A document that is one tool, or one tool of another form; `None` when it is something larger.
fn single(value: &Value) -> Option<Result<Tool<'_>, NotTools>> {
    let has = |name: &str| value.get(name).is_some();
    if has("tools") || !(has("name") || has("function") || has("toolSpec") || has("functionDeclarations")) {
        return None;
    }
    if has("inputSchema") {
        return Some(Ok(Tool::new(value, String::new())));
    }
    // a named document without any schema is told apart with everything else
    form_of(value).filter(|form| *form != NotTools::Catalogue).map(Err)
}

/// The foreign form of a whole list: every entry has it and none has an `inputSchema`. One foreign tool among others is
/// that tool's own fault.
fn foreign(items: &[Value]) -> Option<NotTools> {
    let first = items.first().and_then(form_of)?;
    let same = |item: &Value| form_of(item).is_some_and(|form| form == first);
    (items.iter().all(same)).then_some(first)
}

/// The form of one entry that is no MCP tool: by the members that only that form has.
#[must_use]
pub fn form_of(tool: &Value) -> Option<NotTools> {
    let has = |name: &str| tool.get(name).is_some_and(|v| !v.is_null());
    let is_object = |name: &str| tool.get(name).is_some_and(Value::is_object);
    if has("inputSchema") {
        return None;
    }
    let named = has("name");
    Some(match () {
        () if is_object("function") => NotTools::OpenAi,
        () if has("input_schema") => NotTools::Anthropic,
        () if has("functionDeclarations") || has("function_declarations") => NotTools::Gemini,
        () if is_object("toolSpec") => NotTools::Bedrock,
        () if named && is_object("parameters") => {
            if tool.get("type").and_then(Value::as_str) == Some("function") || has("strict") {
                NotTools::OpenAi
            } else if google_types(&tool["parameters"]) {
                NotTools::Gemini
            } else {
                NotTools::OpenAi
            }
        }
        () if named && (has("arguments") || has("args") || has("params")) => NotTools::Catalogue,
        // a registry's or a model vendor's built-in tool has a type and no schema; a catalogue has prose only
        () if named && !has("annotations") && !has("outputSchema") && !null_schema(tool) => NotTools::Catalogue,
        () => return None,
    })
}

/// A tool with `inputSchema: null` is an MCP tool with a fault, not a catalogue's entry.
fn null_schema(tool: &Value) -> bool {
    tool.get("inputSchema").is_some()
}

/// Google's API writes types in capitals.
fn google_types(parameters: &Value) -> bool {
    let kind = parameters.get("type").and_then(Value::as_str);
    kind.is_some_and(|t| !t.is_empty() && t.bytes().all(|b| b.is_ascii_uppercase()))
}

fn instead_of_list(members: &Map<String, Value>) -> NotTools {
    let has = |name: &str| members.contains_key(name);
    match () {
        () if has("supportedInterfaces") || (has("skills") && has("capabilities")) => NotTools::AgentCard,
        () if has("mcpServers") => NotTools::ClientConfiguration,
        () if has("protocolVersion") || has("supportedVersions") || has("serverInfo") => NotTools::Handshake,
        () if has("prompts") || has("resources") || has("resourceTemplates") => NotTools::OtherList,
        () if has("packages") || has("remotes") || has("servers") || has("server") => NotTools::Registry,
        () if of_registry(members) => NotTools::Registry,
        () if has("functionDeclarations") || has("function_declarations") => NotTools::Gemini,
        () if has("toolConfig") || has("toolSpec") => NotTools::Bedrock,
        () if has("functions") => NotTools::OpenAi,
        () if has("openapi") || has("swagger") => NotTools::OpenApi,
        () if has("content") || has("structuredContent") => NotTools::CallResult,
        () if has("$schema") || (has("type") && has("properties")) => NotTools::JsonSchema,
        () if has("tools") => NotTools::Catalogue,
        () if has("name") && has("description") => NotTools::Catalogue,
        () => NotTools::Unknown,
    }
}

/// A `server.json` that names neither packages nor remotes still names the schema of its kind.
fn of_registry(members: &Map<String, Value>) -> bool {
    members.get("$schema").and_then(Value::as_str).is_some_and(|s| s.contains("modelcontextprotocol"))
}

// === impl Snapshot ===

impl Snapshot<'_> {
    /// The revision that the document shows: `resultType`, `ttlMs` and `cacheScope` came with 2026-07-28. What shows
    /// nothing is read by the last revision before, which demands less of the result and more of schemas than the first.
    #[must_use]
    pub fn shown_revision(&self) -> Revision {
        let has = |name: &str| self.result.is_some_and(|(result, _)| result.contains_key(name));
        let modern = has("resultType") || has("ttlMs") || has("cacheScope");
        if modern { Revision::V2026_07_28 } else { Revision::V2025_11_25 }
    }

    /// A member of the result.
    #[must_use]
    pub fn result_member(&self, name: &str) -> Option<&Value> {
        self.result.and_then(|(result, _)| result.get(name))
    }

    /// The JSON pointer of a member of the result.
    #[must_use]
    pub fn result_pointer(&self, name: &str) -> String {
        format!("{}/{name}", self.result.map_or("", |(_, at)| at))
    }
}

// === impl Form ===

impl Form {
    /// Its name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ListResult => "tools-list-result",
            Self::Envelope => "json-rpc-response",
            Self::Bare => "bare-list",
            Self::Single => "single-tool",
        }
    }
}

// === impl NotTools ===

impl NotTools {
    /// Its name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RpcError => "json-rpc-error",
            Self::RpcRequest => "json-rpc-request",
            Self::Handshake => "mcp-handshake",
            Self::OtherList => "mcp-other-list",
            Self::CallResult => "mcp-call-result",
            Self::Registry => "mcp-registry",
            Self::ClientConfiguration => "mcp-client-configuration",
            Self::Catalogue => "tool-catalogue",
            Self::OpenAi => "openai-functions",
            Self::Anthropic => "anthropic-tools",
            Self::Gemini => "gemini-functions",
            Self::Bedrock => "bedrock-tools",
            Self::AgentCard => "agent-card",
            Self::OpenApi => "openapi",
            Self::JsonSchema => "json-schema",
            Self::Unknown => "unknown",
        }
    }

    /// What it is, in words that follow "this is".
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::RpcError => "a JSON-RPC error: the server refused to list its tools",
            Self::RpcRequest => "a JSON-RPC request, not the answer to it",
            Self::Handshake => "the result of initialize or server/discover",
            Self::OtherList => "a list of prompts or resources",
            Self::CallResult => "the result of a tool call",
            Self::Registry => "a registry entry (server.json): it says where a server is, not what its tools take",
            Self::ClientConfiguration => "the configuration of an MCP client",
            Self::Catalogue => "a catalogue for readers: its tools have no inputSchema",
            Self::OpenAi => "the function form of OpenAI's APIs",
            Self::Anthropic => "the tool form of Anthropic's API (input_schema)",
            Self::Gemini => "the function declarations of Google's API",
            Self::Bedrock => "the tool specifications of Amazon Bedrock",
            Self::AgentCard => "an A2A agent card",
            Self::OpenApi => "an OpenAPI document",
            Self::JsonSchema => "a JSON Schema, not a tool",
            Self::Unknown => "no document that we know",
        }
    }
}

#[cfg(test)]
mod tests;
