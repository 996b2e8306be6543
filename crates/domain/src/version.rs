//! One try of a version, with its state and its holds: the aggregate that the lifecycle is about.

use std::collections::BTreeMap;

use jiff::Timestamp;
use ostiary_admission::Enforcement;
use ostiary_canon::{Digest, Profile, Revision, intoto::AdmissionClass};
use ostiary_record::{Gate, Outcome};

use crate::{
    hold::Hold,
    lifecycle::{Event, State, TransitionError},
    names::{Actor, EnvironmentName, EvidenceId, Moment, RowVersion, VersionRef, WaiverId},
};

/// One try of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Which.
    pub key: VersionRef,
    /// Where it stands.
    pub state: State,
    /// The holds on it that are not lifted, oldest first.
    pub holds: Vec<Hold>,
    /// The contract bundle.
    pub bundle: Digest,
    /// The profiles that the bundle wants activated, sorted; never empty.
    pub activated: Vec<Profile>,
    /// Where it is verified.
    pub environment: EnvironmentName,
    /// How complete its evidence is to be: `reduced` lacks what nobody can observe, and a person answers for it.
    pub class: AdmissionClass,
    /// Who submitted it.
    pub submitted_by: Actor,
    /// When.
    pub submitted_at: Moment,
    /// Why it differs from the version before, as the submitter says.
    pub change_reason: Option<String>,
    /// Where the difference can be read, as the submitter says.
    pub implementation_diff: Option<String>,
    /// The newest result of any gate, and its evidence.
    pub newest: Option<(Outcome, EvidenceId)>,
    /// The gates whose newest telling result is a FAIL, and its evidence: dispatch on the older PASS is over.
    pub failing: BTreeMap<Gate, EvidenceId>,
    /// The revision that last changed what routers are told.
    pub revision: Revision,
    /// How often the row was written.
    pub row: RowVersion,
}

/// A version as it is submitted; the store adds the try and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The contract bundle, stored before.
    pub bundle: Digest,
    /// The profiles that the bundle wants activated.
    pub activated: Vec<Profile>,
    /// Where it is verified.
    pub environment: EnvironmentName,
    /// How complete its evidence is to be.
    pub class: AdmissionClass,
    /// Who submits it.
    pub by: Actor,
    /// Why it differs from the version before.
    pub change_reason: Option<String>,
    /// Where the difference can be read.
    pub implementation_diff: Option<String>,
}

/// What routers are told about one label: the try that speaks for it, and how hard its namespace is enforced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The try.
    pub version: Version,
    /// How hard.
    pub enforcement: Enforcement,
}

// === impl Version ===

impl Version {
    /// A new try, in DRAFT.
    #[must_use]
    pub fn submitted(key: VersionRef, submission: Submission, at: Moment) -> Self {
        let Submission { bundle, mut activated, environment, class, by, change_reason, implementation_diff } =
            submission;
        activated.sort();
        activated.dedup();
        Self {
            key,
            state: State::Draft,
            holds: Vec::new(),
            bundle,
            activated,
            environment,
            class,
            submitted_by: by,
            submitted_at: at,
            change_reason,
            implementation_diff,
            newest: None,
            failing: BTreeMap::new(),
            revision: at.revision,
            row: RowVersion::default(),
        }
    }

    /// The version moved on `event`.
    ///
    /// # Errors
    /// When the lifecycle refuses.
    pub fn apply(mut self, event: Event, at: Moment) -> Result<Self, TransitionError> {
        self.state = self.state.apply(event, at)?;
        self.revision = at.revision;
        Ok(self)
    }

    /// Takes note of a gate's result. One that could not tell changes nothing about what older ones told.
    pub fn note(&mut self, gate: Gate, outcome: Outcome, evidence: EvidenceId) {
        match outcome {
            Outcome::Fail => {
                self.failing.insert(gate, evidence.clone());
            }
            // Canary and promotion are the same synthetic run at two moments: the younger one speaks for both.
            Outcome::Pass if matches!(gate, Gate::Canary | Gate::Active) => {
                self.failing.retain(|failed, _| !matches!(failed, Gate::Canary | Gate::Active));
            }
            Outcome::Pass => {
                self.failing.remove(&gate);
            }
            Outcome::Inconclusive | Outcome::NotApplicable => {}
        }
        self.newest = Some((outcome, evidence));
    }

    /// Whether the registry's word for it holds at `now`.
    #[must_use]
    pub fn is_authorized(&self, now: Timestamp) -> bool {
        self.state.admitted().is_some_and(|admitted| admitted.authorization.holds_at(now))
    }

    /// Calls in the registry's word where it rests on `waiver`; says whether it did.
    pub fn call_in(&mut self, waiver: &WaiverId, at: Moment) -> bool {
        let word = self.state.word_mut().filter(|word| word.called_in.is_none());
        let Some(word) = word.filter(|word| word.waived.iter().any(|w| w.waiver == *waiver)) else { return false };
        word.called_in = Some(at);
        self.revision = at.revision;
        true
    }
}

/// Which of a label's tries speaks for it: the newest that was ever admitted, or the newest.
///
/// A label that is submitted again after a deprecation thus keeps its sunset until the new try is admitted.
#[must_use]
pub fn speaking(tries: &[Version]) -> Option<&Version> {
    let newest = tries.iter().max_by_key(|v| v.key.attempt);
    tries.iter().filter(|v| v.state.admitted().is_some()).max_by_key(|v| v.key.attempt).or(newest)
}
