//! What the agent looks at before it does anything: binding, version, extensions, routing value, and whether a message
//! is one. HTTP+JSON is the same agent behind verbs and paths.

use ostiary_protocol::a2a::{
    error::table::{by_code, row},
    http_json,
};
use ostiary_record::Route;
use serde_json::{Value, json};

use super::{Agent, Answer, error, event, result};

/// What no skill of any test takes.
const UNDECLARED: &str = "application/x.ostiary-undeclared";

// === impl Agent ===

impl Agent {
    /// Answers a request over whichever of the two bindings it came.
    pub(super) fn take(&self, route: &Route, headers: &[(String, String)], body: &[u8], token: Option<&str>) -> Answer {
        let Route::Http { method, path } = route else { unreachable!("the agent speaks no gRPC") };
        if path.is_empty() {
            return self.answer(headers, body, token);
        }
        let declared = self.card["supportedInterfaces"].as_array().is_some_and(|list| {
            let other = |i: &Value| i["protocolBinding"] == "HTTP+JSON";
            list.iter().any(other)
        });
        let page = |status| Answer {
            status,
            frames: vec![r#"{"detail":"no"}"#.to_owned()],
            ..error(&Value::Null, -32700, None)
        };
        if !declared {
            return page(404);
        }
        let Some((operation, params)) = http_json::asked(method, path, body) else {
            return if method == "POST" { bare(error(&Value::Null, -32700, None)) } else { page(404) };
        };
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": operation, "params": params});
        bare(self.answer(headers, request.to_string().as_bytes(), token))
    }

    /// The refusal of a request whose service parameters are not what the card says.
    pub(super) fn turned_away(&self, headers: &[(String, String)], id: &Value) -> Option<Answer> {
        let header = |name: &str| headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str());
        let version = header("a2a-version").unwrap_or_default();
        // a patch number is not considered
        if version != "1.0" && !version.starts_with("1.0.") {
            return Some(error(id, -32009, Some("VERSION_NOT_SUPPORTED")));
        }
        let named = header("a2a-extensions").unwrap_or_default();
        let listed = self.card["capabilities"]["extensions"].as_array().cloned().unwrap_or_default();
        let lacking = |e: &Value| e["required"] == true && e["uri"].as_str().is_some_and(|uri| !named.contains(uri));
        listed.iter().any(lacking).then(|| error(id, -32008, Some("EXTENSION_SUPPORT_REQUIRED")))
    }

    /// Whether the routing value of a request is that of the interface.
    pub(super) fn routed(&self, params: &Value) -> bool {
        let own = &self.card["supportedInterfaces"][0]["tenant"];
        own.as_str().is_none_or(|own| own.is_empty() || params["tenant"] == own)
    }

    pub(super) fn extended_card(&self, id: &Value) -> Answer {
        if self.card["capabilities"]["extendedAgentCard"] == true {
            return result(id, &self.card);
        }
        error(id, -32004, Some("UNSUPPORTED_OPERATION"))
    }
}

/// The refusal of what is no message.
pub(super) fn no_message(id: &Value, params: &Value) -> Option<Answer> {
    let message = &params["message"];
    let parts = message["parts"].as_array().map_or(&[][..], Vec::as_slice);
    let named = message["messageId"].as_str().is_some_and(|id| !id.is_empty());
    if !named || message["role"] != "ROLE_USER" || parts.is_empty() || !parts.iter().all(is_part) {
        return Some(error(id, -32602, None));
    }
    let undeclared = parts.iter().any(|p| p["mediaType"] == UNDECLARED);
    let unwanted = params["configuration"]["acceptedOutputModes"] == json!([UNDECLARED]);
    (undeclared || unwanted).then(|| error(id, -32005, Some("CONTENT_TYPE_NOT_SUPPORTED")))
}

fn is_part(part: &Value) -> bool {
    let contents = ["text", "raw", "url", "data"].iter().filter(|name| part.get(**name).is_some()).count();
    let base64 = |t: &str| t.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/-_=".contains(&b));
    contents == 1 && part.get("raw").is_none_or(|raw| raw.as_str().is_some_and(base64))
}

/// An answer of JSON-RPC as HTTP+JSON has it: without its envelope, and with the status that the error has there.
fn bare(answer: Answer) -> Answer {
    let Answer { mut status, media, frames, .. } = answer;
    let streamed = media == "text/event-stream";
    let opened = |frame: &String| {
        let text = frame.trim().trim_start_matches("data: ");
        let Ok(envelope) = serde_json::from_str::<Value>(text) else { return frame.clone() };
        if let Some(result) = envelope.get("result") {
            return if streamed { event(&result.to_string()) } else { result.to_string() };
        }
        let Some(failed) = envelope.get("error") else { return frame.clone() };
        let row = failed["code"].as_i64().and_then(by_code).map(row).expect("the agent's own codes are in the table");
        status = row.http[1];
        let members =
            json!({"code": row.http[1], "status": row.grpc[1], "message": "refused", "details": failed["data"]});
        json!({ "error": members }).to_string()
    };
    let frames = frames.iter().map(opened).collect();
    Answer { status, media, frames, follows: None, waits: None }
}
