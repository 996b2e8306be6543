//! A dispatch that was let through: pinned to what it was decided on, and told when that no longer holds.

use std::{
    future::pending,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use hashbrown::HashMap;
use ostiary_admission::{Decision, DecisionReason, Observed, Query, State, ViewScope};
use tokio::sync::watch;

use crate::config::InFlight;

/// A dispatch under way. Keep it as long as the dispatch runs; dropping it ends the watch over it.
#[derive(Debug)]
pub struct Dispatch {
    decision: Decision,
    running: Arc<Running>,
    in_flight: InFlight,
}

/// Why a dispatch should end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revoked {
    /// What denies it now.
    pub decision: Decision,
}

/// A question that owns its texts. What is left out is never read as "any".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// `namespace/agent`.
    pub agent: Box<str>,
    /// The version label.
    pub version: Box<str>,
    /// The card that is held.
    pub card_digest: Observed,
    /// The profile that would be used.
    pub profile: Option<Box<str>>,
    /// The contract that is held.
    pub contract_digest: Observed,
    /// The artifact that is seen.
    pub producer_digest: Observed,
    /// Who would call.
    pub consumer: Option<Box<str>>,
    /// Over which interface.
    pub interface: Option<Box<str>>,
    /// What keeps a conversation in one cohort.
    pub cohort_key: Option<Box<str>>,
}

/// All dispatches under way, by agent.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    by_agent: Mutex<HashMap<Box<str>, Vec<Weak<Running>>>>,
}

#[derive(Debug)]
struct Running {
    query: Question,
    revoked: watch::Sender<Option<Decision>>,
}

// === impl Dispatch ===

impl Dispatch {
    /// What it was decided on: the revision, the evidence, and until when an equal question may reuse it.
    #[must_use]
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// The version that it is pinned to.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.running.query.version
    }

    /// What was asked.
    #[must_use]
    pub fn question(&self) -> Query<'_> {
        self.running.query.query()
    }

    /// Whether the version was a canary when it was decided.
    #[must_use]
    pub fn is_canary(&self) -> bool {
        self.decision.state == Some(State::Canary)
    }

    /// Ends when the version is taken off the road for this dispatch: quarantined, its route disabled by a person, its
    /// evidence disowned. Does not end because evidence ran out, a canary ended or the copy went stale: what was let
    /// through on good evidence may finish.
    pub async fn revoked(&self) -> Revoked {
        let mut told = self.running.revoked.subscribe();
        match told.wait_for(Option::is_some).await.ok().and_then(|found| found.clone()) {
            Some(decision) => Revoked { decision },
            // The sender lives as long as this dispatch.
            None => pending().await,
        }
    }

    /// Ends when the dispatch must be cut, as the router was configured: never, or some time after it was revoked.
    pub async fn cut(&self) -> Revoked {
        self.cut_by(self.in_flight).await
    }

    /// As [`Dispatch::cut`], by another rule than the router's.
    pub async fn cut_by(&self, rule: InFlight) -> Revoked {
        match rule {
            InFlight::Drain => pending().await,
            InFlight::CutAfter(grace) => {
                let revoked = self.revoked().await;
                wait(grace).await;
                revoked
            }
        }
    }
}

// === impl UnderWay ===

impl UnderWay {
    pub(crate) fn begin(self: &Arc<Self>, query: &Query<'_>, decision: Decision, in_flight: InFlight) -> Dispatch {
        let running = Arc::new(Running { query: Question::of(query), revoked: watch::Sender::new(None) });
        let mut by_agent = self.by_agent.lock().unwrap_or_else(PoisonError::into_inner);
        let own = by_agent.entry(query.agent.into()).or_default();
        // Swept when the list would grow: the cost is spread over what was added.
        if own.len() == own.capacity() {
            own.retain(|other| other.strong_count() > 0);
        }
        own.push(Arc::downgrade(&running));
        Dispatch { decision, running, in_flight }
    }

    /// Asks again for the dispatches to `agent`, or for all in `scope`, and tells those that are revoked; says how many.
    pub(crate) fn ask_again(
        &self,
        agent: Option<&str>,
        scope: &ViewScope,
        decide: impl Fn(&Query<'_>) -> Decision,
    ) -> usize {
        let mut by_agent = self.by_agent.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(agent) = agent else {
            let mut told = 0;
            by_agent.retain(|agent, own| {
                if scope.holds(agent.split_once('/').map_or(agent, |(namespace, _)| namespace)) {
                    told += tell(own, &decide);
                }
                !own.is_empty()
            });
            return told;
        };
        let Some(own) = by_agent.get_mut(agent) else { return 0 };
        let told = tell(own, &decide);
        if own.is_empty() {
            by_agent.remove(agent);
        }
        told
    }

    /// How many are under way.
    pub(crate) fn len(&self) -> usize {
        let by_agent = self.by_agent.lock().unwrap_or_else(PoisonError::into_inner);
        by_agent.values().flatten().filter(|running| running.strong_count() > 0).count()
    }
}

// === impl Question ===

impl Question {
    /// Takes a question over.
    #[must_use]
    pub fn of(query: &Query<'_>) -> Self {
        Self {
            agent: query.agent.into(),
            version: query.version.into(),
            card_digest: query.card_digest,
            profile: query.profile.map(Into::into),
            contract_digest: query.contract_digest,
            producer_digest: query.producer_digest,
            consumer: query.consumer.map(Into::into),
            interface: query.interface.map(Into::into),
            cohort_key: query.cohort_key.map(Into::into),
        }
    }

    /// The question, borrowed: asking it allocates nothing.
    #[must_use]
    pub fn query(&self) -> Query<'_> {
        Query {
            agent: &self.agent,
            version: &self.version,
            card_digest: self.card_digest,
            profile: self.profile.as_deref(),
            contract_digest: self.contract_digest,
            producer_digest: self.producer_digest,
            consumer: self.consumer.as_deref(),
            interface: self.interface.as_deref(),
            cohort_key: self.cohort_key.as_deref(),
        }
    }
}

fn tell(own: &mut Vec<Weak<Running>>, decide: &impl Fn(&Query<'_>) -> Decision) -> usize {
    let mut told = 0;
    own.retain(|running| {
        let Some(running) = running.upgrade() else { return false };
        let decision = decide(&running.query.query());
        let revoked = revokes(&decision);
        if revoked {
            running.revoked.send_replace(Some(decision));
            told += 1;
        }
        !revoked
    });
    told
}

/// Whether a denial is about what the dispatch runs on, and not about time or the question.
fn revokes(decision: &Decision) -> bool {
    matches!(
        decision.would_deny.unwrap_or(decision.reason),
        DecisionReason::VersionUnknown
            | DecisionReason::NotAdmitted
            | DecisionReason::EvidenceMissing
            | DecisionReason::EvidenceFailed
            | DecisionReason::SignatureInvalid
            | DecisionReason::KeyRevoked
            | DecisionReason::CardDigestMismatch
            | DecisionReason::Revalidating
            | DecisionReason::RouteDisabled
            | DecisionReason::Quarantined
            | DecisionReason::Rejected
    ) && !decision.allows()
}

async fn wait(grace: Duration) {
    tokio::time::sleep(grace).await;
}
