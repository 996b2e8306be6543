//! `a2a.card.https`: interfaces are served over TLS (C-02); in a development environment a warning. Whether a URL is
//! one at all, and leads anywhere, is judged by `a2a.card.address`.

use ostiary_protocol::a2a::{
    Binding,
    card::{AddressProblem, Endpoint, address_problems, is_of_others},
};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    declaration::{addressed, served_in_its_version},
    discover::CARD,
    facts::Facts,
};

/// The check.
pub(super) struct Https;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.card.https",
    version: 4,
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
        let (card, at) = match served_in_its_version(facts) {
            Ok(served) => served,
            Err(finding) => return vec![*finding],
        };
        let interfaces = addressed(&card);
        let insecure = interfaces.iter().filter(|i| !secure(i.binding.as_ref(), i.url));
        let mut out: Vec<Finding> = insecure.map(|i| finding(facts, i, &at)).collect();
        if out.iter().all(|f| f.severity == Severity::Warning) {
            out.push(if interfaces.is_empty() { nothing(facts) } else { facts.pass(at) });
        }
        out
    }
}

fn finding(facts: &Facts<'_>, interface: &Endpoint<'_>, at: &[EventRef]) -> Finding {
    let url = interface.url;
    let unknown = interface.binding.as_ref().is_some_and(is_of_others) && !has_scheme(url, &["http", "ws"]);
    let severity = if facts.production() && !unknown { Severity::Error } else { Severity::Warning };
    let expected = if unknown { "a scheme that is known to use TLS" } else { "an absolute https:// URL" };
    let finding = facts.fail(ReasonCode::InterfaceUrlInsecure, at.to_vec(), expected, format!("`{url}`"));
    finding.at_pointer(CARD, interface.pointer.clone()).as_severity(severity)
}

fn nothing(facts: &Facts<'_>) -> Finding {
    facts.inconclusive(ReasonCode::ObservationIncomplete, "supportedInterfaces", "the card lists no interface")
}

/// HTTPS, or for gRPC `host:port`, which the main line of the specification prints and which is dialled with TLS. A
/// binding that others define has schemes of its own: `wss` is TLS, of most nothing is known. What is no absolute URL is
/// not judged here.
fn secure(binding: Option<&Binding>, url: &str) -> bool {
    let told_elsewhere = [AddressProblem::NotAbsolute, AddressProblem::Template];
    let absolute = !address_problems(url, binding).iter().any(|p| told_elsewhere.contains(p));
    let grpc = binding == Some(&Binding::Grpc) && (!url.contains("://") || url.starts_with("dns:///"));
    let of_others = binding.is_some_and(is_of_others) && has_scheme(url, &["wss"]);
    !absolute || has_scheme(url, &["https"]) || grpc || of_others
}

fn has_scheme(url: &str, schemes: &[&str]) -> bool {
    url.split_once("://").is_some_and(|(scheme, _)| schemes.iter().any(|s| scheme.eq_ignore_ascii_case(s)))
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
    fn a_binding_of_others_has_schemes_of_its_own() {
        let other = |url: &str| {
            let interface =
                json!({"url": url, "protocolBinding": "https://example.test/binding", "protocolVersion": "1.0"});
            World::with_card(|card| card["supportedInterfaces"].as_array_mut().unwrap().push(interface)).drive()
        };
        let socket = other("wss://agent.example.test/x");
        passes(&Https, &socket);
        assert_eq!(warnings(&Https, &socket), []);
        let queue = other("nats://agent.example.test:4222");
        passes(&Https, &queue);
        assert_eq!(warnings(&Https, &queue), [ReasonCode::InterfaceUrlInsecure]);
        for plain in ["http://agent.example.test/x", "ws://agent.example.test/x"] {
            caught(&Https, &other(plain), ReasonCode::InterfaceUrlInsecure);
        }
    }

    #[test]
    fn a_grpc_address_needs_no_scheme() {
        assert!(secure(Some(&Binding::Grpc), "agent.example.test:443"));
        assert!(!secure(Some(&Binding::Grpc), "http://agent.example.test:443"));
    }
}
