//! A card changed as a case says, judged by the checks of the declaration: what admission would say to it.
//!
//! One thing varies: only failures that the unchanged card does not have count.

use std::collections::BTreeSet;

use bytes::Bytes;
use ostiary_contract::{
    Case, CaseKind,
    file::case::{CardExtension, ExpectedAdmission, ExpectedResult, Given},
};
use ostiary_record::{Blob, EventRef, Finding, Kind, Outcome, ReasonCode, Severity};
use serde_json::{Value, json};

use crate::{
    cases::{
        document,
        expect::{Yielded, compare},
    },
    check::{Check, Input, Reads},
    discover::{CARD, Discovered},
    facts::Facts,
    judge::{JudgeOptions, Scene, repeat, unit},
};

pub(super) fn execute(facts: &Facts<'_>, case: &Case) -> Vec<Finding> {
    let CaseKind::Live(live) = &case.kind else { return Vec::new() };
    let (Some(card), Some((_, at))) = (facts.card(), facts.card_document()) else {
        let remedy = "there is no readable card to change";
        return vec![facts.inconclusive(ReasonCode::CardUnavailable, "agent-card.json", remedy)];
    };
    let Some(expect) = &live.expect else {
        let remedy = "a changed declaration is compared with `expect`, and the case has none";
        return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "expect", remedy)];
    };
    let failures = new_failures(facts, card, &live.given);
    let rejected = !failures.is_empty();
    let reasons: BTreeSet<&str> = failures.iter().filter_map(|f| f.verdict.reason()).map(ReasonCode::as_str).collect();
    let yielded = Yielded {
        result: Some(if rejected { ExpectedResult::Fail } else { ExpectedResult::Pass }),
        admission: Some(if rejected { ExpectedAdmission::Reject } else { ExpectedAdmission::Admit }),
        reasons: Some(reasons.into_iter().map(str::to_owned).collect()),
        details: Some(failures.iter().filter_map(|f| f.detail.clone()).collect()),
        ..Yielded::default()
    };
    let mut cited: Vec<EventRef> = document(facts, case);
    cited.push(at);
    vec![compare(facts, expect, &yielded, cited)]
}

/// The failures that the change brings.
fn new_failures(facts: &Facts<'_>, card: &Value, given: &Given) -> Vec<Finding> {
    let supported = given.consumer_extensions.clone().unwrap_or_default();
    let before = failures(facts, card, &supported);
    let same =
        |a: &Finding, b: &Finding| a.check == b.check && a.verdict.reason() == b.verdict.reason() && a.place == b.place;
    let after = failures(facts, &changed(card, given), &supported);
    after.into_iter().filter(|f| !before.iter().any(|b| same(f, b))).collect()
}

/// What the checks of the declaration find wrong with a card. Those that compare it with the contract are left out: the
/// contract is of the unchanged card.
fn failures(facts: &Facts<'_>, card: &Value, supported: &[String]) -> Vec<Finding> {
    let scene = facts.scene;
    let discovered = with_card(scene.discovered, card);
    let options = JudgeOptions { consumer_extensions: supported.to_vec(), ..scene.options.clone() };
    let scene = Scene { discovered: &discovered, options: &options, ..*scene };
    let about_card = |check: &&dyn Check| {
        let spec = check.spec();
        spec.reads == Reads::Declarations
            && spec.depends.contains(&Input::Card)
            && !spec.depends.contains(&Input::Contract)
    };
    let judged = scene.harness.checks().filter(about_card).flat_map(|check| {
        let units = unit::units(&scene, check.spec());
        units.iter().flat_map(|unit| repeat::judge_unit(&scene, check, unit)).collect::<Vec<_>>()
    });
    judged.filter(|f| f.severity == Severity::Error && f.verdict.outcome() == Outcome::Fail).collect()
}

/// The same discovery with another card, at the same place of the tape.
fn with_card(discovered: &Discovered, card: &Value) -> Discovered {
    let mut recording = discovered.recording.clone();
    for event in &mut recording.events {
        if let Kind::Document { name, bytes } = &mut event.kind
            && name.0 == CARD
        {
            *bytes = Blob(Bytes::from(card.to_string()));
        }
    }
    Discovered::read(recording)
}

fn changed(card: &Value, given: &Given) -> Value {
    let mut card = card.clone();
    if let Some(patch) = &given.card {
        merge(&mut card, patch);
    }
    if let Some(extension) = &given.card_extension {
        add(&mut card, extension);
    }
    card
}

fn add(card: &mut Value, extension: &CardExtension) {
    let mut entry = json!({"uri": extension.uri.value, "required": extension.required});
    if let Some(description) = &extension.description {
        entry["description"] = json!(description);
    }
    if let Some(params) = &extension.params {
        entry["params"] = params.clone();
    }
    let Some(card) = card.as_object_mut() else { return };
    let capabilities = card.entry("capabilities").or_insert_with(|| json!({}));
    let Some(capabilities) = capabilities.as_object_mut() else { return };
    let list = capabilities.entry("extensions").or_insert_with(|| json!([]));
    if let Some(list) = list.as_array_mut() {
        list.push(entry);
    }
}

/// A JSON merge patch (RFC 7396): null removes.
fn merge(target: &mut Value, patch: &Value) {
    let Some(members) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let Some(target) = target.as_object_mut() else { return };
    for (name, value) in members {
        if value.is_null() {
            target.remove(name);
        } else {
            merge(target.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}
