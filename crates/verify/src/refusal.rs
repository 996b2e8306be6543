//! Whether what must be refused was refused, and with the named error: one judgement for every negative scenario.

use ostiary_protocol::a2a::{Answer, ErrorKind};
use ostiary_record::{Finding, ReasonCode, Severity};

use crate::{answers::Answered, facts::Facts};

/// How a request must be refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refusal<'a> {
    /// The errors that the specification names; any of them is right.
    pub(crate) named: &'a [ErrorKind],
    /// Errors that some reading or some official SDK uses instead: refused all the same, with a warning.
    pub(crate) tolerated: &'a [ErrorKind],
    /// The reason when it was served.
    pub(crate) served: ReasonCode,
}

/// Judges one answer. The check must list `served`, `ERROR_CODE_MISMATCH` and `RESPONSE_MALFORMED` among its reasons.
pub(crate) fn judge(facts: &Facts<'_>, answered: &Answered<'_>, refusal: Refusal<'_>) -> Vec<Finding> {
    if let Some(unusable) = answered.unusable(facts) {
        return vec![unusable];
    }
    let expected = format!("a refusal with {}", names(refusal.named));
    let x = answered.exchange.id;
    let fail =
        |reason, observed: String| vec![facts.fail(reason, answered.cite(), &*expected, observed).at_exchange(x)];
    match answered.reply.first().map(|i| &i.answer) {
        None => fail(ReasonCode::ResponseMalformed, "an empty answer".to_owned()),
        Some(Answer::Malformed(why)) => fail(ReasonCode::ResponseMalformed, why.clone()),
        Some(Answer::Result(_)) => fail(refusal.served, "the request was served".to_owned()),
        Some(Answer::Error(error)) => {
            let is = |list: &[ErrorKind]| list.iter().any(|kind| error.may_mean(*kind));
            let pass = || facts.pass(answered.cite()).at_exchange(x);
            if is(refusal.named) {
                return vec![pass()];
            }
            if answered.credential_refused() {
                let remedy = format!("the credential was refused: {}", error.label());
                return vec![facts.inconclusive(ReasonCode::ControlFailed, "a credential that works", remedy)];
            }
            let mismatch = facts.fail(ReasonCode::ErrorCodeMismatch, answered.cite(), expected.clone(), error.label());
            let mismatch = mismatch.at_exchange(x);
            if is(refusal.tolerated) {
                return vec![pass(), mismatch.as_severity(Severity::Warning)];
            }
            vec![mismatch]
        }
    }
}

fn names(kinds: &[ErrorKind]) -> String {
    kinds.iter().map(|k| k.name()).collect::<Vec<_>>().join(" or ")
}
