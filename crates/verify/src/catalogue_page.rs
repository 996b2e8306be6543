//! The generated pages of the documentation: every reason code and every check, from the code itself.

use std::fmt::Write as _;

use ostiary_protocol::a2a::{Binding, codec};
use ostiary_record::{
    ReasonCode, Severity,
    reason::{ReasonRow, Retry},
};

use crate::{
    check::{CheckSpec, Reads},
    judge::ENGINE_REASONS,
    negatives::{self, Negative, Readback},
    registry::Harness,
    scenario::{Control, Isolation, ScenarioSpec},
};

const GENERATED: &str =
    "<!-- Generated from the code; a test compares. Do not edit: `BLESS=1 cargo nextest run -p ostiary-verify`. -->";

/// `docs/reason-codes.md`.
#[must_use]
pub fn reason_codes() -> String {
    let harness = Harness::standard();
    let mut page = format!(
        "# Reason codes\n\n{GENERATED}\n\nEvery FAIL, INCONCLUSIVE and NOT_APPLICABLE carries one of these codes. Codes are \
         never renamed. A code without a layer takes the layer of the check that gives it; the gate is the first one \
         that a failure blocks.\n\n| code | layer | gate | retry | meaning | what to do | given by |\n|---|---|---|---|---|---|---|\n"
    );
    for code in ReasonCode::ALL {
        let ReasonRow { text, layer, meaning, retry, remedy } = code.row();
        let layer_text = layer.map_or("of the check", |l| l.as_str());
        let gate = layer.map_or("of the check", |l| l.blocks().as_str());
        let by = givers(&harness, *code);
        let _ = writeln!(
            page,
            "| `{text}` | {layer_text} | {gate} | {} | {meaning} | {remedy} | {by} |",
            retry_text(retry)
        );
    }
    page
}

/// `docs/checks.md`.
#[must_use]
pub fn checks_page() -> String {
    let harness = Harness::standard();
    let mut page = format!(
        "# Checks and scenarios\n\n{GENERATED}\n\nScenarios drive the candidate and never judge; checks judge recordings \
         and never drive. Each check belongs to one layer, names the promises it covers, every reason it may give, and \
         the test that shows it the lie it must catch.\n\n## Checks\n\n| check | layer | gate | promise | covers | reads | depends on | reasons | severity | liar |\n|---|---|---|---|---|---|---|---|---|---|\n"
    );
    for check in harness.checks() {
        let spec = check.spec();
        let _ = writeln!(
            page,
            "| `{}` v{} | {} | {} | {} | {} | {} | {} | {} | {} | `{}` |",
            spec.id,
            spec.version,
            spec.layer,
            spec.gate,
            spec.summary,
            spec.covers.join(", "),
            reads(spec),
            spec.depends.iter().map(|i| i.as_str()).collect::<Vec<_>>().join(", "),
            codes(spec.reasons),
            severity(spec.severity),
            spec.liar,
        );
    }
    let engine = codes(ENGINE_REASONS);
    let _ = writeln!(page, "\nThe engine itself may give, for any check: {engine}.\n\n## Scenarios\n");
    page.push_str("| scenario | from gate | story | control | beside others | risk | calls | time |\n|---|---|---|---|---|---|---|---|\n");
    for scenario in harness.scenarios() {
        scenario_row(&mut page, scenario.spec());
    }
    page
}

/// `docs/negatives.md`: each negative, the bindings that can say it, and who answers which of the six questions.
#[must_use]
pub fn negatives_page() -> String {
    let harness = Harness::standard();
    let mut page = format!(
        "# Negatives of A2A\n\n{GENERATED}\n\nEach negative is brought about over every binding that can say it, after a \
         control that worked, and six questions are put to its refusal: is it caught in its layer, with the same error each \
         time, without showing what is nobody's business, without a wrong hint to retry, without leaving something behind, \
         and is it written down? What the protocol does not show needs an observer and is INCONCLUSIVE without one. \
         Findings carry the negative's name in their detail, and the question where it is answered with no.\n\n\
         | negative | layer | JSON-RPC | HTTP+JSON | gRPC | scenario | caught | stable, retry | sensitive | left behind | audit |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n"
    );
    for negative in negatives::ALL {
        let said = |binding: &Binding| if negative.can_be_said(binding) { "yes" } else { "cannot say it" };
        let [json_rpc, http_json, grpc] = codec::SUPPORTED.each_ref().map(said);
        let left = match negative.readback {
            Readback::Listed => "listed before and after",
            Readback::Task => "task read before and after",
            Readback::Observer => "observer of records",
        };
        let _ = writeln!(
            page,
            "| `{}` | {} | {json_rpc} | {http_json} | {grpc} | `{}` | {} | `a2a.negative.refusal` | \
             `a2a.negative.sensitive` | {left} | observer of the audit log |",
            negative.name,
            negative.layer,
            negative.scenario,
            catchers(&harness, negative),
        );
    }
    page
}

/// The checks that say whether a negative is refused, and with which error.
fn catchers(harness: &Harness, negative: &Negative) -> String {
    let own = |spec: &&'static CheckSpec| {
        let apart = ["case.", "contract.", "a2a.negative.", "a2a.error.leak", "a2a.error.shape", "a2a.error.mapping"];
        let reads = spec.reads.scenarios().contains(&negative.scenario);
        let across = matches!(spec.reads, Reads::AcrossProfiles(_));
        reads && !across && spec.layer == negative.layer && !apart.iter().any(|prefix| spec.id.starts_with(prefix))
    };
    let all = harness.checks().map(crate::check::Check::spec).filter(own);
    all.filter(|spec| spec.covers.contains(&"G-01")).map(|spec| format!("`{}`", spec.id)).collect::<Vec<_>>().join(", ")
}

fn scenario_row(page: &mut String, spec: &ScenarioSpec) {
    let control = match spec.control {
        Control::NotNeeded => "none needed".to_owned(),
        Control::Within => "within".to_owned(),
        Control::By(id) => format!("`{id}`"),
    };
    let isolation = match spec.isolation {
        Isolation::Shared => "yes",
        Isolation::Exclusive => "alone",
        Isolation::Destructive => "alone, last",
    };
    let _ = writeln!(
        page,
        "| `{}` v{} | {} | {} | {control} | {isolation} | {} | {} | {} s |",
        spec.id,
        spec.version,
        spec.gate,
        spec.summary,
        spec.clearance.needed().unwrap_or("read"),
        spec.budget.calls,
        spec.budget.time.as_secs(),
    );
}

fn givers(harness: &Harness, code: ReasonCode) -> String {
    if ENGINE_REASONS.contains(&code) {
        return "any check".to_owned();
    }
    let ids: Vec<String> = harness
        .checks()
        .map(|c| c.spec())
        .filter(|spec| spec.reasons.contains(&code))
        .map(|spec| format!("`{}`", spec.id))
        .collect();
    if ids.is_empty() { "no check yet".to_owned() } else { ids.join(", ") }
}

fn reads(spec: &CheckSpec) -> String {
    let list = |ids: &[&str], word: &str| ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(word);
    match spec.reads {
        Reads::Declarations => "declarations".to_owned(),
        Reads::Each(ids) => list(ids, " and "),
        Reads::Any(ids) => list(ids, " or "),
        Reads::AcrossProfiles(ids) => format!("{}, of all profiles together", list(ids, " or ")),
        Reads::Everything => "everything".to_owned(),
    }
}

fn codes(reasons: &[ReasonCode]) -> String {
    reasons.iter().map(|r| format!("`{r}`")).collect::<Vec<_>>().join(", ")
}

const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

const fn retry_text(retry: Retry) -> &'static str {
    match retry {
        Retry::Never => "no",
        Retry::WhenProvided => "when provided",
        Retry::May => "may help",
    }
}
