//! `a2a.card.required`: the card has all that its version requires, in the form that it requires (C-01, C-06).

use ostiary_protocol::a2a::{
    Card, CardFormat,
    card::{Grade, Problem, ProblemKind},
};
use ostiary_record::{EventRef, Finding, Gate, Kind, Layer, ReasonCode, Severity};

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    declaration::no_card_declared,
    discover::CARD,
    facts::Facts,
};

/// The check.
pub(super) struct Required;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.card.required",
    version: 1,
    summary: "The card has every member that A2A 1.0 requires, in the form it requires.",
    layer: Layer::Declaration,
    gate: Gate::Static,
    covers: &["C-01", "C-06"],
    reads: Reads::Declarations,
    depends: &[Input::Card],
    reasons: &[
        ReasonCode::CardMalformed,
        ReasonCode::CardNotRecognized,
        ReasonCode::CardVersionUnsupported,
        ReasonCode::CardFieldMissing,
        ReasonCode::CardFieldInvalid,
        ReasonCode::CardUnavailable,
    ],
    severity: Severity::Error,
    liar: "a_card_without_a_required_member_is_caught",
};

impl Check for Required {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let Some((_, at)) = facts.card_document() else { return vec![absent(facts)] };
        if let Some(problem) = &facts.discovered().card_problem {
            let expected = "one readable JSON object";
            return vec![facts.fail(ReasonCode::CardMalformed, vec![at], expected, problem.clone())];
        }
        let Some(value) = facts.card() else { return vec![absent(facts)] };
        let card = Card::new(value.clone());
        match card.format() {
            CardFormat::V1_0 | CardFormat::Hybrid => findings(facts, &card, &at),
            CardFormat::NotACard => {
                vec![facts.fail(ReasonCode::CardNotRecognized, vec![at], "an agent card", "other JSON")]
            }
            other => vec![other_version(facts, other, at)],
        }
    }
}

fn findings(facts: &Facts<'_>, card: &Card, at: &EventRef) -> Vec<Finding> {
    let problems = card.problems();
    let mut out: Vec<Finding> = problems.iter().map(|p| finding(facts, p, at)).collect();
    if problems.iter().all(|p| p.grade == Grade::Warning) {
        out.push(facts.pass(vec![at.clone()]));
    }
    out
}

fn finding(facts: &Facts<'_>, problem: &Problem, at: &EventRef) -> Finding {
    let (reason, expected) = match problem.kind {
        ProblemKind::Missing => (ReasonCode::CardFieldMissing, format!("a value at `{}`", problem.pointer)),
        ProblemKind::Invalid => (ReasonCode::CardFieldInvalid, format!("a valid value at `{}`", problem.pointer)),
    };
    let finding = facts.fail(reason, vec![at.clone()], expected, problem.what.clone());
    let finding = finding.at_pointer(CARD, problem.pointer.clone()).with_message(problem.what.clone());
    match problem.grade {
        Grade::Error => finding,
        Grade::Warning => finding.as_severity(Severity::Warning),
    }
}

fn other_version(facts: &Facts<'_>, format: CardFormat, at: EventRef) -> Finding {
    let finding = facts.fail(ReasonCode::CardVersionUnsupported, vec![at], "a card of A2A 1.0", format.as_str());
    match format.migration() {
        Some(migration) => finding.with_message(format!("this is a card of {}; {migration}", format.as_str())),
        None => finding,
    }
}

/// Why there is no card on the tape: nobody declares one, it is not where it should be, or it could not be reached.
fn absent(facts: &Facts<'_>) -> Finding {
    let recording = &facts.discovered().recording;
    let status = recording.exchanges().iter().find_map(ostiary_record::view::ExchangeView::status);
    let asked = recording.events.iter().any(|e| matches!(e.kind, Kind::Sent { .. }));
    match status {
        Some(status @ (200..=499)) if status != 429 => {
            let observed = format!("HTTP {status}");
            facts.fail(
                ReasonCode::CardUnavailable,
                facts.discovery_event(),
                "the card at its declared address",
                observed,
            )
        }
        None if !asked && facts.bundle().card.is_none() => no_card_declared(facts),
        _ => facts.inconclusive(ReasonCode::CardUnavailable, CARD, "the card could not be fetched"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{World, caught, edit_document, passes, warnings};

    #[test]
    fn an_honest_card_passes() {
        passes(&Required, &World::honest().drive());
    }

    #[test]
    fn a_card_without_a_required_member_is_caught() {
        let mut driven = World::honest().drive();
        let mut card = World::honest().card;
        card["skills"][0].as_object_mut().unwrap().remove("tags");
        edit_document(&mut driven.run, CARD, card.to_string().as_bytes());
        caught(&Required, &driven, ReasonCode::CardFieldMissing);
        let findings = driven.judge(&Required);
        assert_eq!(findings[0].place.pointer.as_deref(), Some("/skills/0/tags"));
    }

    #[test]
    fn every_unreadable_card_is_told_apart() {
        let with = |bytes: &[u8]| {
            let mut driven = World::honest().drive();
            edit_document(&mut driven.run, CARD, bytes);
            driven
        };
        for bytes in [&b"<html>"[..], b"{\"name\":", b"{\"a\":1,\"a\":2}", b"\xff\xfe", b"[]", &vec![b'['; 10_000]] {
            caught(&Required, &with(bytes), ReasonCode::CardMalformed);
        }
        caught(&Required, &with(b"{\"openapi\": \"3.1.0\"}"), ReasonCode::CardNotRecognized);
        let old = json!({"name": "x", "url": "https://a.example/", "protocolVersion": "0.3.0", "skills": []});
        let old = with(old.to_string().as_bytes());
        caught(&Required, &old, ReasonCode::CardVersionUnsupported);
        assert!(old.judge(&Required)[0].message.contains("supportedInterfaces"));
    }

    #[test]
    fn a_patch_number_in_the_version_is_a_warning() {
        let mut driven = World::honest().drive();
        let mut card = World::honest().card;
        card["supportedInterfaces"][0]["protocolVersion"] = json!("1.0.1");
        edit_document(&mut driven.run, CARD, card.to_string().as_bytes());
        passes(&Required, &driven);
        assert_eq!(warnings(&Required, &driven), [ReasonCode::CardFieldInvalid]);
    }
}
