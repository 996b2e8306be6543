//! The A2A scenarios.

use crate::scenario::Scenario;

/// All scenarios, in the order of the documentation.
pub(crate) fn all() -> Vec<Box<dyn Scenario>> {
    Vec::new()
}
