//! `a2a.card.signature`: what the card's signatures show about its integrity (C-07). A valid signature says that the card
//! is as its signer made it, and nothing of who the agent is or what it does.

use ostiary_protocol::a2a::{
    Card,
    signature::{
        Conclusion, Expectation, LeftOut, SignatureLine, SignatureReport, SignatureStatus, Unsigned, verify_value,
    },
};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};
use serde_json::Value;

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    declaration::served,
    discover::CARD,
    facts::Facts,
};

/// The check.
pub(super) struct Signature;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.card.signature",
    version: 2,
    summary: "A signed card is as a key that the operator knows signed it, and a card that was signed stays signed.",
    layer: Layer::Declaration,
    gate: Gate::Static,
    covers: &["C-07"],
    reads: Reads::Declarations,
    depends: &[Input::Card, Input::Contract, Input::Environment],
    reasons: &[
        ReasonCode::CardSignatureMissing,
        ReasonCode::CardSignatureStripped,
        ReasonCode::CardSignatureMalformed,
        ReasonCode::CardSignatureAlgorithmForbidden,
        ReasonCode::CardSignatureKeyIdMissing,
        ReasonCode::CardSignatureKeyUnknown,
        ReasonCode::CardSignatureInvalid,
        ReasonCode::CardSignatureNotChecked,
        ReasonCode::CardInputUnsigned,
    ],
    severity: Severity::Error,
    liar: "a_card_changed_after_signing_is_caught",
};

/// Where signatures stand in a card.
const SIGNATURES: &str = "/signatures";
/// Most unsigned members that are listed one by one.
const LISTED: usize = 32;

impl Check for Signature {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let (card, at) = match served(facts) {
            Ok(served) => served,
            Err(finding) => return vec![*finding],
        };
        let report = verify_value(card.value(), &facts.options().card_keys);
        match report.conclude(expected(facts)) {
            Conclusion::Intact => intact(facts, &report, &at),
            Conclusion::NotSigned => vec![facts.not_applicable(CARD, SIGNATURES)],
            Conclusion::NotChecked => not_checked(facts, &report, &at),
            Conclusion::Broken(reason) => broken(facts, reason, &report, &at),
        }
    }
}

/// What was to be expected: a card that the bundle holds with signatures, or that was last known with them, was signed
/// before, whatever the policy says. A new version of the card is no excuse: whoever strips a signature can raise it, too.
fn expected(facts: &Facts<'_>) -> Expectation {
    let declared = facts.bundle().card.as_ref().map(|declared| &declared.value);
    let before = declared.into_iter().chain(&facts.options().last_card).any(is_signed);
    match (before, facts.options().card_signature_required) {
        (true, _) => Expectation::AsBefore,
        (false, true) => Expectation::Signature,
        (false, false) => Expectation::Nothing,
    }
}

fn is_signed(card: &Value) -> bool {
    let card = Card::new(card.clone());
    card.get("signatures").and_then(Value::as_array).is_some_and(|list| !list.is_empty())
}

fn intact(facts: &Facts<'_>, report: &SignatureReport, at: &[EventRef]) -> Vec<Finding> {
    let mut out = Vec::new();
    if let Some(line) = report.best()
        && let SignatureStatus::Valid { form, gap, .. } = &line.status
    {
        let gap = gap.map(|gap| format!("; {gap}")).unwrap_or_default();
        let told = format!("integrity only: {}{gap}", line.status.told());
        let finding = facts.pass(at.to_vec()).at_pointer(CARD, line.pointer.clone());
        out.push(finding.with_detail(form.as_str()).with_message(told));
    }
    out.extend(refusals(facts, report, at).map(|finding| finding.as_severity(Severity::Warning)));
    out.extend(report.unsigned().iter().take(LISTED).map(|member| unsigned(facts, member, at)));
    out
}

fn not_checked(facts: &Facts<'_>, report: &SignatureReport, at: &[EventRef]) -> Vec<Finding> {
    let remedy = "give the issuer's public keys as a JWK set; keys that the card itself names are never fetched";
    let open = facts.inconclusive(ReasonCode::CardSignatureNotChecked, "the issuer's keys", remedy);
    let open = open.at_pointer(CARD, SIGNATURES);
    let required = facts.options().card_signature_required;
    let severity = if required { Severity::Error } else { Severity::Warning };
    let wrong = refusals(facts, report, at).map(|finding| finding.as_severity(Severity::Warning));
    std::iter::once(open.as_severity(severity)).chain(wrong).collect()
}

fn broken(facts: &Facts<'_>, reason: ReasonCode, report: &SignatureReport, at: &[EventRef]) -> Vec<Finding> {
    let out: Vec<Finding> = refusals(facts, report, at).collect();
    if !out.is_empty() {
        return out;
    }
    let expected = match reason {
        ReasonCode::CardSignatureStripped => "a signature, as the card in the bundle or the last known one has",
        ReasonCode::CardSignatureMissing => "a signature, as the policy asks for",
        _ => "a list of signatures of bounded size",
    };
    let observed = report.refused.clone().unwrap_or_else(|| "no signature".to_owned());
    vec![facts.fail(reason, at.to_vec(), expected, observed).at_pointer(CARD, SIGNATURES)]
}

/// The signatures that were looked at and are not valid, each with its own reason.
fn refusals<'f>(
    facts: &'f Facts<'_>,
    report: &'f SignatureReport,
    at: &'f [EventRef],
) -> impl Iterator<Item = Finding> + 'f {
    let judged = |line: &'f SignatureLine| match line.status.reason() {
        None | Some(ReasonCode::CardSignatureNotChecked) => None,
        Some(reason) => {
            let named = line.kid.as_deref().map(|kid| format!(" (key `{kid}`)")).unwrap_or_default();
            let observed = format!("{}{named}", line.status.told());
            let expected = "a signature of this card by a key that the operator knows";
            let finding = facts.fail(reason, at.to_vec(), expected, observed);
            Some(finding.at_pointer(CARD, line.pointer.clone()))
        }
    };
    report.signatures.iter().filter_map(judged)
}

fn unsigned(facts: &Facts<'_>, member: &Unsigned, at: &[EventRef]) -> Finding {
    let why = match member.why {
        LeftOut::OutsideSchema => "the signed form covers the members of the A2A schema alone",
        LeftOut::Empty => "the signed form leaves out what is empty",
        LeftOut::Lost => "the signer's library leaves it out",
    };
    let finding = facts.fail(ReasonCode::CardInputUnsigned, at.to_vec(), "a member that the signature covers", why);
    finding.at_pointer(CARD, member.pointer.clone()).as_severity(Severity::Warning)
}

#[cfg(test)]
mod tests {
    use ostiary_canon::{dsse::SigningKey, jwk::PublicKey};
    use ostiary_protocol::a2a::signature::{Anchors, Form, sign};
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, World, caught, edit_document, is, passes, warnings};

    fn key() -> SigningKey {
        SigningKey::from_seed([4; 32])
    }

    fn keys(kid: &str) -> Anchors {
        PublicKey::ed25519(kid, key().verifying_key()).into()
    }

    /// The honest agent with a signed card, judged with its key.
    fn signed(form: Form) -> World {
        let mut world = World::with_card(|card| sign(card, form, &key(), "k1").expect("the honest card can be signed"));
        world.options.card_keys = keys("k1");
        world
    }

    fn serving(world: World, change: impl FnOnce(&mut Value)) -> Driven {
        let mut card = world.card.clone();
        change(&mut card);
        let mut driven = world.drive();
        edit_document(&mut driven.run, CARD, card.to_string().as_bytes());
        driven
    }

    #[test]
    fn a_signed_card_passes_and_its_form_is_named() {
        let driven = signed(Form::Specification).drive();
        passes(&Signature, &driven);
        let finding = &driven.judge(&Signature)[0];
        assert_eq!(finding.detail.as_deref(), Some("specification"));
        assert!(finding.message.starts_with("integrity only"), "{}", finding.message);
        assert_eq!(warnings(&Signature, &driven), []);
    }

    #[test]
    fn a_card_changed_after_signing_is_caught() {
        let driven = serving(signed(Form::Specification), |card| card["name"] = json!("Mallory"));
        caught(&Signature, &driven, ReasonCode::CardSignatureInvalid);
        assert_eq!(driven.judge(&Signature)[0].place.pointer.as_deref(), Some("/signatures/0"));
    }

    #[test]
    fn a_stripped_signature_is_caught_without_any_policy() {
        let mut world = signed(Form::Specification);
        world.options.card_keys = Anchors::default();
        let driven = serving(world, |card| card["signatures"] = json!([]));
        caught(&Signature, &driven, ReasonCode::CardSignatureStripped);
    }

    #[test]
    fn a_signature_stripped_since_the_last_known_card_is_caught_under_a_new_version_as_well() {
        let last_card = signed(Form::Specification).card;
        let since = |change: fn(&mut Value)| {
            let mut world = World::with_card(change);
            world.options.last_card = Some(last_card.clone());
            world.drive()
        };
        caught(&Signature, &since(|_| {}), ReasonCode::CardSignatureStripped);
        caught(&Signature, &since(|card| card["version"] = json!("99.0.0")), ReasonCode::CardSignatureStripped);
        let mut world = signed(Form::Specification);
        world.options.last_card = Some(last_card.clone());
        passes(&Signature, &world.drive());
        let mut world = World::honest();
        world.options.last_card = Some(World::honest().card);
        is(&Signature, &world.drive(), Outcome::NotApplicable);
    }

    #[test]
    fn an_unsigned_card_fails_only_where_the_policy_asks_for_a_signature() {
        is(&Signature, &World::honest().drive(), Outcome::NotApplicable);
        let mut world = World::honest();
        world.options.card_signature_required = true;
        caught(&Signature, &world.drive(), ReasonCode::CardSignatureMissing);
    }

    #[test]
    fn every_way_of_not_being_signed_has_its_own_code() {
        let header = |text: &str| json!([{"protected": base64_of(text), "signature": "AAAA"}]);
        for (signatures, reason) in [
            (header(r#"{"alg":"none","kid":"k1"}"#), ReasonCode::CardSignatureAlgorithmForbidden),
            (header(r#"{"alg":"HS256","kid":"k1"}"#), ReasonCode::CardSignatureAlgorithmForbidden),
            (header(r#"{"alg":"EdDSA"}"#), ReasonCode::CardSignatureKeyIdMissing),
            (header(r#"{"alg":"EdDSA","kid":"k2"}"#), ReasonCode::CardSignatureKeyUnknown),
            (header(r#"{"alg":"EdDSA","kid":"k1"}"#), ReasonCode::CardSignatureInvalid),
            (header("no JSON"), ReasonCode::CardSignatureMalformed),
            (json!({}), ReasonCode::CardSignatureMalformed),
        ] {
            let driven = serving(signed(Form::Specification), |card| card["signatures"] = signatures);
            caught(&Signature, &driven, reason);
        }
    }

    #[test]
    fn one_valid_signature_suffices_and_the_others_are_told() {
        let mut world = signed(Form::Specification);
        sign(&mut world.card, Form::Specification, &SigningKey::from_seed([6; 32]), "rotated").unwrap();
        let driven = world.drive();
        passes(&Signature, &driven);
        assert_eq!(warnings(&Signature, &driven), [ReasonCode::CardSignatureKeyUnknown]);
    }

    #[test]
    fn members_that_nobody_signed_are_listed() {
        // the honest card demands a scheme without scopes, which the form of the SDKs leaves out
        let driven = serving(signed(Form::Sdk), |card| card["url"] = json!("http://mallory.example.test"));
        passes(&Signature, &driven);
        assert_eq!(warnings(&Signature, &driven), [ReasonCode::CardInputUnsigned; 2]);
        let findings = driven.judge(&Signature);
        let pointers: Vec<_> = findings[1..].iter().filter_map(|f| f.place.pointer.as_deref()).collect();
        assert!(pointers.contains(&"/url") && pointers.contains(&"/securityRequirements"), "{pointers:?}");
    }

    #[test]
    fn without_keys_nothing_passes_and_nothing_counts_unless_it_is_required() {
        let mut world = signed(Form::Specification);
        world.options.card_keys = Anchors::default();
        let driven = world.drive();
        assert_eq!(warnings(&Signature, &driven), [ReasonCode::CardSignatureNotChecked]);
        let mut world = signed(Form::Specification);
        world.options.card_keys = Anchors::default();
        world.options.card_signature_required = true;
        is(&Signature, &world.drive(), Outcome::Inconclusive);
    }

    #[test]
    fn a_known_key_under_another_name_is_unknown() {
        let mut world = signed(Form::Specification);
        world.options.card_keys = keys("k2");
        caught(&Signature, &world.drive(), ReasonCode::CardSignatureKeyUnknown);
    }

    /// Base64url without padding.
    fn base64_of(text: &str) -> String {
        const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let digits = |chunk: &[u8]| {
            let bits =
                chunk.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte)) << (8 * (3 - chunk.len()));
            (0..=chunk.len()).map(|n| char::from(ALPHABET[bits >> (18 - 6 * n) & 63])).collect::<String>()
        };
        text.as_bytes().chunks(3).map(digits).collect()
    }
}
