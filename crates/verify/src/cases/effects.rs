//! A tool call whose effects a case describes. What an answer says about effects is no evidence: without an observer of
//! each effect in question the case cannot be told, and the finding names the observers that are missing.

use ostiary_contract::{
    Case, CaseKind,
    file::case::{Given, Then},
};
use ostiary_record::{Finding, Missing, NonEmpty, ReasonCode, Verdict};

use crate::facts::Facts;

pub(super) fn execute(facts: &Facts<'_>, case: &Case) -> Vec<Finding> {
    let CaseKind::Live(live) = &case.kind else { return Vec::new() };
    if let Some(unseen) = live.then.as_ref().and_then(|then| unseen(facts, &live.given, then)) {
        return vec![unseen];
    }
    let remedy = "tools are called over MCP, and this harness has no MCP driver";
    vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "driver:mcp", remedy)]
}

/// The finding that names each observer which a case needs and the environment lacks; `None` when none is lacking.
pub(super) fn unseen(facts: &Facts<'_>, given: &Given, then: &Then) -> Option<Finding> {
    let observed = &facts.environment().observed;
    let needed = needed(given, then).into_iter();
    let missing: Vec<&str> = needed.filter(|kind| !observed.iter().any(|o| o == kind)).collect();
    let (first, rest) = missing.split_first()?;
    let mut finding = facts.inconclusive(ReasonCode::ObserverMissing, format!("observer:{first}"), remedy(first));
    if let Verdict::Inconclusive { missing: list, .. } = &mut finding.verdict {
        all(list, rest);
    }
    Some(finding.with_message(format!("no observer of the environment sees: {}", missing.join(", "))))
}

fn all(list: &mut NonEmpty<Missing>, kinds: &[&str]) {
    for kind in kinds {
        list.push(Missing { what: format!("observer:{kind}"), remedy: remedy(kind) });
    }
}

fn remedy(kind: &str) -> String {
    format!("add an observer that sees `{kind}` to the environment")
}

/// The kinds of effect that the case speaks about.
fn needed(given: &Given, then: &Then) -> Vec<&'static str> {
    let stored = given.fixture_state.is_some() || then.fixture_state.is_some();
    let kinds =
        [("records", stored), ("egress", then.outbound_writes.is_some()), ("outbox", then.external_messages.is_some())];
    kinds.into_iter().filter(|(_, wanted)| *wanted).map(|(kind, _)| kind).collect()
}
