//! The interpreter of a bundle's cases: each case is executed and must yield its own expectation.
//!
//! There is no second step language: a case names what happened, or what is to happen, and this module turns that into
//! facts that the ordinary checks judge. A case that cannot be executed is INCONCLUSIVE and says what is missing; a case
//! that yields something else than it expects is a FAIL. Start with [`runner`], which says how each case is executed.

use ostiary_contract::{Case, CaseKind, CaseSet, Probe};
use ostiary_record::{EventRef, Finding, Layer, ReasonCode};

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    discover::BUNDLE_PREFIX,
    facts::Facts,
    scenario::Scenario,
};

mod access;
mod answer;
mod call;
mod declaration;
mod effects;
mod errors;
mod expect;
mod negative;
mod tool_result;

pub(crate) use negative::scenarios_of;

/// How a case is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runner {
    /// The declaration, changed as the case says, is judged.
    Declaration,
    /// A tool's answer is judged by its schema.
    ToolResult,
    /// An answer of the agent is judged as if it had come over the wire.
    Answer,
    /// The agent is called.
    Call,
    /// A subject reaches for a task of a tenant.
    Access,
    /// A tool is called and its effects are observed.
    Effects,
    /// The standard negative of that name, in the layer it belongs to.
    Negative(Layer),
}

/// How a case is executed.
pub(crate) fn runner(case: &Case) -> Runner {
    match &case.kind {
        CaseKind::Judge(judge) if judge.observed.tool_result().is_some() => Runner::ToolResult,
        CaseKind::Judge(_) => Runner::Answer,
        CaseKind::Live(live) => match &live.probe {
            Probe::Declaration => Runner::Declaration,
            Probe::Access { .. } => Runner::Access,
            Probe::Call(when) if when.tool_name().is_some() => Runner::Effects,
            Probe::Call(_) => Runner::Call,
        },
        CaseKind::Negative(name) => Runner::Negative(negative::layer(*name)),
    }
}

/// The scenarios that live cases need.
pub(crate) fn scenarios() -> Vec<Box<dyn Scenario>> {
    vec![Box::new(call::CallCase), Box::new(access::AccessCase)]
}

/// The checks that execute error contracts and cases, one a way of execution.
pub(crate) fn checks() -> Vec<Box<dyn Check>> {
    let all: [&'static CaseCheck; 11] = [
        &DECLARATION,
        &TOOL_RESULT,
        &ANSWER,
        &CALL,
        &ACCESS,
        &EFFECTS,
        &NEGATIVES[0],
        &NEGATIVES[1],
        &NEGATIVES[2],
        &NEGATIVES[3],
        &NEGATIVES[4],
    ];
    let mut out: Vec<Box<dyn Check>> = vec![Box::new(errors::ErrorContracts)];
    out.extend(all.into_iter().map(|check| Box::new(check) as Box<dyn Check>));
    out
}

/// Executes the cases of one kind.
struct CaseCheck {
    spec: CheckSpec,
    runner: Runner,
    execute: fn(&Facts<'_>, &Case) -> Vec<Finding>,
}

// === impl CaseCheck ===

impl Check for &'static CaseCheck {
    fn spec(&self) -> &'static CheckSpec {
        &self.spec
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let only = &facts.options().only;
        let named = |case: &&Case| facts.case().is_none_or(|id| id.0 == case.id);
        let mine = |case: &&Case| runner(case) == self.runner && (only.is_empty() || wanted(only, self.spec.id, case));
        let cases: Vec<&Case> = facts.bundle().cases.iter().filter(mine).filter(named).collect();
        if cases.is_empty() {
            return vec![facts.not_applicable("contract.yaml", "/contract_bundle/examples")];
        }
        let execute = |case: &Case| {
            let findings = (self.execute)(facts, case);
            findings.into_iter().map(|f| placed(f, case)).collect::<Vec<_>>()
        };
        cases.into_iter().flat_map(execute).collect()
    }
}

/// Whether a selection of checks, scenarios and cases holds the case: by its own name, or by that of its check.
fn wanted(only: &[String], check: &str, case: &Case) -> bool {
    only.iter().any(|o| *o == case.id || o == check || o == call::ID || o == access::ID)
}

/// The finding as one of this case, pointing at its place in the bundle. A past incident is tried for its own sake (O-03).
fn placed(mut finding: Finding, case: &Case) -> Finding {
    finding.case = Some(case.id.as_str().into());
    if case.set == CaseSet::Regression {
        finding.covers.push("O-03".into());
    }
    if finding.place.file.is_none() {
        finding.place.file = Some(case.path.clone());
        finding.place.line = Some(case.at.line).filter(|line| *line > 0);
    }
    finding
}

/// The event that shows the case itself: its file on the discovery tape.
fn document(facts: &Facts<'_>, case: &Case) -> Vec<EventRef> {
    facts.document(&format!("{BUNDLE_PREFIX}{}", case.path)).map(|(_, at)| at).into_iter().collect()
}

const fn spec(id: &'static str, summary: &'static str, layer: Layer, liar: &'static str) -> CheckSpec {
    CheckSpec {
        id,
        version: 2,
        summary,
        layer,
        gate: layer.blocks(),
        covers: &["B-01"],
        reads: Reads::Declarations,
        depends: &[Input::Contract],
        reasons: &[ReasonCode::CaseExpectationFailed],
        severity: ostiary_record::Severity::Error,
        liar,
    }
}

static DECLARATION: CaseCheck = CaseCheck {
    spec: CheckSpec {
        covers: &["C-08", "G-01"],
        depends: &[Input::Card, Input::Contract, Input::Consumers],
        ..spec(
            "case.declaration",
            "A card changed as a case says is judged as the case expects.",
            Layer::Declaration,
            "an_altered_expectation_of_a_declaration_fails",
        )
    },
    runner: Runner::Declaration,
    execute: declaration::execute,
};

static TOOL_RESULT: CaseCheck = CaseCheck {
    spec: CheckSpec {
        covers: &["J-03", "G-01"],
        ..spec(
            "case.tool_result",
            "A tool's answer that a case holds is judged as the case expects.",
            Layer::Schema,
            "an_altered_expectation_of_a_tool_result_fails",
        )
    },
    runner: Runner::ToolResult,
    execute: tool_result::execute,
};

static ANSWER: CaseCheck = CaseCheck {
    spec: CheckSpec {
        covers: &["G-01", "E-01"],
        ..spec(
            "case.answer",
            "An answer of the agent that a case holds is judged as the case expects.",
            Layer::Protocol,
            "an_altered_expectation_of_an_answer_fails",
        )
    },
    runner: Runner::Answer,
    execute: answer::execute,
};

static CALL: CaseCheck = CaseCheck {
    spec: CheckSpec {
        covers: &["S-01", "G-01"],
        reads: Reads::Each(&[call::ID]),
        depends: &[Input::Candidate, Input::Contract],
        reasons: &[ReasonCode::CaseExpectationFailed, ReasonCode::ObserverMissing],
        ..spec(
            "case.call",
            "A call that a case describes leads to what the case expects.",
            Layer::Protocol,
            "an_altered_expectation_of_a_call_fails",
        )
    },
    runner: Runner::Call,
    execute: call::execute,
};

static ACCESS: CaseCheck = CaseCheck {
    spec: CheckSpec {
        covers: &["T-05", "Z-01", "G-01"],
        reads: Reads::Each(&[access::ID]),
        depends: &[Input::Candidate, Input::Contract, Input::Environment],
        ..spec(
            "case.access",
            "An access that a case describes is granted or refused as the case expects.",
            Layer::Authorization,
            "an_altered_expectation_of_an_access_fails",
        )
    },
    runner: Runner::Access,
    execute: access::execute,
};

static EFFECTS: CaseCheck = CaseCheck {
    spec: CheckSpec {
        covers: &["N-02", "F-01"],
        depends: &[Input::Candidate, Input::Contract, Input::Environment],
        reasons: &[ReasonCode::CaseExpectationFailed, ReasonCode::ObserverMissing],
        ..spec(
            "case.effects",
            "A tool call that a case describes has the effects that the case expects, and no others.",
            Layer::Behavior,
            "effects_without_observers_name_the_missing_observers",
        )
    },
    runner: Runner::Effects,
    execute: effects::execute,
};

const fn negatives(id: &'static str, layer: Layer, reads: Reads) -> CaseCheck {
    CaseCheck {
        spec: CheckSpec {
            covers: &["G-01"],
            reads,
            depends: &[Input::Card, Input::Candidate, Input::Contract, Input::Environment],
            reasons: &[ReasonCode::CaseExpectationFailed, ReasonCode::ObserverMissing, ReasonCode::DoubleNotAllowed],
            ..spec(
                id,
                "A standard negative that the contract names is refused or caught.",
                layer,
                "a_named_negative_fails_where_its_scenario_shows_the_lie",
            )
        },
        runner: Runner::Negative(layer),
        execute: negative::execute,
    }
}

static NEGATIVES: [CaseCheck; 5] = [
    negatives("case.negative.declaration", Layer::Declaration, Reads::Declarations),
    negatives("case.negative.schema", Layer::Schema, Reads::Everything),
    negatives("case.negative.protocol", Layer::Protocol, Reads::Everything),
    negatives("case.negative.authorization", Layer::Authorization, Reads::Everything),
    negatives("case.negative.behavior", Layer::Behavior, Reads::Everything),
];
