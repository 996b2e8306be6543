//! Whether an error refuses the caller, or speaks of something else: busy, malformed, broken.

use ostiary_protocol::a2a::{A2aError, ErrorKind};
use ostiary_record::{Finding, ReasonCode};

use crate::{answers::Answered, facts::Facts};

/// The finding on an error that somebody got who must not be served.
///
/// A refusal that is named as one passes. The specification gives no JSON-RPC code for a refused credential, so that a
/// code of the agent's own may be one; it counts where `control`, who may do what was refused, was served the same kind
/// of request before and after it. Any other error may have come to everybody.
pub(super) fn judge(
    facts: &Facts<'_>,
    answered: &Answered<'_>,
    error: &A2aError,
    control: Option<&str>,
    all: &[Answered<'_>],
) -> Finding {
    let x = answered.exchange.id;
    let by_status = matches!(error.http_status, Some(401 | 403));
    match error.kind() {
        _ if by_status => facts.pass(answered.cite()).at_exchange(x),
        Some(ErrorKind::Unauthenticated | ErrorKind::Forbidden) => facts.pass(answered.cite()).at_exchange(x),
        Some(ErrorKind::TaskNotFound) if names_a_task(answered) => facts.pass(answered.cite()).at_exchange(x),
        None if controlled(answered, error, control, all) => facts.pass(answered.cite()).at_exchange(x),
        Some(_) => {
            let remedy = format!("{} does not say that the caller was refused", error.label());
            facts.inconclusive(ReasonCode::ObservationIncomplete, "a refusal of the caller", remedy).at_exchange(x)
        }
        None => {
            let remedy =
                format!("{} may have come to anybody: no request of this kind worked around it", error.label());
            facts.inconclusive(ReasonCode::ControlFailed, "a control before and after it", remedy).at_exchange(x)
        }
    }
}

fn names_a_task(answered: &Answered<'_>) -> bool {
    matches!(answered.operation(), "GetTask" | "CancelTask")
}

/// Whether the same kind of request worked right before and right after. A cancel cannot be tried twice; it stands where
/// the read of the same caller was answered with the same error, and the reads around it worked.
fn controlled(answered: &Answered<'_>, error: &A2aError, control: Option<&str>, all: &[Answered<'_>]) -> bool {
    let near = || all.iter().filter(|a| a.tape.index == answered.tape.index);
    let mut operation = answered.operation();
    if operation == "CancelTask" {
        operation = "GetTask";
        let same = |a: &&Answered<'_>| {
            let got = a.reply.error().map(|(e, _)| (e.code, e.http_status, e.status.clone()));
            a.operation() == operation
                && a.exchange.actor == answered.exchange.actor
                && got == Some((error.code, error.http_status, error.status.clone()))
        };
        if near().find(same).is_none() {
            return false;
        }
    }
    let at = answered.exchange.sent.seq;
    let worked = |a: &&Answered<'_>| {
        control.is_some() && a.exchange.actor == control && a.operation() == operation && a.reply.result().is_some()
    };
    let places: Vec<_> = near().filter(worked).map(|a| a.exchange.sent.seq).collect();
    places.iter().any(|seq| *seq < at) && places.iter().any(|seq| *seq > at)
}
