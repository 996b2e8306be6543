//! Whether an error has the shape that its binding prescribes.

use serde_json::Value;

use crate::a2a::{
    binding::Binding,
    error::{A2aError, ERROR_DOMAIN},
};

/// Something about an error's shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeProblem {
    /// How bad it is.
    pub grade: ShapeGrade,
    /// JSON pointer into the error object.
    pub pointer: String,
    /// What is wrong.
    pub what: String,
}

/// How bad a problem of shape is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShapeGrade {
    /// Demanded by 1.0.0 and recommended by 1.0.1.
    Recommended,
    /// Demanded by both.
    Required,
}

// === impl A2aError ===

impl A2aError {
    /// All problems of its shape for `binding`; empty when it is as prescribed.
    #[must_use]
    pub fn shape_problems(&self, binding: &Binding) -> Vec<ShapeProblem> {
        let Some(object) = &self.object else {
            return no_object(self.http_status);
        };
        let mut out = Vec::new();
        if *binding == Binding::JsonRpc {
            members(object, &mut out);
        }
        details(self.details.as_ref(), details_name(binding), &mut out);
        error_info(self, binding, &mut out);
        out
    }
}

const fn details_name(binding: &Binding) -> &'static str {
    if matches!(binding, Binding::JsonRpc) { "data" } else { "details" }
}

/// Authentication is refused at the HTTP level by many, as the specification wants; anything else has to speak the binding.
fn no_object(status: Option<u16>) -> Vec<ShapeProblem> {
    if matches!(status, Some(401 | 403)) {
        return Vec::new();
    }
    let status = status.map_or_else(|| "no status".to_owned(), |s| format!("HTTP {s}"));
    vec![required("", format!("{status} without an error object of the binding"))]
}

fn members(object: &Value, out: &mut Vec<ShapeProblem>) {
    match object.get("code") {
        Some(code) if code.is_i64() || code.is_u64() => {}
        Some(_) => out.push(required("/code", "`code` is no integer")),
        None => out.push(required("/code", "`code` is absent")),
    }
    if !object.get("message").is_some_and(Value::is_string) {
        out.push(required("/message", "`message` is no string"));
    }
}

fn details(details: Option<&Value>, name: &str, out: &mut Vec<ShapeProblem>) {
    let list = match details {
        None | Some(Value::Null) => return,
        Some(Value::Array(list)) => list,
        Some(_) => {
            out.push(required(format!("/{name}"), format!("`{name}` is no array of objects with `@type`")));
            return;
        }
    };
    for (n, item) in list.iter().enumerate() {
        if !item.get("@type").is_some_and(Value::is_string) {
            out.push(required(format!("/{name}/{n}"), format!("an entry of `{name}` has no `@type`")));
        }
    }
}

fn error_info(error: &A2aError, binding: &Binding, out: &mut Vec<ShapeProblem>) {
    let grade = if *binding == Binding::JsonRpc { ShapeGrade::Recommended } else { ShapeGrade::Required };
    let name = details_name(binding);
    let mut problem = |pointer: String, what: String| out.push(ShapeProblem { grade, pointer, what });
    let Some(info) = error.error_infos().next() else {
        if error.kind().is_some_and(super::ErrorKind::is_a2a) {
            problem(format!("/{name}"), "no `google.rpc.ErrorInfo` names the reason".to_owned());
        }
        return;
    };
    if !info.get("reason").is_some_and(Value::is_string) {
        problem(format!("/{name}"), "`ErrorInfo.reason` is absent".to_owned());
    }
    if error.kind().is_some_and(super::ErrorKind::is_a2a) && !info.get("domain").is_some_and(|d| d == ERROR_DOMAIN) {
        problem(format!("/{name}"), format!("`ErrorInfo.domain` is not `{ERROR_DOMAIN}`"));
    }
}

fn required(pointer: impl Into<String>, what: impl Into<String>) -> ShapeProblem {
    ShapeProblem { grade: ShapeGrade::Required, pointer: pointer.into(), what: what.into() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::a2a::jsonrpc;

    fn problems(error: Value) -> Vec<(ShapeGrade, String)> {
        let error = jsonrpc::error_of(&error, Some(200));
        error.shape_problems(&Binding::JsonRpc).into_iter().map(|p| (p.grade, p.pointer)).collect()
    }

    #[test]
    fn the_forms_of_both_patch_levels_are_accepted() {
        let info = json!({"@type": super::super::ERROR_INFO, "reason": "TASK_NOT_FOUND", "domain": ERROR_DOMAIN});
        assert_eq!(problems(json!({"code": -32001, "message": "no", "data": [info]})), []);
        assert_eq!(problems(json!({"code": -32601, "message": "no"})), []);
        let without = problems(json!({"code": -32001, "message": "no"}));
        assert_eq!(without, [(ShapeGrade::Recommended, "/data".to_owned())]);
    }

    #[test]
    fn free_form_data_and_missing_members_are_problems() {
        let free = problems(json!({"code": -32601, "message": "no", "data": {"trace": "x"}}));
        assert_eq!(free, [(ShapeGrade::Required, "/data".to_owned())]);
        let untyped = problems(json!({"code": -32601, "message": "no", "data": [{"a": 1}]}));
        assert_eq!(untyped, [(ShapeGrade::Required, "/data/0".to_owned())]);
        let bare = problems(json!({"code": "x"}));
        assert_eq!(bare.len(), 2);
    }

    #[test]
    fn only_authentication_may_be_refused_by_status_alone() {
        assert_eq!(A2aError::of_status(401).shape_problems(&Binding::JsonRpc), []);
        assert_eq!(A2aError::of_status(500).shape_problems(&Binding::JsonRpc).len(), 1);
    }
}
