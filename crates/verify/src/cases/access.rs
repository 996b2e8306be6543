//! A subject of one tenant reaches for a task of a tenant, as a case describes.

use ostiary_contract::{Case, CaseKind, Probe, file::case::ExpectedResult};
use ostiary_protocol::a2a::{A2aError, Operation, Reply};
use ostiary_record::{
    ActorId, Axes, CredentialKind, Finding, Gate, ReasonCode, SubjectFacts,
    ports::{BoxFuture, CouldNotRun},
};
use serde_json::Value;

use crate::{
    cases::{
        Runner, answer,
        call::{case_of, replies, variants},
        expect::{Yielded, compare},
    },
    facts::{Facts, Tape},
    plan::PlanInput,
    scenario::{Clearance, Control, Needs, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, led_to, message},
        example, tenant,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "case.access";
/// The reason that a caller sees when a task that it may not see looks like one that does not exist.
const NOT_ACCESSIBLE: &str = "TASK_NOT_ACCESSIBLE";
/// The axes that name who plays whom.
const SUBJECT: &str = "subject";
const OWNER: &str = "owner";

/// Drives every case of access.
pub(super) struct AccessCase;

static SPEC: ScenarioSpec = ScenarioSpec {
    gate: Gate::Security,
    control: Control::Within,
    clearance: Clearance::Write,
    needs: Needs { roles: &[], ..Needs::USUAL },
    ..ScenarioSpec::new(ID, "A case of the contract reaches for a task as a subject of a tenant.")
};

impl Scenario for AccessCase {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        let mut all = variants(input, Runner::Access);
        for axes in &mut all {
            cast(input, axes);
        }
        all
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

/// Names the subject and the owner of a variant, as far as the environment has them.
fn cast(input: &PlanInput<'_>, axes: &mut Axes) {
    let Some(live) = case_of(input.bundle, axes) else { return };
    let Probe::Access { subject_tenant, target_task_tenant, .. } = &live.probe else { return };
    let of = |tenant: &String| {
        let valid = |s: &SubjectFacts| s.credential == CredentialKind::Valid && s.tenant.as_ref() == Some(tenant);
        input.environment.subjects.iter().find(|(_, s)| valid(s)).map(|(name, _)| name.clone())
    };
    let parts = [(SUBJECT, of(subject_tenant)), (OWNER, of(target_task_tenant))];
    axes.values.extend(parts.into_iter().filter_map(|(axis, name)| Some((axis.to_owned(), name?))));
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let live = case_of(stage.bundle(), stage.axes()).cloned();
    let live = live.ok_or_else(|| CouldNotRun::Internal("the variant names no live case".to_owned()))?;
    let Probe::Access { operation, .. } = &live.probe else { return Ok(()) };
    let cast = stage.axes().values.clone();
    let name = |axis: &str| cast.get(axis).map(|n| ActorId(n.clone()));
    let (Some(subject), Some(owner)) = (name(SUBJECT), name(OWNER)) else {
        return Err(stage.no_subject("the environment has no valid subject of one of the case's tenants"));
    };
    let mut owner = Client::open_subject(stage, &owner).await?;
    let mut subject = Client::open_subject(stage, &subject).await?;
    let example = example::of_variant(&Axes::default(), stage.bundle(), stage.card());
    let request = message(stage, &example.parts);
    let reply = owner.call(stage, Operation::SendMessage(request)).await?;
    let Led::Task(task) = led_to(&reply) else {
        stage.control_failed("the owner's message made no task");
        return Ok(());
    };
    if owner.get(stage, &task.id).await?.result().is_none() {
        stage.control_failed("the owner cannot read its own task");
        return Ok(());
    }
    stage.control_ok();
    let nothing = tenant::unlike(&task.id, &task.id);
    for id in [&task.id, &nothing] {
        match operation.as_str() {
            "a2a.cancel_task" => subject.cancel(stage, id).await.map(drop)?,
            _ => subject.get(stage, id).await.map(drop)?,
        }
    }
    Ok(())
}

pub(super) fn execute(facts: &Facts<'_>, case: &Case) -> Vec<Finding> {
    let CaseKind::Live(live) = &case.kind else { return Vec::new() };
    let Probe::Access { operation, .. } = &live.probe else { return Vec::new() };
    if !matches!(operation.as_str(), "a2a.get_task" | "a2a.cancel_task") {
        let remedy = "cases of access can only use a2a.get_task and a2a.cancel_task";
        return vec![facts.inconclusive(ReasonCode::ScenarioNotRun, format!("operation:{operation}"), remedy)];
    }
    let Some(expect) = &live.expect else {
        let remedy = "what an access must lead to stands in `expect`, and the case has none";
        return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "expect", remedy)];
    };
    let mine = |t: &&Tape<'_>| t.recording.axes.case.as_ref().is_some_and(|id| id.0 == case.id);
    let Some(tape) = facts.tapes().iter().find(mine).copied() else {
        return vec![facts.inconclusive(ReasonCode::ScenarioNotRun, format!("case:{}", case.id), "it was not driven")];
    };
    let exchanges = tape.exchanges();
    let replies = replies(facts, tape);
    let [.., asked, unknown] = &replies[..] else {
        return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "answers", "the probe has no answer")];
    };
    if let Some(silent) = exchanges.iter().rev().take(2).find_map(|x| facts.unanswered(x)) {
        return vec![silent];
    }
    let cited = exchanges.iter().rev().take(2).rev().flat_map(|x| tape.cite_exchange(x)).collect();
    vec![compare(facts, expect, &yielded(facts, asked, unknown), cited)]
}

fn yielded(facts: &Facts<'_>, asked: &Reply, unknown: &Reply) -> Yielded {
    let refused = asked.error().map(|(e, _)| e);
    let twin = unknown.error().map(|(e, _)| e);
    let visible = match (refused, twin) {
        (Some(refused), Some(twin)) if alike(refused, twin) => NOT_ACCESSIBLE.to_owned(),
        (Some(refused), _) => refused.label(),
        (None, _) => String::new(),
    };
    let object = refused.and_then(|e| e.object.as_ref());
    Yielded {
        result: Some(if refused.is_some() { ExpectedResult::Deny } else { ExpectedResult::Allow }),
        visible_reason: Some(visible),
        leaked_fields: Some(object.map(|o| answer::leaked_fields(facts, o)).unwrap_or_default()),
        ..Yielded::default()
    }
}

/// Whether two refusals tell a caller the same: all but the texts, which may name the id asked for.
fn alike(one: &A2aError, other: &A2aError) -> bool {
    let shape = |e: &A2aError| {
        let told = (e.http_status, e.status.clone(), e.code, e.reason().map(str::to_owned));
        (told, e.object.as_ref().map(members))
    };
    shape(one) == shape(other)
}

/// The names of all members, at every depth.
fn members(value: &Value) -> Vec<String> {
    match value {
        Value::Object(map) => map.iter().flat_map(|(k, v)| std::iter::once(k.clone()).chain(members(v))).collect(),
        Value::Array(list) => list.iter().flat_map(members).collect(),
        _ => Vec::new(),
    }
}
