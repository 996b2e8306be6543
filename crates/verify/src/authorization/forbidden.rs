//! `a2a.tenant.forbidden`: who may not see a task of the own tenant does not (G-01, Z-01).

use ostiary_protocol::a2a::Answer;
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    authorization::refusal,
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::forbidden,
};

/// The check.
pub(super) struct ForbiddenTask;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.tenant.forbidden",
    version: 1,
    summary: "A task that authorization.yaml refuses to a subject of the same tenant is refused.",
    layer: Layer::Authorization,
    gate: Gate::Security,
    covers: &["G-01", "Z-01"],
    reads: Reads::Each(&[forbidden::ID]),
    depends: &[Input::Candidate, Input::Contract, Input::Environment],
    reasons: &[ReasonCode::ForbiddenTaskServed],
    severity: Severity::Error,
    liar: "a_forbidden_task_that_is_served_is_caught",
};

impl Check for ForbiddenTask {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if forbidden::rows(facts.bundle()).is_empty() {
            return vec![facts.not_applicable("authorization.yaml", "/matrix")];
        }
        let all = answers::of(facts, forbidden::ID);
        let probe = |a: &&Answered<'_>| {
            let after = a.tape.recording.mark(forbidden::TASK).is_some_and(|(_, at)| a.exchange.sent.seq > at);
            after && a.exchange.actor == Some(a.axis(forbidden::SUBJECT))
        };
        // what the subject does first after the mark is what it may not
        let mut seen = std::collections::BTreeSet::new();
        all.iter().filter(probe).filter(|a| seen.insert(a.tape.index)).map(|a| judge(facts, a, &all)).collect()
    }
}

fn judge(facts: &Facts<'_>, answered: &Answered<'_>, all: &[Answered<'_>]) -> Finding {
    let x = answered.exchange.id;
    if let Some(unusable) = answered.unusable(facts) {
        return unusable;
    }
    match answered.reply.first().map(|i| &i.answer) {
        Some(Answer::Error(error)) => refusal::judge(facts, answered, error, answered.exchange.actor, all),
        Some(Answer::Result(_)) => {
            let expected =
                format!("a refusal: authorization.yaml forbids it to `{}`", answered.axis(forbidden::SUBJECT));
            let observed = format!("{} was served", answered.operation());
            facts.fail(ReasonCode::ForbiddenTaskServed, answered.cite(), expected, observed).at_exchange(x)
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
    use ostiary_record::{CredentialKind, Outcome, SubjectFacts};
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is};

    const MATRIX: &str = "authorization:
  matrix:
    - { subject: allowed-user-a, tenant: tenant-a, object: { kind: task, tenant: tenant-a }, operation: get, expected: deny }
";

    fn world(with_owner: bool) -> World {
        let mut world = World::honest();
        world.put("authorization.yaml", MATRIX);
        if with_owner {
            let owner = SubjectFacts {
                tenant: Some("tenant-a".into()),
                credential: CredentialKind::Valid,
                ..SubjectFacts::default()
            };
            world.environment.subjects.insert("allowed-user-b".into(), owner);
        }
        world
    }

    /// The agent in memory keeps users of different tokens apart, so that it refuses; the liar does not.
    fn driven() -> Driven {
        world(true).drive()
    }

    #[test]
    fn a_forbidden_task_that_is_served_is_caught() {
        is(&ForbiddenTask, &driven(), Outcome::Pass);
        let liar = driven().edit(|i| {
            if i.scenario != forbidden::ID || i.answer.get("error").is_none() {
                return Edit::Keep;
            }
            Edit::Replace(
                i.with_result(json!({"id": i.request["params"]["id"], "status": {"state": "TASK_STATE_WORKING"}})),
            )
        });
        caught(&ForbiddenTask, &liar, ReasonCode::ForbiddenTaskServed);
    }

    #[test]
    fn without_a_row_it_does_not_apply_and_without_an_owner_it_is_unknown() {
        is(&ForbiddenTask, &World::honest().drive(), Outcome::NotApplicable);
        is(&ForbiddenTask, &world(false).drive(), Outcome::Inconclusive);
    }
}
