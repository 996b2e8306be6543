//! What the tables cannot say of interfaces: the form of versions, names of bindings, and entries that repeat.

use std::collections::BTreeMap;

use super::{
    Card,
    lint::{Grade, Problem, ProblemKind},
};
use crate::a2a::binding::{Binding, Version};

pub(super) fn problems(card: &Card, out: &mut Vec<Problem>) {
    let mut seen = BTreeMap::new();
    let interfaces = card.interfaces();
    for interface in &interfaces {
        out.extend(interface.version_text.and_then(|text| version(&interface.pointer, text)));
        out.extend(interface.binding.as_ref().and_then(|b| binding(&interface.pointer, b)));
        let Some(url) = interface.url else { continue };
        let same = (url, interface.binding.as_ref(), interface.version_text, interface.tenant);
        if let Some(earlier) = seen.insert(same, interface.pointer.as_str()) {
            let what = format!("the same interface as {earlier}");
            out.push(Problem {
                kind: ProblemKind::Invalid,
                grade: Grade::Warning,
                pointer: interface.pointer.clone(),
                what,
            });
        }
    }
}

/// Whether a binding is one that others define, which they name by a URI (§5.8); a word is a misspelling.
#[must_use]
pub fn is_of_others(binding: &Binding) -> bool {
    matches!(binding, Binding::Custom(name) if url::Url::parse(name).is_ok())
}

/// §3.6: the version is `Major.Minor`; a patch number should not be there and must not be considered.
fn version(pointer: &str, text: &str) -> Option<Problem> {
    if text.is_empty() || Version::parse(text).is_some() {
        return None;
    }
    let grade = if Version::parse_lenient(text).is_some() { Grade::Warning } else { Grade::Error };
    let what = format!("`{text}` is not of the form Major.Minor");
    Some(Problem { kind: ProblemKind::Invalid, grade, pointer: format!("{pointer}/protocolVersion"), what })
}

/// §5.8: bindings of others are named by a URI. A name that differs from a known one in case or sign is meant for it.
fn binding(pointer: &str, binding: &Binding) -> Option<Problem> {
    let Binding::Custom(name) = binding else { return None };
    if name.is_empty() || is_of_others(binding) {
        return None;
    }
    let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_uppercase();
    let meant = match letters.as_str() {
        "JSONRPC" | "JSONRPC20" => Some("JSONRPC"),
        "GRPC" => Some("GRPC"),
        "HTTPJSON" | "REST" | "HTTP" | "HTTPREST" => Some("HTTP+JSON"),
        _ => None,
    };
    let remedy = meant.map_or("bindings of others are named by a URI".to_owned(), |m| format!("did you mean `{m}`"));
    let what = format!("`{name}` is no binding of the specification; {remedy}");
    let pointer = format!("{pointer}/protocolBinding");
    Some(Problem { kind: ProblemKind::Invalid, grade: Grade::Warning, pointer, what })
}
