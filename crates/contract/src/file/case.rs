//! `cases/**/*.yaml`: examples that are executed. A *judge* case holds an observed answer and proves that the judge
//! catches it; a *live* case is run against the target; a *negative* is one of the standard ones, by name.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

pub use body::{
    CardExtension, CaseBody, Expect, ExpectedAdmission, ExpectedResult, Given, NegativeName, ProviderState,
};
pub use body::{NegativesFile, Then, When};

use crate::{
    decode::{Cx, Decode, Located},
    problem::{Code, Position},
    yaml::Node,
};

mod body;

/// What a case file may hold.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum CaseFile {
    /// One case.
    One(Box<CaseBody>),
    /// Standard negatives by name.
    Negatives(NegativesFile),
}

/// Why a case is in the bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseSet {
    /// It must succeed.
    Positive,
    /// Something must be caught or refused.
    Negative,
    /// It once went wrong in production.
    Regression,
}

/// One case to be executed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Case {
    /// Its name, unique in the bundle.
    pub id: String,
    /// Its file.
    pub path: String,
    /// Where in the file it begins.
    #[serde(skip)]
    pub at: Position,
    /// Why it is there.
    pub set: CaseSet,
    /// What is to be done.
    pub kind: CaseKind,
}

/// What executing a case means.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseKind {
    /// Judge an observed answer, without any target.
    Judge(Box<JudgeCase>),
    /// Run against the target.
    Live(Box<LiveCase>),
    /// Run the standard negative of that name against the target.
    Negative(NegativeName),
}

/// An observed answer, and what the judge must say about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgeCase {
    /// What stood before the call.
    pub given: Given,
    /// What was called.
    pub when: When,
    /// What came back.
    pub observed: Then,
    /// What the judge must say.
    pub expect: Expect,
}

/// A run against the target, and what must come of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveCase {
    /// What is run.
    pub probe: Probe,
    /// What stands before the run; changes the declaration first where it says so.
    pub given: Given,
    /// What must be seen, where the case says it in `then`.
    pub then: Option<Then>,
    /// What must come of it, where the case says it in `expect`.
    pub expect: Option<Expect>,
}

/// What a live case runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// Nothing is called: the declaration, changed as `given` says, is judged.
    Declaration,
    /// A subject of one tenant reaches for a task of a tenant.
    Access {
        /// The tenant of the subject.
        subject_tenant: String,
        /// The tenant that owns the task.
        target_task_tenant: String,
        /// What it tries: `a2a.get_task`, `a2a.cancel_task`.
        operation: String,
    },
    /// A tool, skill or operation is called.
    Call(When),
}

// === impl Case ===

impl Case {
    /// What it calls, where it calls something.
    #[must_use]
    pub fn when(&self) -> Option<&When> {
        match &self.kind {
            CaseKind::Judge(judge) => Some(&judge.when),
            CaseKind::Live(live) => match &live.probe {
                Probe::Call(when) => Some(when),
                Probe::Declaration | Probe::Access { .. } => None,
            },
            CaseKind::Negative(_) => None,
        }
    }

    /// What it expects in `expect`.
    #[must_use]
    pub fn expect(&self) -> Option<&Expect> {
        match &self.kind {
            CaseKind::Judge(judge) => Some(&judge.expect),
            CaseKind::Live(live) => live.expect.as_ref(),
            CaseKind::Negative(_) => None,
        }
    }
}

// === impl CaseFile ===

impl Decode for CaseFile {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        if node.get("negative_cases").is_some() {
            return NegativesFile::decode(node, cx).map(Self::Negatives);
        }
        CaseBody::decode(node, cx).map(|body| Self::One(Box::new(body)))
    }
}

impl CaseFile {
    /// The cases of the file; what cannot be executed is reported.
    pub(crate) fn into_cases(self, at: Position, set: CaseSet, cx: &mut Cx<'_>) -> Vec<Case> {
        let path = cx.file.to_owned();
        match self {
            Self::One(body) => {
                let id = body.case.value.clone();
                let kind = body.into_kind(at, cx);
                kind.map(|kind| Case { id, path, at, set, kind }).into_iter().collect()
            }
            Self::Negatives(file) => {
                let case = |n: Located<NegativeName>| Case {
                    id: n.value.as_str().to_owned(),
                    path: path.clone(),
                    at: n.at,
                    set,
                    kind: CaseKind::Negative(n.value),
                };
                file.negative_cases.into_iter().map(case).collect()
            }
        }
    }
}

// === impl CaseBody ===

impl CaseBody {
    fn into_kind(self, at: Position, cx: &mut Cx<'_>) -> Option<CaseKind> {
        let given = self.given.clone().unwrap_or_default();
        if self.then.is_none() && self.expect.is_none() {
            cx.problem_with_hint(at, Code::MissingKey, "the case expects nothing", "write `expect`, or `then`");
            return None;
        }
        if let (Some(observed), Some(expect)) = (self.then.as_ref().filter(|t| t.is_answer()), &self.expect) {
            let Some(when) = self.when else {
                cx.problem_with_hint(at, Code::MissingKey, "an observed answer without its call", "write `when`");
                return None;
            };
            let (observed, expect) = (observed.clone(), expect.clone());
            return Some(CaseKind::Judge(Box::new(JudgeCase { given, when, observed, expect })));
        }
        let probe = self.probe(&given, at, cx)?;
        Some(CaseKind::Live(Box::new(LiveCase { probe, given, then: self.then, expect: self.expect })))
    }

    fn probe(&self, given: &Given, at: Position, cx: &mut Cx<'_>) -> Option<Probe> {
        match (&self.subject_tenant, &self.target_task_tenant, &self.operation, &self.when) {
            (Some(subject), Some(target), Some(operation), None) => Some(Probe::Access {
                subject_tenant: subject.clone(),
                target_task_tenant: target.clone(),
                operation: operation.value.clone(),
            }),
            (None, None, None, Some(when)) => Some(Probe::Call(when.clone())),
            (None, None, None, None) if given.changes_declaration() => Some(Probe::Declaration),
            (None, None, None, None) => {
                let hint =
                    "write `when`, or `given.card_extension`, or subject_tenant, target_task_tenant and operation";
                cx.problem_with_hint(at, Code::MissingKey, "the case runs nothing", hint);
                None
            }
            _ => {
                let message = "a case of access names subject_tenant, target_task_tenant and operation, and no `when`";
                cx.problem(at, Code::Contradiction, message);
                None
            }
        }
    }
}

// === impl Then ===

impl Then {
    /// Whether it holds an answer, and not only expectations of effects.
    #[must_use]
    pub const fn is_answer(&self) -> bool {
        self.is_error.is_some()
            || self.structured_content.is_some()
            || self.content.is_some()
            || self.error.is_some()
            || self.result.is_some()
            || self.stream.is_some()
    }

    /// The answer of a tool as the protocol would carry it, where it is one.
    #[must_use]
    pub fn tool_result(&self) -> Option<Value> {
        if self.is_error.is_none() && self.structured_content.is_none() && self.content.is_none() {
            return None;
        }
        let mut result = serde_json::Map::new();
        let members = [
            ("isError", self.is_error.map(Value::Bool)),
            ("structuredContent", self.structured_content.clone()),
            ("content", self.content.clone()),
        ];
        for (key, value) in members {
            if let Some(value) = value {
                result.insert(key.to_owned(), value);
            }
        }
        Some(Value::Object(result))
    }
}

// === impl Given ===

impl Given {
    /// Whether it changes the declaration before anything is judged.
    #[must_use]
    pub const fn changes_declaration(&self) -> bool {
        self.card_extension.is_some() || self.card.is_some()
    }
}
