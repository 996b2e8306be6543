//! A call of the agent that a case describes, and what it leads to.

use ostiary_contract::{
    Bundle, Case, CaseKind, LiveCase, Probe,
    file::case::{ExpectedResult, When},
};
use ostiary_protocol::a2a::{Binding, Operation, Reply, codec, error};
use ostiary_record::{
    Axes, Finding, ReasonCode,
    ports::{BoxFuture, CouldNotRun},
};
use serde_json::{Value, json};

use crate::{
    cases::{
        Runner, answer, effects,
        expect::{Yielded, compare},
        runner,
    },
    facts::{Facts, Tape},
    plan::PlanInput,
    scenario::{Clearance, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, led_to, message},
        example,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "case.call";

/// Drives every case that calls the agent.
pub(super) struct CallCase;

static SPEC: ScenarioSpec = ScenarioSpec {
    clearance: Clearance::Write,
    ..ScenarioSpec::new(ID, "A case of the contract calls the agent as it says.")
};

impl Scenario for CallCase {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        variants(input, Runner::Call)
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

/// One variant for each case of a kind and profile.
pub(super) fn variants(input: &PlanInput<'_>, kind: Runner) -> Vec<Axes> {
    let cases = input.bundle.cases.iter().filter(|c| runner(c) == kind && input.wants_case(&c.id));
    let with = |axes: &Axes, case: &Case| Axes { case: Some(case.id.as_str().into()), ..axes.clone() };
    let profiles = input.each_profile();
    cases.flat_map(|case| profiles.iter().map(|axes| with(axes, case)).collect::<Vec<_>>()).collect()
}

/// The live case that a variant names.
pub(super) fn case_of<'b>(bundle: &'b Bundle, axes: &Axes) -> Option<&'b LiveCase> {
    let id = axes.case.as_ref()?;
    let case = bundle.cases.iter().find(|c| c.id == id.0)?;
    if let CaseKind::Live(live) = &case.kind { Some(live) } else { None }
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let live = case_of(stage.bundle(), stage.axes()).cloned();
    let live = live.ok_or_else(|| CouldNotRun::Internal("the variant names no live case".to_owned()))?;
    let Probe::Call(when) = &live.probe else { return Ok(()) };
    if let Some(state) = &live.given.provider_state {
        stage.state(&state.name, &state.params).await?;
    }
    let mut client = match &when.subject {
        Some(subject) => Client::open_subject(stage, &subject.value.as_str().into()).await?,
        None => Client::open(stage, Role::Primary).await?,
    };
    let operation = when.operation.as_ref().map_or("a2a.send_message", |o| o.value.as_str());
    let request = message(stage, &parts(stage.bundle(), when));
    match operation {
        "a2a.send_message" => {
            let reply = client.call(stage, Operation::SendMessage(request)).await?;
            if let Led::Task(mut task) = led_to(&reply) {
                client.settle(stage, &mut task).await?;
            }
        }
        "a2a.send_streaming_message" => {
            client.call(stage, Operation::SendStreamingMessage(request)).await?;
        }
        "a2a.get_task" | "a2a.cancel_task" => {
            let reply = client.call(stage, Operation::SendMessage(request)).await?;
            if let Led::Task(task) = led_to(&reply) {
                let cancel = operation == "a2a.cancel_task";
                if cancel { client.cancel(stage, &task.id).await } else { client.get(stage, &task.id).await }?;
            }
        }
        other => stage.mark(UNKNOWN_OPERATION, Some(other)),
    }
    Ok(())
}

/// The mark of an operation that no case can call.
const UNKNOWN_OPERATION: &str = "unknown_operation";

/// The parts of the message: the fixture that the case names, the arguments, or the contract's first example.
fn parts(bundle: &Bundle, when: &When) -> Vec<Value> {
    let skill = when.skill.as_ref().and_then(|s| bundle.skill(&s.value));
    let modes: Vec<&str> = skill.iter().flat_map(|s| &s.input_modes).map(|m| m.value.as_str()).collect();
    let fixture = when.input_fixture.as_ref().and_then(|f| bundle.fixture(&f.value)).map(|(_, value)| value);
    match fixture.or(when.arguments.as_ref()) {
        Some(value) if modes.is_empty() => example::parts(value, &["application/json"]),
        Some(value) => example::parts(value, &modes),
        None => {
            example::examples(bundle, None).first().map_or_else(|| vec![json!({"text": "hello"})], |e| e.parts.clone())
        }
    }
}

pub(super) fn execute(facts: &Facts<'_>, case: &Case) -> Vec<Finding> {
    let CaseKind::Live(live) = &case.kind else { return Vec::new() };
    if let Some(finding) = live.then.as_ref().and_then(|then| effects::unseen(facts, &live.given, then)) {
        return vec![finding];
    }
    let Some(expect) = &live.expect else {
        let remedy = "what an answer must be stands in `expect`, and the case has none";
        return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "expect", remedy)];
    };
    let finding = |tape: Tape<'_>| {
        if let Some((operation, _)) = tape.recording.mark(UNKNOWN_OPERATION) {
            let what = format!("operation:{}", operation.unwrap_or_default());
            return facts.inconclusive(ReasonCode::ScenarioNotRun, what, "cases cannot call this operation");
        }
        let replies = replies(facts, tape);
        let cited = tape.exchanges().iter().flat_map(|x| tape.cite_exchange(x)).collect();
        compare(facts, expect, &yielded(facts, expect, &replies), cited)
    };
    match facts.tapes().iter().find(|t| t.recording.axes.case.as_ref().is_some_and(|id| id.0 == case.id)) {
        Some(tape) => vec![finding(*tape)],
        None => vec![facts.inconclusive(ReasonCode::ScenarioNotRun, format!("case:{}", case.id), "it was not driven")],
    }
}

/// The answers on a tape, in order.
pub(super) fn replies(facts: &Facts<'_>, tape: Tape<'_>) -> Vec<Reply> {
    let interface = facts.profile().and_then(|p| facts.discovered().interface(p));
    let binding = interface.map_or(Binding::JsonRpc, |i| Binding::parse(&i.binding));
    tape.exchanges().iter().filter_map(|x| codec::read(&binding, x).ok()).collect()
}

fn yielded(facts: &Facts<'_>, expect: &ostiary_contract::Expect, replies: &[Reply]) -> Yielded {
    let refused = replies.iter().find_map(Reply::error);
    let values: Vec<Value> = replies.iter().flat_map(results).collect();
    let results: Vec<&Value> = values.iter().collect();
    let access = matches!(expect.result, Some(ExpectedResult::Allow | ExpectedResult::Deny));
    let state = answer::last_state(&results);
    let worked = refused.is_none()
        && !results.is_empty()
        && !matches!(state.as_str(), "TASK_STATE_FAILED" | "TASK_STATE_REJECTED");
    let result = match (access, refused.is_some(), worked) {
        (true, true, _) => ExpectedResult::Deny,
        (true, false, _) => ExpectedResult::Allow,
        (false, _, true) => ExpectedResult::Pass,
        (false, _, false) => ExpectedResult::Fail,
    };
    let name = |e: &ostiary_protocol::a2a::A2aError| {
        e.kind().map_or_else(|| "unknown".to_owned(), |kind| error::row(kind).name.to_owned())
    };
    let object = refused.and_then(|(e, _)| e.object.as_ref());
    let artifact = expect.artifact_schema.as_ref().map(|s| answer::artifact(facts, &results, &s.value));
    Yielded {
        result: Some(result),
        state: Some(state),
        error: Some(refused.map(|(e, _)| name(e)).unwrap_or_default()),
        leaked_fields: Some(object.map(|o| answer::leaked_fields(facts, o)).unwrap_or_default()),
        undecided: artifact.as_ref().and_then(|s| s.as_ref().err().cloned()),
        artifact: artifact.and_then(Result::ok),
        ..Yielded::default()
    }
}

/// The results of an answer; a task that was read stands for itself.
fn results(reply: &Reply) -> Vec<Value> {
    let as_item = |value: &Value| match value.get("status") {
        Some(_) if value.get("id").is_some() => json!({"task": value}),
        _ => value.clone(),
    };
    let of = |item: &ostiary_protocol::a2a::reply::Item| match &item.answer {
        ostiary_protocol::a2a::Answer::Result(value) => Some(as_item(value)),
        _ => None,
    };
    reply.items.iter().filter_map(of).collect()
}
