//! What a router watches.

use std::{fmt, str::FromStr};

use ostiary_canon::AgentId;

/// Everything, or one namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WatchScope {
    /// `*`
    Everything,
    /// One namespace.
    Namespace(Box<str>),
}

/// A text that is no [`WatchScope`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither `*` nor a namespace")]
pub struct NoScope(pub String);

// === impl WatchScope ===

impl WatchScope {
    /// The text on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Everything => "*",
            Self::Namespace(namespace) => namespace,
        }
    }

    /// Whether questions about `namespace` are answered from it.
    #[must_use]
    pub fn covers(&self, namespace: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Namespace(own) => **own == *namespace,
        }
    }

    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Namespace(one), Self::Namespace(two)) => one == two,
            (Self::Everything, _) | (_, Self::Everything) => true,
        }
    }
}

impl fmt::Display for WatchScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for WatchScope {
    type Err = NoScope;

    fn from_str(text: &str) -> Result<Self, NoScope> {
        if text == "*" {
            return Ok(Self::Everything);
        }
        // A namespace is what may stand before the slash of an agent's name.
        AgentId::new(text, "a").map(|id| Self::Namespace(id.namespace().into())).map_err(|_| NoScope(text.to_owned()))
    }
}
