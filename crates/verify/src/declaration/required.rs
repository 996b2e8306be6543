//! `a2a.card.required`: the card has all that its version requires, in the form that it requires (C-01, C-06).
//!
//! What is no card, or a card of another version, gets one verdict that says what it is, and no list of what it lacks.

use ostiary_canon::json::{Limits, parse_strict};
use ostiary_protocol::a2a::{
    Card, CardFormat,
    card::{Grade, Problem, ProblemKind, format::contradicted_claim, looks_like, unreadable_looks_like},
};
use ostiary_record::{EventRef, Finding, Gate, Kind, Layer, ReasonCode, Severity};

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    declaration::{could_not_fetch, no_card_declared},
    discover::CARD,
    facts::Facts,
};

/// The check.
pub(super) struct Required;

/// Most lost members that a message names.
const LOST: usize = 8;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.card.required",
    version: 4,
    summary: "The card has every member that its A2A version requires, in the form it requires.",
    layer: Layer::Declaration,
    gate: Gate::Static,
    covers: &["C-01", "C-06"],
    reads: Reads::Declarations,
    depends: &[Input::Card, Input::Environment],
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
        let Some((bytes, at)) = facts.card_document() else { return vec![absent(facts)] };
        if let Some(problem) = &facts.discovered().card_problem {
            return vec![unreadable(facts, bytes, problem, at)];
        }
        let Some(value) = facts.card() else { return vec![absent(facts)] };
        let card = Card::new(value.clone());
        let format = card.format();
        match format {
            CardFormat::V1_0 | CardFormat::Hybrid => findings(facts, &card.problems(), &at),
            CardFormat::NotACard => vec![not_a_card(facts, looks_like(value), at)],
            _ if format.is_legacy() && facts.options().legacy_cards => {
                let mut out = findings(facts, &card.legacy_problems(), &at);
                out.push(other_version(facts, &card, at).as_severity(Severity::Warning));
                out
            }
            _ => vec![other_version(facts, &card, at)],
        }
    }
}

fn unreadable(facts: &Facts<'_>, bytes: &[u8], problem: &str, at: EventRef) -> Finding {
    // what reads as JSON and is no object is readable, and no card
    if let Ok(value) = parse_strict(bytes, Limits::DOCUMENT) {
        return not_a_card(facts, looks_like(&value), at);
    }
    let observed = unreadable_looks_like(bytes).map_or(problem.to_owned(), |what| format!("{what}: {problem}"));
    facts.fail(ReasonCode::CardMalformed, vec![at], "one readable JSON object", observed)
}

fn not_a_card(facts: &Facts<'_>, what: &str, at: EventRef) -> Finding {
    let finding = facts.fail(ReasonCode::CardNotRecognized, vec![at], "an agent card", what);
    finding.with_message(format!("not an agent card; this looks like {what}")).at_pointer(CARD, "")
}

fn findings(facts: &Facts<'_>, problems: &[Problem], at: &EventRef) -> Vec<Finding> {
    // requirements have a check of their own
    let of_form = problems.iter().filter(|p| p.kind != ProblemKind::Requirement || facts.options().legacy_cards);
    let mut out: Vec<Finding> = of_form.map(|p| finding(facts, p, at)).collect();
    if out.iter().all(|f| f.severity == Severity::Warning) {
        out.push(facts.pass(vec![at.clone()]));
    }
    out
}

fn finding(facts: &Facts<'_>, problem: &Problem, at: &EventRef) -> Finding {
    let (reason, expected) = match problem.kind {
        ProblemKind::Missing => (ReasonCode::CardFieldMissing, format!("a value at `{}`", problem.pointer)),
        ProblemKind::Invalid | ProblemKind::MediaType | ProblemKind::Requirement => {
            (ReasonCode::CardFieldInvalid, format!("a valid value at `{}`", problem.pointer))
        }
    };
    let finding = facts.fail(reason, vec![at.clone()], expected, problem.what.clone());
    let finding = finding.at_pointer(CARD, problem.pointer.clone()).with_message(problem.what.clone());
    let lenient = problem.kind == ProblemKind::MediaType && !facts.production();
    match problem.grade {
        Grade::Error if !lenient => finding,
        Grade::Error | Grade::Warning => finding.as_severity(Severity::Warning),
    }
}

fn other_version(facts: &Facts<'_>, card: &Card, at: EventRef) -> Finding {
    let format = card.format();
    let claim = contradicted_claim(card.value());
    let claim = claim.map(|c| format!(", although it claims `protocolVersion` {c:?}")).unwrap_or_default();
    let observed = format!("{}{claim}", format.as_str());
    let finding = facts.fail(ReasonCode::CardVersionUnsupported, vec![at], "a card of A2A 1.0", observed.clone());
    let lost = if format.is_legacy() { lost_in_1_0(card) } else { String::new() };
    let migration = format.migration().unwrap_or_default();
    finding.with_message(format!("this is a card of {observed}; {migration}{lost}")).at_pointer(CARD, "")
}

/// What a 1.0 card would not keep, a few by name.
fn lost_in_1_0(card: &Card) -> String {
    let lost = ostiary_protocol::a2a::card::project(card.value()).lost;
    let named: Vec<&str> = lost.iter().take(LOST).map(|l| l.pointer.as_str()).collect();
    match lost.len() {
        0 => "; nothing is lost".to_owned(),
        n if n > LOST => format!("; lost: {} and {} more", named.join(", "), n - LOST),
        _ => format!("; lost: {}", named.join(", ")),
    }
}

/// Why there is no card on the tape: nobody declares one, it is not where it should be, or it could not be reached.
fn absent(facts: &Facts<'_>) -> Finding {
    let recording = &facts.discovered().recording;
    let status = recording.exchanges().iter().find_map(ostiary_record::view::ExchangeView::status);
    let asked = recording.events.iter().any(|e| matches!(e.kind, Kind::Sent { .. }));
    match status {
        Some(status @ (200..=499)) if status != 429 => {
            let observed = facts.discovered().card_absence().unwrap_or_else(|| format!("HTTP {status}"));
            facts.fail(
                ReasonCode::CardUnavailable,
                facts.discovery_event(),
                "the card at its declared address",
                observed,
            )
        }
        None if !asked && facts.bundle().card.is_none() => no_card_declared(facts),
        _ => {
            let why = facts.discovered().card_absence().unwrap_or_else(|| "nobody was asked for it".to_owned());
            let remedy = format!("{}; see `card_url` and `connect_to` of the environment", could_not_fetch(&why));
            facts.inconclusive(ReasonCode::CardUnavailable, CARD, remedy)
        }
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, World, caught, edit_document, passes, warnings};

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
    fn a_card_that_cannot_be_fetched_is_said_with_address_and_cause_by_all() {
        let report = World::honest().drive_unreachable().report();
        assert_eq!(report.verdict, Outcome::Inconclusive);
        let open: Vec<_> =
            report.findings.iter().filter(|f| f.finding.verdict.outcome() != Outcome::NotApplicable).collect();
        let said = |f: &&&ostiary_record::FindingLine| {
            let message = &f.finding.message;
            message.contains("agent.example.test/.well-known/agent-card.json") && message.contains("connection refused")
        };
        let of_required = open.iter().find(|f| f.finding.check.0 == SPEC.id).unwrap();
        assert_eq!(of_required.reason_code, Some(ReasonCode::CardUnavailable));
        assert!(said(&of_required), "{of_required:?}");
        let silent: Vec<_> = open.iter().filter(|f| f.reason_code == Some(ReasonCode::ScenarioNotRun)).collect();
        assert!(silent.is_empty(), "{silent:#?}");
    }

    fn with(bytes: &[u8]) -> Driven {
        let mut driven = World::honest().drive();
        edit_document(&mut driven.run, CARD, bytes);
        driven
    }

    #[test]
    fn every_unreadable_card_is_told_apart() {
        for bytes in [&b"<html>"[..], b"{\"name\":", b"{\"a\":1,\"a\":2}", b"\xff\xfe", &vec![b'['; 10_000]] {
            caught(&Required, &with(bytes), ReasonCode::CardMalformed);
        }
        assert!(with(b"<html>").judge(&Required)[0].message.contains("a web page"));
        for bytes in [&b"{\"openapi\": \"3.1.0\"}"[..], b"[]", b"null"] {
            caught(&Required, &with(bytes), ReasonCode::CardNotRecognized);
        }
    }

    fn old() -> serde_json::Value {
        json!({"name": "x", "description": "d", "version": "1", "url": "https://a.example/", "protocolVersion": "0.3.0",
            "capabilities": {"stateTransitionHistory": true}, "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"], "skills": []})
    }

    #[test]
    fn a_card_of_another_version_gets_one_verdict_with_what_to_do() {
        let driven = with(old().to_string().as_bytes());
        caught(&Required, &driven, ReasonCode::CardVersionUnsupported);
        let findings = driven.judge(&Required);
        assert!(findings.len() == 1 && findings[0].message.contains("supportedInterfaces"), "{findings:#?}");
        assert!(findings[0].message.contains("lost: /capabilities/stateTransitionHistory"), "{findings:#?}");
        let mut claims = old();
        claims["protocolVersion"] = json!("1.0");
        assert!(with(claims.to_string().as_bytes()).judge(&Required)[0].message.contains("although it claims"));
    }

    #[test]
    fn a_0_3_card_is_judged_by_its_own_version_when_asked() {
        let judged = |card: &serde_json::Value| {
            let mut driven = with(card.to_string().as_bytes());
            driven.options.legacy_cards = true;
            driven
        };
        passes(&Required, &judged(&old()));
        assert_eq!(warnings(&Required, &judged(&old())), [ReasonCode::CardVersionUnsupported]);
        let mut card = old();
        card.as_object_mut().unwrap().remove("skills");
        caught(&Required, &judged(&card), ReasonCode::CardFieldMissing);
    }

    #[test]
    fn modes_that_are_no_media_types_are_warned_about_in_development() {
        let mut world = World::honest();
        let mut card = world.card.clone();
        card["defaultInputModes"] = json!(["text", "application/json"]);
        caught(&Required, &with(card.to_string().as_bytes()), ReasonCode::CardFieldInvalid);
        world.environment.strictness = "development".to_owned();
        let mut driven = world.drive();
        edit_document(&mut driven.run, CARD, card.to_string().as_bytes());
        passes(&Required, &driven);
        assert_eq!(warnings(&Required, &driven), [ReasonCode::CardFieldInvalid]);
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
