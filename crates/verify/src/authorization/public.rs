//! `a2a.auth.public`: an agent that declares no security scheme serves everybody (bundle: `public: true`).

use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    authorization::declares_security,
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    scenarios::public,
};

/// The check.
pub(super) struct Public;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.auth.public",
    version: 1,
    summary: "An agent that declares no security scheme serves requests without credential.",
    layer: Layer::Authorization,
    gate: Gate::Security,
    covers: &["Z-01"],
    reads: Reads::Each(&[public::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Contract],
    reasons: &[ReasonCode::UndeclaredCredentialRequired],
    severity: Severity::Error,
    liar: "an_undeclared_credential_is_caught",
};

impl Check for Public {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if declares_security(facts) {
            return vec![facts.not_applicable(CARD, "/securitySchemes")];
        }
        answers::of(facts, public::ID).iter().map(|a| judge(facts, a)).collect()
    }
}

fn judge(facts: &Facts<'_>, answered: &Answered<'_>) -> Finding {
    let x = answered.exchange.id;
    if let Some(unusable) = answered.unusable(facts) {
        return unusable;
    }
    if let Some((error, _)) = answered.reply.error().filter(|_| answered.credential_refused()) {
        let expected = "to be served without credential, as none is declared";
        return facts
            .fail(ReasonCode::UndeclaredCredentialRequired, answered.cite(), expected, error.label())
            .at_exchange(x);
    }
    let promised = facts.bundle().authorization.as_ref().is_some_and(|a| a.public);
    match answered.reply.result() {
        Some(_) if promised => facts.pass(answered.cite()).at_exchange(x),
        Some(_) => {
            let remedy = "anonymous works; say `public: true` in authorization.yaml if that is meant";
            facts.inconclusive(ReasonCode::ObservationIncomplete, "authorization.yaml", remedy).at_exchange(x)
        }
        None => {
            let remedy = "the message was refused for another reason";
            facts.inconclusive(ReasonCode::ControlFailed, "a message that works", remedy).at_exchange(x)
        }
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::{Blob, Kind, Outcome};

    use super::*;
    use crate::testing::{World, caught, is, passes};

    #[test]
    fn a_public_agent_that_serves_everybody_passes() {
        passes(&Public, &World::public().drive());
    }

    #[test]
    fn an_undeclared_credential_is_caught() {
        let mut driven = World::public().drive();
        for recording in driven.run.recordings.iter_mut().filter(|r| r.scenario.0 == public::ID) {
            for event in &mut recording.events {
                if let Kind::Head { status, .. } = &mut event.kind {
                    *status = 401;
                }
                if let Kind::Frame { bytes, .. } = &mut event.kind {
                    *bytes = Blob::from("who are you?");
                }
            }
        }
        caught(&Public, &driven, ReasonCode::UndeclaredCredentialRequired);
    }

    #[test]
    fn that_anonymous_works_is_no_promise() {
        let mut silent = World::public();
        silent.remove("authorization.yaml");
        is(&Public, &silent.drive(), Outcome::Inconclusive);
        is(&Public, &World::honest().drive(), Outcome::NotApplicable);
    }
}
