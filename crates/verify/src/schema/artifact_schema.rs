//! `a2a.skill.artifact_schema`: the artifact of an example satisfies the schema that its contract names (S-01, S-02).

use ostiary_contract::Bundle;
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};
use serde_json::Value;

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    outputs::{Artifact, Output, outputs},
    scenarios::{send, stream},
    schema::artifact_missing::requires_artifacts,
    schema_cost::{self, Undecided},
    schema_detail::Violation,
};

/// The check.
pub(super) struct ArtifactSchema;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.skill.artifact_schema",
    version: 1,
    summary: "The artifact of an example satisfies the schema that its skill contract names.",
    layer: Layer::Schema,
    gate: Gate::Conformance,
    covers: &["S-01", "S-02"],
    reads: Reads::Any(&[send::ID, stream::ID]),
    depends: &[Input::Candidate, Input::Contract],
    reasons: &[ReasonCode::ArtifactSchemaViolation],
    severity: Severity::Error,
    liar: "an_artifact_that_breaks_its_schema_is_caught",
};

impl Check for ArtifactSchema {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !requires_artifacts(facts) {
            return vec![facts.not_applicable("skills.yaml", "/skill_contract/examples/expected_artifact_schema")];
        }
        let outputs: Vec<Output<'_>> = outputs(facts);
        let out: Vec<Finding> = outputs.iter().flat_map(|o| judge(facts, o)).collect();
        if out.is_empty() {
            let remedy = "no example that has a schema returned an artifact";
            return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "an artifact", remedy)];
        }
        out
    }
}

fn judge(facts: &Facts<'_>, output: &Output<'_>) -> Vec<Finding> {
    let Some(name) = &output.example.artifact_schema else { return Vec::new() };
    if output.artifacts.is_empty() {
        return Vec::new();
    }
    let x = output.answered.exchange.id;
    let missing = |what: &str, remedy: String| {
        vec![facts.inconclusive(ReasonCode::ObservationIncomplete, what, remedy).at_exchange(x)]
    };
    let Some((_, schema)) = facts.bundle().schema(name) else {
        return missing("schema", format!("the bundle has no schema `{name}`"));
    };
    match verdict(facts.bundle(), schema, &output.artifacts) {
        Verdict::Satisfied => vec![facts.pass(output.cite()).at_exchange(x)],
        Verdict::NoJson => missing("JSON", "no part of the artifact is JSON; see a2a.skill.content_mode".to_owned()),
        Verdict::Undecided(why) => vec![why.finding(facts, name).at_exchange(x)],
        Verdict::Violated(artifact, found) => {
            let finding = |v: &Violation| {
                let (expected, observed) =
                    (format!("what `{name}` demands ({})", v.keyword), v.detail.replace('_', " "));
                let finding = facts.fail(ReasonCode::ArtifactSchemaViolation, artifact.at.clone(), expected, observed);
                finding.at_exchange(x).at_pointer(name.clone(), v.pointer.clone()).with_detail(v.detail.clone())
            };
            found.iter().map(finding).collect()
        }
    }
}

enum Verdict<'a> {
    /// Some JSON part satisfies the schema.
    Satisfied,
    /// None does; this is how the last one fails.
    Violated(&'a Artifact, Vec<Violation>),
    /// None is known to, and of one it cannot be told.
    Undecided(Undecided),
    /// There is no JSON to look at.
    NoJson,
}

/// An agent may return more than the one artifact that the contract is about, so one that satisfies will do.
fn verdict<'a>(bundle: &Bundle, schema: &Value, artifacts: &'a [Artifact]) -> Verdict<'a> {
    let mut verdict = Verdict::NoJson;
    for artifact in artifacts {
        for value in artifact.parts.iter().filter_map(json_of) {
            match schema_cost::check(bundle, schema, &value, "artifact") {
                Ok(found) if found.is_empty() => return Verdict::Satisfied,
                Ok(_) if matches!(verdict, Verdict::Undecided(_)) => {}
                Ok(found) => verdict = Verdict::Violated(artifact, found),
                Err(why) => verdict = Verdict::Undecided(why),
            }
        }
    }
    verdict
}

/// The JSON of a part: its data, or text that is called JSON.
pub(super) fn json_of(part: &Value) -> Option<Value> {
    if let Some(data) = part.get("data") {
        return Some(data.clone());
    }
    let is_json = ostiary_protocol::media_type::of_part(part).is_some_and(|m| m.is_json());
    let text = part.get("text").and_then(Value::as_str).filter(|_| is_json)?;
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes};

    fn returning(parts: &Value) -> Driven {
        World::honest().drive().edit(|i| replaced(&i.answer, parts))
    }

    fn replaced(answer: &Value, parts: &Value) -> Edit {
        let mut answer = answer.clone();
        for pointer in ["/result/task/artifacts/0/parts", "/result/artifactUpdate/artifact/parts"] {
            if let Some(old) = answer.pointer_mut(pointer) {
                *old = parts.clone();
            }
        }
        Edit::Replace(answer)
    }

    #[test]
    fn an_artifact_of_its_schema_passes() {
        passes(&ArtifactSchema, &World::honest().drive());
        let more = json!([{"data": {"log": 1}}, {"data": {"plan_id": "p", "status": "ready"}}]);
        passes(&ArtifactSchema, &returning(&more));
    }

    #[test]
    fn an_artifact_that_breaks_its_schema_is_caught() {
        let wrong_type = returning(&json!([{"data": {"plan_id": 7, "status": "draft"}}]));
        caught(&ArtifactSchema, &wrong_type, ReasonCode::ArtifactSchemaViolation);
        let finding = &wrong_type.judge(&ArtifactSchema)[0];
        assert_eq!(finding.detail.as_deref(), Some("plan_id_must_be_string"));
        assert_eq!(finding.place.pointer.as_deref(), Some("/plan_id"));
        let missing = returning(&json!([{"data": {"status": "draft"}}]));
        caught(&ArtifactSchema, &missing, ReasonCode::ArtifactSchemaViolation);
        let removed = returning(&json!([{"data": {"plan_id": "p", "status": "final"}}]));
        caught(&ArtifactSchema, &removed, ReasonCode::ArtifactSchemaViolation);
    }

    #[test]
    fn an_artifact_that_costs_too_much_to_judge_is_inconclusive() {
        let branch = |key: &str| json!({"properties": {"next": {"$ref": "#"}}, "required": [key]});
        let schema = json!({"anyOf": [branch("a"), branch("plan_id")]});
        let answering = |depth: usize| {
            let mut world = World::honest();
            world.put("schemas/work-plan.schema.json", &schema.to_string());
            let data = (0..depth).fold(json!({"plan_id": "p"}), |inner, _| json!({"plan_id": "p", "next": inner}));
            let parts = json!([{"data": data}]);
            world.drive().edit(move |i| replaced(&i.answer, &parts))
        };
        passes(&ArtifactSchema, &answering(5));
        let findings = answering(60).judge(&ArtifactSchema);
        assert!(findings.iter().any(|f| f.verdict.reason() == Some(ReasonCode::BudgetExceeded)), "{findings:?}");
        is(&ArtifactSchema, &answering(60), Outcome::Inconclusive);
    }

    #[test]
    fn text_is_left_to_the_content_mode() {
        is(&ArtifactSchema, &returning(&json!([{"text": "Here is the plan."}])), Outcome::Inconclusive);
    }
}
