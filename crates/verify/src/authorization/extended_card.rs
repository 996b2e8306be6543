//! `a2a.extended_card.protected`: the extended card is for authenticated callers (I-07, Z-02).

use ostiary_protocol::a2a::Answer;
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    authorization::{declares_security, refusal},
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    scenario::Role,
    scenarios::extended_card,
};

/// The check.
pub(super) struct ExtendedCardProtected;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.extended_card.protected",
    version: 1,
    summary: "The extended card is not served to who shows no credential.",
    layer: Layer::Authorization,
    gate: Gate::Security,
    covers: &["I-07", "Z-02"],
    reads: Reads::Each(&[extended_card::ID]),
    depends: &[Input::Candidate, Input::Card],
    reasons: &[ReasonCode::CredentialNotRequired],
    severity: Severity::Error,
    liar: "an_extended_card_for_strangers_is_caught",
};

impl Check for ExtendedCardProtected {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !facts.card().is_some_and(extended_card::declares_one) {
            return vec![facts.not_applicable(CARD, "/capabilities/extendedAgentCard")];
        }
        let all = answers::of(facts, extended_card::ID);
        // who is nobody in a public agent's run asks as the primary subject, too: one of the requests is enough
        let stranger = |a: &&Answered<'_>| facts.actor_of(a.tape, Role::Anonymous) == a.exchange.actor;
        let mut out: Vec<Finding> = all.iter().filter(stranger).map(|a| judge(facts, a, &all)).collect();
        out.truncate(1);
        out
    }
}

fn judge(facts: &Facts<'_>, answered: &Answered<'_>, all: &[Answered<'_>]) -> Finding {
    let x = answered.exchange.id;
    if let Some(unusable) = answered.unusable(facts) {
        return unusable;
    }
    match answered.reply.first().map(|i| &i.answer) {
        Some(Answer::Error(error)) => {
            refusal::judge(facts, answered, error, facts.actor_of(answered.tape, Role::Primary), all)
        }
        Some(Answer::Result(_)) => {
            let expected = "a refusal: the extended card is for who authenticates by a declared scheme";
            let observed = "the extended card was served without credential";
            let finding = facts.fail(ReasonCode::CredentialNotRequired, answered.cite(), expected, observed);
            let finding = finding.at_exchange(x);
            // without a scheme nobody could authenticate: the card contradicts itself, and opens nothing more
            if declares_security(facts) { finding } else { finding.as_severity(Severity::Warning) }
        }
        Some(Answer::Malformed(why)) => {
            facts.inconclusive(ReasonCode::ObservationIncomplete, "an answer that can be read", why).at_exchange(x)
        }
        None => {
            facts.inconclusive(ReasonCode::ObservationIncomplete, "an answer", "the answer was empty").at_exchange(x)
        }
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::{Kind, Outcome};
    use serde_json::json;

    use super::*;
    use crate::testing::{Edit, World, caught, is, passes};

    fn declaring() -> World {
        World::with_card(|c| c["capabilities"]["extendedAgentCard"] = json!(true))
    }

    #[test]
    fn a_protected_card_passes_and_none_declared_does_not_apply() {
        passes(&ExtendedCardProtected, &declaring().drive());
        is(&ExtendedCardProtected, &World::honest().drive(), Outcome::NotApplicable);
    }

    #[test]
    fn an_extended_card_for_strangers_is_caught() {
        let mut driven = declaring().drive();
        for recording in driven.run.recordings.iter_mut().filter(|r| r.scenario.0 == extended_card::ID) {
            for event in &mut recording.events {
                if let Kind::Head { status, .. } = &mut event.kind {
                    *status = 200;
                }
            }
        }
        let liar = driven.edit(|i| {
            let stranger = i.scenario == extended_card::ID && i.actor == "anonymous";
            let card = json!({"jsonrpc": "2.0", "id": i.request["id"], "result": {"name": "extended"}});
            if stranger { Edit::Replace(card) } else { Edit::Keep }
        });
        caught(&ExtendedCardProtected, &liar, ReasonCode::CredentialNotRequired);
    }
}
