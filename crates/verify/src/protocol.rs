//! Checks of the protocol layer.

use crate::check::Check;

/// All checks of this layer, in the order of the documentation.
pub(crate) fn checks() -> Vec<Box<dyn Check>> {
    Vec::new()
}
