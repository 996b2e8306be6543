//! `a2a.error.shape`: every error has the shape that the binding prescribes (E-01).

use std::collections::BTreeSet;

use ostiary_protocol::a2a::{Binding, error::ShapeGrade};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers,
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::{
        push,
        rpc::{self, Wrong},
        terminal, undeclared, unknown, version,
    },
};

/// The check.
pub(super) struct ErrorShape;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.error.shape",
    version: 1,
    summary: "Every error has the members that the binding prescribes.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["E-01"],
    reads: Reads::Any(&[
        unknown::ID,
        rpc::ID,
        version::ID,
        terminal::ID,
        undeclared::STREAM,
        push::undeclared::ID,
        undeclared::EXTENDED_CARD,
    ]),
    depends: &[Input::Candidate],
    reasons: &[ReasonCode::ErrorShapeInvalid, ReasonCode::ErrorCodeMismatch],
    severity: Severity::Error,
    liar: "an_error_of_another_shape_is_caught",
};

impl Check for ErrorShape {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    /// One finding for each problem, however many errors have it.
    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let binding = answers::binding(facts);
        let (mut out, mut seen, mut told) = (Vec::new(), Vec::new(), BTreeSet::new());
        for answered in answers::all(facts) {
            let Some((error, seq)) = answered.reply.error() else { continue };
            // a path that is none of the binding's is answered by whatever serves paths, in its own words
            let no_path = binding == Binding::HttpJson && answered.axis(rpc::AXIS) == Wrong::Method.as_str();
            if no_path && error.object.is_none() {
                continue;
            }
            let (at, x) = (answered.at(seq), answered.exchange.id);
            seen.extend(at.clone());
            for problem in error.shape_problems(&binding) {
                if told.insert((problem.pointer.clone(), problem.what.clone())) {
                    let severity = match problem.grade {
                        ShapeGrade::Required => Severity::Error,
                        ShapeGrade::Recommended => Severity::Warning,
                    };
                    let expected = format!("the error object of {binding}");
                    let finding = facts.fail(ReasonCode::ErrorShapeInvalid, at.clone(), expected, problem.what);
                    out.push(finding.at_exchange(x).at_pointer("error", problem.pointer).as_severity(severity));
                }
            }
            if error.contradicts_itself() && told.insert(("/code".to_owned(), error.label())) {
                let observed = format!("code {} with another reason", error.code.unwrap_or_default());
                let finding = facts.fail(ReasonCode::ErrorCodeMismatch, at, "code and reason of one error", observed);
                out.push(finding.at_exchange(x).as_severity(Severity::Warning));
            }
        }
        if out.iter().all(|f| f.severity != Severity::Error) {
            out.push(facts.pass(answers::some_of(seen)));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, passes, warnings};

    fn errors(change: impl Fn(&mut Value)) -> Driven {
        World::honest()
            .drive()
            .edit(|i| if i.answer.get("error").is_some() { i.changed(|a| change(&mut a["error"])) } else { Edit::Keep })
    }

    #[test]
    fn prescribed_errors_pass() {
        let driven = World::honest().drive();
        passes(&ErrorShape, &driven);
        assert_eq!(warnings(&ErrorShape, &driven), []);
    }

    #[test]
    fn an_error_of_another_shape_is_caught() {
        let free = errors(|e| e["data"] = json!({"detail": "x"}));
        caught(&ErrorShape, &free, ReasonCode::ErrorShapeInvalid);
        assert_eq!(free.judge(&ErrorShape).iter().filter(|f| f.severity == Severity::Error).count(), 1);
        caught(&ErrorShape, &errors(|e| e["code"] = json!("-32001")), ReasonCode::ErrorShapeInvalid);
        caught(&ErrorShape, &errors(|e| e["message"] = Value::Null), ReasonCode::ErrorShapeInvalid);
        caught(&ErrorShape, &errors(|e| e["data"] = json!([{"x": 1}])), ReasonCode::ErrorShapeInvalid);
    }

    #[test]
    fn what_only_1_0_0_demands_is_warned_about() {
        let without = errors(|e| {
            e.as_object_mut().unwrap().remove("data");
        });
        passes(&ErrorShape, &without);
        assert!(warnings(&ErrorShape, &without).contains(&ReasonCode::ErrorShapeInvalid));
    }

    #[test]
    fn a_code_that_contradicts_its_reason_is_warned_about() {
        let odd = errors(|e| e["code"] = json!(-32602));
        passes(&ErrorShape, &odd);
        assert!(warnings(&ErrorShape, &odd).contains(&ReasonCode::ErrorCodeMismatch));
    }
}
