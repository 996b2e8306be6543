//! Compares what executing a case yielded with what the case expects, member by member.
//!
//! Every member of `expect` is compared or said to be out of sight: none is ever ignored.

use ostiary_contract::{
    Expect,
    file::case::{ExpectedAdmission, ExpectedResult},
};
use ostiary_record::{EventRef, Finding, ReasonCode};

use crate::facts::Facts;

/// What executing a case yielded; `None` = this way of execution cannot see it.
#[derive(Debug, Default)]
pub(super) struct Yielded {
    pub(super) result: Option<ExpectedResult>,
    /// The reason codes given.
    pub(super) reasons: Option<Vec<String>>,
    /// The details given.
    pub(super) details: Option<Vec<String>>,
    pub(super) admission: Option<ExpectedAdmission>,
    /// The reason that a caller sees.
    pub(super) visible_reason: Option<String>,
    pub(super) leaked_fields: Option<Vec<String>>,
    /// The state that the task ended in.
    pub(super) state: Option<String>,
    /// Whether an artifact satisfies the schema that the case names; else why not.
    pub(super) artifact: Option<Result<(), String>>,
    /// The error's name in the specification; empty = no error came.
    pub(super) error: Option<String>,
}

/// One finding: PASS citing `at`, FAIL naming every difference, or INCONCLUSIVE naming what is out of sight.
pub(super) fn compare(facts: &Facts<'_>, expect: &Expect, yielded: &Yielded, at: Vec<EventRef>) -> Finding {
    let members = members(expect, yielded);
    let differing: Vec<&Member> = members.iter().filter(|m| m.outcome == Sight::Differs).collect();
    if !differing.is_empty() {
        let text = |of: fn(&Member) -> &str| {
            differing.iter().map(|m| format!("{} {}", m.name, of(m))).collect::<Vec<_>>().join(", ")
        };
        let (expected, observed) = (text(|m| &m.expected), text(|m| &m.observed));
        return facts.fail(ReasonCode::CaseExpectationFailed, at, expected, observed);
    }
    let hidden: Vec<&str> = members.iter().filter(|m| m.outcome == Sight::Hidden).map(|m| m.name).collect();
    if !hidden.is_empty() {
        let what = format!("expect.{}", hidden.join(", expect."));
        let remedy = "this kind of case cannot show it; remove it, or write a case that can";
        return facts.inconclusive(ReasonCode::ObservationIncomplete, what, remedy);
    }
    if members.is_empty() {
        let remedy = "the case expects nothing that could be compared";
        return facts.inconclusive(ReasonCode::ObservationIncomplete, "expect", remedy);
    }
    facts.pass(at).with_message("the case yields what it expects")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sight {
    Same,
    Differs,
    Hidden,
}

struct Member {
    name: &'static str,
    outcome: Sight,
    expected: String,
    observed: String,
}

fn member(name: &'static str, expected: &str, observed: Option<(bool, String)>) -> Member {
    let (outcome, observed) = match observed {
        Some((true, text)) => (Sight::Same, text),
        Some((false, text)) => (Sight::Differs, text),
        None => (Sight::Hidden, String::new()),
    };
    Member { name, outcome, expected: expected.to_owned(), observed }
}

/// One entry for each member that the case writes.
fn members(expect: &Expect, yielded: &Yielded) -> Vec<Member> {
    let Expect {
        result,
        reason_code,
        detail,
        admission,
        externally_visible_reason,
        leaked_fields,
        state,
        artifact_schema,
        protocol_error,
    } = expect;
    let among = |all: &Option<Vec<String>>, wanted: &str| {
        all.as_ref().map(|all| (all.iter().any(|one| one == wanted), named(all)))
    };
    let equal = |one: &Option<String>, wanted: &str| {
        one.as_ref().map(|one| (one == wanted, if one.is_empty() { "none".to_owned() } else { one.clone() }))
    };
    let mut out = Vec::new();
    if let Some(wanted) = result {
        let seen = yielded.result.map(|seen| (seen == *wanted, seen.as_str().to_owned()));
        out.push(member("result", wanted.as_str(), seen));
    }
    if let Some(wanted) = reason_code {
        out.push(member("reason_code", &wanted.value.0, among(&yielded.reasons, &wanted.value.0)));
    }
    if let Some(wanted) = detail {
        out.push(member("detail", wanted, among(&yielded.details, wanted)));
    }
    if let Some(wanted) = admission {
        let seen = yielded.admission.map(|seen| (seen == *wanted, seen.as_str().to_owned()));
        out.push(member("admission", wanted.as_str(), seen));
    }
    if let Some(wanted) = externally_visible_reason {
        out.push(member("externally_visible_reason", &wanted.value.0, equal(&yielded.visible_reason, &wanted.value.0)));
    }
    if let Some(wanted) = leaked_fields {
        let (mut wanted, mut seen) = (wanted.clone(), yielded.leaked_fields.clone());
        wanted.sort();
        seen.iter_mut().for_each(|s| s.sort());
        let compared = seen.map(|seen| (seen == wanted, named(&seen)));
        out.push(member("leaked_fields", &named(&wanted), compared));
    }
    if let Some(wanted) = state {
        out.push(member("state", &wanted.value, equal(&yielded.state, &wanted.value)));
    }
    if let Some(wanted) = artifact_schema {
        let seen = yielded.artifact.as_ref().map(|a| (a.is_ok(), a.clone().err().unwrap_or_default()));
        out.push(member("artifact_schema", &wanted.value, seen));
    }
    if let Some(wanted) = protocol_error {
        out.push(member("protocol_error", wanted, equal(&yielded.error, wanted)));
    }
    out
}

fn named(all: &[String]) -> String {
    if all.is_empty() { "none".to_owned() } else { all.join(" and ") }
}
