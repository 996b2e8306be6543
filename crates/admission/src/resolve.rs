//! Which version of an agent to call.

use ostiary_canon::{Digest, VersionLabel};

use crate::{
    cohort::in_cohort,
    decide::stops_canary,
    query::Query,
    record::{AdmissionRecord, State},
};

/// A version to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved<'r> {
    /// Its record.
    pub record: &'r AdmissionRecord,
    /// Whether it was chosen as canary.
    pub canary: bool,
}

/// Chooses among the versions of one agent: the canary where the query's cohort key belongs to its cohort and no hold stops
/// it for this query, else the one that is ACTIVE, else none.
///
/// The query's version and digests are not looked at. The same key gets the same version as long as the canary and its
/// weight stay; without a key a canary is never chosen. Whether the chosen one may be called is another question.
#[must_use]
pub fn resolve<'r>(versions: impl IntoIterator<Item = &'r AdmissionRecord>, query: &Query<'_>) -> Option<Resolved<'r>> {
    let (mut canary, mut active): (Option<&AdmissionRecord>, Option<&AdmissionRecord>) = (None, None);
    for record in versions.into_iter().filter(|record| record.agent.as_str() == query.agent) {
        let place = match record.state {
            State::Canary if serves(record, query) => &mut canary,
            State::Active => &mut active,
            _ => continue,
        };
        // There is at most one of each. Should there be more, every view chooses the same.
        if place.is_none_or(|other| (other.revision, &other.version) < (record.revision, &record.version)) {
            *place = Some(record);
        }
    }
    let canary = canary.map(|record| Resolved { record, canary: true });
    canary.or_else(|| active.map(|record| Resolved { record, canary: false }))
}

// === impl Resolved ===

impl Resolved<'_> {
    /// The version's label.
    #[must_use]
    pub const fn version(&self) -> &VersionLabel {
        &self.record.version
    }

    /// The card that it was admitted with.
    #[must_use]
    pub fn card_digest(&self) -> Option<Digest> {
        self.record.evidence.as_ref().map(|evidence| evidence.card_digest)
    }
}

fn serves(record: &AdmissionRecord, query: &Query<'_>) -> bool {
    query.cohort_key.is_some_and(|key| in_cohort(query.agent, record.version.as_str(), key, record.canary_weight))
        && !record.holds.iter().any(|hold| stops_canary(hold, query))
}
