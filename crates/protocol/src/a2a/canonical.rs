//! One form of a message, whichever binding brought it: what two bindings say can be compared.
//!
//! A message goes once through the tables of the data definition (§1.4) and back. So enums stand by their names, times
//! have the digits that they need, base64 one alphabet, numbers one form, and a member at its default is as good as none.
//! What the definition does not know is left out, as every reader must be able to (§3.6).

use serde_json::{Map, Value};

use crate::a2a::grpc::{
    self, WriteError,
    schema::{self, Field, Kind, Message, Rule},
};

/// The form of a task.
///
/// # Errors
/// When a member has no form of the definition: a time without zone, a number where a text must be.
pub fn task(value: &Value) -> Result<Value, WriteError> {
    of("Task", value)
}

fn of(name: &str, value: &Value) -> Result<Value, WriteError> {
    let message = schema::ALL.iter().find(|m| m.name == name).expect("the tables have every message, as a test shows");
    let bytes = grpc::write(message, &known(message, value))?;
    Ok(grpc::read(message, &bytes).expect("what was written by the tables is read by them"))
}

/// The members that the definition knows.
fn known(message: &Message, value: &Value) -> Value {
    let Value::Object(members) = value else { return value.clone() };
    let keep = |(name, value): (&String, &Value)| message.named(name).map(|f| (name.clone(), of_field(f, value)));
    Value::Object(members.iter().filter_map(keep).collect::<Map<_, _>>())
}

fn of_field(field: &Field, value: &Value) -> Value {
    let Kind::Message(message) = field.kind else { return value.clone() };
    match (field.rule, value) {
        (Rule::Map, Value::Object(entries)) => {
            entries.iter().map(|(key, inner)| (key.clone(), known(message, inner))).collect::<Map<_, _>>().into()
        }
        (Rule::List | Rule::RequiredList, Value::Array(items)) => {
            items.iter().map(|item| known(message, item)).collect::<Vec<_>>().into()
        }
        _ => known(message, value),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn forms_that_bindings_differ_in_are_one() {
        let named = json!({
            "id": "t", "contextId": "", "metadata": null, "kind": "task",
            "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-11-30T09:00:00.500Z"},
            "artifacts": [{"artifactId": "a", "name": "", "parts": [
                {"raw": "_-8", "mediaType": "image/png"}, {"data": {"words": 3}, "extra": 1}]}],
        });
        let numbered = json!({
            "id": "t",
            "status": {"state": 3, "timestamp": "2026-11-30T09:00:00.500000Z"},
            "artifacts": [{"artifactId": "a", "parts": [
                {"raw": "/+8=", "mediaType": "image/png"}, {"data": {"words": 3.0}}], "extensions": []}],
            "history": [],
        });
        assert_eq!(task(&named), task(&numbered));
    }

    #[test]
    fn what_differs_stays_different() {
        let one = json!({"id": "t", "status": {"state": "TASK_STATE_WORKING"}});
        for other in [
            json!({"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}}),
            json!({"id": "t", "status": {"state": "TASK_STATE_WORKING", "timestamp": "2026-11-30T09:00:00Z"}}),
            json!({"id": "t", "status": {"state": "TASK_STATE_WORKING"}, "artifacts": [{"artifactId": "a", "parts": []}]}),
        ] {
            assert_ne!(task(&one), task(&other), "{other}");
        }
    }

    #[test]
    fn what_has_no_form_says_where() {
        let zoneless = json!({"id": "t", "status": {"state": 3, "timestamp": "2026-11-30T09:00:00"}});
        assert_eq!(task(&zoneless).unwrap_err().path, "status.timestamp");
    }
}
