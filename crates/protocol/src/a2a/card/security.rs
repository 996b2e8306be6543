//! Security schemes and requirements of a card: the shape of each, and names that match (C-06).
//!
//! What demands a credential must be readable by the strictest reader: one that drops a requirement sees an open agent.
//! So each requirement that such a reader drops is a [`ProblemKind::Requirement`] of its own.

use serde_json::Value;

use super::{
    Card,
    lint::{At, Grade, Problem, ProblemKind},
    list_of,
    required::{FLOWS, SCHEMES},
    set, text_of,
};

type Rows = &'static [(&'static str, super::lint::Need, super::lint::Type)];

pub(super) fn problems(card: &Card, out: &mut Vec<Problem>) {
    if let Some(schemes) = card.get("securitySchemes").and_then(Value::as_object) {
        for (name, scheme) in schemes {
            let pointer = format!("/securitySchemes/{}", escape(name));
            scheme_problems(&mut At { value: scheme, pointer, out });
        }
    }
    holder(card, card.value(), "", out);
    for skill in card.skills() {
        holder(card, skill.value, &skill.pointer(), out);
    }
    nothing_required(card, out);
}

// --- schemes ---

fn scheme_problems(at: &mut At<'_, '_>) {
    let Some((name, rows, inner)) = one_of(at, SCHEMES, "scheme") else { return };
    let mut inner = at.inner(inner, name);
    inner.members(rows);
    match name {
        "apiKeySecurityScheme" => location(&mut inner),
        "oauth2SecurityScheme" => {
            plain_http(&mut inner, &["oauth2MetadataUrl"]);
            flows(&mut inner);
        }
        "openIdConnectSecurityScheme" => plain_http(&mut inner, &["openIdConnectUrl"]),
        _ => {}
    }
}

/// The one member of a `oneof` that is set; says what is wrong otherwise.
fn one_of<'a>(
    at: &mut At<'a, '_>,
    members: &[(&'static str, Rows)],
    what: &str,
) -> Option<(&'static str, Rows, &'a Value)> {
    let value = at.value;
    let there: Vec<_> = members.iter().filter_map(|(m, rows)| Some((*m, *rows, set(value, m)?))).collect();
    let wrong = match there.as_slice() {
        [(name, rows, inner)] if inner.is_object() => return Some((name, rows, inner)),
        [(name, ..)] => {
            at.push(ProblemKind::Invalid, Grade::Error, name, format!("`{name}` is no object"));
            return None;
        }
        [] if !value.is_object() => format!("the {what} is no object"),
        [] if text_of(value, "type").is_some() => "a scheme of A2A 0.3 with `type`; 1.0 wraps it by the member that \
                                                   names its type, such as `httpAuthSecurityScheme`"
            .to_owned(),
        [] => format!("no member names the type of the {what}"),
        more => {
            let names: Vec<&str> = more.iter().map(|(name, ..)| *name).collect();
            format!("exactly one type of {what} must be set; there are {}", names.join(", "))
        }
    };
    at.push(ProblemKind::Invalid, Grade::Error, "", wrong);
    None
}

fn location(at: &mut At<'_, '_>) {
    if let Some(text) = text_of(at.value, "location").filter(|t| !["query", "header", "cookie", ""].contains(t)) {
        let what = format!("`{text}` is none of query, header, cookie");
        at.push(ProblemKind::Invalid, Grade::Error, "location", what);
    }
}

fn flows(at: &mut At<'_, '_>) {
    let Some(value) = set(at.value, "flows").filter(|f| f.is_object()) else { return };
    let mut at = at.inner(value, "flows");
    let Some((name, rows, inner)) = one_of(&mut at, FLOWS, "flow") else { return };
    if ["implicit", "password"].contains(&name) {
        return at.push(ProblemKind::Invalid, Grade::Warning, name, format!("the flow `{name}` is deprecated"));
    }
    let mut at = at.inner(inner, name);
    at.members(rows);
    plain_http(&mut at, &["authorizationUrl", "deviceAuthorizationUrl", "tokenUrl", "refreshUrl"]);
    let scopes = set(inner, "scopes").and_then(Value::as_object);
    for (scope, _) in scopes.into_iter().flatten().filter(|(_, told)| !told.is_string()) {
        let pointer = format!("scopes/{}", escape(scope));
        at.push(ProblemKind::Invalid, Grade::Error, &pointer, "the description of a scope is no text");
    }
}

/// RFC 6749 §3.1, §3.2: credentials go over TLS.
fn plain_http(at: &mut At<'_, '_>, names: &[&str]) {
    for name in names {
        if text_of(at.value, name).is_some_and(|url| url.starts_with("http://")) {
            at.push(ProblemKind::Invalid, Grade::Warning, name, format!("`{name}` is not https"));
        }
    }
}

// --- requirements ---

/// What the card or a skill requires.
fn holder(card: &Card, value: &Value, under: &str, out: &mut Vec<Problem>) {
    let list = list_of(value, "securityRequirements");
    for (n, entry) in list.iter().enumerate() {
        let at = &mut At { value: entry, pointer: format!("{under}/securityRequirements/{n}"), out };
        requirement(at, card, list.len());
    }
    if !list.is_empty() {
        return;
    }
    if set(value, "securityRequirements").is_some_and(|r| !r.is_array()) {
        let at = &mut At { value, pointer: under.to_owned(), out };
        return dropped(at, "securityRequirements", "requirements are a list");
    }
    for name in ["security", "authentication", "security_requirements"] {
        if set(value, name).is_some_and(demands) {
            let what = format!("`{name}` is no member of 1.0 and is ignored; write `securityRequirements`");
            let pointer = format!("{under}/{name}");
            out.push(Problem { kind: ProblemKind::Requirement, grade: Grade::Error, pointer, what });
        }
    }
}

fn requirement(at: &mut At<'_, '_>, card: &Card, alternatives: usize) {
    let value = at.value;
    let Some(members) = value.as_object() else {
        return dropped(at, "", "a requirement is an object with `schemes`");
    };
    if let Some(schemes) = set(value, "schemes") {
        let Some(schemes) = schemes.as_object() else {
            return dropped(at, "schemes", "`schemes` is no object of scheme names");
        };
        if schemes.is_empty() {
            return open(at, alternatives);
        }
        return schemes.iter().for_each(|(name, scopes)| scheme_use(at, card, name, scopes));
    }
    match members.iter().find(|(_, v)| !v.is_null()) {
        None => open(at, alternatives),
        Some((name, _)) => {
            let what = format!("the requirement has no `schemes`; `{name}` beside it is ignored");
            dropped(at, "", &what);
        }
    }
}

/// An alternative without schemes lets anybody in, as in OpenAPI. Beside others that may be meant; alone it demands
/// nothing, whatever its author had in mind.
fn open(at: &mut At<'_, '_>, alternatives: usize) {
    if alternatives == 1 {
        return dropped(at, "", "the only requirement names no scheme, so it demands nothing");
    }
    at.push(ProblemKind::Requirement, Grade::Warning, "", "this alternative names no scheme: anybody is let in");
}

fn scheme_use(at: &mut At<'_, '_>, card: &Card, name: &str, scopes: &Value) {
    let pointer = format!("schemes/{}", escape(name));
    let schemes = card.get("securitySchemes");
    let Some(scheme) = schemes.and_then(|s| set(s, name)) else {
        return dropped(at, &pointer, &format!("`{name}` is no scheme of `securitySchemes`"));
    };
    let Some(members) = scopes.as_object() else {
        return dropped(at, &pointer, "the scopes of a scheme are an object `{\"list\": […]}`");
    };
    let list = match set(scopes, "list") {
        None if members.is_empty() || members.contains_key("list") => return,
        None => return dropped(at, &pointer, "scopes stand in `list`; other members are ignored"),
        Some(list) => list.as_array().filter(|l| l.iter().all(Value::is_string)),
    };
    let Some(list) = list else {
        return dropped(at, &format!("{pointer}/list"), "`list` is no list of texts");
    };
    let Some(offered) = offered_scopes(scheme) else { return };
    for scope in list.iter().filter_map(Value::as_str).filter(|s| !offered.contains_key(*s)) {
        let what = format!("`{scope}` is no scope of the flow of `{name}`");
        at.push(ProblemKind::Requirement, Grade::Warning, &format!("{pointer}/list"), what);
    }
}

/// The scopes of an OAuth scheme's one flow.
fn offered_scopes(scheme: &Value) -> Option<&serde_json::Map<String, Value>> {
    let flows = set(set(scheme, "oauth2SecurityScheme")?, "flows")?.as_object()?;
    let scopes = flows.values().find_map(|flow| set(flow, "scopes"))?.as_object()?;
    (!scopes.is_empty()).then_some(scopes)
}

/// Schemes that nothing demands: either public by intent or a requirement that was forgotten.
fn nothing_required(card: &Card, out: &mut Vec<Problem>) {
    let required = |value: &Value| {
        let legacy = ["security", "authentication", "security_requirements"];
        set(value, "securityRequirements").is_some_and(|r| r.as_array().is_none_or(|list| !list.is_empty()))
            || legacy.iter().any(|n| set(value, n).is_some_and(demands))
    };
    if card.scheme_names().is_empty() || required(card.value()) || card.skills().iter().any(|s| required(s.value)) {
        return;
    }
    let what = "`securitySchemes` are declared and nothing requires one: a strict reader sees an open agent";
    out.push(Problem {
        kind: ProblemKind::Requirement,
        grade: Grade::Warning,
        pointer: "/securityRequirements".to_owned(),
        what: what.to_owned(),
    });
}

fn dropped(at: &mut At<'_, '_>, name: &str, what: &str) {
    at.push(ProblemKind::Requirement, Grade::Error, name, format!("{what}; a strict reader would see no requirement"));
}

/// Whether a member of an older version demands anything.
fn demands(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter().any(demands),
        Value::Object(members) => members.get("schemes").map_or(!members.is_empty(), demands),
        Value::String(text) => !["", "none", "public"].contains(&text.as_str()),
        _ => false,
    }
}

/// RFC 6901 §3.
pub(super) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
