//! Who calls, and what they may do. Deny is the default: an act that no row of [`may`] grants is refused.
//!
//! Tokens are kept as SHA-256 and compared in constant time; the token itself never leaves the request.

mod role;
mod tokens;

use std::{collections::BTreeSet, sync::Arc};

use ostiary_domain::{Actor, ActorKind};

use crate::error::{ApiError, ErrorCode};

pub use ostiary_domain::registry::Role;
pub use role::{Act, may, role_names};
pub use tokens::{TokenTable, TokenTableError};

/// A caller whose token was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    inner: Arc<Inner>,
}

#[derive(Debug, PartialEq, Eq)]
struct Inner {
    name: String,
    person: bool,
    roles: Vec<Role>,
    namespaces: Namespaces,
}

#[derive(Debug, PartialEq, Eq)]
enum Namespaces {
    All,
    Some(BTreeSet<String>),
}

// === impl Caller ===

impl Caller {
    fn new(name: String, person: bool, roles: Vec<Role>, namespaces: &BTreeSet<String>) -> Self {
        let namespaces = if namespaces.contains("*") { Namespaces::All } else { Namespaces::Some(namespaces.clone()) };
        Self { inner: Arc::new(Inner { name, person, roles, namespaces }) }
    }

    /// The caller's name in the audit log.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The caller as the domain knows it.
    #[must_use]
    pub fn actor(&self) -> Actor {
        let kind = if self.inner.person { ActorKind::Person } else { ActorKind::Machine };
        Actor { name: self.inner.name.clone(), kind }
    }

    /// Whether some role of the caller covers `act`, whatever the namespace.
    #[must_use]
    pub fn may(&self, act: Act) -> bool {
        self.inner.roles.iter().any(|role| may(*role, act))
    }

    /// Whether the caller's rights reach into `namespace`.
    #[must_use]
    pub fn reaches(&self, namespace: &str) -> bool {
        match &self.inner.namespaces {
            Namespaces::All => true,
            Namespaces::Some(names) => names.contains(namespace),
        }
    }

    /// Whether the caller's rights reach into every namespace, those that are made later too.
    #[must_use]
    pub fn reaches_all(&self) -> bool {
        matches!(self.inner.namespaces, Namespaces::All)
    }

    /// Refuses an act that concerns no namespace.
    ///
    /// # Errors
    /// `FORBIDDEN` when no role covers it.
    pub fn require(&self, act: Act) -> Result<(), ApiError> {
        if self.may(act) {
            return Ok(());
        }
        Err(ApiError::new(ErrorCode::Forbidden, format!("none of your roles may {}", act.phrase())))
    }

    /// Refuses an act in a namespace.
    ///
    /// # Errors
    /// `FORBIDDEN` when no role covers it; for a namespace out of reach it looks the same, existing or not.
    pub fn require_in(&self, act: Act, namespace: &str) -> Result<(), ApiError> {
        self.require(act)?;
        if self.reaches(namespace) {
            return Ok(());
        }
        Err(ApiError::new(ErrorCode::Forbidden, format!("you may not {} in namespace `{namespace}`", act.phrase())))
    }
}
