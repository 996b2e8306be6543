//! Checks of the schema layer: content modes, artifacts and their schemas.

use crate::check::Check;

mod acceptance;
mod accepted_modes;
mod artifact_missing;
mod artifact_schema;
mod content_mode;
mod parts;

/// All checks of this layer, in the order of the documentation.
pub(crate) fn checks() -> Vec<Box<dyn Check>> {
    vec![
        Box::new(content_mode::ContentMode),
        Box::new(accepted_modes::AcceptedModes),
        Box::new(artifact_missing::ArtifactMissing),
        Box::new(artifact_schema::ArtifactSchema),
        Box::new(acceptance::Acceptance),
        Box::new(parts::Parts),
    ]
}
