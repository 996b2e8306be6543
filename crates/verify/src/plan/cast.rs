//! Which subject of the environment plays which role, for one profile. Pure and stable: names decide, in their order.

use std::collections::BTreeMap;

use ostiary_canon::Profile;
use ostiary_record::{ActorId, CredentialKind, SubjectFacts};
use serde_json::Value;

use crate::{plan::PlanInput, scenario::Role, stage::ANONYMOUS};

/// The cast of a profile. A role that nobody can play is absent: nothing is generalised from another profile (Z-05).
pub(super) fn cast(input: &PlanInput<'_>, profile: &Profile) -> BTreeMap<Role, ActorId> {
    let subjects = &input.environment.subjects;
    let find = |ok: &dyn Fn(&SubjectFacts) -> bool| {
        subjects.iter().find(|(_, s)| ok(s)).map(|(name, s)| (ActorId(name.clone()), s.tenant.clone()))
    };
    let mut out = BTreeMap::new();
    let valid = |s: &SubjectFacts| s.credential == CredentialKind::Valid;
    match find(&|s| valid(s) && of_profile(s, profile)) {
        Some((primary, tenant)) => {
            let elsewhere = |s: &SubjectFacts| valid(s) && s.tenant.is_some() && s.tenant != tenant;
            let other = find(&|s| elsewhere(s) && of_profile(s, profile)).or_else(|| find(&elsewhere));
            out.insert(Role::Primary, primary);
            out.extend(other.map(|(id, _)| (Role::OtherTenant, id)));
        }
        None if public(input) => {
            out.insert(Role::Primary, ANONYMOUS.into());
        }
        None => {}
    }
    for (role, kind) in [(Role::Expired, CredentialKind::Expired), (Role::Foreign, CredentialKind::Foreign)] {
        let of_kind = |s: &SubjectFacts| s.credential == kind;
        let found = find(&|s| of_kind(s) && of_profile(s, profile)).or_else(|| find(&of_kind));
        out.extend(found.map(|(id, _)| (role, id)));
    }
    out
}

fn of_profile(subject: &SubjectFacts, profile: &Profile) -> bool {
    let or_default = |part: &Option<String>| part.clone().unwrap_or_else(|| Profile::DEFAULT.to_owned());
    or_default(&subject.profile) == profile.authorization()
        && or_default(&subject.tenant_class) == profile.tenant_class()
}

/// Whether the card asks for no credential at all.
fn public(input: &PlanInput<'_>) -> bool {
    let card = input.discovered.card.as_ref();
    let required = card.and_then(|c| c.get("securityRequirements")).and_then(Value::as_array);
    required.is_none_or(Vec::is_empty)
}
