//! `operations.yaml`: what each skill and tool does to the world, and how that can be proved.

use crate::{
    decode::{Cx, Located, choice, file_type},
    problem::{Code, Position},
};

file_type! {
    /// `operations.yaml`.
    pub struct OperationsFile {
        /// One entry a skill or tool.
        operations: Vec<Located<Operation>>,
    }
}

file_type! {
    /// The business side of one A2A skill or one MCP tool.
    pub struct Operation {
        /// The skill, by its id in the card.
        skill: Option<Located<String>>,
        /// The tool, by its name.
        tool: Option<Located<String>>,
        /// What it may do.
        risk: Risk,
        /// Where the business idempotency key stands in the input, as a JSON pointer.
        idempotency_key: Option<Located<String>>,
        /// Where the result can be counted.
        ledger: Option<Ledger>,
        /// Where a canceled task says that what it had done must be compensated, as a JSON pointer into the task.
        compensation: Option<Located<String>>,
        /// Whether a person must have agreed.
        approval: Approval = default,
        /// Environments in which it may be called.
        cleared_in: Vec<String> = default,
        /// What must be read back after success.
        expected_readback: Option<serde_json::Value>,
    }
}

file_type! {
    /// Where the results of an operation can be counted from outside.
    pub struct Ledger {
        /// A table that an observer sees.
        table: Option<String>,
        /// A tool that reads the result back.
        readback_tool: Option<Located<String>>,
    }
}

choice! {
    /// What an operation may do.
    pub enum Risk {
        /// Nothing but look.
        Read = "read",
        /// Add or change.
        Write = "write",
        /// Remove, or what cannot be taken back.
        Destructive = "destructive",
    }
}

choice! {
    /// Whether a person must have agreed.
    #[derive(Default)]
    pub enum Approval {
        /// No.
        #[default]
        NotRequired = "not_required",
        /// Yes.
        Required = "required",
    }
}

// === impl Operation ===

impl Operation {
    /// Reports what the entry's keys say against each other.
    fn check(&self, at: Position, cx: &mut Cx<'_>) {
        if self.skill.is_some() == self.tool.is_some() {
            let message = "an operation names one skill or one tool, not both and not neither";
            cx.problem_with_hint(at, Code::InvalidValue, message, "write `skill: <id>` or `tool: <name>`");
        }
        let pointers = [&self.idempotency_key, &self.compensation];
        for pointer in pointers.into_iter().flatten().filter(|p| !p.starts_with('/')) {
            let message = format!("`{}` is no JSON pointer", crate::yaml::clip(pointer));
            cx.problem_with_hint(pointer.at, Code::InvalidValue, message, format!("write `/{}`", pointer.value));
        }
        if self.ledger.as_ref().is_some_and(|l| l.table.is_some() == l.readback_tool.is_some()) {
            let message = "a ledger is one table or one readback tool";
            cx.problem_with_hint(at, Code::InvalidValue, message, "write `table: <name>` or `readback_tool: <tool>`");
        }
    }

    /// The name of the skill or tool.
    #[must_use]
    pub fn subject(&self) -> &str {
        self.skill.as_ref().or(self.tool.as_ref()).map_or("", |s| s.value.as_str())
    }
}

// === impl OperationsFile ===

impl OperationsFile {
    /// The entries, after reporting what each says against itself.
    pub(crate) fn into_operations(self, cx: &mut Cx<'_>) -> Vec<Operation> {
        let mut out = Vec::new();
        for Located { value, at } in self.operations {
            value.check(at, cx);
            out.push(value);
        }
        out
    }
}
