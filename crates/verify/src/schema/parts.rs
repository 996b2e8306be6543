//! `a2a.skill.parts`: what an example returns has the parts that its contract names, in their order, and bytes that are
//! what they are called (S-05).

use ostiary_canon::Digest;
use ostiary_contract::file::skill::ExpectedPart;
use ostiary_protocol::{
    MediaType,
    content::{Content, content, contradiction},
    media_type,
};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};
use serde_json::Value;

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    outputs::{Output, outputs},
    scenarios::{example, send, stream},
};

/// The check.
pub(super) struct Parts;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.skill.parts",
    version: 1,
    summary: "What an example returns has the parts that its contract names, in order, and bytes of the type they claim.",
    layer: Layer::Schema,
    gate: Gate::Conformance,
    covers: &["S-05", "S-02"],
    reads: Reads::Any(&[send::ID, stream::ID]),
    depends: &[Input::Candidate, Input::Contract],
    reasons: &[ReasonCode::ContentLost, ReasonCode::ContentTypeFalse],
    severity: Severity::Error,
    liar: "a_lost_swapped_or_falsely_named_part_is_caught",
};

impl Check for Parts {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let outputs: Vec<Output<'_>> = outputs(facts).into_iter().filter(|o| !o.artifacts.is_empty()).collect();
        let out: Vec<Finding> = outputs.iter().flat_map(|o| judge(facts, o)).collect();
        if !out.is_empty() {
            return out;
        }
        let promised = example::examples(facts.bundle(), facts.card()).iter().any(|e| !e.expected_parts.is_empty());
        if promised {
            let remedy = "no example whose parts the contract names returned any";
            return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "an output", remedy)];
        }
        vec![facts.not_applicable("skills.yaml", "/skill_contract/examples/expected_parts")]
    }
}

fn judge(facts: &Facts<'_>, output: &Output<'_>) -> Vec<Finding> {
    let x = output.answered.exchange.id;
    let parts: Vec<&Value> = output.artifacts.iter().flat_map(|a| &a.parts).collect();
    let mut out = Vec::new();
    let mut bytes = false;
    for (n, part) in parts.iter().enumerate() {
        bytes |= part.get("raw").is_some() || part.get("url").is_some();
        if let Some(why) = contradiction(part) {
            let finding =
                facts.fail(ReasonCode::ContentTypeFalse, output.cite(), "bytes of the type that they claim", why);
            out.push(finding.at_exchange(x).at_pointer("artifact", format!("/parts/{n}")));
        }
    }
    let wanted = &output.example.expected_parts;
    if let Some((n, expected, observed)) = lost(facts, wanted, &parts) {
        let finding = facts.fail(ReasonCode::ContentLost, output.cite(), expected, observed);
        out.push(finding.at_exchange(x).at_pointer("skills.yaml", format!("/expected_parts/{n}")));
    }
    if out.is_empty() && (bytes || !wanted.is_empty()) {
        out.push(facts.pass(output.cite()).at_exchange(x));
    }
    out
}

/// The first expected part that is not there, or not at its place: others may stand between them.
fn lost(facts: &Facts<'_>, wanted: &[ExpectedPart], parts: &[&Value]) -> Option<(usize, String, String)> {
    let mut from = 0;
    for (n, expected) in wanted.iter().enumerate() {
        match parts[from..].iter().position(|part| fits(facts, expected, part)) {
            Some(at) => from += at + 1,
            None => {
                let before = parts[..from].iter().any(|part| fits(facts, expected, part));
                let seen: Vec<String> = parts.iter().map(|p| named(p)).collect();
                let place = if before { "in another place among" } else { "not among" };
                return Some((n, described(expected), format!("{place} [{}]", seen.join(", "))));
            }
        }
    }
    None
}

fn fits(facts: &Facts<'_>, expected: &ExpectedPart, part: &Value) -> bool {
    let range = MediaType::parse(&expected.media_type.value);
    let typed = media_type::of_part(part).is_some_and(|m| range.is_some_and(|r| r.includes(&m)));
    let bytes = match content(part) {
        Content::Bytes(bytes) => Some(bytes),
        Content::Reference(_) | Content::Broken | Content::None => None,
    };
    let length = bytes.as_ref().map_or(0, Vec::len) as u64;
    let long = expected.min_bytes.is_none_or(|least| length >= least);
    let digest =
        |wanted: &str| bytes.as_ref().is_some_and(|b| Digest::of(b).hex() == wanted.trim_start_matches("sha256:"));
    let same = |name: &str| match facts.bundle().fixture(name) {
        Some((_, fixture)) => part.get("data") == Some(fixture) || part.get("text") == Some(fixture),
        None => false,
    };
    typed
        && long
        && expected.sha256.as_ref().is_none_or(|wanted| digest(&wanted.value))
        && expected.same_as.as_ref().is_none_or(|name| same(&name.value))
}

fn described(expected: &ExpectedPart) -> String {
    let mut out = format!("a part of {}", expected.media_type.value);
    if let Some(least) = expected.min_bytes {
        out.push_str(&format!(" of at least {least} bytes"));
    }
    if let Some(digest) = &expected.sha256 {
        out.push_str(&format!(" with the digest {}", digest.value));
    }
    if let Some(name) = &expected.same_as {
        out.push_str(&format!(" that says what `{}` says", name.value));
    }
    out
}

fn named(part: &Value) -> String {
    let media = media_type::of_part(part).map_or_else(|| "a part without type".to_owned(), |m| m.to_string());
    match content(part) {
        Content::Bytes(bytes) => format!("{media} of {} bytes", bytes.len()),
        Content::Reference(_) => format!("{media} by reference"),
        Content::Broken => format!("{media} that cannot be read"),
        Content::None => format!("{media} without content"),
    }
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
      expected_parts:
        - { media_type: application/json, min_bytes: 10 }
        - { media_type: image/png, sha256: \"4c4b6a3be1314ab86138bef4314dde022e600960d8689a2c8f8631802d20dab6\" }
";

    /// A PNG's first eight bytes; their digest stands in the contract.
    const PNG: &str = "iVBORw0KGgo=";

    fn returning(parts: &Value) -> Driven {
        let mut world = World::honest();
        world.put("skills.yaml", CONTRACT);
        world.drive().edit(|i| {
            let mut answer = i.answer.clone();
            for pointer in
                ["/result/task/artifacts/0/parts", "/result/artifacts/0/parts", "/result/artifactUpdate/artifact/parts"]
            {
                if let Some(own) = answer.pointer_mut(pointer) {
                    own.clone_from(parts);
                }
            }
            Edit::Replace(answer)
        })
    }

    fn plan() -> Value {
        json!({"data": {"plan_id": "p", "status": "draft"}})
    }

    fn picture() -> Value {
        json!({"raw": PNG, "mediaType": "image/png"})
    }

    #[test]
    fn all_parts_in_order_pass() {
        passes(&Parts, &returning(&json!([plan(), picture()])));
        passes(&Parts, &returning(&json!([plan(), {"text": "between"}, picture()])));
        is(&Parts, &World::honest().drive(), Outcome::NotApplicable);
    }

    #[test]
    fn a_lost_swapped_or_falsely_named_part_is_caught() {
        let lost = ReasonCode::ContentLost;
        caught(&Parts, &returning(&json!([plan()])), lost);
        caught(&Parts, &returning(&json!([picture(), plan()])), lost);
        caught(&Parts, &returning(&json!([{"data": {}}, picture()])), lost);
        let other = json!({"raw": "iVBORw0KGgoA", "mediaType": "image/png"});
        caught(&Parts, &returning(&json!([plan(), other])), lost);
        let false_type = json!({"raw": "JVBERi0xLjc=", "mediaType": "image/png"});
        caught(&Parts, &returning(&json!([plan(), picture(), false_type])), ReasonCode::ContentTypeFalse);
        let broken = json!({"raw": "no base64!", "mediaType": "image/png"});
        caught(&Parts, &returning(&json!([plan(), picture(), broken])), ReasonCode::ContentTypeFalse);
    }
}
