//! What a document is that stands where an agent card should: one name instead of forty missing members (C-01).

use serde_json::Value;

use super::set;

/// What text is that is no JSON, where it is easy to tell.
#[must_use]
pub fn unreadable_looks_like(bytes: &[u8]) -> Option<&'static str> {
    let start = &bytes[..bytes.len().min(512)];
    if start.starts_with(&[0x1f, 0x8b]) {
        return Some("gzip data, served without `Content-Encoding`");
    }
    if start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff]) {
        return Some("text in UTF-16");
    }
    let text = String::from_utf8_lossy(start).trim_start_matches('\u{feff}').trim_start().to_ascii_lowercase();
    match text.as_str() {
        "" => Some("an empty document"),
        t if t.starts_with("<!doctype html") || t.starts_with("<html") => Some("a web page"),
        t if t.starts_with('<') => Some("XML or HTML"),
        t if t.starts_with("//") || t.starts_with("/*") => Some("JSON with comments"),
        t if t.starts_with("---") || t.starts_with("name:") => Some("YAML"),
        t if t.starts_with("version https://git-lfs") => Some("a pointer of Git LFS"),
        _ => None,
    }
}

/// What a JSON document is that is no agent card.
#[must_use]
pub fn looks_like(value: &Value) -> &'static str {
    match value {
        Value::Array(list) if list.iter().any(is_card) => "a list of agent cards",
        Value::Array(_) => "a list",
        Value::Object(_) => kind(value).or_else(|| wrapper(value)).or_else(|| vague(value)).unwrap_or("another object"),
        _ => "a single value",
    }
}

/// Documents that are none of ours whatever else they hold.
pub(super) fn is_of_another_kind(value: &Value) -> bool {
    let card_members = ["supportedInterfaces", "skills"];
    let said_so = has(value, "jsonrpc") || is_erc_8004(value) || is_oasf(value);
    said_so || (!card_members.iter().any(|m| has(value, m)) && kind(value).is_some())
}

fn kind(value: &Value) -> Option<&'static str> {
    let all = |names: &[&str]| names.iter().all(|n| has(value, n));
    let any = |names: &[&str]| names.iter().any(|n| has(value, n));
    let schema = text(value, "$schema");
    let known = match value {
        _ if has(value, "jsonrpc") && has(value, "error") => "an error answer of JSON-RPC",
        _ if has(value, "jsonrpc") => "a message of JSON-RPC",
        _ if any(&["openapi", "swagger"]) => "an OpenAPI description",
        _ if has(value, "asyncapi") => "an AsyncAPI description",
        _ if any(&["name_for_model", "name_for_human"]) => "the manifest of an AI plugin",
        _ if is_erc_8004(value) => "an agent registration of ERC-8004",
        _ if is_oasf(value) => "a record of OASF",
        _ if schema.contains("modelcontextprotocol") => "a server.json of MCP",
        _ if has(value, "mcpServers") => "the configuration of an MCP client",
        _ if has(value, "tools") && !has(value, "url") => "a list of tools",
        _ if all(&["issuer", "jwks_uri"]) || all(&["issuer", "token_endpoint"]) => "the metadata of an OAuth server",
        _ if has(value, "keys") && !has(value, "name") => "a set of keys",
        _ if is_package(value) => "a package.json",
        _ if all(&["start_url", "icons"]) => "the manifest of a web application",
        _ if schema.contains("json-schema.org") || all(&["type", "properties"]) => "a JSON Schema",
        _ if value.get("agents").is_some_and(|agents| agents.is_array() || agents.is_object()) => "a list of agents",
        _ if any(&["packages", "remotes"]) && has(value, "name") => "a server.json of MCP",
        _ if all(&["input_content_types", "output_content_types"]) => "an agent manifest of ACP",
        _ if has(value, "@context") => "a description in JSON-LD",
        _ => return None,
    };
    Some(known)
}

/// A card inside of something else.
fn wrapper(value: &Value) -> Option<&'static str> {
    let inner = ["agentCard", "agent_card", "card", "agent", "data", "result", "payload"];
    inner.iter().any(|name| value.get(name).is_some_and(is_card)).then_some("an agent card wrapped in another object")
}

fn vague(value: &Value) -> Option<&'static str> {
    let error = ["error", "detail", "statusCode"].iter().any(|n| has(value, n)) || {
        has(value, "title") && has(value, "status")
    };
    match value.as_object() {
        Some(members) if members.is_empty() => Some("an empty object"),
        _ if error => Some("an error message"),
        _ => None,
    }
}

fn is_card(value: &Value) -> bool {
    has(value, "name") && ["supportedInterfaces", "url", "skills"].iter().any(|n| has(value, n))
}

fn is_package(value: &Value) -> bool {
    let of_npm = ["dependencies", "devDependencies", "scripts", "main", "workspaces"];
    has(value, "version") && of_npm.iter().any(|n| has(value, n))
}

fn is_erc_8004(value: &Value) -> bool {
    text(value, "type").contains("eip-8004")
}

/// A record of the Open Agentic Schema Framework has skills, name and version as a card does, and its schema's version.
fn is_oasf(value: &Value) -> bool {
    let own = ["locators", "modules", "domains", "extensions", "created_at"];
    has(value, "schema_version") && !has(value, "supportedInterfaces") && own.iter().any(|n| has(value, n))
}

fn has(value: &Value, name: &str) -> bool {
    set(value, name).is_some()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_json_is_named() {
        for (bytes, what) in [
            (&b" <!DOCTYPE html><html>"[..], "a web page"),
            (b"", "an empty document"),
            (b"\xef\xbb\xbf  ", "an empty document"),
            (b"// my card\n{}", "JSON with comments"),
            (b"name: agent\n", "YAML"),
            (b"\x1f\x8b\x08", "gzip data, served without `Content-Encoding`"),
            (b"\xff\xfe{\x00", "text in UTF-16"),
        ] {
            assert_eq!(unreadable_looks_like(bytes), Some(what));
        }
        assert_eq!(unreadable_looks_like(b"{\"name\": "), None);
    }

    #[test]
    fn a_card_with_members_of_others_stays_a_card() {
        let card =
            json!({"name": "x", "url": "https://a", "skills": [], "tools": [], "dependencies": {}, "version": "1"});
        assert!(!is_of_another_kind(&card));
        assert!(is_of_another_kind(&json!({"jsonrpc": "2.0", "skills": [], "error": {}})));
    }

    #[test]
    fn descriptions_of_other_registries_are_no_cards() {
        let oasf = json!({"schema_version": "0.7.0", "name": "x", "version": "1", "description": "d", "skills": [{}],
            "locators": []});
        let linked = json!({"@context": "https://schema.org", "name": "x", "description": "d", "url": "https://a"});
        let acp = json!({"name": "x", "input_content_types": ["*/*"], "output_content_types": ["*/*"]});
        for (other, what) in
            [(oasf, "a record of OASF"), (linked, "a description in JSON-LD"), (acp, "an agent manifest of ACP")]
        {
            assert!(is_of_another_kind(&other), "{what}");
            assert_eq!(looks_like(&other), what);
        }
        assert!(!is_of_another_kind(&json!({"@context": "x", "name": "x", "url": "https://a", "skills": []})));
        assert_eq!(looks_like(&json!({"agents": {"a": {}}})), "a list of agents");
    }

    #[test]
    fn wrappers_and_lists_are_named() {
        let card = json!({"name": "x", "url": "https://a", "skills": []});
        assert_eq!(looks_like(&json!({"agentCard": card})), "an agent card wrapped in another object");
        assert_eq!(looks_like(&json!([card])), "a list of agent cards");
        assert_eq!(looks_like(&json!({"agents": [card]})), "a list of agents");
        assert_eq!(looks_like(&json!({"detail": "Not Found"})), "an error message");
        assert_eq!(looks_like(&json!(7)), "a single value");
    }
}
