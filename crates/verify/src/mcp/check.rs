//! The checks of tool lists, of the bundle's and of live ones: one an aspect, all over the same lint, which is made once a
//! judgement.

use ostiary_contract::{Bundle, file::tools::ToolSnapshot};
use ostiary_protocol::mcp::Revision;
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};

use super::{
    Held,
    lint::{Aspect, Issue, Lint},
    live::View,
};
use crate::{
    check::{Check, CheckSpec, Input, Reads},
    discover::BUNDLE_PREFIX,
    facts::Facts,
};

/// All checks of tool snapshots, in the order of the documentation.
pub(crate) fn checks() -> Vec<Box<dyn Check>> {
    TABLE.iter().map(|row| Box::new(ToolCheck(row)) as Box<dyn Check>).collect()
}

/// A check of one aspect.
struct ToolCheck(&'static (Aspect, CheckSpec));

/// What all rows share.
const SHARED: CheckSpec = CheckSpec {
    id: "",
    version: 1,
    summary: "",
    layer: Layer::Declaration,
    gate: Gate::Static,
    covers: &[],
    reads: Reads::Declarations,
    depends: &[Input::Contract],
    reasons: &[],
    severity: Severity::Error,
    liar: "",
};

static TABLE: [(Aspect, CheckSpec); 7] = [
    (
        Aspect::List,
        CheckSpec {
            id: "mcp.tools.list",
            summary: "A tool snapshot is one whole answer to tools/list, without two tools of one name.",
            covers: &["M-04"],
            reasons: &[
                ReasonCode::ToolListMalformed,
                ReasonCode::ToolListNotRecognized,
                ReasonCode::ToolListIncomplete,
                ReasonCode::ToolNameDuplicate,
                ReasonCode::ToolFieldMissing,
                ReasonCode::ToolFieldInvalid,
            ],
            liar: "a_first_page_and_two_tools_of_one_name_are_caught",
            ..SHARED
        },
    ),
    (
        Aspect::Members,
        CheckSpec {
            id: "mcp.tools.members",
            summary: "Each tool has the members that its revision requires, of the right types.",
            covers: &["M-04"],
            reasons: &[ReasonCode::ToolFieldMissing, ReasonCode::ToolFieldInvalid, ReasonCode::ToolNameInvalid],
            liar: "a_tool_without_schema_is_caught_alone",
            ..SHARED
        },
    ),
    (
        Aspect::Schema,
        CheckSpec {
            id: "mcp.tools.schema",
            summary: "Each schema of a tool is valid for its dialect, bounded, and of the root that its revision demands.",
            covers: &["M-04", "J-01"],
            reasons: &[
                ReasonCode::ToolSchemaInvalid,
                ReasonCode::ToolSchemaDialectUnknown,
                ReasonCode::ToolSchemaTooLarge,
                ReasonCode::ToolHeaderInvalid,
                ReasonCode::ToolFieldInvalid,
            ],
            liar: "a_schema_that_its_dialect_refuses_is_caught",
            ..SHARED
        },
    ),
    (
        Aspect::References,
        CheckSpec {
            id: "mcp.tools.references",
            summary: "Each reference of a tool's schema leads to a schema of the same document; none is fetched.",
            covers: &["J-04"],
            reasons: &[
                ReasonCode::ToolReferenceDangling,
                ReasonCode::ToolReferenceExternal,
                ReasonCode::ToolReferenceEndless,
                ReasonCode::ToolSchemaTooLarge,
            ],
            liar: "references_that_lead_nowhere_or_out_are_caught",
            ..SHARED
        },
    ),
    (
        Aspect::Hints,
        CheckSpec {
            id: "mcp.tools.hints",
            summary: "Behaviour hints are truth values that do not contradict each other; none grants permission.",
            covers: &["N-01", "M-04"],
            reasons: &[ReasonCode::ToolHintInvalid, ReasonCode::ToolHintContradictory, ReasonCode::ToolFieldInvalid],
            liar: "hints_that_are_no_truth_values_or_contradict_are_caught",
            ..SHARED
        },
    ),
    (
        Aspect::Text,
        CheckSpec {
            id: "mcp.tools.text",
            summary: "No text of a tool hides characters from a person, and none is oversized.",
            covers: &["M-04", "S-04"],
            reasons: &[ReasonCode::ToolTextHidden, ReasonCode::ToolTextOversized],
            liar: "hidden_characters_are_caught",
            ..SHARED
        },
    ),
    (
        Aspect::Claims,
        CheckSpec {
            id: "mcp.tools.description",
            summary: "Descriptions do not contradict hints or schema; none grants permission.",
            covers: &["S-04", "N-01"],
            reasons: &[ReasonCode::ToolDescriptionContradicts],
            severity: Severity::Warning,
            liar: "a_description_that_contradicts_is_a_warning",
            ..SHARED
        },
    ),
];

// === impl ToolCheck ===

impl Check for ToolCheck {
    fn spec(&self) -> &'static CheckSpec {
        &self.0.1
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let lists = lists(facts);
        if lists.is_empty() {
            return vec![facts.not_applicable("contract.yaml", "/contract_bundle/declarations/mcp_tools")];
        }
        lists.iter().flat_map(|list| self.judge_one(facts, list)).collect()
    }
}

/// A list of tools that is judged: a snapshot of the bundle, or what a server says now.
struct Listed {
    /// Its name in findings.
    path: String,
    /// Its name on the discovery tape.
    document: String,
    /// The revision to judge it by; `None` = the one that it shows.
    revision: Option<Revision>,
    live: bool,
}

/// The bundle's snapshots by the revision that the contract pins, and live lists by the one that was spoken (P-05).
fn lists(facts: &Facts<'_>) -> Vec<Listed> {
    let pin = pinned(facts.bundle());
    let snapshot = |s: &ToolSnapshot| {
        let document = format!("{BUNDLE_PREFIX}{}", s.path);
        Listed { path: s.path.clone(), document, revision: pin, live: false }
    };
    let mut out: Vec<Listed> = facts.bundle().tools.iter().map(snapshot).collect();
    for (view, _) in View::all(&facts.discovered().recording) {
        for era in view.eras() {
            let (Some(list), Some(revision)) = (&era.list, era.spoken()) else { continue };
            let document = list.document.clone();
            out.push(Listed { path: document.clone(), document, revision: Some(revision), live: true });
        }
    }
    out
}

impl ToolCheck {
    fn judge_one(&self, facts: &Facts<'_>, list: &Listed) -> Vec<Finding> {
        let path = list.path.as_str();
        let lints = facts.discovered().tool_lints(|recording| {
            let documents = lists(facts).into_iter().filter_map(|Listed { path, document, revision, live }| {
                let (blob, _) = recording.document(&document)?;
                Some(Held { path, bytes: blob.as_bytes(), revision, live })
            });
            super::lint_all(documents)
        });
        let (Some(lint), Some((_, at))) = (lints.get(path), facts.document(&list.document)) else {
            let remedy = "the list is not among the declarations of this run";
            return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, &list.document, remedy)];
        };
        self.findings(facts, path, lint, &at)
    }

    fn findings(&self, facts: &Facts<'_>, path: &str, lint: &Lint, at: &EventRef) -> Vec<Finding> {
        let own = lint.issues.iter().filter(|i| i.aspect == self.0.0);
        let mut out: Vec<Finding> = own.clone().map(|issue| finding(facts, path, lint, issue, at)).collect();
        if own.clone().any(Issue::fails) {
            return out;
        }
        if lint.tools.is_empty() {
            let message = if lint.is_list() { "the list is empty" } else { "there is no list to judge" };
            out.push(facts.not_applicable(path, "").with_message(message));
        } else {
            let kept = format!("{} ({} tools, by {})", facts.spec.summary, lint.tools.len(), lint.revision);
            out.push(facts.pass(vec![at.clone()]).at_pointer(path, "").with_message(kept));
        }
        out
    }
}

/// The revision that the contract pins; `None` = the one that each snapshot shows.
pub(super) fn pinned(bundle: &Bundle) -> Option<Revision> {
    bundle.contract.protocol.mcp.as_ref().and_then(|pin| pin.value.parse().ok())
}

fn finding(facts: &Facts<'_>, path: &str, lint: &Lint, issue: &Issue, at: &EventRef) -> Finding {
    let whose = match issue.tool.and_then(|n| lint.tools.get(n)) {
        None => String::new(),
        Some(tool) => tool.name.as_ref().map_or_else(|| "a tool: ".to_owned(), |name| format!("tool `{name}`: ")),
    };
    let finding = match issue.reason {
        None => facts.pass(vec![at.clone()]).with_message(format!("{whose}{}", issue.observed)),
        Some(reason) => {
            let message = format!("{whose}expected {}; observed {}", issue.expected, issue.observed);
            facts.fail(reason, vec![at.clone()], issue.expected.clone(), issue.observed.clone()).with_message(message)
        }
    };
    finding.with_detail(issue.detail).at_pointer(path, issue.pointer.clone()).as_severity(issue.severity)
}

#[cfg(test)]
mod tests;
