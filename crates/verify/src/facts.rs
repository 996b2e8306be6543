//! What a check may know: the recordings it reads and the named inputs around them, with the constructors of findings.

use ostiary_canon::Profile;
use ostiary_contract::Bundle;
use ostiary_record::{
    DeclarationPointer, End, EnvironmentFacts, EventRef, Finding, Missing, NonEmpty, Place, ReasonCode, Recording, Seq,
    Strength, Verdict, view::ExchangeView,
};
use serde_json::Value;

use crate::{
    check::CheckSpec,
    discover::{CARD, Discovered},
    judge::{JudgeOptions, Scene},
    scenario::Role,
};

/// A recording with its place in the run, which citations need.
#[derive(Clone, Copy, Debug)]
pub struct Tape<'a> {
    /// Place in the run.
    pub index: u32,
    /// What happened.
    pub recording: &'a Recording,
}

/// The facts of one judgement: one check, one profile, one case, one repetition.
pub struct Facts<'a> {
    pub(crate) spec: &'static CheckSpec,
    pub(crate) profile: Option<Profile>,
    pub(crate) case: Option<ostiary_record::CaseId>,
    pub(crate) tapes: Vec<Tape<'a>>,
    pub(crate) scene: &'a Scene<'a>,
}

// === impl Facts ===

impl<'a> Facts<'a> {
    /// The recordings that the check reads, for this profile and repetition, in run order. Empty when none was planned:
    /// then only a finding that a declaration exempts can stand.
    #[must_use]
    pub fn tapes(&self) -> &[Tape<'a>] {
        &self.tapes
    }

    /// The recordings of one scenario.
    pub fn tapes_of<'s>(&'s self, scenario: &'s str) -> impl Iterator<Item = Tape<'a>> + 's {
        self.tapes.iter().copied().filter(move |t| t.recording.scenario.0 == scenario)
    }

    /// All exchanges of all recordings, each with its recording.
    #[must_use]
    pub fn exchanges(&self) -> Vec<(Tape<'a>, ExchangeView<'a>)> {
        self.tapes.iter().flat_map(|t| t.recording.exchanges().into_iter().map(|x| (*t, x))).collect()
    }

    /// The profile judged; `None` for declarations.
    #[must_use]
    pub const fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// The case of the bundle that is judged, for checks of cases.
    #[must_use]
    pub const fn case(&self) -> Option<&ostiary_record::CaseId> {
        self.case.as_ref()
    }

    /// The contract bundle.
    #[must_use]
    pub const fn bundle(&self) -> &'a Bundle {
        self.scene.bundle
    }

    /// The card as served now: its value where it is a readable JSON object.
    #[must_use]
    pub fn card(&self) -> Option<&'a Value> {
        self.scene.discovered.card.as_ref()
    }

    /// What discovery found.
    #[must_use]
    pub const fn discovered(&self) -> &'a Discovered {
        self.scene.discovered
    }

    /// The card's bytes as served, with the event that holds them.
    #[must_use]
    pub fn card_document(&self) -> Option<(&'a [u8], EventRef)> {
        self.document(CARD)
    }

    /// A document of the discovery tape with a citation: [`CARD`], or a bundle file as `bundle/contract.yaml`.
    #[must_use]
    pub fn document(&self, name: &str) -> Option<(&'a [u8], EventRef)> {
        let (blob, seq) = self.scene.discovered.recording.document(name)?;
        Some((blob.as_bytes(), Recording::cite(0, seq)))
    }

    /// A citation of the discovery tape as a whole: its last event.
    #[must_use]
    pub fn discovery_event(&self) -> Vec<EventRef> {
        self.scene.discovered.recording.events.last().map(|e| Recording::cite(0, e.seq)).into_iter().collect()
    }

    /// The verification environment, without secrets.
    #[must_use]
    pub const fn environment(&self) -> &'a EnvironmentFacts {
        &self.scene.run.environment
    }

    /// Whether the environment demands what production demands.
    #[must_use]
    pub fn production(&self) -> bool {
        self.environment().strictness != "development"
    }

    /// How to judge.
    #[must_use]
    pub const fn options(&self) -> &'a JudgeOptions {
        self.scene.options
    }

    /// The actor that played a role in a recording.
    #[must_use]
    pub fn actor_of(&self, tape: Tape<'a>, role: Role) -> Option<&'a str> {
        tape.recording.mark(&role_mark(role)).and_then(|(value, _)| value)
    }

    /// The promise was kept, as these events show. Without events: INCONCLUSIVE.
    #[must_use]
    pub fn pass(&self, seen: Vec<EventRef>) -> Finding {
        match NonEmpty::from_vec(seen) {
            Some(seen) => self.finding(Verdict::Pass { seen }),
            None => self.inconclusive(
                ReasonCode::ObservationIncomplete,
                "events",
                "nothing was seen that shows the promise kept",
            ),
        }
    }

    /// The promise was broken, as these events show. Without events to cite: INCONCLUSIVE.
    #[must_use]
    pub fn fail(
        &self,
        reason: ReasonCode,
        at: Vec<EventRef>,
        expected: impl Into<String>,
        observed: impl Into<String>,
    ) -> Finding {
        let Some(at) = NonEmpty::from_vec(at) else {
            return self.inconclusive(ReasonCode::ObservationIncomplete, "events", "no event shows the failure");
        };
        let (expected, observed) = (expected.into(), observed.into());
        let message = format!("expected {expected}; observed {observed}");
        let verdict = Verdict::Fail { reason, at, expected, observed, strength: Strength::Proven };
        self.finding(verdict).with_message(message)
    }

    /// Could not tell, because `what` is missing; `remedy` says in words what to do.
    #[must_use]
    pub fn inconclusive(&self, reason: ReasonCode, what: impl Into<String>, remedy: impl Into<String>) -> Finding {
        let missing = Missing { what: what.into(), remedy: remedy.into() };
        let message = format!("{} is missing: {}", missing.what, missing.remedy);
        self.finding(Verdict::Inconclusive { reason, missing: NonEmpty::one(missing) }).with_message(message)
    }

    /// A declaration makes the promise void here: `pointer` in `document`.
    #[must_use]
    pub fn not_applicable(&self, document: impl Into<String>, pointer: impl Into<String>) -> Finding {
        let because = DeclarationPointer { document: document.into(), pointer: pointer.into() };
        let message = format!("not declared: {}#{}", because.document, because.pointer);
        self.finding(Verdict::NotApplicable { reason: ReasonCode::NotDeclared, because }).with_message(message)
    }

    /// The finding for an exchange that brought no answer to judge; `None` when there is an answer.
    #[must_use]
    pub fn unanswered(&self, exchange: &ExchangeView<'_>) -> Option<Finding> {
        let (reason, why) = match exchange.ended.map(|(how, _)| how) {
            Some(End::Complete | End::LocalAbort) => return None,
            Some(End::Deadline) => (ReasonCode::TargetUnresponsive, "no end before our deadline".to_owned()),
            Some(End::NoConnection { why }) => (ReasonCode::TargetUnreachable, why.clone()),
            Some(End::Limit { which }) => (ReasonCode::BudgetExceeded, format!("bound `{which}` was hit")),
            Some(End::PeerReset { why }) => (ReasonCode::TargetUnreachable, format!("connection broke: {why}")),
            None => (ReasonCode::ObservationIncomplete, "the exchange has no end on the tape".to_owned()),
        };
        let what = format!("answer:{}", exchange.intent.map_or("raw", |op| op.0.as_str()));
        Some(self.inconclusive(reason, what, why).at_exchange(exchange.id))
    }

    fn finding(&self, verdict: Verdict) -> Finding {
        Finding {
            check: self.spec.id.into(),
            check_version: self.spec.version,
            layer: self.spec.layer,
            profile: self.profile.clone(),
            case: self.case.clone(),
            verdict,
            severity: self.spec.severity,
            detail: None,
            message: self.spec.summary.to_owned(),
            place: Place::default(),
            protocol_accepted: None,
            business_outcome: None,
            covers: self.spec.covers.iter().map(|id| (*id).into()).collect(),
            consumers_affected: Vec::new(),
        }
    }
}

// === impl Tape ===

impl<'a> Tape<'a> {
    /// A citation of one event.
    #[must_use]
    pub const fn cite(self, seq: Seq) -> EventRef {
        Recording::cite(self.index, seq)
    }

    /// Citations of what an exchange shows: the request and the decisive event of the answer.
    #[must_use]
    pub fn cite_exchange(self, exchange: &ExchangeView<'_>) -> Vec<EventRef> {
        let (sent, decisive) = (exchange.sent.seq, exchange.decisive());
        let mut out = vec![self.cite(sent)];
        if decisive != sent {
            out.push(self.cite(decisive));
        }
        out
    }

    /// All exchanges of the recording.
    #[must_use]
    pub fn exchanges(self) -> Vec<ExchangeView<'a>> {
        self.recording.exchanges()
    }

    /// The exchanges that meant an operation.
    #[must_use]
    pub fn exchanges_of(self, operation: &str) -> Vec<ExchangeView<'a>> {
        self.exchanges().into_iter().filter(|x| x.intent.is_some_and(|op| op.0 == operation)).collect()
    }
}

/// The mark that says which actor plays a role.
pub(crate) fn role_mark(role: Role) -> String {
    format!("role.{}", role.as_str())
}
