//! Our closed lists of words and those of the wire. What is not in both is not understood.

use ostiary_canon::intoto::AdmissionClass;
use ostiary_proto::admission::v1 as proto;

use crate::{
    mode::Mode,
    reason::DecisionReason,
    record::{HoldKind, SignatureStatus, State},
};

/// Writes a pair of functions, there and back. The way there is exhaustive, the way back knows the same pairs.
macro_rules! words {
    ($($there:ident, $back:ident: $ours:ident = $theirs:ident { $($word:ident),* $(,)? })*) => {$(
        pub(super) const fn $there(word: $ours) -> proto::$theirs {
            match word { $($ours::$word => proto::$theirs::$word),* }
        }

        pub(super) fn $back(number: i32) -> Option<$ours> {
            match proto::$theirs::try_from(number).ok()? {
                proto::$theirs::Unspecified => None,
                $(proto::$theirs::$word => Some($ours::$word)),*
            }
        }
    )*};
}

words! {
    state, state_of: State = VersionState {
        Draft, StaticValidated, ConformanceVerified, SecurityVerified, RegistryAdmitted, Canary, Active, Quarantined,
        Rejected, Deprecated,
    }
    class, class_of: AdmissionClass = AdmissionClass { Full, Reduced }
    signature, signature_of: SignatureStatus = SignatureStatus { Verified, Invalid, KeyRevoked }
    hold, hold_of: HoldKind = HoldKind { RouteDisabled, CanaryStopped, Revalidating, RevalidatingForAll }
    mode, mode_of: Mode = EnforcementMode { Observe, Warn, Enforce }
    reason, reason_of: DecisionReason = DecisionReason {
        Allowed, AllowedWouldDeny, VersionUnknown, NotAdmitted, EvidenceMissing, EvidenceExpired, EvidenceStale,
        EvidenceFailed, SignatureInvalid, KeyRevoked, ObservedDigestMissing, CardDigestMismatch, ContractDigestMismatch,
        ProducerDigestMismatch, ProfileMissing, ProfileNotVerified, Revalidating, RouteDisabled, CanaryStopped,
        CanaryCohortExcluded, Quarantined, Deprecated, Rejected, RevisionNotReached, ViewStale, NamespaceForbidden,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_published_names_on_the_wire() {
        for known in DecisionReason::ALL {
            assert_eq!(reason(known).as_str_name().strip_prefix("DECISION_REASON_"), Some(known.as_str()));
            assert_eq!(reason_of(reason(known).into()), Some(known));
        }
        for known in State::ALL {
            assert_eq!(state(known).as_str_name().strip_prefix("VERSION_STATE_"), Some(known.as_str()));
            assert_eq!(state_of(state(known).into()), Some(known));
        }
        for known in [Mode::Observe, Mode::Warn, Mode::Enforce] {
            assert_eq!(mode(known).as_str_name(), format!("ENFORCEMENT_MODE_{}", known.as_str().to_uppercase()));
            assert_eq!(mode_of(mode(known).into()), Some(known));
        }
    }

    #[test]
    fn numbers_that_nobody_knows_are_no_word() {
        for number in [-1, 0, 27, 255, i32::MAX] {
            assert_eq!(reason_of(number), None);
            assert_eq!(state_of(number), None);
            assert_eq!(class_of(number), None);
            assert_eq!(signature_of(number), None);
            assert_eq!(hold_of(number), None);
            assert_eq!(mode_of(number), None);
        }
    }
}
