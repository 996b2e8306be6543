//! Questions.

use ostiary_proto::admission::v1 as proto;

use crate::query::{Observed, Query};

/// The question of a request, borrowed. An empty text is one that was left out.
#[must_use]
pub fn query_of(request: &proto::CheckAdmissionRequest) -> Query<'_> {
    Query {
        agent: &request.agent,
        version: &request.version,
        card_digest: Observed::read(&request.card_digest),
        profile: given(&request.profile),
        contract_digest: Observed::read(&request.contract_digest),
        producer_digest: Observed::read(&request.producer_digest),
        consumer: given(&request.consumer),
        interface: given(&request.interface),
        cohort_key: given(&request.cohort_key),
    }
}

/// The question of a resolution; version and card are what is asked for.
#[must_use]
pub fn resolve_query_of(request: &proto::ResolveVersionRequest) -> Query<'_> {
    Query {
        agent: &request.agent,
        profile: given(&request.profile),
        consumer: given(&request.consumer),
        interface: given(&request.interface),
        cohort_key: given(&request.cohort_key),
        ..Query::default()
    }
}

fn given(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_digest_is_not_the_same_as_none() {
        let message = proto::CheckAdmissionRequest { card_digest: "latest".to_owned(), ..Default::default() };
        assert_eq!(query_of(&message).card_digest, Observed::Unreadable);
        assert_eq!(query_of(&proto::CheckAdmissionRequest::default()).card_digest, Observed::Omitted);
        assert_eq!(query_of(&proto::CheckAdmissionRequest::default()).profile, None);
    }
}
