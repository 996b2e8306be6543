//! Happenings: what people want to learn of before it hurts (L-12), read out of the audit.
//!
//! The audit already holds everything that changed, in one order and without a gap, so a happening is a view on one
//! entry and not a second truth. What only the clock brings about gets an entry of its own, written once by `due`.

use jiff::{SignedDuration, Timestamp};
use ostiary_canon::Revision;
use ostiary_record::{Gate, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    audit::{AuditAction, AuditDraft, Record},
    drift::Conclusion,
    lifecycle::StateName,
    names::{Actor, Moment, WebhookId},
    ports::{Idempotency, Refusal},
    registry::Namespace,
    version::Version,
};

mod shown;
#[cfg(test)]
mod tests;

/// One happening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happening {
    /// The audit entry that it is read from: names it, and orders it.
    pub revision: Revision,
    /// When.
    pub at: Timestamp,
    /// What kind.
    pub kind: Kind,
    /// About what: a try, a label, a namespace.
    pub subject: String,
    /// Whose it is.
    pub namespace: String,
    /// Who did it.
    pub actor: Actor,
    /// Why, where somebody said so.
    pub reason: Option<String>,
    /// The particulars, as audited.
    pub detail: Value,
}

/// The kinds of happenings. New ones may be added; none is renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// A version was submitted.
    #[serde(rename = "version.submitted")]
    Submitted,
    /// A version moved from one state to another.
    #[serde(rename = "version.moved")]
    Moved,
    /// A version was taken off the road.
    #[serde(rename = "version.quarantined")]
    Quarantined,
    /// A hold was set.
    #[serde(rename = "hold.set")]
    HoldSet,
    /// A hold was lifted.
    #[serde(rename = "hold.lifted")]
    HoldLifted,
    /// The evidence of an admitted version runs out soon.
    #[serde(rename = "evidence.expiring")]
    EvidenceExpiring,
    /// A gate of an admitted version was run again and did not pass.
    #[serde(rename = "evidence.renewal_failed")]
    RenewalFailed,
    /// Somebody set how hard a namespace is enforced.
    #[serde(rename = "namespace.mode_set")]
    ModeSet,
    /// A softer mode ended by itself.
    #[serde(rename = "namespace.mode_expired")]
    ModeExpired,
    /// A waiver was asked for, granted or revoked.
    #[serde(rename = "waiver.changed")]
    WaiverChanged,
    /// A router told of something that differs from what was admitted.
    #[serde(rename = "drift.reported")]
    DriftReported,
    /// A report made the control plane look at the card itself; who sees another one is denied, or everybody is.
    #[serde(rename = "drift.revalidating")]
    DriftRevalidating,
    /// The control plane looked, and the version stays where it is.
    #[serde(rename = "drift.cleared")]
    DriftCleared,
}

/// Something that only the clock brings about, to be told once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Names it for ever: the same one is never told twice.
    pub id: String,
    /// The audit entry.
    pub audit: AuditDraft,
}

/// A receiver of happenings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// What was registered.
    pub facts: WebhookFacts,
    /// The revision up to which everything was delivered or given up.
    pub reached: Revision,
    /// How often the next one was tried.
    pub tries: u32,
    /// When the next try is due.
    pub not_before: Timestamp,
    /// What the last try said.
    pub last_error: Option<String>,
}

/// What is registered of a receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookFacts {
    /// Its id.
    pub id: WebhookId,
    /// Where it listens.
    pub url: String,
    /// Whether an operator vouches for an inner address and plain http.
    pub allow_private: bool,
    /// Of which namespace it is told; `None` = of all.
    pub namespace: Option<String>,
    /// Who registered it.
    pub by: Actor,
    /// When; what happened before is not told.
    pub at: Moment,
}

/// A receiver that is to be registered; the store adds when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWebhook {
    /// Its id.
    pub id: WebhookId,
    /// Where it listens.
    pub url: String,
    /// Whether an inner address and plain http are fine.
    pub allow_private: bool,
    /// Of which namespace.
    pub namespace: Option<String>,
    /// Who registers it.
    pub by: Actor,
    /// Most receivers of that namespace, or of all namespaces, with this one.
    pub most: usize,
    /// Repeats of the same request get the same answer.
    pub idempotency: Option<Idempotency>,
}

/// How a try to deliver ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempted {
    /// Everything up to that revision is delivered, or is none of the receiver's.
    Delivered(Revision),
    /// Not taken; to be tried again then.
    Again {
        /// Why.
        error: String,
        /// When.
        at: Timestamp,
    },
    /// Not taken, and given up.
    GivenUp {
        /// What.
        revision: Revision,
        /// Why.
        error: String,
    },
}

/// A happening that a receiver never took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Which happening.
    pub revision: Revision,
    /// How often it was tried.
    pub tries: u32,
    /// What the last try said.
    pub last_error: String,
    /// When it was given up.
    pub at: Timestamp,
}

/// Eight tries: with the waits below that is about two hours, longer than a restart and shorter than a silent weekend.
const TRIES: u32 = 8;
/// The first wait; each next one is three times as long.
const FIRST_WAIT: SignedDuration = SignedDuration::from_secs(5);
/// The longest wait.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_hours(1);

/// The machine that tells what the clock brings about.
const WATCH: &str = "ostiary-watch";

// === impl Happening ===

impl Happening {
    /// What `record` is to people; `None` for what nobody needs to be told of.
    #[must_use]
    pub fn of(record: Record) -> Option<Self> {
        let kind = kind(&record)?;
        let namespace = record.subject.split_once('/').map_or(record.subject.as_str(), |(namespace, _)| namespace);
        Some(Self {
            revision: record.revision,
            at: record.at,
            kind,
            namespace: namespace.to_owned(),
            subject: record.subject,
            actor: record.actor,
            reason: record.reason,
            detail: record.detail,
        })
    }
}

fn kind(record: &Record) -> Option<Kind> {
    match record.action {
        AuditAction::Submit => Some(Kind::Submitted),
        AuditAction::Gate => of_gate(&record.detail),
        AuditAction::Quarantine => Some(Kind::Quarantined),
        AuditAction::Deprecate | AuditAction::Withdraw | AuditAction::AbortCanary | AuditAction::Rollback => {
            Some(Kind::Moved)
        }
        AuditAction::SetHold => Some(Kind::HoldSet),
        AuditAction::LiftHold => Some(Kind::HoldLifted),
        AuditAction::PutNamespace => Some(Kind::ModeSet),
        AuditAction::RequestWaiver | AuditAction::GrantWaiver | AuditAction::RevokeWaiver => Some(Kind::WaiverChanged),
        AuditAction::ReportDrift | AuditAction::Revalidate => Some(of_drift(record)),
        AuditAction::Notice => serde_json::from_value(record.detail["kind"].clone()).ok(),
        AuditAction::EvidenceKept
        | AuditAction::RequestGate
        | AuditAction::Approve
        | AuditAction::PutAgent
        | AuditAction::PutEnvironment
        | AuditAction::PutToken
        | AuditAction::RevokeToken
        | AuditAction::PutPolicy
        | AuditAction::PutWebhook
        | AuditAction::RemoveWebhook => None,
    }
}

/// A judged gate is the worst of what it brought about.
fn of_gate(detail: &Value) -> Option<Kind> {
    let state = |name: &str| serde_json::from_value::<StateName>(detail[name].clone()).ok();
    let (from, to) = (state("from")?, state("to")?);
    let held = detail["holds"].as_array().is_some_and(|holds| !holds.is_empty());
    let passed =
        serde_json::from_value(detail["outcome"].clone()).is_ok_and(|outcome: Outcome| outcome == Outcome::Pass);
    let renewal = serde_json::from_value(detail["gate"].clone()).is_ok_and(|gate: Gate| gate <= Gate::Admission);
    match (from == to, to) {
        (false, StateName::Quarantined) => Some(Kind::Quarantined),
        (false, _) => Some(Kind::Moved),
        (true, _) if held => Some(Kind::HoldSet),
        (true, _) if from.is_admitted() && renewal && !passed => Some(Kind::RenewalFailed),
        (true, _) => None,
    }
}

/// A report or a look is what it brought about.
fn of_drift(record: &Record) -> Kind {
    let held = record.detail["holds"].as_array().is_some_and(|holds| !holds.is_empty());
    let conclusion = serde_json::from_value(record.detail["conclusion"].clone()).ok();
    match conclusion {
        _ if held => Kind::DriftRevalidating,
        Some(Conclusion::Quarantined) => Kind::Quarantined,
        Some(_) => Kind::DriftCleared,
        None => Kind::DriftReported,
    }
}

/// The notice that `version` runs out within `ahead`, if it does; one for each authorization.
#[must_use]
pub fn expiring(version: &Version, ahead: SignedDuration, now: Timestamp) -> Option<Notice> {
    let served = matches!(version.state.name(), StateName::RegistryAdmitted | StateName::Canary | StateName::Active);
    let word = version.state.admitted().filter(|_| served).map(|admitted| &admitted.authorization)?;
    if word.called_in.is_some() || word.expires_at.duration_since(now) > ahead {
        return None;
    }
    let detail = json!({"kind": Kind::EvidenceExpiring, "evidence": word.evidence, "expires_at": word.expires_at});
    Some(notice(format!("expiring/{}", word.evidence), version.key.to_string(), detail))
}

/// The notice that the softer mode of `namespace` has ended, if it has.
#[must_use]
pub fn mode_expired(namespace: &Namespace, now: Timestamp) -> Option<Notice> {
    let until = namespace.enforcement.until().filter(|until| *until <= now)?;
    let detail = json!({"kind": Kind::ModeExpired, "until": until, "was": namespace.enforcement});
    Some(notice(format!("mode/{}/{until}", namespace.name), namespace.name.clone(), detail))
}

fn notice(id: String, subject: String, detail: Value) -> Notice {
    let actor = Actor::machine(WATCH);
    Notice { id, audit: AuditDraft { actor, action: AuditAction::Notice, subject, reason: None, detail } }
}

// === impl NewWebhook ===

impl NewWebhook {
    /// Whether there is room beside `standing`, all receivers that there are.
    ///
    /// # Errors
    /// When as many are told of the same as may be.
    pub fn permitted(&self, standing: &[Webhook]) -> Result<(), Refusal> {
        let same = standing.iter().filter(|hook| hook.facts.namespace == self.namespace).count();
        if same < self.most {
            return Ok(());
        }
        let whose = self.namespace.as_ref().map_or_else(|| "all namespaces".to_owned(), |n| format!("namespace `{n}`"));
        Err(Refusal::Full { what: format!("receivers that are told of {whose}"), most: self.most })
    }

    /// The receiver, as registered at `at`.
    #[must_use]
    pub fn registered(self, at: Moment) -> Webhook {
        let Self { id, url, allow_private, namespace, by, most: _, idempotency: _ } = self;
        let facts = WebhookFacts { id, url, allow_private, namespace, by, at };
        Webhook { facts, reached: at.revision, tries: 0, not_before: at.time, last_error: None }
    }
}

// === impl Webhook ===

impl Webhook {
    /// Whether it is told of `happening`.
    #[must_use]
    pub fn wants(&self, happening: &Happening) -> bool {
        self.facts.namespace.as_ref().is_none_or(|namespace| *namespace == happening.namespace)
    }

    /// What follows when the delivery of `revision` failed.
    #[must_use]
    pub fn failed(&self, revision: Revision, error: String, now: Timestamp) -> Attempted {
        if self.tries + 1 >= TRIES {
            return Attempted::GivenUp { revision, error };
        }
        let wait = FIRST_WAIT.saturating_mul(3_i32.saturating_pow(self.tries)).min(LONGEST_WAIT);
        Attempted::Again { error, at: now.saturating_add(wait).unwrap_or(now) }
    }

    /// The receiver after a try.
    #[must_use]
    pub fn after(self, attempted: &Attempted, now: Timestamp) -> Self {
        match attempted {
            Attempted::Delivered(reached) => {
                Self { reached: *reached, tries: 0, not_before: now, last_error: None, ..self }
            }
            Attempted::Again { error, at } => {
                Self { tries: self.tries + 1, not_before: *at, last_error: Some(error.clone()), ..self }
            }
            Attempted::GivenUp { revision, error } => {
                Self { reached: *revision, tries: 0, not_before: now, last_error: Some(error.clone()), ..self }
            }
        }
    }
}
