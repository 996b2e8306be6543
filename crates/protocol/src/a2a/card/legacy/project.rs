//! A 0.x card as 1.0 would hold it, and what is lost on the way. The projection is for people who migrate: nobody is
//! admitted on it, since the endpoint still speaks the old version.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{list_of, set, text_of};
use crate::a2a::{binding::Version, card::security::escape};

/// A 0.x card in the shape of 1.0.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Projection {
    /// What 1.0 can hold of it. Its interfaces keep their version.
    pub card: Value,
    /// What it cannot, in the card's order.
    pub lost: Vec<Lost>,
}

/// Something that has no place in 1.0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// Where it stands in the old card.
    pub pointer: String,
    /// Why it is lost, or what to do.
    pub why: &'static str,
}

/// Members that both versions have in the same form.
const SAME: &[&str] = &[
    "name",
    "description",
    "version",
    "provider",
    "documentationUrl",
    "iconUrl",
    "defaultInputModes",
    "defaultOutputModes",
];
const SAME_IN_SKILL: &[&str] = &["id", "name", "description", "tags", "examples", "inputModes", "outputModes"];
const SAME_IN_CAPABILITIES: &[&str] = &["streaming", "pushNotifications", "extensions"];
/// Members of 0.x that go elsewhere in 1.0.
const MOVED: &[&str] = &[
    "url",
    "preferredTransport",
    "protocolVersion",
    "additionalInterfaces",
    "supportsAuthenticatedExtendedCard",
    "capabilities",
    "skills",
    "security",
    "securitySchemes",
];
/// Flows in the order in which one is kept: 1.0 has one a scheme.
const FLOWS: &[&str] = &["authorizationCode", "clientCredentials", "implicit", "password"];

/// Writes a 0.x card in the shape of 1.0.
#[must_use]
pub fn project(old: &Value) -> Projection {
    let mut lost = Vec::new();
    let mut card = copy(old, SAME);
    card.insert("supportedInterfaces".to_owned(), Value::Array(interfaces(old)));
    card.insert("capabilities".to_owned(), capabilities(old, &mut lost));
    if let Some(schemes) = set(old, "securitySchemes").and_then(Value::as_object) {
        let wrap = |(name, scheme): (&String, &Value)| Some((name.clone(), wrapped(name, scheme, &mut lost)?));
        card.insert("securitySchemes".to_owned(), Value::Object(schemes.iter().filter_map(wrap).collect()));
    }
    insert_some(&mut card, "securityRequirements", requirements(old));
    if set(old, "skills").is_some() {
        let skills = list_of(old, "skills").iter().enumerate().map(|(n, s)| skill(n, s, &mut lost)).collect();
        card.insert("skills".to_owned(), Value::Array(skills));
    }
    leftovers(old, "", &[SAME, MOVED].concat(), &mut lost);
    Projection { card: Value::Object(card), lost }
}

fn interfaces(old: &Value) -> Vec<Value> {
    let claimed = text_of(old, "protocolVersion").and_then(Version::parse_lenient);
    let version = claimed.unwrap_or(Version { major: 0, minor: 2 }).to_string();
    let binding = text_of(old, "preferredTransport").unwrap_or("JSONRPC");
    let main = text_of(old, "url").map(|url| (url, binding));
    let more = list_of(old, "additionalInterfaces").iter();
    let more = more.filter_map(|e| Some((text_of(e, "url")?, text_of(e, "transport").unwrap_or("JSONRPC"))));
    let mut seen = Vec::new();
    for interface in main.into_iter().chain(more) {
        if !seen.contains(&interface) {
            seen.push(interface);
        }
    }
    let written = |(url, binding)| json!({"url": url, "protocolBinding": binding, "protocolVersion": version});
    seen.into_iter().map(written).collect()
}

fn capabilities(old: &Value, lost: &mut Vec<Lost>) -> Value {
    let mut out = Map::new();
    if let Some(capabilities) = set(old, "capabilities").filter(|c| c.is_object()) {
        out = copy(capabilities, SAME_IN_CAPABILITIES);
        leftovers(capabilities, "/capabilities", SAME_IN_CAPABILITIES, lost);
    }
    insert_some(&mut out, "extendedAgentCard", set(old, "supportsAuthenticatedExtendedCard").cloned());
    Value::Object(out)
}

fn skill(n: usize, old: &Value, lost: &mut Vec<Lost>) -> Value {
    let mut out = copy(old, SAME_IN_SKILL);
    insert_some(&mut out, "securityRequirements", requirements(old));
    leftovers(old, &format!("/skills/{n}"), &[SAME_IN_SKILL, &["security"]].concat(), lost);
    Value::Object(out)
}

fn requirements(old: &Value) -> Option<Value> {
    let entry = |entry: &Value| {
        let names = entry.as_object().into_iter().flatten();
        let schemes: Map<String, Value> = names.map(|(n, scopes)| (n.clone(), json!({"list": scopes}))).collect();
        json!({"schemes": schemes})
    };
    let list: Vec<Value> = list_of(old, "security").iter().map(entry).collect();
    (!list.is_empty()).then_some(Value::Array(list))
}

fn wrapped(name: &str, scheme: &Value, lost: &mut Vec<Lost>) -> Option<Value> {
    let pointer = format!("/securitySchemes/{}", escape(name));
    let (member, names): (&str, &[&str]) = match text_of(scheme, "type") {
        Some("apiKey") => ("apiKeySecurityScheme", &["name", "description"]),
        Some("http") => ("httpAuthSecurityScheme", &["scheme", "bearerFormat", "description"]),
        Some("oauth2") => ("oauth2SecurityScheme", &["oauth2MetadataUrl", "description"]),
        Some("openIdConnect") => ("openIdConnectSecurityScheme", &["openIdConnectUrl", "description"]),
        Some("mutualTLS") => ("mtlsSecurityScheme", &["description"]),
        _ => {
            lost.push(Lost { pointer, why: "a security scheme of no known type" });
            return None;
        }
    };
    let mut inner = copy(scheme, names);
    insert_some(&mut inner, "location", set(scheme, "in").cloned());
    if let Some(flows) = set(scheme, "flows") {
        let kept = FLOWS.iter().find_map(|flow| Some((*flow, set(flows, flow)?)));
        for flow in FLOWS.iter().filter(|f| set(flows, f).is_some() && kept.is_some_and(|(k, _)| k != **f)) {
            let why = "1.0 holds one flow a scheme: declare another scheme for it";
            lost.push(Lost { pointer: format!("{pointer}/flows/{flow}"), why });
        }
        insert_some(&mut inner, "flows", kept.map(|(name, flow)| json!({name: flow})));
    }
    Some(json!({member: inner}))
}

fn leftovers(old: &Value, under: &str, known: &[&str], lost: &mut Vec<Lost>) {
    let members = old.as_object().into_iter().flatten();
    for (name, _) in members.filter(|(name, value)| !known.contains(&name.as_str()) && !value.is_null()) {
        let why = match name.as_str() {
            "signatures" => "signatures hold for the old document only: sign the new one",
            "authentication" => "names of schemes that nothing describes: declare `securitySchemes`",
            "stateTransitionHistory" => "1.0 has no such capability",
            _ => "1.0 has no such member; readers ignore it",
        };
        lost.push(Lost { pointer: format!("{under}/{}", escape(name)), why });
    }
}

fn copy(old: &Value, names: &[&str]) -> Map<String, Value> {
    names.iter().filter_map(|name| Some(((*name).to_owned(), set(old, name)?.clone()))).collect()
}

fn insert_some(into: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        into.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a2a::card::Card;

    #[test]
    fn a_complete_0_3_card_becomes_a_1_0_card_without_problem() {
        let old = json!({
            "name": "x", "description": "d", "version": "1", "protocolVersion": "0.3.0", "url": "https://a.test/",
            "preferredTransport": "JSONRPC", "supportsAuthenticatedExtendedCard": true,
            "additionalInterfaces": [{"url": "https://a.test/", "transport": "JSONRPC"},
                {"url": "a.test:443", "transport": "GRPC"}],
            "capabilities": {"streaming": false, "stateTransitionHistory": true},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "S", "description": "d", "tags": ["t"], "security": [{"k": []}]}],
            "securitySchemes": {"k": {"type": "apiKey", "in": "header", "name": "X-Key"},
                "o": {"type": "oauth2", "flows": {
                    "clientCredentials": {"tokenUrl": "https://a.test/t", "scopes": {"r": "read"}},
                    "password": {"tokenUrl": "https://a.test/t", "scopes": {}}}}},
            "security": [{"o": ["r"]}], "signatures": [{"protected": "e30", "signature": "eA"}], "color": "red"
        });
        let Projection { card, lost } = project(&old);
        let problems = Card::new(card.clone()).problems();
        assert_eq!(problems, [], "{card:#}");
        assert_eq!(card["supportedInterfaces"].as_array().map(Vec::len), Some(2));
        assert_eq!(card["supportedInterfaces"][1]["protocolVersion"], "0.3");
        assert_eq!(card["capabilities"]["extendedAgentCard"], true);
        assert_eq!(card["securitySchemes"]["k"]["apiKeySecurityScheme"]["location"], "header");
        let lost: Vec<&str> = lost.iter().map(|l| l.pointer.as_str()).collect();
        assert_eq!(
            lost,
            ["/capabilities/stateTransitionHistory", "/securitySchemes/o/flows/password", "/signatures", "/color"]
        );
    }
}
