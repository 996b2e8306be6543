//! The work: reading a work request, and the plan made of it.

use serde_json::{Map, Value, json};

use crate::rpc::{RpcError, Violation};

/// Most items of one request: one item is one step of work.
const MAX_ITEMS: usize = 200;

/// A work request that has been found valid.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WorkRequest {
    pub(crate) tenant_id: String,
    /// The business idempotency key, unique within the tenant.
    pub(crate) request_id: String,
    /// The items as sent; each has a title and nothing else.
    pub(crate) items: Vec<Value>,
}

/// A draft plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    pub(crate) plan_id: String,
    pub(crate) items: Vec<Value>,
}

// === impl WorkRequest ===

impl WorkRequest {
    /// Reads the request from the parts of a message.
    pub(crate) fn from_parts(parts: &[Value]) -> Result<Self, RpcError> {
        let [part] = parts else { return Err(RpcError::ContentType) };
        let media_type = part.get("mediaType").map(|m| m.as_str().unwrap_or_default());
        let Some(data) = part.get("data").filter(|_| media_type.is_none_or(is_json)) else {
            return Err(RpcError::ContentType);
        };
        Self::parse(data).map_err(RpcError::InvalidParams)
    }

    fn parse(data: &Value) -> Result<Self, Vec<Violation>> {
        const AT: &str = "message.parts[0].data";
        let Some(object) = data.as_object() else {
            return Err(vec![Violation::new(AT, "must be an object")]);
        };
        let mut bad = Vec::new();
        for name in object.keys().filter(|name| !["tenant_id", "request_id", "items"].contains(&name.as_str())) {
            bad.push(Violation::new(format!("{AT}.{name}"), "is not known"));
        }
        let tenant_id = text(object, "tenant_id", AT, &mut bad);
        let request_id = text(object, "request_id", AT, &mut bad);
        let items = items(object, AT, &mut bad);
        if bad.is_empty() { Ok(Self { tenant_id, request_id, items }) } else { Err(bad) }
    }
}

// === impl Plan ===

impl Plan {
    /// The plan as the one artifact of its task.
    pub(crate) fn artifact(&self, task_id: &str) -> Value {
        let data = json!({"plan_id": self.plan_id, "status": "draft", "items": self.items});
        json!({"artifactId": format!("{task_id}-plan"), "name": "work-plan",
            "parts": [{"data": data, "mediaType": "application/json"}]})
    }

    /// The same in prose: what the text liar sends.
    pub(crate) fn prose_artifact(&self, task_id: &str) -> Value {
        let text = format!("I drafted plan {} with {} items for you.", self.plan_id, self.items.len());
        json!({"artifactId": format!("{task_id}-plan"), "name": "work-plan",
            "parts": [{"text": text, "mediaType": "text/plain"}]})
    }
}

/// Whether a media type is JSON's, parameters aside.
pub(crate) fn is_json(media_type: &str) -> bool {
    media_type.split(';').next().is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

fn text(object: &Map<String, Value>, name: &str, at: &str, bad: &mut Vec<Violation>) -> String {
    match object.get(name) {
        Some(Value::String(text)) if !text.is_empty() => return text.clone(),
        Some(_) => bad.push(Violation::new(format!("{at}.{name}"), "must be a string that is not empty")),
        None => bad.push(Violation::new(format!("{at}.{name}"), "is required")),
    }
    String::new()
}

fn items(object: &Map<String, Value>, at: &str, bad: &mut Vec<Violation>) -> Vec<Value> {
    let items = match object.get("items") {
        Some(Value::Array(items)) if (1..=MAX_ITEMS).contains(&items.len()) => items.clone(),
        Some(_) => {
            bad.push(Violation::new(format!("{at}.items"), format!("must be a list of 1 to {MAX_ITEMS} items")));
            Vec::new()
        }
        None => {
            bad.push(Violation::new(format!("{at}.items"), "is required"));
            Vec::new()
        }
    };
    for (n, item) in items.iter().enumerate() {
        let title_ok = item["title"].as_str().is_some_and(|title| !title.is_empty());
        if !title_ok || item.as_object().is_none_or(|item| item.len() != 1) {
            let description = "must be an object with a `title` that is not empty, and nothing else";
            bad.push(Violation::new(format!("{at}.items[{n}]"), description));
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::WorkRequest;
    use crate::rpc::RpcError;

    fn parse(data: Value) -> Result<WorkRequest, RpcError> {
        WorkRequest::from_parts(&[json!({"data": data})])
    }

    #[test]
    fn a_complete_request_is_read() {
        let read = parse(json!({"tenant_id": "t", "request_id": "r", "items": [{"title": "one"}]})).unwrap();
        assert_eq!((read.tenant_id.as_str(), read.request_id.as_str(), read.items.len()), ("t", "r", 1));
    }

    #[test]
    fn everything_wrong_is_named_at_once() {
        let wrong = json!({"tenant_id": 1, "items": [{"title": ""}, {"title": "b", "owner": "x"}], "extra": true});
        let Err(RpcError::InvalidParams(violations)) = parse(wrong) else { panic!("accepted") };
        let fields: Vec<&str> = violations.iter().map(|v| v.field.rsplit("data.").next().unwrap()).collect();
        assert_eq!(fields, ["extra", "tenant_id", "request_id", "items[0]", "items[1]"]);
    }

    #[test]
    fn text_and_foreign_media_types_are_another_content_type() {
        for part in [json!({"text": "plan my week"}), json!({"data": {}, "mediaType": "application/xml"})] {
            assert_eq!(WorkRequest::from_parts(std::slice::from_ref(&part)), Err(RpcError::ContentType), "{part}");
        }
    }
}
