//! Why a dispatch is allowed or denied.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why. Closed, and in the published order: where several apply, the first is answered. The order is part of the
/// interface; a text that a reader does not know means deny.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DecisionReason {
    /// Nothing speaks against it.
    Allowed,
    /// Something speaks against it, but the namespace only observes or warns.
    AllowedWouldDeny,
    /// Nobody submitted this version.
    VersionUnknown,
    /// The version is still on its way to admission, or was taken back from CANARY or ACTIVE.
    NotAdmitted,
    /// There is no evidence that holds now.
    EvidenceMissing,
    /// The evidence, or that for the asked profile, is too old.
    EvidenceExpired,
    /// The evidence was called in.
    EvidenceStale,
    /// The newest result is FAIL.
    EvidenceFailed,
    /// The evidence is not signed by whom it must be.
    SignatureInvalid,
    /// The evidence is signed by a key that is no longer believed.
    KeyRevoked,
    /// The caller did not say which card it sees.
    ObservedDigestMissing,
    /// The caller sees another card.
    CardDigestMismatch,
    /// The caller holds another contract.
    ContractDigestMismatch,
    /// The caller sees another artifact.
    ProducerDigestMismatch,
    /// The caller did not say which profile it would use.
    ProfileMissing,
    /// The profile was not verified.
    ProfileNotVerified,
    /// Somebody saw another card; the control plane has not yet cleared it.
    Revalidating,
    /// A hold takes the version off this route.
    RouteDisabled,
    /// A hold stops the canary.
    CanaryStopped,
    /// The version is a canary, and the caller is not in its cohort.
    CanaryCohortExcluded,
    /// The version is quarantined.
    Quarantined,
    /// The version is deprecated, and this consumer is not, or no longer, served.
    Deprecated,
    /// The version failed a gate.
    Rejected,
    /// The caller wants a newer view than there is.
    RevisionNotReached,
    /// The view is too old to decide on.
    ViewStale,
    /// The caller may not ask about this namespace.
    NamespaceForbidden,
}

/// A set of reasons that speak against a dispatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reasons(u32);

/// A text that is no [`DecisionReason`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no known decision reason; treat it as deny")]
pub struct UnknownReason(pub String);

// === impl DecisionReason ===

impl DecisionReason {
    /// All reasons in the published order.
    pub const ALL: [Self; 26] = [
        Self::Allowed,
        Self::AllowedWouldDeny,
        Self::VersionUnknown,
        Self::NotAdmitted,
        Self::EvidenceMissing,
        Self::EvidenceExpired,
        Self::EvidenceStale,
        Self::EvidenceFailed,
        Self::SignatureInvalid,
        Self::KeyRevoked,
        Self::ObservedDigestMissing,
        Self::CardDigestMismatch,
        Self::ContractDigestMismatch,
        Self::ProducerDigestMismatch,
        Self::ProfileMissing,
        Self::ProfileNotVerified,
        Self::Revalidating,
        Self::RouteDisabled,
        Self::CanaryStopped,
        Self::CanaryCohortExcluded,
        Self::Quarantined,
        Self::Deprecated,
        Self::Rejected,
        Self::RevisionNotReached,
        Self::ViewStale,
        Self::NamespaceForbidden,
    ];

    /// The stable text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "ALLOWED",
            Self::AllowedWouldDeny => "ALLOWED_WOULD_DENY",
            Self::VersionUnknown => "VERSION_UNKNOWN",
            Self::NotAdmitted => "NOT_ADMITTED",
            Self::EvidenceMissing => "EVIDENCE_MISSING",
            Self::EvidenceExpired => "EVIDENCE_EXPIRED",
            Self::EvidenceStale => "EVIDENCE_STALE",
            Self::EvidenceFailed => "EVIDENCE_FAILED",
            Self::SignatureInvalid => "SIGNATURE_INVALID",
            Self::KeyRevoked => "KEY_REVOKED",
            Self::ObservedDigestMissing => "OBSERVED_DIGEST_MISSING",
            Self::CardDigestMismatch => "CARD_DIGEST_MISMATCH",
            Self::ContractDigestMismatch => "CONTRACT_DIGEST_MISMATCH",
            Self::ProducerDigestMismatch => "PRODUCER_DIGEST_MISMATCH",
            Self::ProfileMissing => "PROFILE_MISSING",
            Self::ProfileNotVerified => "PROFILE_NOT_VERIFIED",
            Self::Revalidating => "REVALIDATING",
            Self::RouteDisabled => "ROUTE_DISABLED",
            Self::CanaryStopped => "CANARY_STOPPED",
            Self::CanaryCohortExcluded => "CANARY_COHORT_EXCLUDED",
            Self::Quarantined => "QUARANTINED",
            Self::Deprecated => "DEPRECATED",
            Self::Rejected => "REJECTED",
            Self::RevisionNotReached => "REVISION_NOT_REACHED",
            Self::ViewStale => "VIEW_STALE",
            Self::NamespaceForbidden => "NAMESPACE_FORBIDDEN",
        }
    }

    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

impl fmt::Display for DecisionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for DecisionReason {
    type Err = UnknownReason;

    fn from_str(text: &str) -> Result<Self, UnknownReason> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text).ok_or_else(|| UnknownReason(text.to_owned()))
    }
}

impl Serialize for DecisionReason {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for DecisionReason {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

// === impl Reasons ===

impl Reasons {
    /// No reason.
    pub const NONE: Self = Self(0);

    /// Adds a reason against.
    pub(crate) const fn add(&mut self, reason: DecisionReason) {
        self.0 |= reason.bit();
    }

    /// Adds a reason against, if `applies`.
    pub(crate) fn add_if(&mut self, applies: bool, reason: DecisionReason) {
        if applies {
            self.add(reason);
        }
    }

    /// Whether `reason` is among them.
    #[must_use]
    pub const fn contains(self, reason: DecisionReason) -> bool {
        self.0 & reason.bit() != 0
    }

    /// Whether nothing speaks against it.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The first in the published order: the one that is answered.
    #[must_use]
    pub fn first(self) -> Option<DecisionReason> {
        // The lowest bit is the first: bits are in the published order.
        DecisionReason::ALL.get(self.0.trailing_zeros() as usize).copied()
    }

    /// All of them in the published order.
    pub fn iter(self) -> impl Iterator<Item = DecisionReason> {
        DecisionReason::ALL.into_iter().filter(move |reason| self.contains(*reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_complete_and_in_order() {
        for (at, reason) in DecisionReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, at, "{reason}");
            assert_eq!(reason.as_str().parse(), Ok(reason));
        }
        // The last of the enum is the last of the list: none is forgotten.
        assert_eq!(DecisionReason::ALL.len(), DecisionReason::NamespaceForbidden as usize + 1);
    }

    #[test]
    fn the_text_is_the_name_in_upper_snake_case() {
        for reason in DecisionReason::ALL {
            let mut expected = String::new();
            for letter in format!("{reason:?}").chars() {
                if letter.is_ascii_uppercase() && !expected.is_empty() {
                    expected.push('_');
                }
                expected.push(letter.to_ascii_uppercase());
            }
            assert_eq!(reason.as_str(), expected);
        }
    }

    #[test]
    fn the_first_of_several_is_the_earliest_in_the_published_order() {
        assert_eq!(Reasons::NONE.first(), None);
        for (at, early) in DecisionReason::ALL.into_iter().enumerate() {
            for late in &DecisionReason::ALL[at..] {
                let mut reasons = Reasons::NONE;
                reasons.add(*late);
                reasons.add(early);
                assert_eq!(reasons.first(), Some(early));
            }
        }
    }

    #[test]
    fn a_text_nobody_knows_is_an_error() {
        assert_eq!("PROBABLY_FINE".parse::<DecisionReason>(), Err(UnknownReason("PROBABLY_FINE".to_owned())));
        assert!("allowed".parse::<DecisionReason>().is_err());
    }
}
