//! `a2a.negative.sensitive`: no refusal of a negative shows what is nobody's business (G-02).

use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    authorization::leak,
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    negatives::{self, Negative},
};

/// The check: the scan of `a2a.error.leak`, told for each negative by its name.
pub(crate) struct KeepsSecrets;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.negative.sensitive",
    version: 1,
    summary: "No refusal of a negative shows a stack trace, a credential, an internal host or a forbidden field.",
    layer: Layer::Authorization,
    gate: Gate::Security,
    covers: &["G-02", "E-03"],
    reads: Reads::Any(negatives::SCENARIOS),
    depends: &[Input::Candidate, Input::Card, Input::Contract],
    reasons: &[ReasonCode::ErrorDataLeak],
    severity: Severity::Error,
    liar: "a_refusal_that_shows_internals_is_caught_by_name",
};

impl Check for KeepsSecrets {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let out: Vec<Finding> = negatives::ALL.iter().filter_map(|negative| judge(facts, negative)).collect();
        if out.is_empty() {
            let remedy = "no negative was refused";
            let open = facts.inconclusive(ReasonCode::ObservationIncomplete, "a refusal", remedy);
            return vec![open.as_severity(Severity::Warning)];
        }
        out
    }
}

fn judge(facts: &Facts<'_>, negative: &Negative) -> Option<Finding> {
    let requests = negative.requests(facts);
    let refused: Vec<&Answered<'_>> = requests.iter().filter(|a| leak::error_of(a).is_some()).collect();
    let first = refused.first()?;
    let (x, cited) = (first.exchange.id, || answers::some_of(refused.iter().flat_map(|a| a.cite()).collect()));
    let shown = refused.iter().flat_map(|a| leak::shown(facts, a)).next();
    Some(match shown {
        None => facts.pass(cited()).at_exchange(x).with_detail(negative.name),
        Some(leak) => {
            let observed = format!("{} is shown at `{}`", leak.kind.as_str(), leak.pointer);
            let finding = facts.fail(ReasonCode::ErrorDataLeak, cited(), "a refusal that keeps internals in", observed);
            finding.at_exchange(x).with_detail(format!("{}:sensitive", negative.name))
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        scenarios::unknown,
        testing::{Edit, World, caught, passes},
    };

    #[test]
    fn a_refusal_that_shows_internals_is_caught_by_name() {
        let driven = World::honest().drive();
        passes(&KeepsSecrets, &driven);
        let leaking = driven.edit(|i| {
            if i.scenario != unknown::ID || i.answer.get("error").is_none() {
                return Edit::Keep;
            }
            i.changed(|a| a["error"]["message"] = json!("no route to 10.0.3.7:5432"))
        });
        caught(&KeepsSecrets, &leaking, ReasonCode::ErrorDataLeak);
        let told = leaking.judge(&KeepsSecrets);
        assert!(told.iter().any(|f| f.detail.as_deref() == Some("unknown_task:sensitive")), "{told:#?}");
    }
}
