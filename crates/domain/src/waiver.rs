//! Waivers: an exception from one check, for exactly the digests that were looked at, answered for by two people (L-09).
//!
//! One person asks, another one grants; neither is a machine, and nobody grants for what they submitted. A waiver is
//! about a label and a manifest, not about one try: the gate that it opens has usually rejected a try before. It never
//! makes a PASS. It takes a finding out of the reasons against a gate, and stands beside the result from there on.

use jiff::{SignedDuration, Timestamp};
use ostiary_canon::{AgentId, Digest, Profile, VersionLabel};
use ostiary_record::{CheckId, Finding, Outcome, ReasonCode};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    audit::{AuditAction, AuditDraft},
    evidence::EvidenceRecord,
    names::{Actor, Moment, VersionRef, WaiverId},
    ports::Idempotency,
    subject::Authorization,
    version::Version,
};

#[cfg(test)]
mod tests;

/// One waiver, at whatever point of its life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiver {
    /// What was asked for.
    pub request: WaiverRequest,
    /// The second person's word. Without it the waiver does nothing.
    pub granted: Option<Grant>,
    /// How it ended before its time.
    pub revoked: Option<Revocation>,
}

/// What somebody asks to be excepted from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaiverRequest {
    /// Its id.
    pub id: WaiverId,
    /// The agent.
    pub agent: AgentId,
    /// The version's label, any try of it.
    pub label: VersionLabel,
    /// The check.
    pub check: CheckId,
    /// The profile; `None` = whatever profile the finding is bound to.
    pub profile: Option<Profile>,
    /// The manifest that was looked at.
    pub manifest: Digest,
    /// The policy that was looked at.
    pub policy: Digest,
    /// Why.
    pub reason: String,
    /// Who asks.
    pub by: Actor,
    /// When.
    pub at: Moment,
    /// The end, exclusive; also of everything that rests on it.
    pub expires_at: Timestamp,
}

/// A waiver that is to be recorded; the store adds when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWaiver {
    /// Its id, from the ids port.
    pub id: WaiverId,
    /// The agent.
    pub agent: AgentId,
    /// The version's label.
    pub label: VersionLabel,
    /// The check.
    pub check: CheckId,
    /// The profile.
    pub profile: Option<Profile>,
    /// The manifest that was looked at.
    pub manifest: Digest,
    /// The policy that was looked at.
    pub policy: Digest,
    /// Why.
    pub reason: String,
    /// Who asks.
    pub by: Actor,
    /// The end, exclusive.
    pub expires_at: Timestamp,
    /// Repeats of the same request get the same answer.
    pub idempotency: Option<Idempotency>,
}

/// The second person's word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Who.
    pub by: Actor,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Moment,
    /// The signed statement, byte for byte: a DSSE envelope, which is JSON and therefore text.
    pub envelope: String,
}

/// A grant that is to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewGrant {
    /// Which waiver.
    pub waiver: WaiverId,
    /// Who grants.
    pub by: Actor,
    /// Why.
    pub reason: String,
    /// The signed statement.
    pub envelope: String,
    /// Repeats of the same request get the same answer.
    pub idempotency: Option<Idempotency>,
}

/// An end before its time that is to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRevocation {
    /// Which waiver.
    pub waiver: WaiverId,
    /// Who revokes.
    pub by: Actor,
    /// Why.
    pub reason: String,
    /// Repeats of the same request get the same answer.
    pub idempotency: Option<Idempotency>,
}

/// How a waiver ended before its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revocation {
    /// Who.
    pub by: Actor,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Moment,
}

/// A finding that a waiver took out of the reasons against a gate.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Waived {
    /// The check.
    pub check: CheckId,
    /// The profile, if the finding is bound to one.
    pub profile: Option<Profile>,
    /// Whether the check failed or could not tell.
    pub failed: bool,
    /// The check's reason code.
    pub code: ReasonCode,
    /// The waiver.
    pub waiver: WaiverId,
    /// The waiver's end: nothing that rests on it lasts longer.
    pub until: Timestamp,
}

/// Why a waiver cannot be asked for, granted or revoked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WaiverError {
    /// Only people answer for an exception.
    #[error("`{0}` is a machine, and only people answer for an exception")]
    Machine(Actor),
    /// The second person is the first.
    #[error("`{0}` asked for this waiver, and another person must grant it")]
    SamePerson(Actor),
    /// Who submitted the version grants.
    #[error("`{0}` submitted this version and cannot grant a waiver for it")]
    OwnSubmission(Actor),
    /// No evidence names the manifest.
    #[error("nothing that was measured of this version has manifest `{0}`")]
    Manifest(Digest),
    /// It ends before it begins.
    #[error("the waiver expires at {0}, which is past")]
    Expired(Timestamp),
    /// It would last too long to be an exception.
    #[error("the waiver would last until {asked}; the longest is until {longest}")]
    TooLong {
        /// What was asked.
        asked: Timestamp,
        /// What could be.
        longest: Timestamp,
    },
    /// It was granted already.
    #[error("waiver `{0}` was granted already")]
    Granted(WaiverId),
    /// It was revoked.
    #[error("waiver `{0}` was revoked")]
    Revoked(WaiverId),
    /// A reason is required.
    #[error("a reason is required")]
    ReasonMissing,
}

/// Ninety days: a quarter is enough to mend what is broken; whoever needs longer asks two people again.
const LONGEST: SignedDuration = SignedDuration::from_hours(90 * 24);

// === impl NewWaiver ===

impl NewWaiver {
    /// Whether this may be recorded at `now`: `known` are the manifests that anything of this label was measured as.
    ///
    /// # Errors
    /// A machine's, one without a reason, for something that was never measured, or with an end that is past or too far.
    pub fn permitted(&self, known: &[Digest], now: Timestamp) -> Result<(), WaiverError> {
        answers_for(&self.by, &self.reason)?;
        if !known.contains(&self.manifest) {
            return Err(WaiverError::Manifest(self.manifest));
        }
        let longest = now.saturating_add(LONGEST).unwrap_or(now);
        match self.expires_at {
            end if end <= now => Err(WaiverError::Expired(end)),
            end if end > longest => Err(WaiverError::TooLong { asked: end, longest }),
            _ => Ok(()),
        }
    }

    /// The waiver, as asked for at `at`.
    #[must_use]
    pub fn asked(self, at: Moment) -> Waiver {
        let Self { id, agent, label, check, profile, manifest, policy, reason, by, expires_at, idempotency: _ } = self;
        let request = WaiverRequest { id, agent, label, check, profile, manifest, policy, reason, by, at, expires_at };
        Waiver { request, granted: None, revoked: None }
    }
}

// === impl Waiver ===

impl Waiver {
    /// Whether `by` may grant it now; `tries` are all tries of the label.
    ///
    /// # Errors
    /// A machine, the person who asked, who submitted any try, or a waiver that is granted, revoked or past.
    pub fn grantable(&self, by: &Actor, reason: &str, tries: &[Version], now: Timestamp) -> Result<(), WaiverError> {
        answers_for(by, reason)?;
        if self.revoked.is_some() {
            return Err(WaiverError::Revoked(self.request.id.clone()));
        }
        if self.granted.is_some() {
            return Err(WaiverError::Granted(self.request.id.clone()));
        }
        if by.name == self.request.by.name {
            return Err(WaiverError::SamePerson(by.clone()));
        }
        if tries.iter().any(|t| t.submitted_by.name == by.name) {
            return Err(WaiverError::OwnSubmission(by.clone()));
        }
        if self.request.expires_at <= now { Err(WaiverError::Expired(self.request.expires_at)) } else { Ok(()) }
    }

    /// Whether `by` may revoke it. Anybody who answers for something may lower trust, also who granted it.
    ///
    /// # Errors
    /// A machine, no reason, or a waiver that is revoked.
    pub fn revocable(&self, by: &Actor, reason: &str) -> Result<(), WaiverError> {
        answers_for(by, reason)?;
        match &self.revoked {
            Some(_) => Err(WaiverError::Revoked(self.request.id.clone())),
            None => Ok(()),
        }
    }

    /// What it is about, as the audit names it.
    #[must_use]
    pub fn subject(&self) -> String {
        format!("{}@{}", self.request.agent, self.request.label)
    }

    /// The audit entry of its being asked for.
    #[must_use]
    pub fn audit_of_request(&self) -> AuditDraft {
        let about = &self.request;
        let detail = json!({
            "waiver": about.id,
            "check": about.check,
            "profile": about.profile,
            "manifest": about.manifest,
            "policy": about.policy,
            "expires_at": about.expires_at,
        });
        self.audit(AuditAction::RequestWaiver, (&about.by, &about.reason), detail)
    }

    /// The audit entry of `grant`.
    #[must_use]
    pub fn audit_of_grant(&self, grant: &Grant) -> AuditDraft {
        let about = &self.request;
        let envelope = Digest::of(grant.envelope.as_bytes());
        let detail = json!({"waiver": about.id, "check": about.check, "asked_by": about.by, "envelope": envelope});
        self.audit(AuditAction::GrantWaiver, (&grant.by, &grant.reason), detail)
    }

    /// The audit entry of its end, with the tries whose authorization was called in.
    #[must_use]
    pub fn audit_of_revocation(&self, revocation: &Revocation, called_in: &[VersionRef]) -> AuditDraft {
        let called_in: Vec<String> = called_in.iter().map(ToString::to_string).collect();
        let about = &self.request;
        let detail = json!({"waiver": about.id, "check": about.check, "called_in": called_in});
        self.audit(AuditAction::RevokeWaiver, (&revocation.by, &revocation.reason), detail)
    }

    fn audit(&self, action: AuditAction, (actor, reason): (&Actor, &str), detail: serde_json::Value) -> AuditDraft {
        let (actor, reason) = (actor.clone(), Some(reason.to_owned()));
        AuditDraft { actor, action, subject: self.subject(), reason, detail }
    }

    /// Whether it is in force at `now` for `version`, measured as `manifest` and judged by `policy`.
    ///
    /// Who granted it may have submitted a later try; for that one it is no second person's word.
    #[must_use]
    pub fn holds(&self, version: &Version, manifest: Digest, policy: Digest, now: Timestamp) -> bool {
        let about = &self.request;
        let Some(grant) = self.granted.as_ref().filter(|_| self.revoked.is_none()) else { return false };
        about.agent == version.key.agent
            && about.label == version.key.label
            && about.manifest == manifest
            && about.policy == policy
            && now < about.expires_at
            && grant.by.is_person()
            && grant.by.name != about.by.name
            && grant.by.name != version.submitted_by.name
    }

    /// Whether it is about `finding`.
    #[must_use]
    pub fn covers(&self, finding: &Finding) -> bool {
        let about = &self.request;
        about.check == finding.check && (about.profile.is_none() || about.profile == finding.profile)
    }

    /// What it makes of `finding`; `None` for one that says nothing against a gate.
    #[must_use]
    pub fn waives(&self, finding: &Finding) -> Option<Waived> {
        let failed = match finding.verdict.outcome() {
            Outcome::Fail => true,
            Outcome::Inconclusive => false,
            Outcome::Pass | Outcome::NotApplicable => return None,
        };
        Some(Waived {
            check: finding.check.clone(),
            profile: finding.profile.clone(),
            failed,
            code: finding.verdict.reason()?,
            waiver: self.request.id.clone(),
            until: self.request.expires_at,
        })
    }
}

// === impl Waived ===

impl Waived {
    /// Whether the routers that were told of `word` know that this is waived.
    #[must_use]
    pub fn told_by(&self, word: &Authorization) -> bool {
        word.waived.iter().any(|told| told.check == self.check && told.profile == self.profile)
    }
}

/// The manifests that anything of a label was measured as: what can be waived for.
#[must_use]
pub fn known_manifests(tries: &[Version], evidence: &[EvidenceRecord]) -> Vec<Digest> {
    let fixed = tries.iter().filter_map(|version| version.state.subject()).map(|subject| subject.manifest);
    let mut known: Vec<Digest> = fixed.chain(evidence.iter().map(|record| record.subject.manifest)).collect();
    known.sort_unstable();
    known.dedup();
    known
}

/// The earliest end of what was waived.
#[must_use]
pub fn first_end(waived: &[Waived]) -> Option<Timestamp> {
    waived.iter().map(|w| w.until).min()
}

fn answers_for(who: &Actor, reason: &str) -> Result<(), WaiverError> {
    if !who.is_person() {
        return Err(WaiverError::Machine(who.clone()));
    }
    if reason.trim().is_empty() { Err(WaiverError::ReasonMissing) } else { Ok(()) }
}
