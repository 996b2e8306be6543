//! `a2a.card.interface_supported`: what is to be activated can be exercised (C-03, V-03).

use ostiary_canon::Profile;
use ostiary_protocol::a2a::{
    binding::{Binding, Version},
    card::is_of_others,
};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    declaration::served,
    discover::{CARD, Interface},
    facts::Facts,
};

/// The check.
pub(super) struct Supported;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.card.interface_supported",
    version: 3,
    summary: "Each interface to be activated has a binding and version that the harness exercises.",
    layer: Layer::Declaration,
    gate: Gate::Static,
    covers: &["C-03"],
    reads: Reads::Declarations,
    depends: &[Input::Card, Input::Contract],
    reasons: &[ReasonCode::InterfaceUnsupported],
    severity: Severity::Error,
    liar: "an_activated_interface_of_an_unknown_binding_is_caught",
};

impl Check for Supported {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    /// What the contract wants activated must be exercisable. Where it says nothing, every declared interface is to be
    /// activated: one that the harness cannot call keeps the gate shut, and the contract has to leave it out. What it
    /// leaves out is warned about, since no evidence will hold for it.
    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let at = match served(facts) {
            Ok((_, at)) => at,
            Err(finding) => return vec![*finding],
        };
        let declared = &facts.discovered().interfaces;
        let wanted: Vec<&Profile> = facts.bundle().coverage.activate.iter().map(|p| &p.value).collect();
        let mut out: Vec<Finding> = wanted.iter().filter_map(|p| activated(facts, p, &at)).collect();
        let usable = declared.iter().any(Interface::exercisable);
        let named = |i: &Interface| wanted.iter().any(|p| Some(p.protocol()) == i.protocol().as_deref());
        let rest = declared.iter().filter(|i| !i.exercisable() && !named(i));
        let alone = facts.options().card_alone;
        let all_wanted = wanted.is_empty() && !alone;
        let correct = alone && declared.iter().any(in_the_specification);
        let severity = if usable || correct { Severity::Warning } else { Severity::Error };
        out.extend(rest.map(|i| match profile_of(i) {
            Some(profile) if usable && all_wanted => unverified(facts, i, profile),
            _ if correct && !usable => not_drivable(facts, i, &at),
            _ => unsupported(facts, i, &at).as_severity(severity),
        }));
        if !out.iter().any(|f| f.severity == Severity::Error) {
            out.push(match (usable, correct) {
                (true, _) => facts.pass(at),
                (false, true) => facts.not_applicable("coverage.yaml", "/activate"),
                (false, false) => none(facts, at),
            });
        }
        out
    }
}

fn activated(facts: &Facts<'_>, profile: &Profile, at: &[EventRef]) -> Option<Finding> {
    match facts.discovered().interface(profile) {
        Some(interface) if interface.exercisable() => None,
        Some(interface) => Some(unsupported(facts, interface, at)),
        None => {
            let expected = format!("an interface for `{profile}`, which the contract wants activated");
            Some(facts.fail(ReasonCode::InterfaceUnsupported, at.to_vec(), expected, "no such interface in the card"))
        }
    }
}

fn unsupported(facts: &Facts<'_>, interface: &Interface, at: &[EventRef]) -> Finding {
    let observed = format!("{} {}", interface.binding, interface.protocol_version);
    let expected = "a binding and version that the harness exercises (JSONRPC, HTTP+JSON or GRPC, 1.0)";
    let finding = facts.fail(ReasonCode::InterfaceUnsupported, at.to_vec(), expected, observed);
    finding.at_pointer(CARD, interface.pointer.clone())
}

/// Whether an interface is one that a card of A2A 1.0 may list, driven by the harness or not.
fn in_the_specification(interface: &Interface) -> bool {
    let binding = Binding::parse(&interface.binding);
    let known = binding.slug().is_some() || is_of_others(&binding);
    known && Version::parse_lenient(&interface.protocol_version) == Some(Version::V1_0)
}

/// A card judged by itself is not at fault for what the harness lacks; its owner should know before a gate says so.
fn not_drivable(facts: &Facts<'_>, interface: &Interface, at: &[EventRef]) -> Finding {
    let finding = unsupported(facts, interface, at).as_severity(Severity::Warning);
    let message = format!(
        "{} {} may stand in a card, and the harness does not exercise it: a gate needs an interface of JSONRPC, HTTP+JSON or GRPC beside it",
        interface.binding, interface.protocol_version
    );
    finding.with_message(message)
}

/// The profile that is activated for an interface where the contract names none.
fn profile_of(interface: &Interface) -> Option<Profile> {
    interface.protocol()?.parse().ok()
}

/// Nothing is broken, and nothing was tried: the finding of this one profile alone, so that the others may pass.
fn unverified(facts: &Facts<'_>, interface: &Interface, profile: Profile) -> Finding {
    let exercisable = facts.discovered().interfaces.iter().filter(|i| i.exercisable());
    let names: Vec<String> = exercisable.filter_map(Interface::protocol).collect();
    let what = format!("a scenario over {} {}", interface.binding, interface.protocol_version);
    let remedy = format!(
        "the harness cannot exercise `{profile}`, and without `activate` every declared interface is to be activated; \
         write `activate: [{}]` into coverage.yaml",
        names.join(", ")
    );
    let finding = facts.inconclusive(ReasonCode::InterfaceUnsupported, what, remedy);
    Finding { profile: Some(profile), ..finding }.at_pointer(CARD, interface.pointer.clone())
}

fn none(facts: &Facts<'_>, at: Vec<EventRef>) -> Finding {
    facts.fail(
        ReasonCode::InterfaceUnsupported,
        at,
        "an interface that can be exercised",
        "none with binding and version",
    )
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, World, caught, edit_document, is, passes, warnings};

    /// A second interface beside the honest one, of a version that nobody drives.
    fn second(binding: &str, activate: &str) -> Driven {
        let mut world = World::with_card(|card| {
            let other =
                json!({"url": "https://agent.example.test/x", "protocolBinding": binding, "protocolVersion": "2.0"});
            card["supportedInterfaces"].as_array_mut().unwrap().push(other);
        });
        if !activate.is_empty() {
            world.put("coverage.yaml", &format!("activate: [{activate}]\n"));
        }
        world.drive()
    }

    #[test]
    fn a_supported_interface_passes() {
        passes(&Supported, &World::honest().drive());
        for binding in ["HTTP+JSON", "GRPC"] {
            passes(&Supported, &only(binding, true));
            passes(&Supported, &only(binding, false));
        }
    }

    #[test]
    fn an_activated_interface_of_an_unknown_binding_is_caught() {
        caught(&Supported, &second("GRPC", "a2a-grpc-2.0"), ReasonCode::InterfaceUnsupported);
        let only = World::with_card(|card| card["supportedInterfaces"][0]["protocolVersion"] = json!("2.0"));
        caught(&Supported, &only.drive(), ReasonCode::InterfaceUnsupported);
        let mut gone = second("GRPC", "a2a-jsonrpc-1.0");
        let card = World::with_card(|card| card["supportedInterfaces"][0]["protocolVersion"] = json!("2.0")).card;
        edit_document(&mut gone.run, CARD, card.to_string().as_bytes());
        caught(&Supported, &gone, ReasonCode::InterfaceUnsupported);
    }

    fn only(binding: &str, alone: bool) -> Driven {
        let mut world = World::with_card(|card| card["supportedInterfaces"][0]["protocolBinding"] = json!(binding));
        world.options.card_alone = alone;
        world.drive()
    }

    #[test]
    fn a_card_alone_is_not_at_fault_for_what_the_harness_lacks() {
        let binding = "https://example.test/binding";
        let alone = only(binding, true);
        is(&Supported, &alone, Outcome::NotApplicable);
        assert_eq!(warnings(&Supported, &alone), [ReasonCode::InterfaceUnsupported]);
        caught(&Supported, &only(binding, false), ReasonCode::InterfaceUnsupported);
        caught(&Supported, &only("jsonrpc", true), ReasonCode::InterfaceUnsupported);
    }

    #[test]
    fn what_the_contract_leaves_out_is_warned_about() {
        let driven = second("GRPC", "a2a-jsonrpc-1.0");
        passes(&Supported, &driven);
        assert_eq!(warnings(&Supported, &driven), [ReasonCode::InterfaceUnsupported]);
        let unnameable = second("https://example.test/binding", "");
        passes(&Supported, &unnameable);
        assert_eq!(warnings(&Supported, &unnameable), [ReasonCode::InterfaceUnsupported]);
    }

    #[test]
    fn what_cannot_be_exercised_and_is_not_left_out_is_unknown() {
        let driven = second("GRPC", "");
        is(&Supported, &driven, Outcome::Inconclusive);
        let report = driven.report();
        assert_eq!(report.verdict, Outcome::Inconclusive);
        assert_eq!(report.profiles_passed.len(), 1, "the other interface was verified");
        let open = report.findings.iter().find(|f| f.reason_code == Some(ReasonCode::InterfaceUnsupported)).unwrap();
        assert!(open.finding.message.contains("`activate: [a2a-jsonrpc-1.0]` into coverage.yaml"), "{open:?}");
        assert_eq!(second("GRPC", "a2a-jsonrpc-1.0").report().verdict, Outcome::Pass);
    }
}
