//! `a2a.card.https`: interfaces are served over TLS (C-02); in a development environment a warning. Whether a URL is
//! one at all, and leads anywhere, is judged by `a2a.card.address`.

use ostiary_protocol::a2a::{
    Binding,
    card::{AddressProblem, address_problems},
};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    declaration::served,
    discover::CARD,
    facts::Facts,
};

/// The check.
pub(super) struct Https;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.card.https",
    version: 2,
    summary: "Interfaces are served over TLS: https, or gRPC by host and port.",
    layer: Layer::Declaration,
    gate: Gate::Static,
    covers: &["C-02"],
    reads: Reads::Declarations,
    depends: &[Input::Card, Input::Environment],
    reasons: &[ReasonCode::InterfaceUrlInsecure],
    severity: Severity::Error,
    liar: "a_plain_http_interface_is_caught",
};

impl Check for Https {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let (card, at) = match served(facts) {
            Ok(served) => served,
            Err(finding) => return vec![*finding],
        };
        let interfaces = card.interfaces();
        let insecure =
            |i: &&ostiary_protocol::a2a::card::Interface<'_>| !secure(i.binding.as_ref(), i.url.unwrap_or(""));
        let severity = if facts.production() { Severity::Error } else { Severity::Warning };
        let mut out: Vec<Finding> = interfaces
            .iter()
            .filter(insecure)
            .map(|i| {
                let observed = format!("`{}`", i.url.unwrap_or(""));
                let finding =
                    facts.fail(ReasonCode::InterfaceUrlInsecure, at.clone(), "an absolute https:// URL", observed);
                finding.at_pointer(CARD, format!("{}/url", i.pointer)).as_severity(severity)
            })
            .collect();
        if out.is_empty() || severity == Severity::Warning {
            out.push(if interfaces.is_empty() { nothing(facts) } else { facts.pass(at) });
        }
        out
    }
}

fn nothing(facts: &Facts<'_>) -> Finding {
    facts.inconclusive(ReasonCode::ObservationIncomplete, "supportedInterfaces", "the card lists no interface")
}

/// HTTPS, or for gRPC `host:port`, which the main line of the specification prints and which is dialled with TLS. What is
/// no absolute URL is not judged here.
fn secure(binding: Option<&Binding>, url: &str) -> bool {
    let told_elsewhere = [AddressProblem::NotAbsolute, AddressProblem::Template];
    let absolute = !address_problems(url, binding).iter().any(|p| told_elsewhere.contains(p));
    let scheme = url.get(..8).is_some_and(|s| s.eq_ignore_ascii_case("https://"));
    !absolute || scheme || (binding == Some(&Binding::Grpc) && (!url.contains("://") || url.starts_with("dns:///")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, World, caught, passes, warnings};

    fn at(url: &str, strictness: &str) -> Driven {
        let mut world = World::with_card(|card| card["supportedInterfaces"][0]["url"] = json!(url));
        world.environment.strictness = strictness.to_owned();
        world.drive()
    }

    #[test]
    fn an_https_interface_passes() {
        passes(&Https, &at("https://agent.example.test/rpc", "production"));
    }

    #[test]
    fn a_plain_http_interface_is_caught() {
        for url in ["http://agent.example.test/rpc", "HTTP://agent.example.test", "ws://agent.example.test/"] {
            caught(&Https, &at(url, "production"), ReasonCode::InterfaceUrlInsecure);
        }
    }

    #[test]
    fn in_development_it_is_a_warning() {
        let driven = at("http://127.0.0.1:9100/rpc", "development");
        passes(&Https, &driven);
        assert_eq!(warnings(&Https, &driven), [ReasonCode::InterfaceUrlInsecure]);
    }

    #[test]
    fn a_grpc_address_needs_no_scheme() {
        assert!(secure(Some(&Binding::Grpc), "agent.example.test:443"));
        assert!(!secure(Some(&Binding::Grpc), "http://agent.example.test:443"));
    }
}
