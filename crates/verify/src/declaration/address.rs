//! `a2a.card.address`: the URL of each interface can work for its callers (C-02). What works on one machine only is a
//! warning in a development environment.

use ostiary_protocol::a2a::card::{AddressProblem, AddressWeight, Endpoint, address_problems};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    declaration::{addressed, served_in_its_version},
    discover::CARD,
    facts::Facts,
};

/// The check.
pub(super) struct Addresses;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.card.address",
    version: 3,
    summary: "The URL of each interface can work for its callers.",
    layer: Layer::Declaration,
    gate: Gate::Static,
    covers: &["C-02"],
    reads: Reads::Declarations,
    depends: &[Input::Card, Input::Environment],
    reasons: &[ReasonCode::InterfaceUrlUnreachable],
    severity: Severity::Error,
    liar: "an_address_that_nobody_else_can_call_is_caught",
};

impl Check for Addresses {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let (card, at) = match served_in_its_version(facts) {
            Ok(served) => served,
            Err(finding) => return vec![*finding],
        };
        // an interface without URL is a missing member, and told as one
        let named: Vec<Endpoint<'_>> = addressed(&card).into_iter().filter(|i| !i.url.is_empty()).collect();
        if named.is_empty() {
            let remedy = "the card lists no interface with a URL";
            return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "supportedInterfaces", remedy)];
        }
        let of_interface = |i: &Endpoint<'_>| {
            let problems = address_problems(i.url, i.binding.as_ref());
            problems.into_iter().map(|p| finding(facts, i, p, &at)).collect::<Vec<_>>()
        };
        let mut out: Vec<Finding> = named.iter().flat_map(of_interface).collect();
        if out.iter().all(|f| f.severity == Severity::Warning) {
            out.push(facts.pass(at));
        }
        out
    }
}

fn finding(facts: &Facts<'_>, interface: &Endpoint<'_>, problem: AddressProblem, at: &[EventRef]) -> Finding {
    let observed = format!("`{}`: {}", shown(interface.url, problem), problem.what());
    let expected = "an address that works for callers elsewhere";
    let finding = facts.fail(ReasonCode::InterfaceUrlUnreachable, at.to_vec(), expected, observed);
    let finding = finding.at_pointer(CARD, interface.pointer.clone()).with_detail(problem.as_str());
    match problem.weight() {
        AddressWeight::Never => finding,
        AddressWeight::Here if facts.production() => finding,
        AddressWeight::Here | AddressWeight::Doubtful => finding.as_severity(Severity::Warning),
    }
}

/// Reports are passed on: a password that stands in a card must not be.
fn shown(url: &str, problem: AddressProblem) -> String {
    match (problem, url.split_once("://"), url.rsplit_once('@')) {
        (AddressProblem::Credentials, Some((scheme, _)), Some((_, rest))) => format!("{scheme}://…@{rest}"),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, World, caught, edit_document, passes, warnings};

    fn at(url: &str, strictness: &str) -> Driven {
        let mut world = World::honest();
        world.environment.strictness = strictness.to_owned();
        let mut driven = world.drive();
        let card = World::with_card(|card| card["supportedInterfaces"][0]["url"] = json!(url)).card;
        edit_document(&mut driven.run, CARD, card.to_string().as_bytes());
        driven
    }

    #[test]
    fn an_address_that_works_passes() {
        passes(&Addresses, &at("https://agent.example.test/rpc", "production"));
    }

    #[test]
    fn an_address_that_nobody_else_can_call_is_caught() {
        for url in ["https://localhost/rpc", "https://0.0.0.0/", "https://planner:8080/", "https://{host}/", "/rpc"] {
            caught(&Addresses, &at(url, "production"), ReasonCode::InterfaceUrlUnreachable);
        }
    }

    #[test]
    fn in_development_what_works_here_is_a_warning() {
        let here = at("http://127.0.0.1:9100/rpc", "development");
        passes(&Addresses, &here);
        assert_eq!(warnings(&Addresses, &here), [ReasonCode::InterfaceUrlUnreachable]);
        caught(&Addresses, &at("/rpc", "development"), ReasonCode::InterfaceUrlUnreachable);
    }

    #[test]
    fn a_private_address_is_doubtful_and_a_password_is_not_repeated() {
        let private = at("https://10.0.0.7/rpc", "production");
        passes(&Addresses, &private);
        assert_eq!(warnings(&Addresses, &private), [ReasonCode::InterfaceUrlUnreachable]);
        let secret = at("https://user:hunter2@agent.example.test/", "production");
        caught(&Addresses, &secret, ReasonCode::InterfaceUrlUnreachable);
        assert!(!format!("{:?}", secret.judge(&Addresses)).contains("hunter2"));
    }
}
