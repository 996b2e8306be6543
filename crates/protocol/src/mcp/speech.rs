//! Requests as they go out: which envelope, `_meta` and header fields a revision wants over which transport.
//!
//! What comes out is an [`Outbound`] whose parts may be changed at will: a negative scenario takes a good request and
//! makes one thing of it wrong.

use bytes::Bytes;
use ostiary_record::{OpName, Route, ports::Outbound};
use serde_json::{Map, Value, json};

use super::{Revision, param_header};

/// The key of the revision in `_meta`.
pub const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The key of what the client can do in `_meta`.
pub const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The key of who the client is in `_meta`; optional, and always sent by us.
pub const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// The key of who the server is in a result's `_meta`.
pub const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// What carries MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Wire {
    /// Streamable HTTP.
    Http,
    /// Lines on a process's standard input and output.
    Stdio,
}

/// Who calls: a client profile.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientProfile {
    /// Its name in file names and profiles: `harness`.
    pub name: String,
    /// `clientInfo`.
    pub info: Value,
    /// What it can do; `{}` = nothing, so that a server must ask it nothing.
    pub capabilities: Value,
}

/// How requests are said to one server.
#[derive(Clone, Debug, PartialEq)]
pub struct Speech {
    /// By which revision.
    pub revision: Revision,
    /// Over what.
    pub wire: Wire,
    /// As whom.
    pub client: ClientProfile,
    /// The session that the server gave; none in the stateless revisions.
    pub session: Option<String>,
}

// === impl Wire ===

impl Wire {
    /// Its name in profiles.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Stdio => "stdio",
        }
    }

    /// The first part of profiles over it: `mcp-http-2026-07-28`.
    #[must_use]
    pub fn protocol(self, revision: Revision) -> String {
        format!("mcp-{}-{revision}", self.slug())
    }
}

// === impl ClientProfile ===

impl ClientProfile {
    /// The harness itself, which can do nothing for a server.
    #[must_use]
    pub fn harness(version: &str) -> Self {
        let info = json!({"name": "ostiary", "version": version});
        Self { name: "harness".to_owned(), info, capabilities: json!({}) }
    }
}

// === impl Speech ===

impl Speech {
    /// A fresh one, without session.
    #[must_use]
    pub const fn new(revision: Revision, wire: Wire, client: ClientProfile) -> Self {
        Self { revision, wire, client, session: None }
    }

    /// A request; `params` as they are, with `_meta` put in where the revision wants it and the caller gave none.
    #[must_use]
    pub fn request(&self, id: impl Into<Value>, method: &str, params: Map<String, Value>) -> Outbound {
        let params = Value::Object(self.with_meta(params));
        let headers = self.headers(method, &params);
        let body = json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params});
        self.outbound(headers, &body, Some(OpName::from(method)))
    }

    /// A call of a tool, with the header fields that its schema asks for.
    #[must_use]
    pub fn call(&self, id: impl Into<Value>, tool: &str, arguments: &Value, input_schema: Option<&Value>) -> Outbound {
        let params = [("name".to_owned(), Value::from(tool)), ("arguments".to_owned(), arguments.clone())];
        let mut out = self.request(id, "tools/call", params.into_iter().collect());
        if self.wire == Wire::Http && self.revision.is_stateless() {
            out.headers.extend(input_schema.map(|s| param_header::fields(s, arguments)).unwrap_or_default());
        }
        out
    }

    /// What opens a conversation of the older revisions.
    #[must_use]
    pub fn initialize(&self, id: impl Into<Value>) -> Outbound {
        let params = [
            ("protocolVersion", Value::from(self.revision.as_str())),
            ("capabilities", self.client.capabilities.clone()),
            ("clientInfo", self.client.info.clone()),
        ];
        self.request(id, "initialize", params.into_iter().map(|(n, v)| (n.to_owned(), v)).collect())
    }

    /// One page of the tools.
    #[must_use]
    pub fn list_tools(&self, id: impl Into<Value>, cursor: Option<&str>) -> Outbound {
        let params = cursor.map(|cursor| ("cursor".to_owned(), Value::from(cursor)));
        self.request(id, "tools/list", params.into_iter().collect())
    }

    /// A notification.
    #[must_use]
    pub fn notification(&self, method: &str, params: Map<String, Value>) -> Outbound {
        let mut body = json!({"jsonrpc": "2.0", "method": method});
        if !params.is_empty() {
            body["params"] = Value::Object(params);
        }
        let headers = self.headers(method, &body["params"].clone());
        self.outbound(headers, &body, Some(OpName::from(method)))
    }

    /// The sign that a request is not wanted any more; `None` where closing its stream is that sign.
    #[must_use]
    pub fn cancel(&self, request: impl Into<Value>) -> Option<Outbound> {
        if self.wire == Wire::Http && self.revision.is_stateless() {
            return None;
        }
        let params = [("requestId".to_owned(), request.into())].into_iter().collect();
        Some(self.notification("notifications/cancelled", params))
    }

    /// An answer to a request of the server's own.
    #[must_use]
    pub fn answer(&self, id: &Value, outcome: Result<Value, (i64, &str)>) -> Outbound {
        let body = match outcome {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err((code, message)) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
        };
        self.outbound(self.headers("", &Value::Null), &body, Some(OpName::from("answer")))
    }

    /// Bytes that are given, with the header fields of a method: for envelopes that are wrong on purpose.
    #[must_use]
    pub fn raw(&self, method: &str, body: impl Into<Bytes>) -> Outbound {
        Outbound {
            route: self.route("POST"),
            headers: self.headers(method, &Value::Null),
            body: body.into(),
            intent: None,
        }
    }

    /// The stream on which a server of the older revisions says what nobody asked for, or what was missed since an event;
    /// `None` where there is no such stream.
    #[must_use]
    pub fn listen(&self, last_event: Option<&str>) -> Option<Outbound> {
        let mut out = self.bodiless("GET", "text/event-stream", "listen")?;
        out.headers.extend(last_event.map(|id| ("Last-Event-ID".to_owned(), id.to_owned())));
        Some(out)
    }

    /// The end of a session; `None` where there is none.
    #[must_use]
    pub fn end_session(&self) -> Option<Outbound> {
        self.session.as_ref().and_then(|_| self.bodiless("DELETE", "application/json", "end_session"))
    }

    fn bodiless(&self, method: &str, accept: &str, intent: &str) -> Option<Outbound> {
        if self.wire == Wire::Stdio || self.revision.is_stateless() {
            return None;
        }
        let mut headers = self.headers(intent, &Value::Null);
        headers.retain(|(name, _)| name != "Content-Type" && name != "Accept");
        headers.push(("Accept".to_owned(), accept.to_owned()));
        Some(Outbound { route: self.route(method), headers, body: Bytes::new(), intent: Some(intent.into()) })
    }

    fn outbound(&self, headers: Vec<(String, String)>, body: &Value, intent: Option<OpName>) -> Outbound {
        let mut text = body.to_string();
        if self.wire == Wire::Stdio {
            // serialised JSON has no line break of its own
            text.push('\n');
        }
        Outbound { route: self.route("POST"), headers, body: Bytes::from(text), intent }
    }

    fn route(&self, method: &str) -> Route {
        match self.wire {
            Wire::Http => Route::Http { method: method.to_owned(), path: String::new() },
            Wire::Stdio => Route::Stdio,
        }
    }

    fn headers(&self, method: &str, params: &Value) -> Vec<(String, String)> {
        if self.wire == Wire::Stdio {
            return Vec::new();
        }
        let mut out = vec![
            ("Content-Type", "application/json".to_owned()),
            ("Accept", "application/json, text/event-stream".to_owned()),
        ];
        if self.revision.is_stateless() {
            out.push(("MCP-Protocol-Version", self.revision.to_string()));
            out.push(("Mcp-Method", method.to_owned()));
            out.extend(param_header::subject(method, params).map(|s| ("Mcp-Name", param_header::encode(s))));
        } else if method != "initialize" {
            out.push(("MCP-Protocol-Version", self.revision.to_string()));
            out.extend(self.session.clone().map(|session| ("Mcp-Session-Id", session)));
        }
        out.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn with_meta(&self, mut params: Map<String, Value>) -> Map<String, Value> {
        if !self.revision.is_stateless() || params.contains_key("_meta") {
            return params;
        }
        let meta = json!({META_VERSION: self.revision.as_str(), META_CAPABILITIES: self.client.capabilities,
            META_CLIENT: self.client.info});
        params.insert("_meta".to_owned(), meta);
        params
    }
}

#[cfg(test)]
mod tests;
