//! What each reason of a gate means and asks for, in words.

use ostiary_domain::{GateReason, approval::Edge};

/// What to do where no check of a layer passed; an interface that nobody drives stays that way however often it is run.
const NO_PASS: &str = "see in the report why its checks did not apply or could not tell, and what they miss; for an interface \
    that this build cannot drive, name the other profiles under `activate` in coverage.yaml and submit again";

/// Kind, sentence and remedy of a gate's reason.
pub(super) fn words(reason: &GateReason) -> (&'static str, String, String) {
    let text = |kind, what: String, remedy: &str| (kind, what, remedy.to_owned());
    match reason {
        GateReason::Finding { check, profile, failed, code, message, .. } => {
            let under = profile.as_ref().map(|profile| format!(" under {profile}")).unwrap_or_default();
            let verb = if *failed { "failed" } else { "could not tell" };
            text("finding", format!("{check} {verb}{under}: {message}"), code.row().remedy)
        }
        GateReason::LayerWithoutPass { layer, profile } => {
            text("missing", format!("nothing of the {layer} layer passed for {profile}"), NO_PASS)
        }
        GateReason::CheckNotRun { check } => text(
            "missing",
            format!("{check} is required and gave no verdict"),
            "have the gate run by a worker of this version; if that does not help, the policy names a check that is not there",
        ),
        GateReason::GateNotInPolicy => text(
            "missing",
            "the policy has no rule for this gate".to_owned(),
            "an administrator puts a policy that has one",
        ),
        GateReason::NoProfileActivated => text(
            "missing",
            "the version activates no profile".to_owned(),
            "name one in coverage.yaml under `activate`, or an interface in the card, and submit again",
        ),
        GateReason::GateOutOfOrder { expected } => text(
            "order",
            match expected {
                Some(gate) => format!("the {gate} gate comes first"),
                None => "no gate is open from where it stands".to_owned(),
            },
            "take the steps in order",
        ),
        GateReason::RunMissing => text("run", "there is no run to judge".to_owned(), "ask for the gate again"),
        GateReason::RunStale { verified_at } => {
            text("expired", format!("the run is of {verified_at}, too old for this gate"), "ask for the gate again")
        }
        GateReason::RunTooEarly { started, after } => text(
            "order",
            format!("the run began at revision {}, and must follow revision {}", started.0, after.0),
            "ask for the gate again; only a run that begins now counts",
        ),
        other => later(other),
    }
}

/// The same for what lies outside a run.
fn later(reason: &GateReason) -> (&'static str, String, String) {
    let text = |kind, what: String, remedy: &str| (kind, what, remedy.to_owned());
    match reason {
        GateReason::SubjectChanged { expected, observed } => text(
            "changed",
            format!("what was measured now ({observed}) is not what the evidence is about ({expected})"),
            "card, contract or artifact changed: submit it as a new version",
        ),
        GateReason::CardChanged { expected, observed } => text(
            "changed",
            format!("the card that is served ({observed}) is not the one that was verified ({expected})"),
            "serve the verified card again, or submit the new one as a new version",
        ),
        GateReason::CardNotFetched => text(
            "missing",
            "the card could not be fetched, or too long ago".to_owned(),
            "see that the agent serves its card to the control plane, then ask again",
        ),
        GateReason::EvidenceMissing { gate } => {
            text("missing", format!("the {gate} gate has no PASS for these digests and this policy"), "have it run")
        }
        GateReason::EvidenceExpired { gate, expired_at } => text(
            "expired",
            format!("the PASS of the {gate} gate ran out at {expired_at}"),
            "have the gate run again against the agent as it is now",
        ),
        GateReason::EvidenceFailed { gate } => text(
            "finding",
            format!("the newest result of the {gate} gate is a FAIL"),
            "see to what that gate found, then have it run again",
        ),
        GateReason::ProfileNotVerified { gate, profile } => text(
            "missing",
            format!("the PASS of the {gate} gate does not hold for {profile}"),
            "give the environment a subject of that profile, or take the profile out of `activate`",
        ),
        GateReason::WaiverEnded { gate, waiver } => text(
            "expired",
            format!("what the {gate} gate found rests on waiver `{waiver}`, which has ended"),
            "mend what was waived and run the gate again, or ask for another waiver",
        ),
        GateReason::AuthorizationExpired { expired_at } => text(
            "expired",
            format!("the registry's word for it ran out at {expired_at}"),
            "have its gates run again; the word is renewed on what passes",
        ),
        GateReason::Held { kind, because } => text(
            "hold",
            format!("the hold {} stands in the way: {because}", kind.as_str()),
            "a person looks at the reason, sees to it, and lifts the hold; no run does",
        ),
        GateReason::ApprovalMissing { edge, needed, given } => text(
            "approval",
            format!("{given} of {needed} people have consented to the {}", edge_name(*edge)),
            "somebody who did not submit it looks at it and approves",
        ),
        other => text("missing", other.code().to_lowercase().replace('_', " "), "see the report of the gate"),
    }
}

pub(super) const fn edge_name(edge: Edge) -> &'static str {
    match edge {
        Edge::Admission => "admission",
        Edge::Canary => "canary",
        Edge::Promotion => "promotion",
        Edge::Release => "release",
    }
}
