//! Sends examples in the combinations that the contract's policy asks for (O-01): how the answer is waited for, how much
//! history is asked for, whether a conversation goes on, which media types are taken.

use ostiary_protocol::a2a::{Card, Operation, Reply, operation::SendMessage};
use ostiary_record::{
    Axes,
    ports::{BoxFuture, CouldNotRun},
};

use crate::{
    coverage::matrix,
    plan::PlanInput,
    scenario::{Clearance, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, led_to, message},
        example::{self, Example},
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.message.combined";
/// The mark of a conversation that could not go on, since the first answer named none.
pub(crate) const NO_CONTEXT: &str = "no_context";

/// What works by itself works in combination, too.
pub(super) struct Combined;

static SPEC: ScenarioSpec = ScenarioSpec {
    clearance: Clearance::Write,
    ..ScenarioSpec::new(
        ID,
        "Examples are sent in combinations of mode, history, conversation and media types, chosen by the contract's policy.",
    )
};

impl Scenario for Combined {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        matrix::variants(input)
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
    let mut client = Client::open(stage, Role::Primary).await?;
    let context = if axis(stage, matrix::CONTEXT) == "continued" {
        let request = message(stage, &example.parts);
        let reply = client.call(stage, Operation::SendMessage(request)).await?;
        let context = context_of(&reply);
        if context.is_none() {
            stage.mark(NO_CONTEXT, None);
            return Ok(());
        }
        context
    } else {
        None
    };
    let mut request = request(stage, &example);
    request.message.context_id = context;
    let operation = if axis(stage, matrix::MODE) == "stream" {
        Operation::SendStreamingMessage(request)
    } else {
        Operation::SendMessage(request)
    };
    let reply = client.call(stage, operation).await?;
    if let Led::Task(mut task) = led_to(&reply) {
        client.settle(stage, &mut task).await?;
    }
    Ok(())
}

fn request(stage: &mut Stage<'_>, example: &Example) -> SendMessage {
    let accepted_output_modes =
        if axis(stage, matrix::OUTPUT) == "declared" { declared(stage, example) } else { Vec::new() };
    SendMessage {
        accepted_output_modes,
        history_length: asked_history(axis(stage, matrix::HISTORY)),
        return_immediately: (axis(stage, matrix::MODE) == "immediate").then_some(true),
        ..message(stage, &example.parts)
    }
}

/// How many messages of history a value of the axis asks for.
pub(crate) fn asked_history(value: &str) -> Option<u32> {
    match value {
        "none" => Some(0),
        "one" => Some(1),
        _ => None,
    }
}

fn axis<'s>(stage: &'s Stage<'_>, name: &str) -> &'s str {
    stage.axes().values.get(name).map_or("", String::as_str)
}

/// The media types that the skill gives, by the contract, else by the card.
fn declared(stage: &Stage<'_>, example: &Example) -> Vec<String> {
    let skill = example.skill.as_ref().and_then(|id| stage.bundle().skill(id));
    if let Some(skill) = skill.filter(|s| !s.output_modes.is_empty()) {
        return skill.output_modes.iter().map(|m| m.value.clone()).collect();
    }
    let card = stage.card().map(|value| Card::new(value.clone()));
    card.map(|c| c.modes("defaultOutputModes").into_iter().map(str::to_owned).collect()).unwrap_or_default()
}

/// The conversation that an answer belongs to.
fn context_of(reply: &Reply) -> Option<String> {
    let (value, _) = reply.result()?;
    let context = value.pointer("/task/contextId").or_else(|| value.pointer("/message/contextId"))?;
    context.as_str().map(str::to_owned)
}
