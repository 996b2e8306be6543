//! One tool as it stands in a list: nothing dropped, nothing defaulted.

use serde_json::Value;

use super::hint::{Hint, HintKind};

/// One entry of a tool list.
#[derive(Clone, Debug)]
pub struct Tool<'a> {
    value: &'a Value,
    pointer: String,
}

// === impl Tool ===

impl<'a> Tool<'a> {
    pub(super) const fn new(value: &'a Value, pointer: String) -> Self {
        Self { value, pointer }
    }

    /// The entry, whatever it is.
    #[must_use]
    pub const fn value(&self) -> &'a Value {
        self.value
    }

    /// JSON pointer of the entry in its document.
    #[must_use]
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// A member as it stands; `Some(Null)` where it is null.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&'a Value> {
        self.value.get(name)
    }

    /// JSON pointer of a member, or of one below it: `annotations/title`.
    #[must_use]
    pub fn at(&self, under: &str) -> String {
        format!("{}/{under}", self.pointer)
    }

    /// The name, where it is a text.
    #[must_use]
    pub fn name(&self) -> Option<&'a str> {
        self.member("name").and_then(Value::as_str)
    }

    /// The description, where it is a text.
    #[must_use]
    pub fn description(&self) -> Option<&'a str> {
        self.member("description").and_then(Value::as_str)
    }

    /// The annotations, where they are an object.
    #[must_use]
    pub fn annotations(&self) -> Option<&'a serde_json::Map<String, Value>> {
        self.member("annotations").and_then(Value::as_object)
    }

    /// The four hints with what is declared and what follows by default.
    #[must_use]
    pub fn hints(&self) -> [Hint; 4] {
        HintKind::ALL.map(|kind| Hint::read(kind, self.annotations()))
    }

    /// What a consumer must reckon with, hint by hint; `None` where the specification gives a hint no meaning: what only
    /// reads neither destroys nor needs to be repeatable. A tool that declares both reading only and destroying gets the
    /// worse of its claims.
    #[must_use]
    pub fn effective(&self) -> [(HintKind, Option<bool>); 4] {
        let [read_only, destructive, ..] = self.hints();
        let contradiction = read_only.says(true) && destructive.says(true);
        let reads = read_only.effective() && !contradiction;
        self.hints().map(|hint| {
            let value = match hint.kind {
                HintKind::ReadOnly => Some(reads),
                HintKind::Destructive | HintKind::Idempotent if reads => None,
                _ => Some(hint.effective()),
            };
            (hint.kind, value)
        })
    }

    /// One hint.
    #[must_use]
    pub fn hint(&self, kind: HintKind) -> Hint {
        Hint::read(kind, self.annotations())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn effective(annotations: &Value) -> [Option<bool>; 4] {
        let tool = json!({"name": "a", "annotations": annotations});
        Tool::new(&tool, String::new()).effective().map(|(_, value)| value)
    }

    #[test]
    fn defaults_are_applied_and_meaningless_hints_have_no_value() {
        assert_eq!(effective(&Value::Null), [Some(false), Some(true), Some(false), Some(true)]);
        assert_eq!(effective(&json!({"readOnlyHint": true})), [Some(true), None, None, Some(true)]);
        let both = json!({"readOnlyHint": true, "destructiveHint": true, "openWorldHint": false});
        assert_eq!(effective(&both), [Some(false), Some(true), Some(false), Some(false)], "the worse of both claims");
    }
}
