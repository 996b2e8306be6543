//! The waiver: two people answer for it that one check does not stop this version, until an instant (L-09).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Predicate, WAIVER};
use crate::{Digest, Profile};

/// Our waiver predicate. It excuses from one check; it does not say that anything passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiver {
    /// The waiver's id.
    pub id: String,
    /// The check.
    pub check: String,
    /// The profile; absent = whatever profile the finding is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// The policy that it is an exception from.
    pub policy: Digest,
    /// Who asked, and why.
    pub requested_by: Consent,
    /// Who granted, and why: another person.
    pub granted_by: Consent,
    /// From when.
    #[serde(rename = "notBefore")]
    pub not_before: Timestamp,
    /// Until when, exclusive.
    #[serde(rename = "expiresAt")]
    pub expires_at: Timestamp,
}

/// One person's word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    /// Who.
    pub actor: String,
    /// Why.
    pub reason: String,
}

impl Predicate for Waiver {
    const TYPE: &'static str = WAIVER;
}
