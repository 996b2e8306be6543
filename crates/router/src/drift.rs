//! Cards that differ from the admitted ones, told once and not once for every dispatch (P-03).

use hashbrown::HashMap;
use jiff::{SignedDuration, Timestamp};
use ostiary_canon::Digest;
use ostiary_proto::drift::v1 as wire;

use crate::outcomes::stamp;

/// How many different sightings are kept: whoever sends made-up digests fills this and no more.
const SIGHTINGS: usize = 1_024;
/// After this long a sighting is news again: the control plane has looked by then.
const NEWS_AGAIN: SignedDuration = SignedDuration::from_secs(60);
/// How often telling it is tried.
const TRIES: u8 = 5;

/// What was seen and not yet told, and what was told lately.
pub(crate) struct Drift {
    sightings: HashMap<Sighting, Seen>,
    router_id: String,
    instance: String,
    told: u64,
    pub(crate) dropped: u64,
}

/// What was seen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sighting {
    pub(crate) agent: Box<str>,
    pub(crate) version: Box<str>,
    pub(crate) expected: Option<Digest>,
    /// `None`: it could not be read.
    pub(crate) observed: Option<Digest>,
}

#[derive(Clone, Debug)]
struct Seen {
    key: String,
    first: Timestamp,
    last: Timestamp,
    count: u64,
    told: bool,
    tries: u8,
}

// === impl Drift ===

impl Drift {
    pub(crate) fn new(router_id: &str, instance: String) -> Self {
        Self { sightings: HashMap::new(), router_id: router_id.to_owned(), instance, told: 0, dropped: 0 }
    }

    /// Notes a sighting; says whether it is news.
    pub(crate) fn saw(&mut self, sighting: Sighting, now: Timestamp) -> bool {
        if let Some(seen) = self.sightings.get_mut(&sighting) {
            if !seen.is_old(now) {
                seen.last = now;
                seen.count += 1;
                return false;
            }
            self.sightings.remove(&sighting);
        }
        if self.sightings.len() >= SIGHTINGS {
            self.sightings.retain(|_, seen| !seen.is_old(now));
        }
        if self.sightings.len() >= SIGHTINGS {
            self.dropped += 1;
            return false;
        }
        self.told += 1;
        let key = format!("{}-{}", self.instance, self.told);
        self.sightings.insert(sighting, Seen { key, first: now, last: now, count: 1, told: false, tries: 0 });
        true
    }

    /// What is to be told now.
    pub(crate) fn untold(&self) -> Vec<wire::ReportDriftRequest> {
        let untold = self.sightings.iter().filter(|(_, seen)| !seen.told);
        untold.map(|(sighting, seen)| self.request(sighting, seen)).collect()
    }

    /// Whether telling the report `key` worked. One that keeps failing is given up, and is news again after a while.
    pub(crate) fn told(&mut self, key: &str, worked: bool) {
        if let Some(seen) = self.sightings.values_mut().find(|seen| seen.key == key) {
            seen.tries += 1;
            seen.told = worked || seen.tries >= TRIES;
        }
    }

    fn request(&self, sighting: &Sighting, seen: &Seen) -> wire::ReportDriftRequest {
        let text = |digest: Option<Digest>| digest.map(|digest| digest.to_string()).unwrap_or_default();
        let finding =
            if sighting.observed.is_some() { wire::DriftFinding::Mismatch } else { wire::DriftFinding::Unreachable };
        wire::ReportDriftRequest {
            idempotency_key: seen.key.clone(),
            router_id: self.router_id.clone(),
            agent: sighting.agent.to_string(),
            version: sighting.version.to_string(),
            kind: wire::DriftKind::Card.into(),
            finding: finding.into(),
            expected_digest: text(sighting.expected),
            observed_digest: text(sighting.observed),
            first_seen: Some(stamp(seen.first)),
            last_seen: Some(stamp(seen.last)),
            count: seen.count,
            sample_reference: String::new(),
        }
    }
}

// === impl Seen ===

impl Seen {
    fn is_old(&self, now: Timestamp) -> bool {
        self.told && now.duration_since(self.first) >= NEWS_AGAIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn sighting(observed: &str) -> Sighting {
        Sighting {
            agent: "acme/planner".into(),
            version: "1.0.0".into(),
            expected: Some(Digest::of(b"admitted")),
            observed: Some(Digest::of(observed.as_bytes())),
        }
    }

    #[test]
    fn a_thousand_dispatches_with_one_wrong_card_are_one_report() {
        let mut drift = Drift::new("r1", "run".to_owned());
        assert!(drift.saw(sighting("other"), at(0)));
        assert!((1..1_000).all(|n| !drift.saw(sighting("other"), at(n / 100))));
        let untold = drift.untold();
        assert_eq!(untold.len(), 1);
        assert_eq!((untold[0].count, untold[0].observed_digest.clone()), (1_000, Digest::of(b"other").to_string()));
        drift.told(&untold[0].idempotency_key, true);
        assert!(drift.untold().is_empty());
    }

    #[test]
    fn the_same_card_is_news_again_after_a_minute_under_another_key() {
        let mut drift = Drift::new("r1", "run".to_owned());
        drift.saw(sighting("other"), at(0));
        let first = drift.untold().remove(0).idempotency_key;
        drift.told(&first, true);
        assert!(!drift.saw(sighting("other"), at(59)));
        assert!(drift.saw(sighting("other"), at(60)));
        assert_ne!(drift.untold()[0].idempotency_key, first);
    }

    #[test]
    fn a_failed_report_keeps_its_key_and_is_given_up_in_the_end() {
        let mut drift = Drift::new("r1", "run".to_owned());
        drift.saw(sighting("other"), at(0));
        let key = drift.untold().remove(0).idempotency_key;
        for _ in 1..TRIES {
            drift.told(&key, false);
            assert_eq!(drift.untold()[0].idempotency_key, key);
        }
        drift.told(&key, false);
        assert!(drift.untold().is_empty());
    }

    #[test]
    fn made_up_digests_fill_a_bounded_table() {
        let mut drift = Drift::new("r1", "run".to_owned());
        for n in 0..SIGHTINGS + 3 {
            drift.saw(sighting(&n.to_string()), at(0));
        }
        assert_eq!((drift.untold().len(), drift.dropped), (SIGHTINGS, 3));
    }

    #[test]
    fn what_could_not_be_read_is_unreachable_and_no_mismatch() {
        let mut drift = Drift::new("r1", "run".to_owned());
        drift.saw(Sighting { observed: None, ..sighting("") }, at(0));
        let told = drift.untold().remove(0);
        assert_eq!((told.finding(), told.observed_digest.as_str()), (wire::DriftFinding::Unreachable, ""));
    }
}
