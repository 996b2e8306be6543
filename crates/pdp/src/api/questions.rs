//! Questions: one, many, and which version to call.

use std::{collections::HashMap, sync::Arc};

use ostiary_admission::{
    AdmissionRecord, Decision, DecisionReason, Index, Observed, Query, Resolved, resolve,
    wire::{decision_to_wire, query_of, resolve_query_of},
};
use ostiary_canon::Revision;
use ostiary_proto::admission::v1 as proto;
use tonic::{Request, Status, metadata::MetadataMap};

use super::Api;

/// Most questions of a batch.
const BATCH: usize = 100;

/// How often a batch or a resolution is begun anew because something was published meanwhile. Each try takes microseconds
/// and publishes are rare; whoever is unlucky that often gets an answer that says so.
const TRIES: usize = 16;

// === impl Api ===

impl Api {
    pub(super) async fn check(
        &self,
        request: Request<proto::CheckAdmissionRequest>,
    ) -> Result<proto::CheckAdmissionResponse, Status> {
        let (metadata, _, message) = request.into_parts();
        let query = query_of(&message);
        let decision = if self.guard.may_ask(&metadata, query.namespace())? {
            let at_least = self.at_least(message.consistency).await?;
            self.hub.decide(&query, at_least)
        } else {
            self.forbidden()
        };
        self.tell(&query, &decision);
        Ok(decision_to_wire(&decision))
    }

    pub(super) async fn batch(
        &self,
        request: Request<proto::BatchCheckAdmissionRequest>,
    ) -> Result<proto::BatchCheckAdmissionResponse, Status> {
        let (metadata, _, message) = request.into_parts();
        let asked = message.items.len();
        if asked > BATCH {
            return Err(Status::invalid_argument(format!("{asked} questions in one batch; ask at most {BATCH}")));
        }
        let questions: Vec<proto::CheckAdmissionRequest> =
            message.items.iter().map(|item| item.check.clone().unwrap_or_default()).collect();
        let queries: Vec<Query<'_>> = questions.iter().map(query_of).collect();
        let allowed = self.allowed_namespaces(&metadata, &queries)?;
        let at_least = self.at_least(message.consistency).await?;
        let (decisions, revision) = self.at_one_revision(|| {
            let decide = |query: &Query<'_>| {
                if allowed[query.namespace()] { self.hub.decide(query, at_least) } else { self.forbidden() }
            };
            queries.iter().map(decide).collect::<Vec<Decision>>()
        })?;
        queries.iter().zip(&decisions).for_each(|(query, decision)| self.tell(query, decision));
        let answer = |(item, decision): (proto::BatchItem, &Decision)| proto::BatchAnswer {
            correlation_id: item.correlation_id,
            decision: Some(decision_to_wire(decision)),
        };
        Ok(proto::BatchCheckAdmissionResponse {
            answers: message.items.into_iter().zip(&decisions).map(answer).collect(),
            revision: Some(proto::RevisionToken { revision: revision.0 }),
        })
    }

    pub(super) async fn resolve(
        &self,
        request: Request<proto::ResolveVersionRequest>,
    ) -> Result<proto::ResolveVersionResponse, Status> {
        let (metadata, _, message) = request.into_parts();
        let query = resolve_query_of(&message);
        if !self.guard.may_ask(&metadata, query.namespace())? {
            let decision = self.forbidden();
            self.tell(&query, &decision);
            return Ok(resolved(None, &decision));
        }
        let at_least = self.at_least(message.consistency).await?;
        let ((chosen, decision), _) = self.at_one_revision(|| self.resolve_now(&query, at_least))?;
        self.tell(&query, &decision);
        Ok(resolved(chosen.as_ref(), &decision))
    }

    fn resolve_now(&self, query: &Query<'_>, at_least: Option<Revision>) -> (Option<Chosen>, Decision) {
        let chosen = Chosen::of(self.hub.index(), query);
        let Some(Chosen { record, .. }) = &chosen else { return (None, self.hub.decide(query, at_least)) };
        let card_digest = record.evidence.as_ref().map(|evidence| evidence.card_digest);
        let query = Query { version: record.version.as_str(), card_digest: card_digest.into(), ..*query };
        let decision = self.hub.decide(&query, at_least);
        (chosen, decision)
    }

    /// What `look` finds while nothing is published.
    fn at_one_revision<T>(&self, look: impl Fn() -> T) -> Result<(T, Revision), Status> {
        let found = (0..TRIES).find_map(|_| self.hub.index().undisturbed(&look));
        found.ok_or_else(|| Status::aborted("the view changes too fast to be seen at one revision; ask again"))
    }

    fn allowed_namespaces<'q>(
        &self,
        metadata: &MetadataMap,
        queries: &[Query<'q>],
    ) -> Result<HashMap<&'q str, bool>, Status> {
        let mut allowed = HashMap::new();
        // Also for an empty batch: whoever may ask nothing gets no revision either.
        self.guard.may_ask(metadata, "")?;
        for namespace in queries.iter().map(Query::namespace) {
            if !allowed.contains_key(namespace) {
                allowed.insert(namespace, self.guard.may_ask(metadata, namespace)?);
            }
        }
        Ok(allowed)
    }

    fn forbidden(&self) -> Decision {
        Decision::forbidden(self.hub.index().revision(), self.hub.now())
    }

    fn tell(&self, query: &Query<'_>, decision: &Decision) {
        self.decided.decided(query, decision);
        let seen = [Some(decision.reason), decision.would_deny].contains(&Some(DecisionReason::CardDigestMismatch));
        if seen && matches!(query.card_digest, Observed::Digest(_)) {
            self.mismatches.mismatched(query, decision);
        }
    }
}

/// A version to call, held.
struct Chosen {
    record: Arc<AdmissionRecord>,
    canary: bool,
}

// === impl Chosen ===

impl Chosen {
    fn of(index: &Index, query: &Query<'_>) -> Option<Self> {
        let versions = index.versions_of(query.agent);
        let Resolved { record, canary } = resolve(versions.iter().map(|version| &**version), query)?;
        let record = versions.iter().find(|version| version.version == record.version)?;
        Some(Self { record: Arc::clone(record), canary })
    }
}

fn resolved(chosen: Option<&Chosen>, decision: &Decision) -> proto::ResolveVersionResponse {
    let evidence = chosen.and_then(|chosen| chosen.record.evidence.as_ref());
    proto::ResolveVersionResponse {
        version: chosen.map(|chosen| chosen.record.version.to_string()).unwrap_or_default(),
        card_digest: evidence.map(|evidence| evidence.card_digest.to_string()).unwrap_or_default(),
        canary: chosen.is_some_and(|chosen| chosen.canary),
        decision: Some(decision_to_wire(decision)),
    }
}
