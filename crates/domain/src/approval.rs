//! Approvals: a person's consent to one edge for exactly these digests.

use jiff::Timestamp;
use ostiary_canon::{Digest, Revision};
use serde::{Deserialize, Serialize};

use crate::{
    lifecycle::State,
    names::{Actor, ApprovalId, Moment, VersionRef},
    policy::Policy,
    ports::Idempotency,
    version::Version,
};

/// The edges that a policy may make depend on approvals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Edge {
    /// `SECURITY_VERIFIED` → `REGISTRY_ADMITTED`.
    Admission,
    /// `REGISTRY_ADMITTED` → CANARY.
    Canary,
    /// CANARY → ACTIVE.
    Promotion,
    /// QUARANTINED → CANARY.
    Release,
}

/// One approval. It ends with its expiry, and with any change of what it is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// Its id.
    pub id: ApprovalId,
    /// The try it is for.
    pub version: VersionRef,
    /// The edge.
    pub edge: Edge,
    /// Who consents.
    pub actor: Actor,
    /// The manifest that was looked at.
    pub manifest: Digest,
    /// The policy that was looked at.
    pub policy: Digest,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Moment,
    /// The end, exclusive.
    pub expires_at: Timestamp,
}

/// How many people consented to a step, and how many have to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consent {
    /// Different people who did, and may.
    pub given: usize,
    /// How many the policy wants.
    pub needed: usize,
}

/// An approval that is to be recorded; the store adds when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewApproval {
    /// Its id.
    pub id: ApprovalId,
    /// The try it is for.
    pub version: VersionRef,
    /// The edge.
    pub edge: Edge,
    /// Who consents.
    pub actor: Actor,
    /// The manifest that was looked at.
    pub manifest: Digest,
    /// The policy that was looked at.
    pub policy: Digest,
    /// Why.
    pub reason: String,
    /// The end, exclusive.
    pub expires_at: Timestamp,
    /// Repeats of the same request get the same answer.
    pub idempotency: Option<Idempotency>,
}

/// Why an approval cannot be recorded or does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalError {
    /// Only people approve.
    #[error("`{0}` is a machine, and only a person approves")]
    Machine(Actor),
    /// The submitter approves their own submission.
    #[error("`{0}` submitted this version and cannot approve it")]
    OwnSubmission(Actor),
    /// It names another manifest than the version's.
    #[error("the approval names manifest `{approved}`, the version has {}", display(.current))]
    Manifest {
        /// What was approved.
        approved: Digest,
        /// What the version has now.
        current: Option<Digest>,
    },
    /// It ends before it begins.
    #[error("the approval expires at {0}, which is past")]
    Expired(Timestamp),
}

fn display(digest: &Option<Digest>) -> String {
    digest.map_or_else(|| "none yet".to_owned(), |d| format!("`{d}`"))
}

// === impl Edge ===

impl Edge {
    /// All edges, in lifecycle order.
    pub const ALL: [Self; 4] = [Self::Admission, Self::Canary, Self::Promotion, Self::Release];

    /// The edge's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admission => "admission",
            Self::Canary => "canary",
            Self::Promotion => "promotion",
            Self::Release => "release",
        }
    }
}

// === impl Consent ===

impl Consent {
    /// Whether the step may be taken as far as people are concerned.
    #[must_use]
    pub const fn suffices(self) -> bool {
        self.given >= self.needed
    }
}

// === impl NewApproval ===

impl NewApproval {
    /// Whether this may be recorded for `version` at `now`.
    ///
    /// # Errors
    /// A machine's, the submitter's own, one for another manifest, or one that has already ended.
    pub fn permitted(&self, version: &Version, now: Timestamp) -> Result<(), ApprovalError> {
        if !self.actor.is_person() {
            return Err(ApprovalError::Machine(self.actor.clone()));
        }
        if self.actor.name == version.submitted_by.name {
            return Err(ApprovalError::OwnSubmission(self.actor.clone()));
        }
        let current = version.state.subject().map(|s| s.manifest);
        if current != Some(self.manifest) {
            return Err(ApprovalError::Manifest { approved: self.manifest, current });
        }
        if self.expires_at <= now { Err(ApprovalError::Expired(self.expires_at)) } else { Ok(()) }
    }

    /// The approval, as recorded at `moment`.
    #[must_use]
    pub fn given(self, at: Moment) -> Approval {
        let Self { id, version, edge, actor, manifest, policy, reason, expires_at, idempotency: _ } = self;
        Approval { id, version, edge, actor, manifest, policy, reason, at, expires_at }
    }
}

/// How many people have consented to `edge` of `version` under `policy` by now, and how many have to, as gates count them.
#[must_use]
pub fn consent(approvals: &[Approval], version: &Version, policy: &Policy, edge: Edge, now: Timestamp) -> Consent {
    let after = if edge == Edge::Admission { Revision(0) } else { step_began(version) };
    let wanted = Wanted { edge, policy: policy.digest(), after };
    Consent { given: consenting(approvals, version, &wanted, now), needed: policy.approvals_for(edge, version.class) }
}

/// The revision that whatever counts for the next step must not be older than.
#[must_use]
pub fn step_began(version: &Version) -> Revision {
    match &version.state {
        State::Quarantined { since, .. } | State::Canary { since, .. } | State::Active { since, .. } => since.revision,
        State::RegistryAdmitted { admitted, .. } | State::Deprecated { admitted, .. } => admitted.since.revision,
        State::Draft
        | State::StaticValidated { .. }
        | State::ConformanceVerified { .. }
        | State::SecurityVerified { .. }
        | State::Rejected { .. } => version.submitted_at.revision,
    }
}

/// How many different people consented to `edge` of `version`, for its manifest and `policy`, after revision `after`.
#[must_use]
pub fn consenting(approvals: &[Approval], version: &Version, wanted: &Wanted, now: Timestamp) -> usize {
    let manifest = version.state.subject().map(|s| s.manifest);
    let mut people: Vec<&str> = approvals
        .iter()
        .filter(|a| a.version == version.key && a.edge == wanted.edge && a.policy == wanted.policy)
        .filter(|a| Some(a.manifest) == manifest && now < a.expires_at && a.at.revision > wanted.after)
        .filter(|a| a.actor.is_person() && a.actor.name != version.submitted_by.name)
        .map(|a| a.actor.name.as_str())
        .collect();
    people.sort_unstable();
    people.dedup();
    people.len()
}

/// Which approvals count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// For this edge.
    pub edge: Edge,
    /// Under this policy.
    pub policy: Digest,
    /// Given after this revision.
    pub after: Revision,
}
