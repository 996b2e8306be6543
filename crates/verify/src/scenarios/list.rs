//! Makes two tasks of one context, and lists them: page by page, with what they made, and with too large a page.

use ostiary_protocol::a2a::{Operation, Reply, operation::ListTasks};
use ostiary_record::ports::{BoxFuture, CouldNotRun};
use serde_json::Value;

use crate::{
    scenario::{Clearance, Control, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, TaskRef, led_to, message},
        example, send,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.task.list";
/// The mark of a context with tasks in it, before it is listed.
pub(crate) const CONTEXT: &str = "listed_context";
/// The mark before a page is asked for that is larger than any may be.
pub(crate) const TOO_LARGE: &str = "page_too_large";

/// The largest page is 100 (§3.1.4).
const TOO_MANY: u32 = 101;

/// What a caller's own tasks are.
pub(super) struct List;

static SPEC: ScenarioSpec = ScenarioSpec {
    control: Control::By(send::ID),
    clearance: Clearance::Write,
    ..ScenarioSpec::new(
        ID,
        "Two tasks of one context are listed: page by page, with artifacts, and with too large a page.",
    )
};

impl Scenario for List {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let mut client = Client::open(stage, Role::Primary).await?;
    let Some(first) = made(stage, &mut client, None).await? else { return Ok(()) };
    let Some(context) = first.context else { return Ok(()) };
    if made(stage, &mut client, Some(&context)).await?.is_none() {
        return Ok(());
    }
    stage.mark(CONTEXT, Some(&context));
    let of = |list: ListTasks| Operation::ListTasks(ListTasks { context_id: Some(context.clone()), ..list });
    let one = ListTasks { page_size: Some(1), ..ListTasks::default() };
    let reply = client.call(stage, of(one.clone())).await?;
    if let Some(token) = next_page(&reply) {
        client.call(stage, of(ListTasks { page_token: Some(token), ..one })).await?;
    }
    let whole = ListTasks { include_artifacts: Some(true), ..ListTasks::default() };
    client.call(stage, of(whole)).await?;
    stage.mark(TOO_LARGE, None);
    let too_many = ListTasks { page_size: Some(TOO_MANY), ..ListTasks::default() };
    client.call(stage, of(too_many)).await.map(drop)
}

/// A task, in a new context or in this one, that stands still.
async fn made(
    stage: &mut Stage<'_>,
    client: &mut Client,
    context: Option<&str>,
) -> Result<Option<TaskRef>, CouldNotRun> {
    let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
    let mut request = message(stage, &example.parts);
    request.message.context_id = context.map(str::to_owned);
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    let Led::Task(mut task) = led_to(&reply) else { return Ok(None) };
    if !task.is_terminal() {
        client.settle(stage, &mut task).await?;
    }
    Ok(Some(task))
}

fn next_page(reply: &Reply) -> Option<String> {
    let (value, _) = reply.result()?;
    value.get("nextPageToken").and_then(Value::as_str).filter(|token| !token.is_empty()).map(str::to_owned)
}
