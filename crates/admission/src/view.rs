//! What a decision needs of whatever holds the records.

use jiff::Timestamp;
use ostiary_canon::Revision;

use crate::{
    decide::{Decision, decide_dispatch},
    mode::{Enforcement, Freshness},
    query::Query,
    record::AdmissionRecord,
};

/// A view of what is admitted, as server and router have it.
pub trait View {
    /// Up to which revision the view is complete, and until when it may be decided on.
    fn freshness(&self) -> Freshness;

    /// The enforcement of a namespace; `enforce` where none is set.
    fn enforcement(&self, namespace: &str) -> Enforcement;

    /// The enforcement that a question falls under.
    fn enforcement_of(&self, query: &Query<'_>) -> Enforcement {
        self.enforcement(query.namespace())
    }

    /// Hands the record of a version to `read`, without copying it.
    fn read<R>(&self, agent: &str, version: &str, read: impl FnOnce(Option<&AdmissionRecord>) -> R) -> R;

    /// Decides one dispatch on this view.
    fn check(&self, query: &Query<'_>, at_least: Option<Revision>, now: Timestamp) -> Decision {
        // Read before the record: a view that grows in between is only fresher than it says.
        let freshness = Freshness { at_least, ..self.freshness() };
        let enforcement = self.enforcement_of(query);
        self.read(query.agent, query.version, |record| decide_dispatch(query, record, enforcement, &freshness, now))
    }
}
