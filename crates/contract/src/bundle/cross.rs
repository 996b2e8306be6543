//! What the files of a bundle say against each other (B-07).

use std::collections::BTreeSet;

use ostiary_protocol::{
    a2a::{
        Version,
        card::{Card, Interface},
    },
    media_type::MediaType,
};
use serde_json::Value;

use super::{
    gather::{CONTRACT, Parts},
    layout::FileKind,
};
use crate::{
    decode::{Located, did_you_mean},
    file::{case::When, skill::LeadsTo},
    problem::{Code, Problem},
};

/// Reports every contradiction between files; what an unreadable file would have said is taken as agreeing.
pub(super) fn check(parts: &mut Parts) {
    let mut found = Vec::new();
    declared(parts, &mut found);
    names(parts, &mut found);
    card_skills(parts, &mut found);
    examples(parts, &mut found);
    operations(parts, &mut found);
    cases(parts, &mut found);
    authorization(parts, &mut found);
    activated_profiles(parts, &mut found);
    card_snapshot(parts, &mut found);
    parts.problems.append(&mut found);
}

fn declared(parts: &Parts, found: &mut Vec<Problem>) {
    let unread = parts.unread.iter().any(|k| matches!(k, FileKind::Card | FileKind::Tools));
    let Some(contract) = &parts.contract else { return };
    let named = contract.declarations.agent_card.is_some() || contract.declarations.mcp_tools.is_some();
    if parts.card.is_none() && parts.tools.is_empty() && !unread && !named {
        let problem = Problem::new(CONTRACT, Code::NothingDeclared, "the contract declares neither a card nor tools");
        found.push(problem.hint("write `declarations.agent_card` or `declarations.mcp_tools`"));
    }
}

/// Names that must be unique.
fn names(parts: &Parts, found: &mut Vec<Problem>) {
    let mut seen = BTreeSet::new();
    for case in parts.cases.iter().filter(|c| !seen.insert(c.id.as_str())) {
        let message = format!("the case `{}` stands twice in the bundle", crate::yaml::clip(&case.id));
        found.push(Problem::new(&case.path, Code::DuplicateId, message).at(case.at).hint("give it another name"));
    }
    let mut seen = BTreeSet::new();
    for skill in parts.skills.iter().filter(|s| !seen.insert(s.skill_id.as_str())) {
        let message = format!("the skill `{}` has two contracts", crate::yaml::clip(&skill.skill_id));
        found.push(Problem::new("skills.yaml", Code::DuplicateId, message).at(skill.skill_id.at));
    }
    let mut seen = BTreeSet::new();
    for operation in &parts.operations {
        let Some(subject) = operation.skill.as_ref().or(operation.tool.as_ref()) else { continue };
        if !seen.insert((operation.skill.is_some(), subject.as_str())) {
            let message = format!("`{}` is described twice", crate::yaml::clip(subject));
            found.push(Problem::new("operations.yaml", Code::DuplicateId, message).at(subject.at));
        }
    }
}

fn strings<'v>(value: &'v Value, key: &str) -> Vec<&'v str> {
    let items = value.get(key).and_then(Value::as_array);
    items.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn card_skill<'v>(card: &'v Value, id: &str) -> Option<&'v Value> {
    let skills = card.get("skills").and_then(Value::as_array)?;
    skills.iter().find(|s| s.get("id").and_then(Value::as_str) == Some(id))
}

/// The ids of the card's skills; `None` when there is no readable card to compare with.
fn card_skill_ids(parts: &Parts) -> Option<Vec<&str>> {
    let skills = parts.card.as_ref()?.value.get("skills")?.as_array()?;
    Some(skills.iter().filter_map(|s| s.get("id").and_then(Value::as_str)).collect())
}

/// The names of all tools; `None` when there is no readable snapshot to compare with.
fn tool_names(parts: &Parts) -> Option<Vec<&str>> {
    let some = !parts.tools.is_empty() && !parts.unread.contains(&FileKind::Tools);
    some.then(|| parts.tools.iter().flat_map(|s| &s.tools).map(|t| t.name.as_str()).collect())
}

fn unknown(file: &str, code: Code, name: &Located<String>, known: Option<&Vec<&str>>, what: &str) -> Option<Problem> {
    let known = known.filter(|k| !k.contains(&name.as_str()))?;
    let message = format!("`{}` is no {what}", crate::yaml::clip(name));
    Some(Problem::new(file, code, message).at(name.at).hint(did_you_mean(name, known)))
}

/// An answer is for a task that waits for one.
fn examples(parts: &Parts, found: &mut Vec<Problem>) {
    for example in parts.skills.iter().flat_map(|s| &s.examples) {
        if let Some(answer) = example.answer_fixture.as_ref().filter(|_| example.leads_to != LeadsTo::InputRequired) {
            let message = format!("the example leads to `{}`, where no answer is waited for", example.leads_to);
            let problem = Problem::new("skills.yaml", Code::Contradiction, message).at(answer.at);
            found.push(problem.hint("write `leads_to: input_required`, or drop `answer_fixture`"));
        }
    }
}

/// Skill contracts against the card's skills and their modes (C-05).
fn card_skills(parts: &Parts, found: &mut Vec<Problem>) {
    const FILE: &str = "skills.yaml";
    let ids = card_skill_ids(parts);
    for skill in &parts.skills {
        found.extend(unknown(FILE, Code::SkillUnknown, &skill.skill_id, ids.as_ref(), "skill of the agent card"));
        let Some(card) = parts.card.as_ref().map(|c| &c.value) else { continue };
        let Some(declared) = card_skill(card, &skill.skill_id) else { continue };
        let sides = [
            (&skill.input_modes, "inputModes", "defaultInputModes", "input"),
            (&skill.output_modes, "outputModes", "defaultOutputModes", "output"),
        ];
        for (modes, own, default, side) in sides {
            let mut of_card = strings(declared, own);
            if of_card.is_empty() {
                of_card = strings(card, default);
            }
            // A card without any modes is malformed; the declaration layer says so.
            for mode in modes.iter().filter(|m| !of_card.is_empty() && !covered(m, &of_card)) {
                let message = format!("the card does not declare `{}` as {side} mode of this skill", mode.value);
                let hint = format!("the card declares: {}", of_card.join(", "));
                found.push(Problem::new(FILE, Code::ModesContradict, message).at(mode.at).hint(hint));
            }
        }
    }
}

/// Whether the card declares the mode, in another spelling or by a wider type.
fn covered(mode: &str, of_card: &[&str]) -> bool {
    let wanted = MediaType::parse(mode);
    of_card.iter().any(|declared| match (&wanted, MediaType::parse(declared)) {
        (Some(wanted), Some(declared)) => declared.includes(wanted),
        _ => *declared == mode,
    })
}

fn operations(parts: &Parts, found: &mut Vec<Problem>) {
    const FILE: &str = "operations.yaml";
    let (skills, tools) = (card_skill_ids(parts), tool_names(parts));
    for operation in &parts.operations {
        if let Some(skill) = &operation.skill {
            found.extend(unknown(FILE, Code::SkillUnknown, skill, skills.as_ref(), "skill of the agent card"));
        }
        let readback = operation.ledger.as_ref().and_then(|l| l.readback_tool.as_ref());
        for tool in operation.tool.iter().chain(readback) {
            found.extend(unknown(FILE, Code::ToolUnknown, tool, tools.as_ref(), "tool of any snapshot"));
        }
    }
}

fn cases(parts: &Parts, found: &mut Vec<Problem>) {
    let (skills, tools) = (card_skill_ids(parts), tool_names(parts));
    for case in &parts.cases {
        let (when, expect) = (case.when(), case.expect());
        if let Some(tool) = when.and_then(When::tool_name) {
            found.extend(unknown(&case.path, Code::ToolUnknown, tool, tools.as_ref(), "tool of any snapshot"));
        }
        if let Some(skill) = when.and_then(|w| w.skill.as_ref()) {
            found.extend(unknown(&case.path, Code::SkillUnknown, skill, skills.as_ref(), "skill of the agent card"));
        }
        if let Some(code) = expect.and_then(|e| e.reason_code.as_ref()) {
            found.extend(unknown_reason(parts, &case.path, code));
        }
    }
}

fn unknown_reason(parts: &Parts, file: &str, code: &Located<crate::file::reasons::ReasonName>) -> Option<Problem> {
    let own = parts.reason_codes.iter().map(|r| r.code().0.as_str());
    let catalogue = ostiary_record::ReasonCode::ALL.iter().map(|c| c.as_str());
    let known: Vec<&str> = own.chain(catalogue).collect();
    if known.contains(&code.0.as_str()) || parts.unread.contains(&FileKind::Reasons) {
        return None;
    }
    let message = format!("`{}` is a reason code of neither the catalogue nor the contract", code.0);
    Some(Problem::new(file, Code::ReasonUnknown, message).at(code.at).hint(did_you_mean(&code.0, &known)))
}

/// A public agent has no security schemes.
fn authorization(parts: &Parts, found: &mut Vec<Problem>) {
    let (Some(policy), Some(card)) = (&parts.authorization, &parts.card) else { return };
    let schemes = card.value.get("securitySchemes").and_then(Value::as_object).is_some_and(|s| !s.is_empty());
    if policy.public && schemes {
        let message = "the contract calls the agent public, and its card has security schemes";
        found.push(Problem::new("authorization.yaml", Code::Contradiction, message).hint("remove one of the two"));
    }
}

/// Profiles to be activated are of interfaces that the card declares.
fn activated_profiles(parts: &Parts, found: &mut Vec<Problem>) {
    let (Some(coverage), Some(card)) = (&parts.coverage, &parts.card) else { return };
    let card = Card::new(card.value.clone());
    let protocol = |i: &Interface<'_>| {
        let slug = i.binding.as_ref()?.slug()?;
        Some(format!("{slug}-{}", Version::parse_lenient(i.version_text?)?))
    };
    let declared: Vec<String> = card.interfaces().iter().filter_map(protocol).collect();
    let missing = |p: &str| p.starts_with("a2a-") && !declared.is_empty() && !declared.iter().any(|d| d == p);
    for profile in coverage.activate.iter().filter(|p| missing(p.protocol())) {
        let message = format!("`{}` is of no interface that the agent card declares", profile.value);
        let hint = format!("the card declares: {}", declared.join(", "));
        found.push(Problem::new("coverage.yaml", Code::Contradiction, message).at(profile.at).hint(hint));
    }
}

/// What was noted about the fetch belongs to the card that is here (P-02).
fn card_snapshot(parts: &Parts, found: &mut Vec<Problem>) {
    let (Some(snapshot), Some(card)) = (&parts.card_snapshot, &parts.card) else { return };
    if snapshot.raw_digest.digest() != Some(ostiary_canon::Digest::of(&card.bytes)) {
        let message = format!("`raw_digest` is not the digest of {}", card.path);
        let problem = Problem::new("agent-card.snapshot.json", Code::Contradiction, message).at(snapshot.raw_digest.at);
        found.push(problem.hint("take the snapshot again"));
    }
}
