//! The few questions that the engine asks of a bundle.

use ostiary_canon::Profile;
use ostiary_contract::Bundle;

/// The profiles that `coverage.yaml` wants activated.
pub(crate) fn activate(_bundle: &Bundle) -> Vec<Profile> {
    Vec::new()
}
