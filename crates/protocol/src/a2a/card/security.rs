//! Security schemes and requirements of a card: shape of each, and names that match (C-06).

use serde_json::Value;

use super::{
    Card,
    lint::{At, Grade, Problem, ProblemKind},
    required::SCHEMES,
    set,
};

pub(super) fn problems(card: &Card, out: &mut Vec<Problem>) {
    if let Some(schemes) = card.get("securitySchemes").and_then(Value::as_object) {
        for (name, scheme) in schemes {
            let pointer = format!("/securitySchemes/{}", escape(name));
            scheme_problems(&mut At { value: scheme, pointer, out });
        }
    }
    requirements(card, card.value(), "", out);
    for skill in card.skills() {
        requirements(card, skill.value, &skill.pointer(), out);
    }
}

fn scheme_problems(at: &mut At<'_, '_>) {
    let value = at.value;
    let members: Vec<_> = SCHEMES.iter().filter_map(|(m, rows)| Some((*m, *rows, set(value, m)?))).collect();
    match members.as_slice() {
        [(name, rows, inner)] if inner.is_object() => at.inner(inner, name).members(rows),
        [(name, ..)] => at.push(ProblemKind::Invalid, Grade::Error, name, format!("`{name}` is no object")),
        [] if set(value, "type").is_some() => {
            let what = "a scheme of A2A 0.3 with `type`; 1.0 wraps it by the member that names its type, such as \
                        `httpAuthSecurityScheme`";
            at.push(ProblemKind::Invalid, Grade::Error, "", what);
        }
        [] => at.push(ProblemKind::Invalid, Grade::Error, "", "no member names the type of the scheme"),
        _ => at.push(ProblemKind::Invalid, Grade::Error, "", "more than one type of scheme is set"),
    }
}

fn requirements(card: &Card, value: &Value, under: &str, out: &mut Vec<Problem>) {
    let known = card.scheme_names();
    let list = set(value, "securityRequirements").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for (n, requirement) in list.iter().enumerate() {
        let names = set(requirement, "schemes").and_then(Value::as_object);
        for name in names.iter().flat_map(|n| n.keys()).filter(|name| !known.contains(&name.as_str())) {
            let pointer = format!("{under}/securityRequirements/{n}/schemes/{}", escape(name));
            let what = format!("`{name}` is no scheme of `securitySchemes`");
            out.push(Problem { kind: ProblemKind::Invalid, grade: Grade::Error, pointer, what });
        }
    }
}

/// RFC 6901 §3.
fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
