//! A hold, and for whom it holds.

use ostiary_domain::{Hold, HoldKind, Scope};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One standing hold.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct HoldView {
    /// Its id.
    pub id: String,
    /// `route_disabled`, `canary_stopped`, `revalidating` or `revalidating_for_all`.
    pub kind: String,
    /// For whom.
    pub scope: ScopeView,
    /// Why.
    pub reason: String,
    /// Who set it.
    pub author: String,
    /// The evidence it was set on.
    pub evidence: Option<String>,
    /// When it was set.
    pub set_at: String,
}

/// For whom a hold holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "scope", content = "of")]
pub enum ScopeView {
    /// Everybody.
    Everything,
    /// Dispatch over one interface, by its address.
    Interface(String),
    /// Dispatch under one profile.
    Profile(String),
    /// Dispatch on behalf of one consumer.
    Consumer(String),
    /// Dispatch with one card digest.
    Digest(String),
}
// === impl HoldView ===

impl HoldView {
    /// A hold.
    #[must_use]
    pub fn of(hold: &Hold) -> Self {
        Self {
            id: hold.id.to_string(),
            kind: hold.kind.as_str().to_owned(),
            scope: ScopeView::of(&hold.scope),
            reason: hold.reason.clone(),
            author: hold.author.to_string(),
            evidence: hold.evidence.as_ref().map(ToString::to_string),
            set_at: hold.set.time.to_string(),
        }
    }
}

// === impl ScopeView ===

impl ScopeView {
    fn of(scope: &Scope) -> Self {
        match scope {
            Scope::Everything => Self::Everything,
            Scope::Interface(url) => Self::Interface(url.clone()),
            Scope::Profile(profile) => Self::Profile(profile.to_string()),
            Scope::Consumer(consumer) => Self::Consumer(consumer.clone()),
            Scope::Digest(digest) => Self::Digest(digest.to_string()),
        }
    }

    /// The scope that a caller means.
    ///
    /// # Errors
    /// When a profile or digest is none.
    pub fn parse(&self) -> Result<Scope, String> {
        Ok(match self {
            Self::Everything => Scope::Everything,
            Self::Interface(url) => Scope::Interface(url.clone()),
            Self::Profile(text) => Scope::Profile(text.parse().map_err(|error| format!("{error}"))?),
            Self::Consumer(consumer) => Scope::Consumer(consumer.clone()),
            Self::Digest(text) => Scope::Digest(text.parse().map_err(|error| format!("{error}"))?),
        })
    }
}

/// The kind of hold of that name.
#[must_use]
pub fn hold_kind(text: &str) -> Option<HoldKind> {
    [HoldKind::RouteDisabled, HoldKind::CanaryStopped, HoldKind::Revalidating]
        .into_iter()
        .find(|kind| kind.as_str() == text)
}
