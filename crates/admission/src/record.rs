//! The admission record: all that a decision needs to know of one agent version.
//!
//! A million of them are kept in memory: 500 bytes each is the budget, heap included.

use std::{fmt, str::FromStr, sync::Arc};

use jiff::Timestamp;
use ostiary_canon::{AgentId, Digest, Profile, Revision, VersionLabel, intoto::AdmissionClass};
use serde::{Deserialize, Serialize};

/// What is known of one version, projected for routers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdmissionRecord {
    /// The agent.
    pub agent: AgentId,
    /// Its version.
    pub version: VersionLabel,
    /// Where it stands in its life.
    pub state: State,
    /// Share of cohorts that a CANARY serves, in hundredths of a percent: 0 to 10 000.
    #[serde(default)]
    pub canary_weight: u16,
    /// The evidence in force, expired or not; `None` where there never was any.
    #[serde(default)]
    pub evidence: Option<Evidence>,
    /// What takes it off the road without changing its state.
    #[serde(default)]
    pub holds: Box<[Hold]>,
    /// Whom a DEPRECATED version still serves, and how long.
    #[serde(default)]
    pub sunset: Option<Box<Sunset>>,
    /// The checks that were waived (L-09): shown to routers, never taken for passed.
    #[serde(default)]
    pub waived: Option<Arc<[Box<str>]>>,
    /// The revision that last changed this record.
    pub revision: Revision,
}

/// Evidence as far as decisions need it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The admitted card.
    pub card_digest: Digest,
    /// The admitted contract.
    pub contract_digest: Digest,
    /// The admitted artifact.
    pub producer_digest: Digest,
    /// The signed authorization.
    pub evidence_digest: Digest,
    /// From when it holds.
    pub verified_at: Timestamp,
    /// When it stops to hold.
    pub expires_at: Timestamp,
    /// For which profiles, each with its own end.
    pub profiles: Box<[ProfileGrant]>,
    /// How complete it is.
    #[serde(default)]
    pub class: AdmissionClass,
    /// What verifying its signature said.
    pub signature: SignatureStatus,
    /// It was called in (EVIDENCE_STALE).
    #[serde(default)]
    pub stale: bool,
    /// A newer result is FAIL (EVIDENCE_FAILED).
    #[serde(default)]
    pub failed: bool,
}

/// A profile for which evidence holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileGrant {
    /// The profile; shared between records, since there are few.
    pub profile: Arc<Profile>,
    /// When it stops to hold for this profile.
    pub expires_at: Timestamp,
}

/// What verifying a signature said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignatureStatus {
    /// Good, by a trusted key.
    Verified,
    /// Not good, or by an unknown key.
    Invalid,
    /// Good, by a key that is no longer believed.
    KeyRevoked,
}

/// Where a version stands in its life; a mirror of the lifecycle without its facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// Submitted.
    Draft,
    /// The static gate passed.
    StaticValidated,
    /// The conformance gate passed.
    ConformanceVerified,
    /// The security gate passed.
    SecurityVerified,
    /// Admitted, not on the road.
    RegistryAdmitted,
    /// Serves a cohort.
    Canary,
    /// Serves.
    Active,
    /// Taken off the road.
    Quarantined,
    /// Retired; may serve until its sunset.
    Deprecated,
    /// Failed a gate.
    Rejected,
}

/// Something that takes a version off the road without changing its state (L-10).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// What it does.
    pub kind: HoldKind,
    /// Whom it hits.
    pub scope: Scope,
    /// A person set it: it denies in every mode.
    pub by_person: bool,
}

/// What a hold does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldKind {
    /// No dispatch.
    RouteDisabled,
    /// No dispatch while the version is a CANARY.
    CanaryStopped,
    /// No dispatch for who sees another card than the admitted one.
    Revalidating,
    /// No dispatch for anybody: the control plane could not fetch the card, and a second router saw another one.
    RevalidatingForAll,
}

/// Whom a hold hits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Everybody.
    All,
    /// Who calls over this interface.
    Interface(Box<str>),
    /// Who uses this profile.
    Profile(Arc<Profile>),
    /// This consumer.
    Consumer(Box<str>),
}

/// Whom a DEPRECATED version still serves (L-11).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sunset {
    /// Until when, exclusive.
    pub until: Timestamp,
    /// The registered production consumers.
    pub consumers: Box<[Box<str>]>,
}

/// A text that is no [`State`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no state")]
pub struct UnknownState(pub String);

// === impl State ===

impl State {
    /// All states, in the order of a version's life.
    pub const ALL: [Self; 10] = [
        Self::Draft,
        Self::StaticValidated,
        Self::ConformanceVerified,
        Self::SecurityVerified,
        Self::RegistryAdmitted,
        Self::Canary,
        Self::Active,
        Self::Quarantined,
        Self::Deprecated,
        Self::Rejected,
    ];

    /// The stable text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "DRAFT",
            Self::StaticValidated => "STATIC_VALIDATED",
            Self::ConformanceVerified => "CONFORMANCE_VERIFIED",
            Self::SecurityVerified => "SECURITY_VERIFIED",
            Self::RegistryAdmitted => "REGISTRY_ADMITTED",
            Self::Canary => "CANARY",
            Self::Active => "ACTIVE",
            Self::Quarantined => "QUARANTINED",
            Self::Deprecated => "DEPRECATED",
            Self::Rejected => "REJECTED",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for State {
    type Err = UnknownState;

    fn from_str(text: &str) -> Result<Self, UnknownState> {
        Self::ALL.into_iter().find(|state| state.as_str() == text).ok_or_else(|| UnknownState(text.to_owned()))
    }
}

// === impl Evidence ===

impl Evidence {
    /// The grant for the profile spelled `text`, in the long or the short form.
    #[must_use]
    pub fn grant(&self, text: &str) -> Option<&ProfileGrant> {
        self.profiles.iter().find(|grant| grant.profile.is(text))
    }
}
