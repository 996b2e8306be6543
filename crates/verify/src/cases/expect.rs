//! Compares what executing a case yielded with what the case expects, member by member.
//!
//! Every member of `expect` is compared or said to be out of sight: none is ever ignored.

use ostiary_contract::{
    Expect,
    file::case::{ExpectedAdmission, ExpectedResult},
};
use ostiary_record::{EventRef, Finding, ReasonCode};

use crate::{facts::Facts, schema_cost::Undecided};

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
    /// Why it is not known whether an artifact satisfies it.
    pub(super) undecided: Option<Undecided>,
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
    if let Some(undecided) = &yielded.undecided {
        return undecided.finding(facts, expect.artifact_schema.as_ref().map_or("", |s| s.value.as_str()));
    }
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

/// One entry for each member that the case writes. The pattern names them all, so that a new one cannot be forgotten.
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
    let all = [
        result.map(|wanted| {
            member("result", wanted.as_str(), yielded.result.map(|seen| (seen == wanted, seen.as_str().to_owned())))
        }),
        reason_code.as_ref().map(|w| among("reason_code", &w.value.0, yielded.reasons.as_ref())),
        detail.as_ref().map(|w| among("detail", w, yielded.details.as_ref())),
        admission.map(|wanted| {
            let seen = yielded.admission.map(|seen| (seen == wanted, seen.as_str().to_owned()));
            member("admission", wanted.as_str(), seen)
        }),
        externally_visible_reason
            .as_ref()
            .map(|w| equal("externally_visible_reason", &w.value.0, yielded.visible_reason.as_ref())),
        leaked_fields.as_ref().map(|wanted| leaks(wanted, yielded.leaked_fields.as_ref())),
        state.as_ref().map(|w| equal("state", &w.value, yielded.state.as_ref())),
        artifact_schema.as_ref().map(|w| {
            let seen = yielded.artifact.as_ref();
            member("artifact_schema", &w.value, seen.map(|a| (a.is_ok(), a.clone().err().unwrap_or_default())))
        }),
        protocol_error.as_ref().map(|w| equal("protocol_error", w, yielded.error.as_ref())),
    ];
    all.into_iter().flatten().collect()
}

/// One of several that were seen.
fn among(name: &'static str, wanted: &str, seen: Option<&Vec<String>>) -> Member {
    member(name, wanted, seen.map(|all| (all.iter().any(|one| one == wanted), named(all))))
}

/// The one that was seen.
fn equal(name: &'static str, wanted: &str, seen: Option<&String>) -> Member {
    let text = |seen: &String| if seen.is_empty() { "none".to_owned() } else { seen.clone() };
    member(name, wanted, seen.map(|seen| (seen == wanted, text(seen))))
}

/// All that were seen, in any order.
fn leaks(wanted: &[String], seen: Option<&Vec<String>>) -> Member {
    let sorted = |list: &[String]| {
        let mut list = list.to_vec();
        list.sort();
        list
    };
    let wanted = sorted(wanted);
    let seen = seen.map(|seen| sorted(seen));
    member("leaked_fields", &named(&wanted), seen.map(|seen| (seen == wanted, named(&seen))))
}

fn named(all: &[String]) -> String {
    if all.is_empty() { "none".to_owned() } else { all.join(" and ") }
}
