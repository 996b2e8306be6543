//! `a2a-task-machine.yaml`: which steps the states of a task may take, under this contract.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ostiary_protocol::a2a::task::TaskState;

use crate::{
    decode::{Cx, Located, did_you_mean, file_type},
    problem::{Code, Position},
    yaml::Node,
};

file_type! {
    /// `a2a-task-machine.yaml`.
    pub struct MachineFile {
        /// The machine.
        task_machine: TaskMachine,
    }
}

file_type! {
    /// The allowed edges of a task, by the state names of A2A 1.0.
    pub struct TaskMachine {
        /// States in which a task may first be seen.
        initial: Vec<Located<String>>,
        /// From each state, where a task may go next. A state may always be reported again.
        allowed: BTreeMap<String, Vec<Located<String>>>,
        /// States that a task never leaves.
        terminal: Vec<Located<String>>,
    }
}

/// The states of A2A 1.0 that may be sent.
fn states() -> Vec<&'static str> {
    TaskState::ALL.into_iter().filter(|s| *s != TaskState::Unspecified).map(TaskState::as_str).collect()
}

fn known(state: &str) -> bool {
    states().contains(&state)
}

/// Whether the standard itself makes the state terminal.
fn standard_terminal(state: &str) -> bool {
    TaskState::parse(state).is_some_and(TaskState::is_terminal)
}

// === impl TaskMachine ===

impl TaskMachine {
    /// Whether a task may go from one state to the next; staying is always allowed.
    #[must_use]
    pub fn allows(&self, from: &str, to: &str) -> bool {
        from == to || self.allowed.get(from).is_some_and(|next| next.iter().any(|s| s.value == to))
    }

    /// Whether a task may be seen in `to` some time after `from`, as a poll sees it.
    #[must_use]
    pub fn reaches(&self, from: &str, to: &str) -> bool {
        from == to || self.closure([from]).contains(to)
    }

    /// Whether a task may first be seen in this state; between creation and a poll it may have moved on.
    #[must_use]
    pub fn may_start_in(&self, state: &str) -> bool {
        self.initial.iter().any(|s| s.value == state)
    }

    /// Whether the contract makes the state terminal.
    #[must_use]
    pub fn is_terminal(&self, state: &str) -> bool {
        self.terminal.iter().any(|s| s.value == state)
    }

    /// All states that can be reached from `start`, which are part of it.
    fn closure<'s>(&'s self, start: impl IntoIterator<Item = &'s str>) -> BTreeSet<&'s str> {
        let mut open: VecDeque<&str> = start.into_iter().collect();
        let mut seen: BTreeSet<&str> = open.iter().copied().collect();
        while let Some(state) = open.pop_front() {
            for next in self.allowed.get(state).into_iter().flatten() {
                if seen.insert(&next.value) {
                    open.push_back(&next.value);
                }
            }
        }
        seen
    }

    /// Reports everything by which the machine contradicts itself or the standard.
    pub(crate) fn check(&self, root: &Node, cx: &mut Cx<'_>) {
        let keys = key_positions(root);
        let at_key = |state: &str| keys.get(state).copied().unwrap_or_default();
        self.check_names(&at_key, cx);
        for (state, _) in self.allowed.iter().filter(|(s, next)| self.is_terminal(s) && !next.is_empty()) {
            let message = format!("`{state}` is terminal and has outgoing edges");
            cx.problem_with_hint(
                at_key(state),
                Code::TerminalHasEdges,
                message,
                "a task never leaves a terminal state",
            );
        }
        self.check_terminal(root, cx);
        self.check_paths(&at_key, cx);
    }

    fn check_names(&self, at_key: &dyn Fn(&str) -> Position, cx: &mut Cx<'_>) {
        let listed = self.initial.iter().chain(&self.terminal).chain(self.allowed.values().flatten());
        let named = listed.map(|s| (s.value.as_str(), s.at));
        let keyed = self.allowed.keys().map(|s| (s.as_str(), at_key(s)));
        for (state, at) in named.chain(keyed).filter(|(s, _)| !known(s)) {
            let message = format!("`{}` is no task state of A2A 1.0", crate::yaml::clip(state));
            cx.problem_with_hint(at, Code::StateUnknown, message, did_you_mean(state, &states()));
        }
    }

    fn check_terminal(&self, root: &Node, cx: &mut Cx<'_>) {
        for state in self.terminal.iter().filter(|s| known(s) && !standard_terminal(s)) {
            let message = format!("the standard does not make `{}` terminal", state.value);
            cx.problem(state.at, Code::TerminalContradicts, message);
        }
        let used = |s: &str| self.allowed.values().flatten().chain(&self.initial).any(|l| l.value == s);
        for state in states().into_iter().filter(|s| standard_terminal(s) && used(s) && !self.is_terminal(s)) {
            let message = format!("the standard makes `{state}` terminal, and it is not listed as such");
            let at = root.get("task_machine").and_then(|m| m.get("terminal")).map_or(root.at, |n| n.at);
            cx.problem_with_hint(at, Code::TerminalContradicts, message, "add it to `terminal`");
        }
        for state in self.initial.iter().filter(|s| self.is_terminal(s)) {
            cx.problem(state.at, Code::Contradiction, format!("`{}` is initial and terminal", state.value));
        }
        if self.initial.is_empty() {
            let at = root.get("task_machine").and_then(|m| m.get("initial")).map_or(root.at, |n| n.at);
            cx.problem(at, Code::InvalidValue, "no initial state is listed");
        }
    }

    fn check_paths(&self, at_key: &dyn Fn(&str) -> Position, cx: &mut Cx<'_>) {
        let reached = self.closure(self.initial.iter().map(|s| s.value.as_str()));
        for state in self.allowed.keys().filter(|s| known(s) && !self.is_terminal(s) && !reached.contains(s.as_str())) {
            let message = format!("no path from an initial state reaches `{state}`");
            cx.problem(at_key(state), Code::StateUnreachable, message);
        }
        for state in self.terminal.iter().filter(|s| known(s) && !reached.contains(s.as_str())) {
            let message = format!("no path from an initial state reaches `{}`", state.value);
            cx.problem(state.at, Code::StateUnreachable, message);
        }
        let stuck = |s: &str| !self.is_terminal(s) && self.allowed.get(s).is_none_or(Vec::is_empty);
        let mut seen = BTreeSet::new();
        for state in self.initial.iter().chain(self.allowed.values().flatten()) {
            let name = state.value.as_str();
            if known(name) && !standard_terminal(name) && stuck(name) && seen.insert(name) {
                let message = format!("`{name}` is not terminal and has no way on");
                cx.problem_with_hint(state.at, Code::StateDeadEnd, message, "list its next states under `allowed`");
            }
        }
    }
}

fn key_positions(root: &Node) -> BTreeMap<&str, Position> {
    let allowed = root.get("task_machine").and_then(|m| m.get("allowed"));
    match allowed.map(|n| &n.value) {
        Some(crate::yaml::Value::Map(entries)) => entries.iter().map(|e| (e.key.as_str(), e.at)).collect(),
        _ => BTreeMap::new(),
    }
}
