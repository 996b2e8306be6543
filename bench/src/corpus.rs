//! The versions and the questions: the same in every process, computed from numbers alone.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use ostiary_admission::{AdmissionClass, AdmissionRecord, Change, Evidence, ProfileGrant, SignatureStatus, State};
use ostiary_canon::{Digest, Profile, Revision};
use ostiary_proto::admission::v1::{CheckAdmissionRequest, Outcome};

/// How many different questions are asked in turn: far more than a cache holds of records, and the same for baseline and
/// subject, since one repeated question flatters whoever answers it.
pub const QUESTIONS: usize = 65_536;

/// The profiles that every version is admitted for.
const PROFILES: [&str; 2] = ["a2a-jsonrpc-1.0/user/standard", "mcp-2026-07-28/agent/standard"];

/// Versions an agent has: its predecessor is kept.
const VERSIONS: usize = 2;

/// A prime far from any power of two, to visit versions in no order that memory likes.
const STRIDE: usize = 7_368_787;

/// One question and the answer that it must get.
#[derive(Clone, Debug)]
pub struct Question {
    /// The question.
    pub request: CheckAdmissionRequest,
    /// The answer.
    pub expected: Outcome,
}

/// `size` versions, every second one ACTIVE, the others its predecessors.
pub fn records(size: usize, now: Timestamp) -> impl Iterator<Item = Change> {
    let profiles = PROFILES.map(|text| Arc::new(text.parse::<Profile>().expect("a well-formed profile")));
    (0..size).map(move |n| Change::Upsert(record(n, &profiles, now)))
}

/// One version, taken off the road: what a publish changes.
pub fn quarantined(n: usize, now: Timestamp) -> Change {
    let profiles = PROFILES.map(|text| Arc::new(text.parse::<Profile>().expect("a well-formed profile")));
    Change::Upsert(AdmissionRecord { state: State::Quarantined, ..record(n, &profiles, now) })
}

/// The questions about `size` versions: nine in ten are allowed, the rest is denied for various reasons.
pub fn questions(size: usize) -> Vec<Question> {
    (0..QUESTIONS).map(|k| question(k, size)).collect()
}

fn record(n: usize, profiles: &[Arc<Profile>; 2], now: Timestamp) -> AdmissionRecord {
    let week = SignedDuration::from_hours(7 * 24);
    let evidence = Evidence {
        card_digest: digest("card", n),
        contract_digest: digest("contract", n),
        producer_digest: digest("producer", n),
        evidence_digest: digest("evidence", n),
        verified_at: now - week,
        expires_at: now + week,
        profiles: profiles
            .iter()
            .map(|profile| ProfileGrant { profile: Arc::clone(profile), expires_at: now + week })
            .collect(),
        class: AdmissionClass::Full,
        signature: SignatureStatus::Verified,
        stale: false,
        failed: false,
    };
    AdmissionRecord {
        agent: agent(n).parse().expect("a well-formed agent"),
        version: version(n).parse().expect("a well-formed version"),
        state: if active(n) { State::Active } else { State::RegistryAdmitted },
        canary_weight: 0,
        evidence: Some(evidence),
        holds: Box::default(),
        sunset: None,
        waived: None,
        revision: Revision(1),
    }
}

fn question(k: usize, size: usize) -> Question {
    // An ACTIVE version, unless the question is about another.
    let n = (k.wrapping_mul(STRIDE) % size) / VERSIONS * VERSIONS + 1;
    let mut request = CheckAdmissionRequest {
        agent: agent(n),
        version: version(n),
        card_digest: digest("card", n).to_string(),
        profile: PROFILES[k % 2].to_owned(),
        contract_digest: digest("contract", n).to_string(),
        producer_digest: String::new(),
        consumer: format!("consumer-{}", k % 97),
        interface: format!("https://agents.example/{}/a2a", n / VERSIONS),
        cohort_key: format!("conversation-{k}"),
        consistency: None,
    };
    let expected = match k % 40 {
        0 => {
            request.card_digest = digest("card", n + 1).to_string();
            Outcome::Deny
        }
        1 => {
            "a2a-jsonrpc-1.0/agent/standard".clone_into(&mut request.profile);
            Outcome::Deny
        }
        2 => {
            request.version = version(n - 1);
            Outcome::Deny
        }
        3 => {
            request.agent.push_str("-unknown");
            Outcome::Deny
        }
        _ => Outcome::Allow,
    };
    Question { request, expected }
}

fn active(n: usize) -> bool {
    n % VERSIONS == VERSIONS - 1
}

fn agent(n: usize) -> String {
    let agent = n / VERSIONS;
    format!("team-{}/planning-agent-{agent}", agent % 512)
}

fn version(n: usize) -> String {
    format!("3.{}.{}", n / VERSIONS % 10, n % VERSIONS)
}

fn digest(what: &str, n: usize) -> Digest {
    Digest::of(format!("{what} {n}").as_bytes())
}

#[cfg(test)]
mod tests {
    use ostiary_admission::{Index, Observed, Query, View as _};

    use super::*;

    #[test]
    fn each_question_gets_the_answer_that_it_expects() {
        let now: Timestamp = "2026-08-12T12:00:00Z".parse().unwrap();
        for size in [1_000, 20_000] {
            let index = Index::new();
            index.publish(records(size, now), Revision(1)).unwrap();
            index.extend_lease(now + SignedDuration::from_hours(1));
            assert_eq!(index.len(), size);
            let mut denied = 0;
            for Question { request, expected } in questions(size) {
                let query = Query {
                    agent: &request.agent,
                    version: &request.version,
                    card_digest: Observed::read(&request.card_digest),
                    profile: Some(&request.profile),
                    contract_digest: Observed::read(&request.contract_digest),
                    ..Query::default()
                };
                assert_eq!(index.check(&query, None, now).allows(), expected == Outcome::Allow, "{request:?}");
                denied += usize::from(expected == Outcome::Deny);
            }
            assert!((QUESTIONS / 11..QUESTIONS / 9).contains(&denied), "{denied}");
        }
    }
}
