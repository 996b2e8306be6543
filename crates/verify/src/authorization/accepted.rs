//! `a2a.auth.accepted`: a valid credential of the declared scheme is accepted (Z-01).

use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    authorization::{declares_security, without_security},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::send,
};

/// The check.
pub(super) struct Accepted;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.auth.accepted",
    version: 1,
    summary: "A valid credential of the declared scheme is accepted.",
    layer: Layer::Authorization,
    gate: Gate::Security,
    covers: &["Z-01"],
    reads: Reads::Any(&[send::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Environment],
    reasons: &[ReasonCode::CredentialRejected],
    severity: Severity::Error,
    liar: "a_refused_valid_credential_is_caught",
};

impl Check for Accepted {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !declares_security(facts) {
            return vec![without_security(facts)];
        }
        answers::asking(facts, "SendMessage").iter().map(|a| judge(facts, a)).collect()
    }
}

fn judge(facts: &Facts<'_>, answered: &Answered<'_>) -> Finding {
    let x = answered.exchange.id;
    if let Some(unusable) = answered.unusable(facts) {
        return unusable;
    }
    if let Some((error, _)) = answered.reply.error().filter(|_| answered.credential_refused()) {
        let actor = answered.exchange.actor.unwrap_or("the subject");
        let expected = format!("the valid credential of `{actor}` to be accepted");
        return facts.fail(ReasonCode::CredentialRejected, answered.cite(), expected, error.label()).at_exchange(x);
    }
    if answered.reply.result().is_some() {
        return facts.pass(answered.cite()).at_exchange(x);
    }
    let remedy = "the message was refused for another reason";
    facts.inconclusive(ReasonCode::ControlFailed, "a message that works", remedy).at_exchange(x)
}

#[cfg(test)]
mod tests {
    use ostiary_record::{Kind, Outcome};

    use super::*;
    use crate::testing::{World, caught, is, passes};

    #[test]
    fn an_accepted_credential_passes() {
        passes(&Accepted, &World::honest().drive());
    }

    #[test]
    fn a_refused_valid_credential_is_caught() {
        let mut refused = World::honest().drive();
        for recording in refused.run.recordings.iter_mut().filter(|r| r.scenario.0 == send::ID) {
            for event in &mut recording.events {
                if let Kind::Head { status, .. } = &mut event.kind {
                    *status = 401;
                }
                if let Kind::Frame { bytes, .. } = &mut event.kind {
                    *bytes = ostiary_record::Blob::from("no");
                }
            }
        }
        caught(&Accepted, &refused, ReasonCode::CredentialRejected);
    }

    #[test]
    fn without_a_declared_scheme_there_is_nothing_to_accept() {
        is(&Accepted, &World::public().drive(), Outcome::NotApplicable);
        let mut silent = World::public();
        silent.remove("authorization.yaml");
        is(&Accepted, &silent.drive(), Outcome::Inconclusive);
    }
}
