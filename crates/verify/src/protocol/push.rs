//! Push notifications by the rules of the protocol: configurations, deliveries, what comes again, what comes too late.

use ostiary_record::Finding;

use crate::{check::Check, facts::Facts};

mod configuration;
mod deleted;
mod delivered;
mod payload;
mod redelivery;
mod undeclared;

/// All checks of this room.
pub(super) fn checks() -> Vec<Box<dyn Check>> {
    vec![
        Box::new(undeclared::Undeclared),
        Box::new(configuration::Configuration),
        Box::new(delivered::Delivered),
        Box::new(payload::Payload),
        Box::new(deleted::Deleted),
        Box::new(redelivery::Redelivery),
    ]
}

/// Where the contract has no example whose task is open for long, and the task of another one had ended too soon.
fn ended_too_soon(facts: &Facts<'_>) -> Finding {
    facts.not_applicable("skills.yaml", "/examples/runs")
}
