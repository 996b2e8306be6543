//! `a2a.auth.missing`, `a2a.auth.expired`, `a2a.auth.foreign`: who shows no credential, or one that does not count, is
//! not served (Z-02).

use ostiary_protocol::a2a::{Answer, Card, StreamItem, TaskState};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};
use serde_json::Value;

use crate::{
    answers::{self, Answered},
    authorization::{declares_security, refusal, without_security},
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    scenario::Role,
    scenarios::credential,
};

/// One of the three checks: they differ in the credential alone.
pub(super) struct Credential {
    spec: &'static CheckSpec,
    scenario: &'static str,
    role: Role,
    accepted: ReasonCode,
}

const fn spec(
    id: &'static str,
    summary: &'static str,
    reads: &'static [&'static str],
    reasons: &'static [ReasonCode],
    liar: &'static str,
) -> CheckSpec {
    CheckSpec {
        id,
        version: 1,
        summary,
        layer: Layer::Authorization,
        gate: Gate::Security,
        covers: &["Z-02", "G-01"],
        reads: Reads::Each(reads),
        depends: &[Input::Candidate, Input::Card, Input::Environment],
        reasons,
        severity: Severity::Error,
        liar,
    }
}

static MISSING: CheckSpec = spec(
    "a2a.auth.missing",
    "A request without credential is refused.",
    &[credential::MISSING],
    &[ReasonCode::CredentialNotRequired],
    "a_served_stranger_is_caught",
);
static EXPIRED: CheckSpec = spec(
    "a2a.auth.expired",
    "A request with an expired credential is refused.",
    &[credential::EXPIRED],
    &[ReasonCode::CredentialExpiredAccepted],
    "an_accepted_expired_credential_is_caught",
);
static FOREIGN: CheckSpec = spec(
    "a2a.auth.foreign",
    "A request with a credential of another issuer is refused.",
    &[credential::FOREIGN],
    &[ReasonCode::CredentialForeignAccepted],
    "an_accepted_foreign_credential_is_caught",
);

// === impl Credential ===

impl Credential {
    /// All three.
    pub(super) const ALL: [Self; 3] = [
        Self {
            spec: &MISSING,
            scenario: credential::MISSING,
            role: Role::Anonymous,
            accepted: ReasonCode::CredentialNotRequired,
        },
        Self {
            spec: &EXPIRED,
            scenario: credential::EXPIRED,
            role: Role::Expired,
            accepted: ReasonCode::CredentialExpiredAccepted,
        },
        Self {
            spec: &FOREIGN,
            scenario: credential::FOREIGN,
            role: Role::Foreign,
            accepted: ReasonCode::CredentialForeignAccepted,
        },
    ];
}

impl Check for Credential {
    fn spec(&self) -> &'static CheckSpec {
        self.spec
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !declares_security(facts) {
            return vec![without_security(facts)];
        }
        let demand = demand(facts);
        if demand == Demand::Optional {
            return vec![facts.not_applicable(CARD, "/securityRequirements")];
        }
        let exchanges = answers::of(facts, self.scenario);
        let stranger = |a: &&Answered<'_>| facts.actor_of(a.tape, self.role) == a.exchange.actor;
        exchanges.iter().filter(stranger).map(|a| self.judge_one(facts, a, demand, &exchanges)).collect()
    }
}

impl Credential {
    fn judge_one(&self, facts: &Facts<'_>, answered: &Answered<'_>, demand: Demand, all: &[Answered<'_>]) -> Finding {
        let x = answered.exchange.id;
        if let Some(unusable) = answered.unusable(facts) {
            return unusable;
        }
        match answered.reply.first().map(|i| &i.answer) {
            Some(Answer::Error(error)) => {
                let control = facts.actor_of(answered.tape, Role::Primary);
                refusal::judge(facts, answered, error, control, all)
            }
            Some(Answer::Result(_)) if is_refusing_task(answered) => facts.pass(answered.cite()).at_exchange(x),
            Some(Answer::Result(_)) if demand == Demand::Unsaid => {
                let remedy = "the card names schemes and does not say in `securityRequirements` whether one is needed";
                facts.inconclusive(ReasonCode::ObservationIncomplete, "securityRequirements", remedy).at_exchange(x)
            }
            Some(Answer::Result(_)) => {
                let observed = format!("{} was served", answered.operation());
                facts.fail(self.accepted, answered.cite(), "a refusal", observed).at_exchange(x)
            }
            Some(Answer::Malformed(why)) => {
                facts.inconclusive(ReasonCode::ObservationIncomplete, "an answer that can be read", why).at_exchange(x)
            }
            None => {
                let remedy = "the answer was empty";
                facts.inconclusive(ReasonCode::ObservationIncomplete, "an answer", remedy).at_exchange(x)
            }
        }
    }
}

/// Whether the card says that a credential is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Demand {
    /// Each alternative names a scheme, or a skill asks for one.
    Said,
    /// One alternative is empty: anybody may come in.
    Optional,
    /// Schemes are named and no requirement.
    Unsaid,
}

fn demand(facts: &Facts<'_>) -> Demand {
    let Some(card) = facts.card().map(|v| Card::new(v.clone())) else { return Demand::Unsaid };
    let listed =
        |value: &Value| value.get("securityRequirements").and_then(Value::as_array).is_some_and(|l| !l.is_empty());
    if card.demands_credential() {
        Demand::Said
    } else if listed(card.value()) {
        Demand::Optional
    } else if card.skills().iter().any(|s| listed(s.value)) {
        Demand::Said
    } else {
        Demand::Unsaid
    }
}

/// A task may say the refusal, too: rejected, or waiting for a credential (§7.6).
fn is_refusing_task(answered: &Answered<'_>) -> bool {
    let state = answered.first_item().and_then(|(item, _)| match item {
        StreamItem::Task(task) => task.state(),
        _ => None,
    });
    matches!(state, Some(TaskState::Rejected | TaskState::AuthRequired))
}

#[cfg(test)]
mod tests {
    use ostiary_record::{Kind, Outcome};
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes};

    /// The stranger of a scenario is served: the refusals by status become answers.
    fn serving(check: &Credential, state: &str) -> Driven {
        serving_in(World::honest(), check, state)
    }

    fn serving_in(world: World, check: &Credential, state: &str) -> Driven {
        let mut driven = world.drive();
        for recording in driven.run.recordings.iter_mut().filter(|r| r.scenario.0 == check.scenario) {
            for event in &mut recording.events {
                if let Kind::Head { status, .. } = &mut event.kind {
                    *status = 200;
                }
            }
        }
        driven.edit(|i| {
            if i.scenario != check.scenario || i.answer.get("detail").is_none() {
                return Edit::Keep;
            }
            let task = json!({"id": "t", "status": {"state": state}});
            let result: Value = if i.operation == "SendMessage" { json!({"task": task}) } else { task };
            Edit::Replace(json!({"jsonrpc": "2.0", "id": i.request["id"], "result": result}))
        })
    }

    #[test]
    fn refused_strangers_pass() {
        let driven = World::honest().drive();
        for check in &Credential::ALL {
            passes(check, &driven);
            assert_eq!(driven.judge(check).len(), 2, "a message and a read");
        }
    }

    #[test]
    fn a_served_stranger_is_caught() {
        let check = &Credential::ALL[0];
        caught(check, &serving(check, "TASK_STATE_COMPLETED"), ReasonCode::CredentialNotRequired);
    }

    #[test]
    fn an_accepted_expired_credential_is_caught() {
        let check = &Credential::ALL[1];
        caught(check, &serving(check, "TASK_STATE_WORKING"), ReasonCode::CredentialExpiredAccepted);
    }

    #[test]
    fn an_accepted_foreign_credential_is_caught() {
        let check = &Credential::ALL[2];
        caught(check, &serving(check, "TASK_STATE_COMPLETED"), ReasonCode::CredentialForeignAccepted);
    }

    /// The stranger gets an error of JSON-RPC instead of HTTP 401; `also` says whether the others get it, too.
    fn answering(check: &Credential, code: i64, also: bool) -> Driven {
        let driven = serving(check, "");
        let mut probed = false;
        driven.edit(|i| {
            let stranger = i.answer["result"].pointer("/status/state") == Some(&json!(""))
                || i.answer["result"].pointer("/task/status/state") == Some(&json!(""));
            if i.scenario != check.scenario {
                return Edit::Keep;
            }
            probed |= stranger;
            let error = json!({"code": code, "message": "no"});
            if stranger || (also && probed) { Edit::Replace(i.with_error(error)) } else { Edit::Keep }
        })
    }

    #[test]
    fn an_error_about_something_else_is_no_refusal() {
        for check in &Credential::ALL {
            for code in [-32602, -32603, -32004] {
                is(check, &answering(check, code, false), Outcome::Inconclusive);
            }
        }
    }

    #[test]
    fn an_error_of_the_agent_s_own_counts_between_controls_alone() {
        for check in &Credential::ALL {
            passes(check, &answering(check, -31000, false));
            is(check, &answering(check, -31000, true), Outcome::Inconclusive);
        }
    }

    #[test]
    fn a_subject_that_the_environment_lacks_makes_it_unknown() {
        let mut world = World::honest();
        world.environment.subjects.remove("expired-a");
        let driven = world.drive();
        is(&Credential::ALL[1], &driven, Outcome::Inconclusive);
        passes(&Credential::ALL[0], &driven);
    }

    #[test]
    fn what_the_card_leaves_open_is_no_failure() {
        let anybody = World::with_card(|c| c["securityRequirements"].as_array_mut().unwrap().push(json!({})));
        is(&Credential::ALL[0], &anybody.drive(), Outcome::NotApplicable);
        let unsaid = || World::with_card(|c| c["securityRequirements"] = json!([]));
        passes(&Credential::ALL[0], &unsaid().drive());
        let served = serving_in(unsaid(), &Credential::ALL[0], "TASK_STATE_COMPLETED");
        is(&Credential::ALL[0], &served, Outcome::Inconclusive);
    }

    #[test]
    fn a_public_agent_asks_nobody() {
        let driven = World::public().drive();
        for check in &Credential::ALL {
            is(check, &driven, Outcome::NotApplicable);
        }
    }
}
