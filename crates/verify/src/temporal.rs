//! Checks of the temporal layer: what `temporal.yaml` promises in time, and what holds while time passes.
//!
//! Times are those of the tape. Where a moment is known only between two looks, the promise is broken when the earlier one
//! is too late, kept when the later one is in time, and else not told.

use ostiary_record::Finding;

use crate::{check::Check, facts::Facts};

mod answer_lost;
mod cancel_effect;
mod credential_ends;
mod deadline;
mod dependency;
mod duplicate_window;
mod measure;
mod pace;
mod push_retry;
mod retention;

/// All checks of this layer, in the order of the documentation.
pub(crate) fn checks() -> Vec<Box<dyn Check>> {
    let mut out: Vec<Box<dyn Check>> = Vec::new();
    out.extend(deadline::Deadline::ALL.map(|c| Box::new(c) as Box<dyn Check>));
    out.push(Box::new(duplicate_window::DuplicateWindow));
    out.push(Box::new(push_retry::PushRetry));
    out.push(Box::new(cancel_effect::CancelEffect));
    out.push(Box::new(retention::Retention));
    out.push(Box::new(answer_lost::AnswerLost));
    out.push(Box::new(credential_ends::CredentialEnds));
    out.push(Box::new(dependency::Recovers));
    out.push(Box::new(dependency::Retries));
    out
}

/// What the contract does not promise.
fn unpromised(facts: &Facts<'_>, promise: &str) -> Finding {
    facts.not_applicable("temporal.yaml", format!("/temporal_contract/{promise}"))
}
