//! Checks of the schema layer: content modes, artifacts and their schemas.

use crate::check::Check;

mod artifact_missing;
mod artifact_schema;
mod content_mode;

/// All checks of this layer, in the order of the documentation.
pub(crate) fn checks() -> Vec<Box<dyn Check>> {
    vec![
        Box::new(content_mode::ContentMode),
        Box::new(artifact_missing::ArtifactMissing),
        Box::new(artifact_schema::ArtifactSchema),
    ]
}
