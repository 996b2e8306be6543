//! The four behaviour hints of a tool (`ToolAnnotations`).
//!
//! A hint is what the server says of itself: a claim that a test may contradict, never a permission (N-01). What is not
//! said counts as the worst case, which is what the specification's defaults are.

use serde_json::{Map, Value};

/// Which hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HintKind {
    /// `readOnlyHint`
    ReadOnly,
    /// `destructiveHint`
    Destructive,
    /// `idempotentHint`
    Idempotent,
    /// `openWorldHint`
    OpenWorld,
}

/// What stands in the declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// Nothing.
    Absent,
    /// `null`, which strict readers refuse.
    Null,
    /// A truth value.
    Is(bool),
    /// Something else, which says nothing.
    NotBoolean,
}

/// One hint of one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// Which.
    pub kind: HintKind,
    /// What is declared.
    pub declared: Declared,
}

// === impl HintKind ===

impl HintKind {
    /// All four, in the specification's order.
    pub const ALL: [Self; 4] = [Self::ReadOnly, Self::Destructive, Self::Idempotent, Self::OpenWorld];

    /// The member of `annotations`.
    #[must_use]
    pub const fn member(self) -> &'static str {
        match self {
            Self::ReadOnly => "readOnlyHint",
            Self::Destructive => "destructiveHint",
            Self::Idempotent => "idempotentHint",
            Self::OpenWorld => "openWorldHint",
        }
    }

    /// The specification's default, the same in all revisions.
    #[must_use]
    pub const fn default(self) -> bool {
        matches!(self, Self::Destructive | Self::OpenWorld)
    }
}

// === impl Hint ===

impl Hint {
    pub(super) fn read(kind: HintKind, annotations: Option<&Map<String, Value>>) -> Self {
        let declared = match annotations.and_then(|a| a.get(kind.member())) {
            None => Declared::Absent,
            Some(Value::Null) => Declared::Null,
            Some(Value::Bool(value)) => Declared::Is(*value),
            Some(_) => Declared::NotBoolean,
        };
        Self { kind, declared }
    }

    /// What a consumer must reckon with: the declared value, else the default.
    #[must_use]
    pub const fn effective(self) -> bool {
        match self.declared {
            Declared::Is(value) => value,
            Declared::Absent | Declared::Null | Declared::NotBoolean => self.kind.default(),
        }
    }

    /// Whether this very value is declared.
    #[must_use]
    pub fn says(self, value: bool) -> bool {
        self.declared == Declared::Is(value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn effective(annotations: &Value) -> [bool; 4] {
        HintKind::ALL.map(|kind| Hint::read(kind, annotations.as_object()).effective())
    }

    #[test]
    fn what_is_not_said_is_the_worst_case() {
        assert_eq!(effective(&json!({})), [false, true, false, true]);
        assert_eq!(effective(&json!({"readOnlyHint": "true", "destructiveHint": 0})), [false, true, false, true]);
        assert_eq!(effective(&json!({"readOnlyHint": null})), [false, true, false, true]);
    }

    #[test]
    fn what_is_said_stands() {
        let said =
            json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false});
        assert_eq!(effective(&said), [true, false, true, false]);
    }
}
