//! The A2A scenarios: each a short story that drives and never judges. Every binding that [`client`] can speak runs
//! all of them.

use ostiary_record::Axes;

use crate::{plan::PlanInput, scenario::Scenario};

pub(crate) mod client;

pub(crate) mod cancel;
pub(crate) mod combined;
pub(crate) mod conversation;
pub(crate) mod credential;
pub(crate) mod credential_ends;
pub(crate) mod dependency;
pub(crate) mod duplicate;
pub(crate) mod equivalence;
pub(crate) mod example;
pub(crate) mod extended_card;
pub(crate) mod extension;
pub(crate) mod follow;
pub(crate) mod forbidden;
pub(crate) mod ids;
pub(crate) mod interface;
pub(crate) mod list;
pub(crate) mod lost;
pub(crate) mod malformed;
pub(crate) mod media_type;
pub(crate) mod outcome;
pub(crate) mod paced;
pub(crate) mod public;
pub(crate) mod push;
pub(crate) mod retained;
pub(crate) mod rpc;
pub(crate) mod send;
pub(crate) mod stream;
pub(crate) mod subscribe;
pub(crate) mod tenant;
pub(crate) mod tenant_routing;
pub(crate) mod terminal;
pub(crate) mod turns;
pub(crate) mod undeclared;
pub(crate) mod unknown;
pub(crate) mod version;

/// All scenarios, in the order of the documentation.
pub(crate) fn all() -> Vec<Box<dyn Scenario>> {
    let mut out: Vec<Box<dyn Scenario>> = vec![
        Box::new(send::Send),
        Box::new(stream::Stream),
        Box::new(subscribe::Subscribe),
        Box::new(turns::Turns),
        Box::new(outcome::Outcome),
        Box::new(ids::Ids),
        Box::new(list::List),
        Box::new(terminal::Terminal),
        Box::new(cancel::Cancel),
        Box::new(unknown::UnknownTask),
        Box::new(version::Version),
        Box::new(rpc::InvalidRequest),
        Box::new(malformed::Malformed),
        Box::new(media_type::UndeclaredMediaType),
        Box::new(extension::RequiredExtension),
        Box::new(duplicate::Duplicate),
        Box::new(extended_card::ExtendedCard),
        Box::new(tenant_routing::TenantRouting),
        Box::new(interface::UndeclaredInterface),
        Box::new(equivalence::Equivalence),
        Box::new(public::Public),
        Box::new(combined::Combined),
        Box::new(tenant::CrossTenant),
        Box::new(paced::Paced),
        Box::new(retained::Retained),
        Box::new(credential_ends::CredentialEnds),
        Box::new(dependency::DependencyDown),
        Box::new(forbidden::Forbidden),
    ];
    out.extend(lost::Lost::ALL.map(|c| Box::new(c) as Box<dyn Scenario>));
    out.extend(undeclared::Undeclared::ALL.map(|c| Box::new(c) as Box<dyn Scenario>));
    out.extend(push::all());
    out.extend(credential::Credential::ALL.map(|c| Box::new(c) as Box<dyn Scenario>));
    out
}

/// One variant for each activated profile and value of an axis.
fn variants(input: &PlanInput<'_>, axis: &str, values: &[&str]) -> Vec<Axes> {
    let with = |axes: &Axes, value: &str| {
        let mut axes = axes.clone();
        axes.values.insert(axis.to_owned(), value.to_owned());
        axes
    };
    input.each_profile().iter().flat_map(|axes| values.iter().map(|v| with(axes, v))).collect()
}
