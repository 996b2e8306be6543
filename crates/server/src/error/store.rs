//! What a store's refusal means to a caller.

use ostiary_domain::{
    StoreError,
    approval::ApprovalError,
    ports::{Conflict, Refusal},
    waiver::WaiverError,
};

use super::{ApiError, ErrorCode};

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict(conflict) => Self::new(of_conflict(&conflict), conflict.to_string()),
            StoreError::Refused(refusal) => Self::new(of_refusal(&refusal), refusal.to_string()),
            StoreError::Unavailable { .. } => {
                Self::new(ErrorCode::Unavailable, "the database does not answer; try again").because(error)
            }
            StoreError::Inconsistent { .. } | StoreError::Crashed(_) => Self::internal(error),
        }
    }
}

const fn of_conflict(conflict: &Conflict) -> ErrorCode {
    match conflict {
        Conflict::State { .. } | Conflict::Row(_) | Conflict::Policy | Conflict::Baseline => ErrorCode::Conflict,
        Conflict::Lease(_) => ErrorCode::LeaseLost,
        Conflict::TryOpen(_) => ErrorCode::AlreadyExists,
        Conflict::IdempotencyKey(_) => ErrorCode::IdempotencyMismatch,
    }
}

const fn of_refusal(refusal: &Refusal) -> ErrorCode {
    match refusal {
        Refusal::Transition(_) | Refusal::Route(_) | Refusal::NotNext { .. } => ErrorCode::IllegalTransition,
        Refusal::Approval(ApprovalError::OwnSubmission(_)) => ErrorCode::OwnSubmission,
        Refusal::Approval(ApprovalError::Machine(_)) | Refusal::PersonOnly(_) => ErrorCode::Forbidden,
        Refusal::Waiver(WaiverError::OwnSubmission(_)) => ErrorCode::OwnSubmission,
        Refusal::Waiver(WaiverError::Machine(_) | WaiverError::SamePerson(_)) => ErrorCode::Forbidden,
        Refusal::Waiver(WaiverError::Granted(_) | WaiverError::Revoked(_)) => ErrorCode::IllegalTransition,
        Refusal::Waiver(WaiverError::Manifest(_)) => ErrorCode::NotReady,
        Refusal::Waiver(WaiverError::Expired(_) | WaiverError::TooLong { .. } | WaiverError::ReasonMissing) => {
            ErrorCode::InvalidRequest
        }
        Refusal::Approval(ApprovalError::Manifest { .. }) | Refusal::PreviousHeld(_) => ErrorCode::NotReady,
        Refusal::Approval(ApprovalError::Expired(_)) | Refusal::ReasonMissing => ErrorCode::InvalidRequest,
        Refusal::TooManyReports(_) => ErrorCode::LimitReached,
        Refusal::Unknown { .. } | Refusal::Hold(_) => ErrorCode::NotFound,
        Refusal::Full { .. } => ErrorCode::LimitReached,
    }
}
