//! Waivers: one person asks to be excepted from a check, another one grants it; anybody who operates may end it.

pub mod get;
pub mod grant;
pub mod list;
pub mod request;
pub mod revoke;

use jiff::Timestamp;
use ostiary_canon::{AgentId, VersionLabel};
use ostiary_domain::{Waiver, WaiverId, waiver::Grant};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{app::App, error::ApiError};

/// One waiver.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct WaiverView {
    /// Its id.
    pub id: String,
    /// `asked`, `granted`, `expired` or `revoked`. Only a granted one does anything.
    pub standing: String,
    /// The check that is waived.
    pub check: String,
    /// The profile; absent for whatever profile the finding is bound to.
    pub profile: Option<String>,
    /// The manifest that was looked at.
    pub manifest: String,
    /// The policy that was looked at.
    pub policy: String,
    /// Until when, at the latest, anything rests on it.
    pub expires_at: String,
    /// Who asked.
    pub requested_by: String,
    /// Why.
    pub reason: String,
    /// The second person's word.
    pub granted: Option<GrantView>,
    /// How it ended before its time.
    pub revoked: Option<RevokedView>,
    /// The revision token of its last change.
    pub revision: u64,
}

/// The second person's word.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct GrantView {
    /// Who.
    pub by: String,
    /// Why.
    pub reason: String,
    /// When.
    pub at: String,
    /// The signed statement: a DSSE envelope, as text, byte for byte.
    pub envelope: String,
}

/// How a waiver ended before its time.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RevokedView {
    /// Who.
    pub by: String,
    /// Why.
    pub reason: String,
    /// When.
    pub at: String,
}

// === impl WaiverView ===

impl WaiverView {
    fn of(waiver: &Waiver, now: Timestamp) -> Self {
        let about = &waiver.request;
        let last = waiver.granted.iter().map(|g| g.at).chain(waiver.revoked.iter().map(|r| r.at));
        Self {
            id: about.id.to_string(),
            standing: standing(waiver, now).to_owned(),
            check: about.check.to_string(),
            profile: about.profile.as_ref().map(ToString::to_string),
            manifest: about.manifest.to_string(),
            policy: about.policy.to_string(),
            expires_at: about.expires_at.to_string(),
            requested_by: about.by.to_string(),
            reason: about.reason.clone(),
            granted: waiver.granted.as_ref().map(GrantView::of),
            revoked: waiver.revoked.as_ref().map(|revoked| RevokedView {
                by: revoked.by.to_string(),
                reason: revoked.reason.clone(),
                at: revoked.at.time.to_string(),
            }),
            revision: last.map(|at| at.revision).max().unwrap_or(about.at.revision).0,
        }
    }
}

impl GrantView {
    fn of(grant: &Grant) -> Self {
        Self {
            by: grant.by.to_string(),
            reason: grant.reason.clone(),
            at: grant.at.time.to_string(),
            envelope: grant.envelope.clone(),
        }
    }
}

fn standing(waiver: &Waiver, now: Timestamp) -> &'static str {
    if waiver.revoked.is_some() {
        "revoked"
    } else if waiver.request.expires_at <= now {
        "expired"
    } else if waiver.granted.is_some() {
        "granted"
    } else {
        "asked"
    }
}

/// The waiver of that id, if it is one of this label: rights were asked for the label's namespace.
async fn of_label(app: &App, (agent, label): (&AgentId, &VersionLabel), id: &str) -> Result<Waiver, ApiError> {
    let found = app.store.waiver(&WaiverId(id.to_owned())).await?;
    let found = found.filter(|waiver| waiver.request.agent == *agent && waiver.request.label == *label);
    found.ok_or_else(|| ApiError::not_found(&format!("waiver `{id}` of `{agent}@{label}`")))
}
