//! `a2a.skill.acceptance`: the result keeps the acceptance conditions of its contract, and each claim in it names a source
//! that is there (S-02). Only structure is judged: whether a claim is true is nobody's business here.

use ostiary_contract::file::skill::ClaimsRule;
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};
use serde_json::Value;

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    outputs::{Output, outputs},
    scenarios::{example, send, stream},
    schema::artifact_schema::json_of,
    schema_cost,
};

/// The check.
pub(super) struct Acceptance;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.skill.acceptance",
    version: 1,
    summary: "A result keeps the acceptance conditions of its contract, and each of its claims names a source that it has.",
    layer: Layer::Schema,
    gate: Gate::Conformance,
    covers: &["S-02", "S-05"],
    reads: Reads::Any(&[send::ID, stream::ID]),
    depends: &[Input::Candidate, Input::Contract],
    reasons: &[ReasonCode::AcceptanceNotKept, ReasonCode::ClaimWithoutSource],
    severity: Severity::Error,
    liar: "a_claim_without_a_source_and_a_broken_condition_are_caught",
};

impl Check for Acceptance {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let wanted = |e: &example::Example| e.acceptance.is_some() || e.claims.is_some();
        if !example::examples(facts.bundle(), facts.card()).iter().any(wanted) {
            return vec![facts.not_applicable("skills.yaml", "/skill_contract/examples/acceptance")];
        }
        let outputs: Vec<Output<'_>> = outputs(facts).into_iter().filter(|o| wanted(&o.example)).collect();
        let out: Vec<Finding> = outputs.iter().flat_map(|o| judge(facts, o)).collect();
        if out.is_empty() {
            let remedy = "no example that has acceptance conditions returned JSON";
            return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "an output", remedy)];
        }
        out
    }
}

/// An agent may return more than the one result that the contract is about, so one that keeps everything will do.
fn judge(facts: &Facts<'_>, output: &Output<'_>) -> Vec<Finding> {
    let x = output.answered.exchange.id;
    let parts = output.artifacts.iter().flat_map(|a| &a.parts);
    let mut worst: Option<Vec<Finding>> = None;
    for value in parts.filter_map(json_of) {
        let mut found = conditions(facts, output, &value);
        if let Some(rule) = &output.example.claims {
            found.extend(sourceless(rule, &value).into_iter().map(|(pointer, what)| {
                let expected = "each claim to name a source of the result";
                let finding = facts.fail(ReasonCode::ClaimWithoutSource, output.cite(), expected, what);
                finding.at_pointer("artifact", pointer)
            }));
        }
        if found.is_empty() {
            return vec![facts.pass(output.cite()).at_exchange(x)];
        }
        worst = Some(found);
    }
    worst.unwrap_or_default().into_iter().map(|f| f.at_exchange(x)).collect()
}

fn conditions(facts: &Facts<'_>, output: &Output<'_>, value: &Value) -> Vec<Finding> {
    let Some(name) = &output.example.acceptance else { return Vec::new() };
    let Some((_, schema)) = facts.bundle().schema(name) else {
        let remedy = format!("the bundle has no schema `{name}`");
        return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "schema", remedy)];
    };
    match schema_cost::check(facts.bundle(), schema, value, "artifact") {
        Err(why) => vec![why.finding(facts, name)],
        Ok(found) => found
            .into_iter()
            .map(|v| {
                let expected = format!("what `{name}` demands ({})", v.keyword);
                let finding =
                    facts.fail(ReasonCode::AcceptanceNotKept, output.cite(), expected, v.detail.replace('_', " "));
                finding.at_pointer(name.clone(), v.pointer).with_detail(v.detail)
            })
            .collect(),
    }
}

/// The claims that name no source, or one that the result does not list.
fn sourceless(rule: &ClaimsRule, value: &Value) -> Vec<(String, String)> {
    let at = rule.pointer.value.as_str();
    let Some(claims) = value.pointer(at).and_then(Value::as_array) else {
        return vec![(at.to_owned(), "no list of claims".to_owned())];
    };
    let known: Option<Vec<String>> = rule.known_pointer.as_ref().map(|pointer| {
        let list = value.pointer(&pointer.value).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        list.iter().filter_map(name_of).collect()
    });
    let wrong = |(n, claim): (usize, &Value)| {
        let pointer = format!("{at}/{n}{}", rule.sources_pointer.value);
        let named: Vec<String> = match claim.pointer(&rule.sources_pointer.value) {
            Some(Value::Array(list)) => list.iter().filter_map(name_of).collect(),
            Some(one) => name_of(one).into_iter().collect(),
            None => Vec::new(),
        };
        if named.is_empty() {
            return Some((pointer, "a claim without source".to_owned()));
        }
        let foreign = named.iter().find(|name| known.as_ref().is_some_and(|known| !known.contains(name)))?;
        Some((pointer, format!("the source `{foreign}`, which the result does not list")))
    };
    claims.iter().enumerate().filter_map(wrong).collect()
}

/// A source by its name: a text, or an object with `id`, `url` or `uri`.
fn name_of(source: &Value) -> Option<String> {
    let of = |name: &str| source.get(name).and_then(Value::as_str);
    let name = source.as_str().or_else(|| of("id")).or_else(|| of("url")).or_else(|| of("uri"))?;
    (!name.trim().is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes};

    const CONTRACT: &str = "skill_contract:
  skill_id: work-planning
  input_modes: [application/json]
  output_modes: [application/json]
  examples:
    - name: create-draft-plan
      input_fixture: work-request-valid.json
      acceptance: accepted-plan.schema.json
      claims: { pointer: /claims, sources_pointer: /sources, known_pointer: /sources }
";

    const ACCEPTED: &str =
        r#"{"type": "object", "properties": {"steps": {"type": "array", "minItems": 2}}, "required": ["steps"]}"#;

    fn returning(data: &Value) -> Driven {
        let mut world = World::honest();
        world.put("skills.yaml", CONTRACT);
        world.put("schemas/accepted-plan.schema.json", ACCEPTED);
        world.drive().edit(|i| {
            let mut answer = i.answer.clone();
            for pointer in
                ["/result/task/artifacts/0/parts", "/result/artifacts/0/parts", "/result/artifactUpdate/artifact/parts"]
            {
                if let Some(own) = answer.pointer_mut(pointer) {
                    *own = json!([{ "data": data }]);
                }
            }
            Edit::Replace(answer)
        })
    }

    fn result() -> Value {
        json!({"steps": ["pack", "move"], "sources": [{"id": "lease"}, "https://city.example.test/permits"],
            "claims": [{"text": "The lease ends in May.", "sources": ["lease"]},
                       {"text": "A permit is needed.", "sources": "https://city.example.test/permits"}]})
    }

    fn changed(change: impl FnOnce(&mut Value)) -> Driven {
        let mut data = result();
        change(&mut data);
        returning(&data)
    }

    #[test]
    fn claims_with_their_sources_pass_and_none_promised_does_not_apply() {
        passes(&Acceptance, &returning(&result()));
        is(&Acceptance, &World::honest().drive(), Outcome::NotApplicable);
    }

    #[test]
    fn a_claim_without_a_source_and_a_broken_condition_are_caught() {
        let sourceless = ReasonCode::ClaimWithoutSource;
        caught(&Acceptance, &changed(|d| d["claims"][0]["sources"] = json!([])), sourceless);
        caught(&Acceptance, &changed(|d| d["claims"][0]["sources"] = json!(["rumour"])), sourceless);
        caught(&Acceptance, &changed(|d| drop(d.as_object_mut().unwrap().remove("claims"))), sourceless);
        caught(&Acceptance, &changed(|d| d["steps"] = json!(["pack"])), ReasonCode::AcceptanceNotKept);
    }
}
