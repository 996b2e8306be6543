//! The core of the protocol over bindings that the card declares and the contract does not activate: one ordinary
//! message and the standard errors (O-01, `protocol_core: all_supported_bindings`).
//!
//! What is found there is a warning: nobody is to be served over these bindings yet, and no gate opens or closes by them.

use std::collections::BTreeSet;

use ostiary_canon::Profile;
use ostiary_contract::{Bundle, file::coverage::BindingCoverage};
use ostiary_record::Axes;

use crate::{
    discover::{Discovered, Interface},
    plan::{PlanInput, activated},
    scenario::Scenario,
    scenarios::{rpc, send, unknown, version},
};

/// The scenarios of the core.
const CORE: [&str; 4] = [send::ID, rpc::ID, version::ID, unknown::ID];

/// The profiles beyond those to be activated: each further interface that can be driven, with the authorization and the
/// tenant class of the first profile that is to be activated.
pub(crate) fn beyond(bundle: &Bundle, discovered: &Discovered) -> Vec<Profile> {
    if bundle.coverage.protocol_core != BindingCoverage::AllSupported {
        return Vec::new();
    }
    let wanted = activated(bundle, discovered);
    let Some(first) = wanted.first() else { return Vec::new() };
    let bare = first.authorization() == Profile::DEFAULT && first.tenant_class() == Profile::DEFAULT;
    let known: BTreeSet<&str> = wanted.iter().map(Profile::protocol).collect();
    let drivable = discovered.interfaces.iter().filter(|i| i.exercisable());
    let further = drivable.filter_map(Interface::protocol).filter(|protocol| !known.contains(protocol.as_str()));
    let rest = if bare { String::new() } else { format!("/{}/{}", first.authorization(), first.tenant_class()) };
    let profiles: BTreeSet<Profile> = further.filter_map(|p| format!("{p}{rest}").parse().ok()).collect();
    profiles.into_iter().collect()
}

/// The variants of a scenario of the core for the profiles beyond; none for any other scenario.
pub(crate) fn variants(scenario: &dyn Scenario, input: &PlanInput<'_>, beyond: &[Profile]) -> Vec<Axes> {
    if beyond.is_empty() || !CORE.contains(&scenario.spec().id) {
        return Vec::new();
    }
    let mut bundle = input.bundle.clone();
    bundle.coverage.activate.truncate(0);
    let at = input.bundle.coverage.activate.first().map(|p| p.at).unwrap_or_default();
    bundle
        .coverage
        .activate
        .extend(beyond.iter().cloned().map(|value| ostiary_contract::decode::Located { value, at }));
    let mut all = scenario.variants(&PlanInput { bundle: &bundle, ..*input });
    if scenario.spec().id == send::ID {
        // one normal message over each
        let mut seen = BTreeSet::new();
        all.retain(|axes| seen.insert(axes.profile.clone()));
    }
    all
}
