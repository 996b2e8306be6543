//! `a2a.error.codes`: what is wrong is refused with the error that the specification names for it (E-01, E-02).

use ostiary_protocol::a2a::{Binding, ErrorKind};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    refusal::{self, Refusal},
    scenarios::{
        rpc::{self, Wrong},
        unknown,
    },
};

/// The check.
pub(super) struct ErrorCodes;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.error.codes",
    version: 1,
    summary: "Unknown tasks and wrong requests are refused with the errors that the specification names.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["E-01", "E-02", "G-01"],
    reads: Reads::Each(&[unknown::ID, rpc::ID]),
    depends: &[Input::Candidate],
    reasons: &[ReasonCode::ErrorNotRefused, ReasonCode::ErrorCodeMismatch, ReasonCode::ResponseMalformed],
    severity: Severity::Error,
    liar: "another_error_than_the_named_one_is_caught",
};

impl Check for ErrorCodes {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let binding = answers::binding(facts);
        let judge = |a: &Answered<'_>| {
            if a.axis(rpc::AXIS) == Wrong::Message.as_str() && says_unreadable(a) {
                return vec![facts.pass(a.cite()).at_exchange(a.exchange.id)];
            }
            let status = a.exchange.head.map(|(status, ..)| status);
            if a.axis(rpc::AXIS) == Wrong::Method.as_str() && leads_away(&binding, status) {
                return vec![facts.pass(a.cite()).at_exchange(a.exchange.id)];
            }
            let (named, tolerated) = expected(a, &binding);
            refusal::judge(facts, a, Refusal { named, tolerated, served: ReasonCode::ErrorNotRefused })
        };
        answers::all(facts).iter().flat_map(judge).collect()
    }
}

/// Whether a message that nobody can read was refused with a status that frameworks of gRPC give for it: they read before
/// the agent does, A2A tables no error for it, gRPC's own table says INTERNAL, and Python's says UNKNOWN.
fn says_unreadable(answered: &Answered<'_>) -> bool {
    let status = answered.reply.error().and_then(|(error, _)| error.status.as_deref());
    matches!(status, Some("INVALID_ARGUMENT" | "INTERNAL" | "UNKNOWN"))
}

/// Whether a path that no version has was answered with a redirect: A2A tables no error for it over HTTP+JSON, and web
/// frameworks try it with a slash behind, the routes of the official Python SDK among them. Nothing was served.
fn leads_away(binding: &Binding, status: Option<u16>) -> bool {
    *binding == Binding::HttpJson && matches!(status, Some(301 | 302 | 303 | 307 | 308))
}

/// The named errors, and those that another reading or an official SDK uses.
///
/// An id that no agent would give may be called invalid before it is looked for; to cancel what does not exist is "not
/// cancelable" to the official kit; and an agent without tasks may not offer the operations.
///
/// Over HTTP+JSON a body that is no JSON may be called wrong in any of the ways that share HTTP 400.
fn expected(answered: &Answered<'_>, binding: &Binding) -> (&'static [ErrorKind], &'static [ErrorKind]) {
    use ErrorKind as K;
    let Some(wrong) = Wrong::parse(answered.axis(rpc::AXIS)) else {
        return (
            &[K::TaskNotFound],
            &[K::TaskNotCancelable, K::InvalidParams, K::UnsupportedOperation, K::MethodNotFound],
        );
    };
    match wrong {
        Wrong::Method => (&[K::MethodNotFound], &[K::UnsupportedOperation, K::InvalidRequest]),
        Wrong::Params if *binding == Binding::HttpJson => {
            (&[K::InvalidParams, K::InvalidRequest, K::TaskNotFound], &[])
        }
        Wrong::Params => (&[K::InvalidParams, K::TaskNotFound], &[K::InvalidRequest]),
        Wrong::Envelope => (&[K::InvalidRequest], &[K::MethodNotFound, K::InvalidParams, K::Parse]),
        Wrong::Json if *binding == Binding::HttpJson => (&[K::Parse, K::InvalidRequest, K::InvalidParams], &[]),
        Wrong::Json => (&[K::Parse], &[K::InvalidRequest]),
        Wrong::Message => (&[K::Parse, K::InvalidRequest, K::InvalidParams], &[]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, passes, warnings};

    fn answering(which: impl Fn(&Item<'_>) -> bool, code: i64) -> Driven {
        World::honest().drive().edit(|i| {
            let error = json!({"code": code, "message": "no"});
            if which(i) { Edit::Replace(i.with_error(error)) } else { Edit::Keep }
        })
    }

    fn wrong(what: Wrong) -> impl Fn(&Item<'_>) -> bool {
        move |i| i.axes.get(rpc::AXIS).is_some_and(|w| w == what.as_str())
    }

    #[test]
    fn named_errors_pass() {
        let driven = World::honest().drive();
        passes(&ErrorCodes, &driven);
        assert_eq!(driven.judge(&ErrorCodes).len(), 6, "two of an unknown task, four of wrong requests");
    }

    #[test]
    fn another_error_than_the_named_one_is_caught() {
        for what in Wrong::of(&Binding::JsonRpc).iter().copied() {
            caught(&ErrorCodes, &answering(wrong(what), -32603), ReasonCode::ErrorCodeMismatch);
        }
        let unknown = answering(|i| i.scenario == unknown::ID && i.operation == "GetTask", -32603);
        caught(&ErrorCodes, &unknown, ReasonCode::ErrorCodeMismatch);
    }

    #[test]
    fn what_another_reading_allows_is_warned_about() {
        let driven = answering(|i| i.scenario == unknown::ID && i.operation == "CancelTask", -32002);
        passes(&ErrorCodes, &driven);
        assert_eq!(warnings(&ErrorCodes, &driven), [ReasonCode::ErrorCodeMismatch]);
    }

    #[test]
    fn a_served_unknown_task_is_caught() {
        let served = World::honest().drive().edit(|i| {
            let task = json!({"id": i.request["params"]["id"], "status": {"state": "TASK_STATE_WORKING"}});
            if i.scenario == unknown::ID { Edit::Replace(i.with_result(task)) } else { Edit::Keep }
        });
        caught(&ErrorCodes, &served, ReasonCode::ErrorNotRefused);
    }

    #[test]
    fn a_redirect_of_an_unknown_path_serves_nothing() {
        assert!(leads_away(&Binding::HttpJson, Some(307)));
        assert!(!leads_away(&Binding::HttpJson, Some(200)) && !leads_away(&Binding::HttpJson, None));
        assert!(!leads_away(&Binding::JsonRpc, Some(307)), "there every method has one path");
    }

    #[test]
    fn garbage_is_no_refusal() {
        let garbage = World::honest().drive().edit(|i| if wrong(Wrong::Method)(i) { Edit::Drop } else { Edit::Keep });
        caught(&ErrorCodes, &garbage, ReasonCode::ResponseMalformed);
    }
}
