//! `a2a.negative.refusal`: each negative is caught where it should be, the same way each time, and nobody is invited to try
//! it again (G-02: layer, stability, retryability).

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    negatives::{self, Negative},
};
use ostiary_protocol::a2a::{A2aError, ErrorKind, error::RetryClass};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};

/// The check. Whether a negative is refused at all, and with which error, is judged by the check of the promise that it is
/// about; here only refusals are looked at.
pub(crate) struct StableRefusal;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.negative.refusal",
    version: 1,
    summary: "What is refused is refused in its layer, with the same error each time, and without a wrong hint to retry.",
    layer: Layer::Protocol,
    gate: Gate::Security,
    covers: &["G-01", "G-02", "E-01"],
    reads: Reads::Any(negatives::SCENARIOS),
    depends: &[Input::Candidate],
    reasons: &[ReasonCode::RefusalUnstable, ReasonCode::RefusalMisplaced, ReasonCode::RetryMisleading],
    severity: Severity::Error,
    liar: "refusals_that_change_or_mislead_are_caught",
};

impl Check for StableRefusal {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let binding = answers::binding(facts);
        let sayable = negatives::ALL.iter().filter(|n| n.can_be_said(&binding));
        let out: Vec<Finding> = sayable.flat_map(|negative| judge(facts, negative)).collect();
        if out.is_empty() {
            let remedy = "no negative was refused; see the checks of the promises that they are about";
            let open = facts.inconclusive(ReasonCode::ObservationIncomplete, "a refusal", remedy);
            return vec![open.as_severity(Severity::Warning)];
        }
        out
    }
}

fn judge(facts: &Facts<'_>, negative: &Negative) -> Vec<Finding> {
    let requests = negative.requests(facts);
    let refused: Vec<(&Answered<'_>, &A2aError)> = requests
        .iter()
        .filter(|a| !a.reply.is_rate_limited())
        .filter_map(|a| a.reply.error().map(|(error, _)| (a, error)))
        .collect();
    let Some((first, error)) = refused.first() else { return Vec::new() };
    let cited = || answers::some_of(refused.iter().flat_map(|(a, _)| a.cite()).collect::<Vec<EventRef>>());
    let x = first.exchange.id;
    let fail = |reason, question: &str, expected: &str, observed: String| {
        let finding = facts.fail(reason, cited(), expected, observed).at_exchange(x);
        finding.with_detail(format!("{}:{question}", negative.name))
    };
    let mut out = Vec::new();
    if let Some((_, other)) = refused.iter().find(|(_, other)| told(other) != told(error)) {
        let observed = format!("{}, then {}", error.label(), other.label());
        out.push(fail(ReasonCode::RefusalUnstable, "stable", "one error for one request", observed));
    }
    if let Some(instead) = misplaced(negative, first, error) {
        let expected = format!("a refusal by the {} layer", negative.layer);
        out.push(fail(ReasonCode::RefusalMisplaced, "layer", &expected, instead).as_severity(Severity::Warning));
    }
    if let Some((invited, severity)) = invites(error) {
        let expected = "an error that says that another try is no use";
        out.push(fail(ReasonCode::RetryMisleading, "retry", expected, invited).as_severity(severity));
    }
    if out.iter().all(|f| f.severity != Severity::Error) {
        let times = if refused.len() > 1 { format!("the same {} times", refused.len()) } else { "once".to_owned() };
        let message = format!("{}: refused {times} with {}", negative.name, error.label());
        out.push(facts.pass(cited()).at_exchange(x).with_message(message).with_detail(negative.name));
    }
    out
}

/// What of an error a machine reads.
fn told(error: &A2aError) -> (Option<i64>, Option<u16>, Option<&str>, Option<&str>) {
    (error.code, error.http_status, error.status.as_deref(), error.reason())
}

/// Where it was caught instead: a crash is no refusal of any layer, and a guard at the door hides whether anybody behind
/// it looks. What nobody can read is refused by the framework below, which gRPC lets call it internal.
fn misplaced(negative: &Negative, answered: &Answered<'_>, error: &A2aError) -> Option<String> {
    let crash = error.kind() == Some(ErrorKind::Internal) && negative.name != "unreadable_message";
    if negative.layer != Layer::Authorization && answered.credential_refused() {
        return Some(format!("the credential: {}", error.label()));
    }
    crash.then(|| format!("a crash: {}", error.label()))
}

/// How an error invites to send the same request again, which can never succeed; what says nothing only leaves a caller
/// to guess.
fn invites(error: &A2aError) -> Option<(String, Severity)> {
    let unreadable = || error.kind() == Some(ErrorKind::Internal) || error.kind().is_none();
    match error.retry_class() {
        RetryClass::Never => None,
        RetryClass::Later => Some((format!("{}, which says to try later", error.label()), Severity::Error)),
        RetryClass::Unsaid if unreadable() => None,
        RetryClass::Unsaid => Some((format!("{}, which says nothing", error.label()), Severity::Warning)),
    }
}

#[cfg(test)]
mod tests {
    use ostiary_protocol::a2a::error::RETRY_INFO;
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        scenarios::{malformed, unknown},
        testing::{Driven, Edit, Item, World, caught, passes, warnings},
    };

    fn answering(which: impl Fn(&Item<'_>) -> bool, mut error: impl FnMut() -> Value) -> Driven {
        World::honest().drive().edit(|i| {
            let refused = i.answer.get("error").is_some();
            if refused && which(i) { Edit::Replace(i.with_error(error())) } else { Edit::Keep }
        })
    }

    #[test]
    fn refusals_of_one_kind_pass() {
        let driven = World::honest().drive();
        passes(&StableRefusal, &driven);
        assert_eq!(warnings(&StableRefusal, &driven), []);
        let told = driven.judge(&StableRefusal);
        for name in ["message_without_parts", "unsupported_protocol_version", "cross_tenant_read", "missing_credential"]
        {
            assert!(told.iter().any(|f| f.detail.as_deref() == Some(name)), "{name}: {told:#?}");
        }
    }

    #[test]
    fn refusals_that_change_or_mislead_are_caught() {
        let mut n = 0;
        let changing = answering(
            |i| i.scenario == malformed::ID,
            || {
                n += 1;
                json!({"code": if n % 2 == 0 { -32602 } else { -32600 }, "message": "no"})
            },
        );
        caught(&StableRefusal, &changing, ReasonCode::RefusalUnstable);
        let inviting = answering(
            |i| i.scenario == unknown::ID,
            || json!({"code": -32001, "message": "no", "data": [{"@type": RETRY_INFO, "retryDelay": "1s"}]}),
        );
        caught(&StableRefusal, &inviting, ReasonCode::RetryMisleading);
    }

    #[test]
    fn a_crash_is_caught_in_no_layer() {
        let crashing = answering(|i| i.scenario == malformed::ID, || json!({"code": -32603, "message": "no"}));
        assert!(warnings(&StableRefusal, &crashing).contains(&ReasonCode::RefusalMisplaced));
    }
}
