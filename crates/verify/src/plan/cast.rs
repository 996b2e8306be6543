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
        None if public(input) && is_default(profile) => {
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

/// Whether nobody in particular is asked for: who comes without credential has no privilege and no tenant, and stands for
/// no other profile (V-08).
fn is_default(profile: &Profile) -> bool {
    profile.authorization() == Profile::DEFAULT && profile.tenant_class() == Profile::DEFAULT
}

/// Whether the card asks for no credential at all.
fn public(input: &PlanInput<'_>) -> bool {
    let card = input.discovered.card.as_ref();
    let required = card.and_then(|c| c.get("securityRequirements")).and_then(Value::as_array);
    required.is_none_or(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use ostiary_record::{Outcome, ReasonCode};

    use crate::testing::World;

    fn public_for(profile: &str) -> ostiary_record::Report {
        let mut world = World::public();
        world.put("coverage.yaml", &format!("activate: [{profile}]\n"));
        world.drive().report()
    }

    #[test]
    fn anonymous_calls_stand_for_the_default_profile() {
        let report = public_for("a2a-jsonrpc-1.0");
        assert_eq!(report.verdict, Outcome::Pass, "{:#?}", report.findings);
        assert_eq!(report.profiles_passed.len(), 1);
    }

    #[test]
    fn anonymous_calls_say_nothing_of_a_privilege() {
        let report = public_for("a2a-jsonrpc-1.0/admin/gold");
        assert!(report.profiles_passed.is_empty(), "{:?}", report.profiles_passed);
        assert_eq!(report.verdict, Outcome::Inconclusive);
        assert!(report.findings.iter().any(|f| f.reason_code == Some(ReasonCode::SubjectMissing)));
    }
}
