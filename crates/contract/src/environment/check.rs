//! What an environment's settings say against each other, and what this build cannot honour.

use super::Environment;
use crate::{decode::Cx, yaml::Node};

// === impl Environment ===

impl Environment {
    pub(super) fn check(&self, _node: &Node, _cx: &mut Cx<'_>) {}
}
