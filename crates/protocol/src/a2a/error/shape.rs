//! Whether an error has the shape that its binding prescribes.

use serde_json::Value;

use crate::a2a::{
    binding::Binding,
    error::{A2aError, ERROR_DOMAIN, ErrorKind, Mapping, TABLE, row},
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
        match binding {
            Binding::JsonRpc => members(object, &mut out),
            Binding::HttpJson if is_problem_document(object) => return vec![problem_document()],
            Binding::HttpJson => http_members(object, self.http_status, &mut out),
            // the fields of a gRPC error cannot be of another type
            Binding::Grpc | Binding::Custom(_) => {}
        }
        status(self, binding, &mut out);
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

/// `{code, status, message}` beside `details` (§11.6); `code` repeats the HTTP status.
fn http_members(object: &Value, http_status: Option<u16>, out: &mut Vec<ShapeProblem>) {
    members(object, out);
    if !object.get("status").is_some_and(Value::is_string) {
        out.push(required("/status", "`status` is no string"));
    }
    let (code, status) = (object.get("code").and_then(Value::as_u64), http_status.map(u64::from));
    if let (Some(code), Some(status)) = (code, status)
        && code != status
    {
        let what = format!("`code` is {code}, and the HTTP status is {status}");
        out.push(ShapeProblem { grade: ShapeGrade::Recommended, pointer: "/code".to_owned(), what });
    }
}

/// RFC 9457, which examples in §6.4 and §6.5 still show where §11.6 prescribes `error`.
fn is_problem_document(object: &Value) -> bool {
    object.get("code").is_none() && object.get("message").is_none() && object.get("title").is_some()
}

fn problem_document() -> ShapeProblem {
    let what = "the form of RFC 9457, as older examples show it, in place of `error` with `details`".to_owned();
    ShapeProblem { grade: ShapeGrade::Recommended, pointer: String::new(), what }
}

/// The status must be that of one of the two published mappings; which of them cannot be negotiated (§3.6).
fn status(error: &A2aError, binding: &Binding, out: &mut Vec<ShapeProblem>) {
    let (Some(kind), Some(mapping)) = (error.kind(), error.mapping(binding)) else { return };
    let row = row(kind);
    let [old, new] = match binding {
        Binding::Grpc => row.grpc.map(str::to_owned),
        _ => row.http.map(|status| status.to_string()),
    };
    let seen = match binding {
        Binding::Grpc => error.status.clone(),
        _ => error.http_status.map(|status| status.to_string()),
    };
    let seen = seen.unwrap_or_default();
    let (grade, what) = match mapping {
        Mapping::Both | Mapping::V1_0_1 => return,
        Mapping::V1_0_0 => {
            (ShapeGrade::Recommended, format!("{seen} is the mapping of 1.0.0 for {}; 1.0.1 says {new}", row.name))
        }
        Mapping::Neither => (ShapeGrade::Required, format!("{seen} for {}: 1.0.0 says {old}, 1.0.1 {new}", row.name)),
    };
    out.push(ShapeProblem { grade, pointer: "/status".to_owned(), what });
}

/// Whether the error can only be one of A2A's own, known or not.
fn is_a2a(error: &A2aError) -> bool {
    let may = |own: bool| TABLE.iter().any(|row| row.kind.is_a2a() == own && error.may_mean(row.kind));
    error.kind().map_or_else(|| may(true) && !may(false), ErrorKind::is_a2a)
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
        if is_a2a(error) {
            problem(format!("/{name}"), "no `google.rpc.ErrorInfo` names the reason".to_owned());
        }
        return;
    };
    if !info.get("reason").is_some_and(Value::is_string) {
        problem(format!("/{name}"), "`ErrorInfo.reason` is absent".to_owned());
    }
    if is_a2a(error) && !info.get("domain").is_some_and(|d| d == ERROR_DOMAIN) {
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
    use crate::a2a::{http_json, jsonrpc};

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
    fn http_errors_name_code_status_and_reason() {
        let info =
            |reason: &str| json!([{"@type": super::super::ERROR_INFO, "reason": reason, "domain": ERROR_DOMAIN}]);
        let problems = |status: u16, object: Value| -> Vec<(ShapeGrade, String)> {
            let error = http_json::error_of(&object, status);
            error.shape_problems(&Binding::HttpJson).into_iter().map(|p| (p.grade, p.pointer)).collect()
        };
        let object = |code: u16, status: &str, reason: &str| json!({"code": code, "status": status, "message": "no", "details": info(reason)});
        use ShapeGrade::{Recommended, Required};
        assert_eq!(problems(404, object(404, "NOT_FOUND", "TASK_NOT_FOUND")), []);
        assert_eq!(problems(400, object(400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE")), []);
        let old = problems(409, object(409, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"));
        assert_eq!(old, [(Recommended, "/status".to_owned())], "the mapping of 1.0.0 is named");
        assert_eq!(problems(500, object(500, "INTERNAL", "TASK_NOT_FOUND")), [(Required, "/status".to_owned())]);
        assert_eq!(problems(404, object(400, "NOT_FOUND", "TASK_NOT_FOUND")), [(Recommended, "/code".to_owned())]);
        let without = problems(409, json!({"code": 409, "status": "FAILED_PRECONDITION", "message": "no"}));
        assert_eq!(without, [(Required, "/details".to_owned())], "only A2A's own errors have this status");
        assert_eq!(problems(400, json!({"code": 400, "status": "INVALID_ARGUMENT", "message": "no"})), []);
        let stale = json!({"type": "x", "title": "no", "status": 404});
        assert_eq!(problems(404, stale), [(Recommended, String::new())]);
    }

    #[test]
    fn only_authentication_may_be_refused_by_status_alone() {
        assert_eq!(A2aError::of_status(401).shape_problems(&Binding::JsonRpc), []);
        assert_eq!(A2aError::of_status(500).shape_problems(&Binding::JsonRpc).len(), 1);
    }
}
