//! What became of a card since its last known snapshot (P-02, P-03): the changes that its readers would not look for.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Card, CardFormat, endpoint, legacy, recognise};
use crate::a2a::digest::card_digest;

/// A change worth a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which kind.
    pub kind: ChangeKind,
    /// Where it stands in the card of now.
    pub pointer: String,
    /// What was there.
    pub before: String,
    /// What is there now.
    pub now: String,
    /// Whether the card's own version says that something changed: then somebody meant it.
    pub announced: bool,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// The content differs and the version does not.
    VersionUnchanged,
    /// An interface is served by a host that the last card did not name.
    EndpointMoved,
    /// What demanded a credential demands none any more.
    AuthenticationRemoved,
}

/// The changes from one card to the next; cards of 0.x are compared by their projection.
#[must_use]
pub fn changes(before: &Value, now: &Value) -> Vec<Change> {
    let text = |card: &Value| Card::new(card.clone()).text("version").map(str::to_owned);
    let announced = text(before) != text(now);
    let mut out = Vec::new();
    out.extend(if announced { None } else { unannounced(before, now) });
    out.extend(moved(before, now, announced));
    out.extend(opened(&as_1_0(before), &as_1_0(now), announced));
    out
}

fn as_1_0(card: &Value) -> Card {
    let legacy = matches!(recognise(card), CardFormat::V0_3 | CardFormat::V0_2);
    Card::new(if legacy { legacy::project(card).card } else { card.clone() })
}

fn unannounced(before: &Value, now: &Value) -> Option<Change> {
    let (before, now) = (&without_unset(before), &without_unset(now));
    if card_digest(before).ok()? == card_digest(now).ok()? {
        return None;
    }
    let keys = |card: &Value| card.as_object().map(|m| m.keys().cloned().collect::<BTreeSet<_>>()).unwrap_or_default();
    let names: Vec<String> = keys(before)
        .union(&keys(now))
        .filter(|name| *name != "signatures" && before.get(name.as_str()) != now.get(name.as_str()))
        .map(|name| format!("`{name}`"))
        .collect();
    let version = now.get("version").and_then(Value::as_str).unwrap_or_default();
    Some(Change {
        kind: ChangeKind::VersionUnchanged,
        pointer: "/version".to_owned(),
        before: format!("version `{version}` with other content"),
        now: format!("still `{version}`; changed: {}", names.join(", ")),
        announced: false,
    })
}

/// The card without members that are null, which is how JSON writes an unset one. What an extension is given as `params`
/// is its own: there null is a value.
fn without_unset(value: &Value) -> Value {
    let kept = |(name, value): (&String, &Value)| {
        let value = if name == "params" { value.clone() } else { without_unset(value) };
        (name.clone(), value)
    };
    match value {
        Value::Object(members) => Value::Object(members.iter().filter(|(_, v)| !v.is_null()).map(kept).collect()),
        Value::Array(entries) => Value::Array(entries.iter().map(without_unset).collect()),
        other => other.clone(),
    }
}

/// The same host and hosts below it are the same owner's; without a list of public suffixes no other host is known to be.
fn moved(before: &Value, now: &Value, announced: bool) -> Vec<Change> {
    let hosts: BTreeSet<String> =
        endpoint::endpoints(before).iter().filter_map(|e| e.address().map(|a| a.host())).collect();
    if hosts.is_empty() {
        return Vec::new();
    }
    let below = |host: &str, parent: &str| host.strip_suffix(parent).is_some_and(|rest| rest.ends_with('.'));
    let known = |host: &str| hosts.iter().any(|h| h == host || below(host, h));
    let change = |e: endpoint::Endpoint<'_>| {
        let host = e.address()?.host();
        (!known(&host)).then(|| Change {
            kind: ChangeKind::EndpointMoved,
            pointer: e.pointer.clone(),
            before: hosts.iter().map(|h| format!("`{h}`")).collect::<Vec<_>>().join(", "),
            now: format!("`{host}`"),
            announced,
        })
    };
    endpoint::endpoints(now).into_iter().filter_map(change).collect()
}

fn opened(before: &Card, now: &Card, announced: bool) -> Vec<Change> {
    let change = |pointer: String, before: String, now: &str| Change {
        kind: ChangeKind::AuthenticationRemoved,
        pointer,
        before,
        now: now.to_owned(),
        announced,
    };
    if before.demands_credential() && !now.demands_credential() {
        let schemes = format!("a credential by {}", before.scheme_names().join(", "));
        return vec![change("/securityRequirements".to_owned(), schemes, "no credential is required")];
    }
    let demanding = |skill: &super::Skill<'_>| !super::list_of(skill.value, "securityRequirements").is_empty();
    let skills = before.skills();
    let guarded: BTreeSet<&str> = skills.iter().filter(|s| demanding(s)).filter_map(super::Skill::id).collect();
    let open = |skill: &super::Skill<'_>| {
        skill.id().is_some_and(|id| guarded.contains(id)) && !demanding(skill) && !now.demands_credential()
    };
    let of_skill = |skill: super::Skill<'_>| {
        let pointer = format!("{}/securityRequirements", skill.pointer());
        change(pointer, "a requirement of the skill".to_owned(), "none")
    };
    now.skills().into_iter().filter(open).map(of_skill).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::a2a::card::tests::honest;

    fn kinds(change: impl FnOnce(&mut Value)) -> Vec<(ChangeKind, bool)> {
        let mut now = honest();
        change(&mut now);
        changes(&honest(), &now).into_iter().map(|c| (c.kind, c.announced)).collect()
    }

    #[test]
    fn a_card_that_stays_or_announces_its_change_is_fine() {
        assert_eq!(kinds(|_| {}), []);
        assert_eq!(kinds(|c| c["signatures"] = json!([])), []);
        let announced = kinds(|c| {
            c["version"] = json!("3.5.0");
            c["description"] = json!("Plans better.");
            c["supportedInterfaces"][0]["url"] = json!("https://eu.a.example/rpc");
        });
        assert_eq!(announced, []);
    }

    #[test]
    fn null_is_unset_and_no_change() {
        assert_eq!(kinds(|c| c["provider"] = Value::Null), []);
        assert_eq!(kinds(|c| c["skills"][0]["inputModes"] = Value::Null), []);
        assert_eq!(kinds(|c| c["name"] = Value::Null), [(ChangeKind::VersionUnchanged, false)]);
        let extended = |params: Value| {
            let mut card = honest();
            card["capabilities"]["extensions"] = json!([{"uri": "urn:a", "params": params}]);
            card
        };
        let of_params = changes(&extended(json!({})), &extended(json!({"x": null})));
        assert_eq!(of_params.len(), 1, "within `params` null is a value: {of_params:?}");
    }

    #[test]
    fn a_change_under_an_unchanged_version_is_told() {
        assert_eq!(kinds(|c| c["description"] = json!("Else.")), [(ChangeKind::VersionUnchanged, false)]);
    }

    #[test]
    fn a_move_to_another_domain_is_told_announced_or_not() {
        let silent = kinds(|c| c["supportedInterfaces"][0]["url"] = json!("https://b.example/rpc"));
        assert_eq!(silent, [(ChangeKind::VersionUnchanged, false), (ChangeKind::EndpointMoved, false)]);
        let announced = kinds(|c| {
            c["version"] = json!("4.0.0");
            c["supportedInterfaces"][0]["url"] = json!("https://evil-a.example/rpc");
        });
        assert_eq!(announced, [(ChangeKind::EndpointMoved, true)]);
    }

    #[test]
    fn authentication_that_is_gone_is_told() {
        let gone = |c: &mut Value| {
            c["version"] = json!("4.0.0");
            c.as_object_mut().unwrap().remove("securityRequirements");
        };
        assert_eq!(kinds(gone), [(ChangeKind::AuthenticationRemoved, true)]);
        let open = |c: &mut Value| {
            c["version"] = json!("4.0.0");
            c["securityRequirements"].as_array_mut().unwrap().push(json!({}));
        };
        assert_eq!(kinds(open), [(ChangeKind::AuthenticationRemoved, true)]);
        let old = json!({"name": "x", "url": "https://a.example/rpc", "version": "3.4.0", "protocolVersion": "0.3.0",
            "skills": [], "securitySchemes": {"b": {"type": "http", "scheme": "bearer"}}, "security": [{"b": []}]});
        let mut bare = old.clone();
        bare.as_object_mut().unwrap().remove("security");
        let kinds: Vec<ChangeKind> = changes(&old, &bare).into_iter().map(|c| c.kind).collect();
        assert_eq!(kinds, [ChangeKind::VersionUnchanged, ChangeKind::AuthenticationRemoved]);
    }
}
