//! `a2a.interface.undeclared`: what answers as A2A at the declared addresses is declared (G-01, I-08).

use ostiary_protocol::a2a::{A2aError, Answer, ErrorKind, TaskView, codec};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity, view::ExchangeView};

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::{Facts, Tape},
    scenarios::interface::{self, LookedFor},
};

/// The check. Agents MUST declare all protocols that they support (§5.2). The version 0.3 is warned about: SDKs serve it
/// beside 1.0 for callers of old, and the declared interface is not served otherwise for it.
pub(super) struct UndeclaredInterface;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.interface.undeclared",
    version: 1,
    summary: "No binding over HTTP and no older version answers at the declared addresses that the card does not name.",
    layer: Layer::Declaration,
    gate: Gate::Conformance,
    covers: &["G-01", "I-08", "I-02"],
    reads: Reads::Each(&[interface::ID]),
    depends: &[Input::Candidate, Input::Card],
    reasons: &[ReasonCode::InterfaceUndeclared],
    severity: Severity::Error,
    liar: "a_binding_that_the_card_does_not_name_is_caught",
};

impl Check for UndeclaredInterface {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let probes = facts.exchanges();
        if probes.is_empty() {
            return vec![facts.not_applicable(CARD, "/supportedInterfaces")];
        }
        probes.iter().filter_map(|(tape, x)| judge(facts, *tape, x)).collect()
    }
}

fn judge(facts: &Facts<'_>, tape: Tape<'_>, exchange: &ExchangeView<'_>) -> Option<Finding> {
    let looked = tape.recording.axes.values.get(interface::AXIS).and_then(|l| LookedFor::parse(l))?;
    if let Some(unanswered) = facts.unanswered(exchange) {
        return Some(unanswered);
    }
    let reply = codec::read(&looked.binding(), exchange).ok()?;
    let cited = tape.cite_exchange(exchange);
    let observed = match reply.first().map(|i| &i.answer) {
        Some(Answer::Result(value)) if TaskView::of(value).is_some() => "a task".to_owned(),
        Some(Answer::Error(error)) if speaks(looked, error) => error.label(),
        _ => return Some(facts.pass(cited).at_exchange(exchange.id)),
    };
    let what = match looked {
        LookedFor::V0_3 => "protocol version 0.3".to_owned(),
        LookedFor::HttpJson | LookedFor::JsonRpc => format!("the binding {}", looked.as_str()),
    };
    let expected = format!("no answer to {what}, which the card does not declare");
    let finding = facts.fail(ReasonCode::InterfaceUndeclared, cited, expected, observed).at_exchange(exchange.id);
    let finding = finding.with_detail(looked.as_str()).at_pointer(CARD, "/supportedInterfaces");
    Some(if looked == LookedFor::V0_3 { finding.as_severity(Severity::Warning) } else { finding })
}

/// Whether an error can only come from a server that understood the request: it knows that the task does not exist. A
/// page that is not there, a refused credential or an unknown method say nothing.
fn speaks(looked: LookedFor, error: &A2aError) -> bool {
    let not_found = error.kind() == Some(ErrorKind::TaskNotFound);
    match looked {
        // HTTP 404 alone, in whatever form, is what every server says of a path that it does not have
        LookedFor::HttpJson => not_found && error.reason().is_some(),
        LookedFor::JsonRpc | LookedFor::V0_3 => not_found && error.code.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes, warnings};

    fn answering(looked: LookedFor) -> Driven {
        World::honest().drive().edit(|i| {
            if i.axes.get(interface::AXIS).is_none_or(|l| l != looked.as_str()) {
                return Edit::Keep;
            }
            let info = json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TASK_NOT_FOUND"});
            Edit::Replace(match looked {
                LookedFor::HttpJson => {
                    json!({"error": {"code": 404, "status": "NOT_FOUND", "message": "no", "details": [info]}})
                }
                LookedFor::JsonRpc | LookedFor::V0_3 => i.with_error(json!({"code": -32001, "message": "no"})),
            })
        })
    }

    #[test]
    fn an_agent_that_serves_what_it_declares_passes() {
        let driven = World::honest().drive();
        passes(&UndeclaredInterface, &driven);
        assert_eq!(driven.judge(&UndeclaredInterface).len(), 3, "HTTP+JSON at two places, and 0.3");
    }

    #[test]
    fn a_binding_that_the_card_does_not_name_is_caught() {
        caught(&UndeclaredInterface, &answering(LookedFor::HttpJson), ReasonCode::InterfaceUndeclared);
    }

    #[test]
    fn an_older_version_that_is_served_is_warned_about() {
        let old = answering(LookedFor::V0_3);
        passes(&UndeclaredInterface, &old);
        assert_eq!(warnings(&UndeclaredInterface, &old), [ReasonCode::InterfaceUndeclared]);
    }

    #[test]
    fn where_everything_is_declared_nothing_is_looked_for() {
        let all = World::with_card(|card| {
            let list = card["supportedInterfaces"].as_array_mut().unwrap();
            let more = |binding: &str, version: &str| json!({"url": "https://agent.example.test/x", "protocolBinding": binding, "protocolVersion": version});
            list.extend([more("HTTP+JSON", "1.0"), more("JSONRPC", "0.3")]);
        });
        let mut all = all;
        all.put("coverage.yaml", "activate: [a2a-jsonrpc-1.0]\n");
        is(&UndeclaredInterface, &all.drive(), Outcome::NotApplicable);
    }
}
