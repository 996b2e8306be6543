//! Cards of A2A 0.3 and 0.2: judged by their own rules, and what a 1.0 card would keep of them.

use serde_json::Value;

use super::{
    Card, CardFormat,
    lint::{At, Grade, Problem, ProblemKind},
    list_of, set, text_of,
};

mod project;
mod required;

pub use project::{Lost, Projection, project};

/// What is wrong with a card by the rules of 0.3 or 0.2, whichever shape it has.
pub(super) fn problems(card: &Card) -> Vec<Problem> {
    let mut out = Vec::new();
    let mut root = At { value: card.value(), pointer: String::new(), out: &mut out };
    root.members(required::CARD);
    root.object("provider", required::PROVIDER);
    root.each("additionalInterfaces", required::INTERFACE);
    root.object("capabilities", required::CAPABILITIES);
    root.each("skills", required::SKILL);
    root.each("signatures", super::required::SIGNATURE);
    if card.format() == CardFormat::V0_3 {
        root.members(required::SINCE_0_3);
    }
    transports(card, &mut out);
    schemes(card, &mut out);
    requirements(card.value(), "", card, &mut out);
    for skill in card.skills() {
        requirements(skill.value, &skill.pointer(), card, &mut out);
    }
    out
}

/// 0.3 §3.2: an open set in which JSONRPC, GRPC and HTTP+JSON are the specification's own.
fn transports(card: &Card, out: &mut Vec<Problem>) {
    let known = |name: &str| ["JSONRPC", "GRPC", "HTTP+JSON", ""].contains(&name);
    let main = card.text("preferredTransport").map(|t| ("/preferredTransport".to_owned(), t));
    let more = list_of(card.value(), "additionalInterfaces").iter().enumerate();
    let more =
        more.filter_map(|(n, e)| Some((format!("/additionalInterfaces/{n}/transport"), text_of(e, "transport")?)));
    for (pointer, name) in main.into_iter().chain(more).filter(|(_, name)| !known(name)) {
        let what = format!("`{name}` is no transport of the specification (JSONRPC, GRPC, HTTP+JSON)");
        out.push(Problem { kind: ProblemKind::Invalid, grade: Grade::Warning, pointer, what });
    }
}

fn schemes(card: &Card, out: &mut Vec<Problem>) {
    let declared = card.get("securitySchemes").and_then(Value::as_object);
    for (name, scheme) in declared.into_iter().flatten() {
        let pointer = format!("/securitySchemes/{}", super::security::escape(name));
        let mut at = At { value: scheme, pointer, out };
        match required::SCHEMES.iter().find(|(kind, _)| text_of(scheme, "type") == Some(kind)) {
            Some((_, rows)) => at.members(rows),
            None => {
                let what = "`type` is none of apiKey, http, oauth2, openIdConnect, mutualTLS";
                at.push(ProblemKind::Invalid, Grade::Error, "type", what);
            }
        }
    }
}

fn requirements(value: &Value, under: &str, card: &Card, out: &mut Vec<Problem>) {
    let known = card.scheme_names();
    for (n, entry) in list_of(value, "security").iter().enumerate() {
        for (name, scopes) in entry.as_object().into_iter().flatten() {
            let what = if !known.contains(&name.as_str()) {
                "no such scheme in `securitySchemes`"
            } else if !scopes.is_array() {
                "the scopes of a scheme are a list"
            } else {
                continue;
            };
            let pointer = format!("{under}/security/{n}/{}", super::security::escape(name));
            let what = what.to_owned();
            out.push(Problem { kind: ProblemKind::Requirement, grade: Grade::Error, pointer, what });
        }
    }
    if set(value, "authentication").is_some() && list_of(value, "security").is_empty() {
        let what = "`authentication` is from before 0.2.3 and is ignored; declare `securitySchemes` and `security`";
        let pointer = format!("{under}/authentication");
        out.push(Problem { kind: ProblemKind::Requirement, grade: Grade::Error, pointer, what: what.to_owned() });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn old() -> Value {
        json!({
            "name": "x", "description": "d", "version": "1", "protocolVersion": "0.3.0", "url": "https://a.test/",
            "preferredTransport": "JSONRPC", "capabilities": {"stateTransitionHistory": true},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "S", "description": "d", "tags": []}],
            "securitySchemes": {"b": {"type": "http", "scheme": "bearer"}}, "security": [{"b": []}]
        })
    }

    fn found(change: impl FnOnce(&mut Value)) -> Vec<String> {
        let mut card = old();
        change(&mut card);
        Card::new(card).legacy_problems().into_iter().map(|p| p.pointer).collect()
    }

    #[test]
    fn a_card_that_keeps_its_own_version_has_no_problem() {
        assert_eq!(found(|_| {}), [""; 0]);
    }

    #[test]
    fn each_required_member_of_0_3_is_missed() {
        for name in ["/name", "/url", "/version", "/capabilities", "/defaultInputModes", "/skills", "/skills/0/tags"] {
            let (parent, member) = name.rsplit_once('/').unwrap();
            let got = found(|c| _ = c.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(member));
            assert!(name == "/url" || got == [name], "{name}: {got:?}");
        }
        assert_eq!(found(|c| _ = c.as_object_mut().unwrap().remove("protocolVersion")), ["/protocolVersion"]);
    }

    #[test]
    fn a_0_2_card_needs_no_protocol_version() {
        let got = found(|c| {
            let card = c.as_object_mut().unwrap();
            card.remove("protocolVersion");
            card.remove("preferredTransport");
        });
        assert_eq!(got, [""; 0]);
    }

    #[test]
    fn security_that_its_readers_ignore_is_told() {
        assert_eq!(found(|c| c["securitySchemes"]["b"]["type"] = json!("bearer")), ["/securitySchemes/b/type"]);
        assert_eq!(found(|c| c["security"] = json!([{"other": []}])), ["/security/0/other"]);
        let old_form = found(|c| {
            c.as_object_mut().unwrap().remove("security");
            c["authentication"] = json!({"schemes": ["bearer"]});
        });
        assert_eq!(old_form, ["/authentication"]);
    }
}
