//! Extensions: nothing of `AgentExtension` is REQUIRED, yet one without a name can be neither supported nor refused.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    Card,
    lint::{At, Grade, Problem, ProblemKind},
    list_of, required, set, text_of,
};

pub(super) fn problems(card: &Card, out: &mut Vec<Problem>) {
    let Some(capabilities) = card.get("capabilities") else { return };
    let mut at = At { value: capabilities, pointer: "/capabilities".to_owned(), out };
    at.each("extensions", required::EXTENSION);
    let mut first: BTreeMap<&str, (usize, &Value)> = BTreeMap::new();
    for (n, entry) in list_of(capabilities, "extensions").iter().enumerate().filter(|(_, e)| e.is_object()) {
        let mut at = at.inner(entry, &format!("extensions/{n}"));
        name(&mut at);
        let Some(uri) = text_of(entry, "uri") else { continue };
        match first.get(uri) {
            Some((earlier, other)) => repeated(&mut at, *earlier, is_required(entry) == is_required(other)),
            None => _ = first.insert(uri, (n, entry)),
        }
    }
}

fn name(at: &mut At<'_, '_>) {
    match text_of(at.value, "uri") {
        None | Some("") if is_required(at.value) => {
            let what = "an extension that callers must support has no `uri`, so nobody can";
            at.push(ProblemKind::Missing, Grade::Error, "uri", what);
        }
        None if set(at.value, "uri").is_some() => {}
        None | Some("") => at.push(ProblemKind::Missing, Grade::Warning, "uri", "an extension without `uri` is none"),
        Some(uri) if url::Url::parse(uri).is_err() => {
            at.push(ProblemKind::Invalid, Grade::Warning, "uri", format!("`{uri}` is no URI"));
        }
        Some(_) => {}
    }
}

fn repeated(at: &mut At<'_, '_>, earlier: usize, agree: bool) {
    let (grade, rest) = if agree { (Grade::Warning, "") } else { (Grade::Error, ", and only one is required") };
    let what = format!("the extension of /capabilities/extensions/{earlier} again{rest}");
    at.push(ProblemKind::Invalid, grade, "uri", what);
}

fn is_required(extension: &Value) -> bool {
    set(extension, "required").and_then(Value::as_bool).unwrap_or(false)
}
