//! Checks of the temporal layer: what `temporal.yaml` promises in time, and what holds while time passes.

use ostiary_record::Finding;

use crate::{check::Check, facts::Facts};

mod push_retry;

/// All checks of this layer, in the order of the documentation.
pub(crate) fn checks() -> Vec<Box<dyn Check>> {
    vec![Box::new(push_retry::PushRetry)]
}

/// What the contract does not promise.
fn unpromised(facts: &Facts<'_>, promise: &str) -> Finding {
    facts.not_applicable("temporal.yaml", format!("/temporal_contract/{promise}"))
}
