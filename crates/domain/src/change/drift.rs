//! The writes of a drift report, and of the control plane's own look at a card (P-03).

use ostiary_canon::Digest;
use ostiary_record::{Gate, Outcome};
use serde_json::json;

use super::{Changes, Draft, Loaded, Undone, entry};
use crate::{
    audit::{AuditAction, AuditDraft},
    drift::{
        Background, Conclusion, DriftAction, Look, MOST_REPORTS, NewDriftReport, Revalidation, Saw, Sighting,
        UNFOUNDED_FOR, again_after, on_the_road, revalidator, rolled_out, stands,
    },
    evidence::{NewEvidence, Standing},
    hold::{HoldKind, Lifted, NewHold, Scope},
    job::NewJob,
    lifecycle::Event,
    names::{HoldId, JobId, Moment, VersionRef},
    ports::Refusal,
    route::RouteChange,
    version::Version,
};

#[cfg(test)]
mod tests;

/// What follows from a report at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reported {
    /// What is done.
    pub action: DriftAction,
    /// The version's part of it, and the audit entry.
    pub changes: Changes,
    /// The revalidation as it is to be; `None` where nothing of it changes.
    pub revalidation: Option<Revalidation>,
}

/// What follows from a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// How it ends; `None` when it goes on.
    pub conclusion: Option<Conclusion>,
    /// The version's part of it; `None` where nothing of it changes, so that there is no revision.
    pub changes: Option<Changes>,
    /// The revalidation as it is to be, when it goes on.
    pub revalidation: Option<Revalidation>,
    /// How the evidence is to be kept, where there is any to keep.
    pub evidence: Option<Standing>,
}

/// The ids that a decision may need.
#[derive(Clone, Debug)]
pub struct DriftIds {
    /// Of a hold.
    pub hold: HoldId,
    /// Of the new verification's job.
    pub job: JobId,
}

/// The writes of a report about `loaded`, which speaks for the label.
///
/// # Errors
/// When its reporter has told too much about this version lately.
pub fn report(
    loaded: Loaded,
    background: &Background,
    report: &NewDriftReport,
    ids: &DriftIds,
    at: Moment,
) -> Result<Reported, Undone> {
    if background.recent >= MOST_REPORTS {
        return Err(Refusal::TooManyReports(loaded.version.key).into());
    }
    let step = step(&loaded.version, background, report, at);
    let key = loaded.version.key.clone();
    let mut draft = Draft::of(loaded);
    let hold = step.hold.map(|kind| hold_on(report, kind, &ids.hold));
    if let Some(hold) = &hold {
        draft.set_hold(&key, hold.clone().set(at), at);
    }
    let revalidation = step.revalidation.map(|open| match step.hold {
        Some(HoldKind::Revalidating) => Revalidation { hold: Some(ids.hold.clone()), ..open },
        Some(_) => Revalidation { for_all: Some(ids.hold.clone()), ..open },
        None => open,
    });
    let detail = json!({
        "report": report.id,
        "kind": report.claim.kind,
        "finding": report.claim.finding,
        "router": report.claim.router_id,
        "expected": report.claim.expected,
        "observed": report.claim.observed,
        "count": report.claim.count,
        "action": step.action,
        "holds": hold.iter().map(|h| h.kind.as_str()).collect::<Vec<_>>(),
    });
    let audit = entry(AuditAction::ReportDrift, &report.by, &key, None, detail);
    Ok(Reported { action: step.action, changes: draft.finish(Vec::new(), audit), revalidation })
}

/// What a report does: the answer, the hold to set, the revalidation to write.
struct Step {
    action: DriftAction,
    hold: Option<HoldKind>,
    revalidation: Option<Revalidation>,
}

impl Step {
    const fn only(action: DriftAction) -> Self {
        Self { action, hold: None, revalidation: None }
    }
}

fn step(version: &Version, background: &Background, report: &NewDriftReport, at: Moment) -> Step {
    let (Some(observed), Some(admitted)) = (report.claim.other_card(), version.state.admitted()) else {
        return Step::only(DriftAction::Recorded);
    };
    if observed == admitted.subject.card {
        return Step::only(DriftAction::Matches);
    }
    if rolled_out(&version.key, &background.siblings, &observed).is_some() {
        return Step::only(DriftAction::RollOut);
    }
    if !on_the_road(version) {
        // It is denied to everybody already.
        return Step::only(DriftAction::Recorded);
    }
    match &background.open {
        Some(open) if open.hold.is_some() => join(version, background, open),
        open => begin(version, background, open.as_ref(), observed, at),
    }
}

/// Another report while the control plane is looking already.
fn join(version: &Version, background: &Background, open: &Revalidation) -> Step {
    if !stands(version, open.hold.as_ref()) {
        // A person lifted the hold: that word counts until the control plane has seen something itself.
        return Step::only(DriftAction::Recorded);
    }
    if stands(version, open.for_all.as_ref()) {
        return Step::only(DriftAction::RevalidatingForAll);
    }
    if open.failed > 0 && open.for_all.is_none() && background.seconded {
        return Step {
            action: DriftAction::RevalidatingForAll,
            hold: Some(HoldKind::RevalidatingForAll),
            revalidation: Some(open.clone()),
        };
    }
    Step::only(DriftAction::Revalidating)
}

/// The first report, or the first by somebody who was not wrong a moment ago.
fn begin(
    version: &Version,
    background: &Background,
    open: Option<&Revalidation>,
    observed: Digest,
    at: Moment,
) -> Step {
    let fresh = Revalidation {
        version: version.key.clone(),
        hold: None,
        for_all: None,
        observed,
        since: at,
        failed: 0,
        not_before: at.time,
        last_error: None,
    };
    let trusted_again = background.unfounded.map(|last| last.saturating_add(UNFOUNDED_FOR).unwrap_or(last));
    match trusted_again.filter(|again| at.time < *again) {
        // It may be right this time. The control plane looks once that time is over, and nobody is denied until then.
        Some(again) => Step {
            action: DriftAction::Recorded,
            hold: None,
            revalidation: open.is_none().then_some(Revalidation { not_before: again, ..fresh }),
        },
        None => {
            Step { action: DriftAction::Revalidating, hold: Some(HoldKind::Revalidating), revalidation: Some(fresh) }
        }
    }
}

fn hold_on(report: &NewDriftReport, kind: HoldKind, id: &HoldId) -> NewHold {
    let seen = report.claim.observed.map(|digest| digest.to_string()).unwrap_or_default();
    let (scope, reason) = match (kind, report.claim.observed) {
        (HoldKind::Revalidating, Some(observed)) => {
            (Scope::Digest(observed), format!("{} saw the card {seen}", report.by.name))
        }
        _ => (Scope::Everything, format!("{} also saw the card {seen}, and it cannot be fetched", report.by.name)),
    };
    NewHold { id: id.clone(), kind, scope, reason, author: revalidator(), evidence: None }
}

/// The writes of a look. `seconded`: whether two routers reported one and the same digest since it began.
///
/// # Errors
/// When lifecycle or route refuse, or when a card that nobody admitted comes without evidence: the caller looked before
/// the world changed, and must look again.
pub fn looked(
    loaded: Loaded,
    (siblings, seconded): (&[Version], bool),
    look: &Look,
    ids: &DriftIds,
    at: Moment,
) -> Result<Seen, Undone> {
    let version = &loaded.version;
    let admitted = version.state.admitted().filter(|_| on_the_road(version)).map(|admitted| admitted.subject.card);
    match (&look.saw, admitted) {
        (saw, None) => Ok(closed(loaded, look, Conclusion::Overtaken, kept(saw), at)),
        (Saw::Nothing { why }, Some(_)) => Ok(unseen(loaded, look, why, seconded, (ids, at))),
        (Saw::Card(seen), Some(card)) if seen.card == card => Ok(closed(loaded, look, Conclusion::Unfounded, None, at)),
        (Saw::Card(seen), Some(_)) if rolled_out(&version.key, siblings, &seen.card).is_some() => {
            Ok(closed(loaded, look, Conclusion::RollOut, None, at))
        }
        (Saw::Card(seen), Some(card)) => quarantined(loaded, look, (seen, card), ids, at),
    }
}

/// What was seen is true all the same, and moves nothing.
fn kept(saw: &Saw) -> Option<Standing> {
    match saw {
        Saw::Card(seen) if seen.evidence.is_some() => Some(Standing::Kept),
        Saw::Card(_) | Saw::Nothing { .. } => None,
    }
}

fn unseen(loaded: Loaded, look: &Look, why: &str, seconded: bool, (ids, at): (&DriftIds, Moment)) -> Seen {
    let open = &look.claimed;
    if !stands(&loaded.version, open.hold.as_ref()) {
        let conclusion = if open.hold.is_some() { Conclusion::Lifted } else { Conclusion::Unseen };
        return closed(loaded, look, conclusion, None, at);
    }
    let failed = open.failed.saturating_add(1);
    let mut next = Revalidation {
        failed,
        not_before: again_after(failed, at.time),
        last_error: Some(why.to_owned()),
        ..open.clone()
    };
    let mut changes = None;
    if seconded && open.for_all.is_none() {
        next.for_all = Some(ids.hold.clone());
        changes = Some(denied_to_all(loaded, why, &ids.hold, at));
    }
    Seen { conclusion: None, changes, revalidation: Some(next), evidence: None }
}

fn denied_to_all(loaded: Loaded, why: &str, id: &HoldId, at: Moment) -> Changes {
    let key = loaded.version.key.clone();
    let mut draft = Draft::of(loaded);
    let hold = NewHold {
        id: id.clone(),
        kind: HoldKind::RevalidatingForAll,
        scope: Scope::Everything,
        reason: "two routers saw the same other card, and it cannot be fetched".to_owned(),
        author: revalidator(),
        evidence: None,
    };
    draft.set_hold(&key, hold.set(at), at);
    let detail = json!({"conclusion": null, "why": why, "holds": [HoldKind::RevalidatingForAll.as_str()]});
    let audit = entry(AuditAction::Revalidate, &revalidator(), &key, None, detail);
    draft.finish(Vec::new(), audit)
}

/// It is over, and the version stays where it is: our own holds go.
fn closed(loaded: Loaded, look: &Look, conclusion: Conclusion, evidence: Option<Standing>, at: Moment) -> Seen {
    let (key, from) = (loaded.version.key.clone(), loaded.version.state.name());
    let mut draft = Draft::of(loaded);
    let lifted = lift_own(&mut draft, look, conclusion, at);
    let detail = json!({
        "conclusion": conclusion,
        "from": from,
        "to": from,
        "observed": observed(look),
        "lifted": lifted,
        "evidence": evidence.and(evidence_of(look)).map(|evidence| &evidence.id),
    });
    let audit = entry(AuditAction::Revalidate, &revalidator(), &key, None, detail);
    let changes = (!lifted.is_empty() || evidence.is_some()).then(|| draft.finish(Vec::new(), audit));
    Seen { conclusion: Some(conclusion), changes, revalidation: None, evidence }
}

fn quarantined(
    loaded: Loaded,
    look: &Look,
    (seen, card): (&Sighting, Digest),
    ids: &DriftIds,
    at: Moment,
) -> Result<Seen, Undone> {
    let key = loaded.version.key.clone();
    let Some((evidence, _)) = &seen.evidence else {
        return Err(crate::ports::Conflict::Row(key.to_string()).into());
    };
    let from = loaded.version.state.name();
    let mut draft = Draft::of(loaded);
    draft.reroute(RouteChange::Remove(key.clone()), at)?;
    let reason = format!("the agent serves the card {}, and {card} is admitted", seen.card);
    draft.apply(&key, Event::Quarantined { reason: reason.clone(), by: revalidator() }, at)?;
    let lifted = lift_own(&mut draft, look, Conclusion::Quarantined, at);
    // The gates are not failing: they spoke of another card. The way out of quarantine is the same for all.
    draft.about(&key).newest = Some((Outcome::Fail, evidence.id.clone()));
    draft.touch(&key, at);
    let audit = audit_of_quarantine(&mut draft, &key, (from, &reason), (look, evidence), &lifted);
    let again = NewJob { id: ids.job.clone(), version: key, gate: Gate::Conformance };
    Ok(Seen {
        conclusion: Some(Conclusion::Quarantined),
        changes: Some(draft.finish(vec![again], audit)),
        revalidation: None,
        evidence: Some(Standing::Decided),
    })
}

fn audit_of_quarantine(
    draft: &mut Draft,
    key: &VersionRef,
    (from, reason): (crate::StateName, &str),
    (look, evidence): (&Look, &NewEvidence),
    lifted: &[HoldId],
) -> AuditDraft {
    let detail = json!({
        "conclusion": Conclusion::Quarantined,
        "from": from,
        "to": draft.about(key).state.name(),
        "observed": observed(look),
        "lifted": lifted,
        "evidence": evidence.id,
        "envelope": Digest::of(&evidence.envelope),
        "gate": Gate::Conformance,
        "also": draft.also(key),
    });
    entry(AuditAction::Revalidate, &revalidator(), key, Some(reason.to_owned()), detail)
}

/// Lifts the holds of the revalidation that still stand; both are the revalidator's own.
fn lift_own(draft: &mut Draft, look: &Look, conclusion: Conclusion, at: Moment) -> Vec<HoldId> {
    let key = look.claimed.version.clone();
    let own = [look.claimed.hold.as_ref(), look.claimed.for_all.as_ref()];
    let standing = own.into_iter().flatten().filter(|id| stands(draft.about(&key), Some(id))).cloned();
    let standing: Vec<HoldId> = standing.collect();
    for id in &standing {
        let reason = format!("the control plane looked itself: {}", conclusion.as_str());
        draft.lift_hold(&key, id, Lifted { by: revalidator(), reason, at: at.time }, at);
    }
    standing
}

fn observed(look: &Look) -> Option<Digest> {
    match &look.saw {
        Saw::Card(seen) => Some(seen.card),
        Saw::Nothing { .. } => None,
    }
}

fn evidence_of(look: &Look) -> Option<&NewEvidence> {
    match &look.saw {
        Saw::Card(seen) => seen.evidence.as_ref().map(|(evidence, _)| evidence),
        Saw::Nothing { .. } => None,
    }
}
