//! `a2a.skill.content_mode`: what is returned has a declared output mode (S-02, S-03).

use ostiary_protocol::{MediaType, a2a::Card, media_type};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};
use serde_json::Value;

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    outputs::{Artifact, Output, outputs},
    scenarios::{example::Example, send, stream},
};

/// The check.
pub(super) struct ContentMode;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.skill.content_mode",
    version: 1,
    summary: "What a skill returns has one of its declared output modes.",
    layer: Layer::Schema,
    gate: Gate::Conformance,
    covers: &["S-01", "S-02", "S-03"],
    reads: Reads::Any(&[send::ID, stream::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Contract],
    reasons: &[ReasonCode::ContentModeMismatch],
    severity: Severity::Error,
    liar: "text_where_json_is_declared_is_caught",
};

impl Check for ContentMode {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let outputs: Vec<Output<'_>> = outputs(facts).into_iter().filter(|o| !o.artifacts.is_empty()).collect();
        if outputs.is_empty() {
            let remedy = "no example returned an artifact or a message";
            return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "an output", remedy)];
        }
        outputs.iter().flat_map(|o| judge(facts, o)).collect()
    }
}

fn judge(facts: &Facts<'_>, output: &Output<'_>) -> Vec<Finding> {
    let declared = declared(facts, &output.example);
    let ranges: Vec<MediaType> = declared.iter().filter_map(|d| MediaType::parse(d)).collect();
    let x = output.answered.exchange.id;
    let expected = format!("[{}], as declared for `{}`", declared.join(", "), output.example.name);
    let mut out = Vec::new();
    let mut known = 0_usize;
    for (artifact, n, part) in parts(&output.artifacts) {
        let Some(observed) = observed(part) else { continue };
        known += 1;
        let fits = observed.as_ref().is_ok_and(|m| ranges.iter().any(|r| r.includes(m)));
        if !fits {
            let observed = observed.map_or_else(|text| text, |m| m.to_string());
            let finding = facts.fail(ReasonCode::ContentModeMismatch, artifact.at.clone(), &*expected, observed);
            out.push(finding.at_exchange(x).at_pointer("artifact", format!("/parts/{n}")));
        }
    }
    if known == 0 {
        let remedy = "no part says its media type; a raw or url part without `mediaType` could be anything";
        return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "a media type", remedy).at_exchange(x)];
    }
    if out.is_empty() { vec![facts.pass(output.cite()).at_exchange(x)] } else { out }
}

fn parts(artifacts: &[Artifact]) -> impl Iterator<Item = (&Artifact, usize, &Value)> {
    artifacts.iter().flat_map(|a| a.parts.iter().enumerate().map(move |(n, part)| (a, n, part)))
}

/// The media type of a part, as far as it can be told; text that claims to be JSON must be JSON. `Err` = no media type.
fn observed(part: &Value) -> Option<Result<MediaType, String>> {
    let written = part.get("mediaType").and_then(Value::as_str).filter(|t| !t.is_empty());
    let Some(media) = media_type::of_part(part) else {
        return written.map(|text| Err(format!("`{text}`, which is no media type")));
    };
    let text = part.get("text").and_then(Value::as_str);
    match text {
        Some(text) if media.is_json() && serde_json::from_str::<Value>(text).is_err() => {
            Some(Err(format!("text that is no JSON, called {media}")))
        }
        _ => Some(Ok(media)),
    }
}

/// The output modes of the example's skill: the contract's, else the card's own, else the card's defaults.
fn declared(facts: &Facts<'_>, example: &Example) -> Vec<String> {
    let owned = |modes: Vec<&str>| modes.into_iter().map(str::to_owned).collect::<Vec<_>>();
    if let Some(contract) = example.skill.as_deref().and_then(|id| facts.bundle().skill(id)) {
        return contract.output_modes.iter().map(|m| m.value.clone()).collect();
    }
    let Some(card) = facts.card().map(|v| Card::new(v.clone())) else { return Vec::new() };
    let skills = card.skills();
    let of_skill = skills.iter().find(|s| example.skill.is_some() && s.id() == example.skill.as_deref());
    if let Some(modes) = of_skill.and_then(|s| s.modes("outputModes")) {
        return owned(modes);
    }
    // a greeting is for no skill in particular: what any skill returns is declared
    let any = skills.iter().filter(|_| example.skill.is_none()).filter_map(|s| s.modes("outputModes")).flatten();
    owned(card.modes("defaultOutputModes").into_iter().chain(any).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, passes};

    /// Every artifact has this part alone.
    fn returning(part: &Value) -> Driven {
        World::honest().drive().edit(|i| {
            let mut answer = i.answer.clone();
            for pointer in
                ["/result/task/artifacts/0/parts", "/result/artifacts/0/parts", "/result/artifactUpdate/artifact/parts"]
            {
                if let Some(parts) = answer.pointer_mut(pointer) {
                    *parts = json!([part]);
                }
            }
            Edit::Replace(answer)
        })
    }

    #[test]
    fn json_where_json_is_declared_passes() {
        passes(&ContentMode, &World::honest().drive());
        passes(&ContentMode, &returning(&json!({"text": "{\"plan_id\": \"p\"}", "mediaType": "application/json"})));
        let mut messages = World::honest();
        messages.makes_tasks = false;
        passes(&ContentMode, &messages.drive());
    }

    #[test]
    fn text_where_json_is_declared_is_caught() {
        for part in [
            json!({"text": "Here is the plan."}),
            json!({"text": "Here is the plan.", "mediaType": "application/json"}),
            json!({"data": {}, "mediaType": "application/xml"}),
            json!({"data": {}, "mediaType": "json"}),
        ] {
            caught(&ContentMode, &returning(&part), ReasonCode::ContentModeMismatch);
        }
    }

    #[test]
    fn a_part_that_could_be_anything_tells_nothing() {
        let driven = returning(&json!({"raw": "AA=="}));
        crate::testing::is(&ContentMode, &driven, ostiary_record::Outcome::Inconclusive);
    }
}
