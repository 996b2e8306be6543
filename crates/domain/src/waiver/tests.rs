//! Who may ask, grant and revoke.

use super::{WaiverError, known_manifests};
use crate::{
    sample::{self, approver, hour, judge, new_waiver, operator, publisher, states, subject, version, waiver},
    version::Version,
};

const CHECK: &str = "a2a.error.leak";

fn tries() -> Vec<Version> {
    vec![version("1.0.0", states("1.0.0").swap_remove(1))]
}

fn asked(change: impl FnOnce(&mut super::NewWaiver)) -> Result<(), WaiverError> {
    let mut new = new_waiver("1.0.0", CHECK);
    change(&mut new);
    new.permitted(&known_manifests(&tries(), &[]), hour(0))
}

#[test]
fn a_person_asks_for_something_measured_and_for_a_while() {
    assert_eq!(asked(|_| {}), Ok(()));
    assert_eq!(asked(|w| w.by = judge()), Err(WaiverError::Machine(judge())));
    assert_eq!(asked(|w| w.reason = "  ".into()), Err(WaiverError::ReasonMissing));
    let other = subject("2.0.0").manifest;
    assert_eq!(asked(|w| w.manifest = other), Err(WaiverError::Manifest(other)));
    assert_eq!(asked(|w| w.expires_at = hour(0)), Err(WaiverError::Expired(hour(0))));
    assert!(matches!(asked(|w| w.expires_at = hour(91 * 24)), Err(WaiverError::TooLong { .. })));
}

/// A try that was rejected has no subject any more; what its evidence names can be waived for the next one.
#[test]
fn the_manifest_of_a_rejected_try_is_known_by_its_evidence() {
    let rejected = vec![version("1.0.0", states("1.0.0").swap_remove(8))];
    let evidence = sample::evidence("1.0.0", ostiary_record::Gate::Conformance, ostiary_record::Outcome::Fail, 0);
    let record = evidence.recorded(sample::key("1.0.0"), crate::Standing::Decided, ostiary_canon::Revision(3));
    assert_eq!(known_manifests(&rejected, &[record]), [subject("1.0.0").manifest]);
    assert_eq!(known_manifests(&rejected, &[]), []);
}

#[test]
fn another_person_grants_who_did_not_submit() {
    let open = new_waiver("1.0.0", CHECK).asked(sample::moment(0, 3));
    let grant = |by| open.grantable(&by, "seen", &tries(), hour(0));
    assert_eq!(grant(approver()), Ok(()));
    assert_eq!(grant(operator()), Err(WaiverError::SamePerson(operator())));
    assert_eq!(grant(publisher()), Err(WaiverError::OwnSubmission(publisher())));
    assert_eq!(grant(judge()), Err(WaiverError::Machine(judge())));
    let late = open.grantable(&approver(), "seen", &tries(), hour(24));
    assert_eq!(late, Err(WaiverError::Expired(hour(24))));
    let twice = waiver("1.0.0", CHECK).grantable(&approver(), "seen", &tries(), hour(0));
    assert!(matches!(twice, Err(WaiverError::Granted(_))));
}

#[test]
fn a_revoked_waiver_calls_in_the_word_that_rests_on_it_and_no_other() {
    let at = sample::moment(1, 9);
    let waiver = waiver("1.0.0", CHECK);
    let failing = sample::finding(ostiary_record::Layer::Protocol, ostiary_record::Outcome::Fail, None);
    let mut active = version("1.0.0", states("1.0.0").swap_remove(6));
    assert!(!active.clone().call_in(&waiver.request.id, at));
    active.state.word_mut().expect("admitted").waived = Vec::from_iter(waiver.waives(&failing));
    assert!(active.is_authorized(hour(1)));
    assert!(active.call_in(&waiver.request.id, at));
    assert!(!active.is_authorized(hour(1)) && active.revision == at.revision);
    assert!(!active.call_in(&waiver.request.id, at), "once");
}
