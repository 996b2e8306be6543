//! A conversation of the agent's own making, by which the task of a message is found whose answer has not come.

use std::time::Duration;

use ostiary_protocol::a2a::{
    Operation, TaskView,
    operation::{ListTasks, SendMessage},
};
use ostiary_record::ports::CouldNotRun;
use serde_json::Value;

use crate::{
    scenarios::{
        client::{Client, Led, TaskRef, led_to, message},
        example,
    },
    stage::Stage,
};

/// The mark of a list that shows the conversation's first task: lists can be relied on.
pub(crate) const LISTED: &str = "first_task_listed";
/// Between two looks at the list.
const LOOK: Duration = Duration::from_millis(150);

/// A conversation with one task in it.
pub(crate) struct Conversation {
    context: String,
    first: String,
}

// === impl Conversation ===

impl Conversation {
    /// Begins one with an ordinary message; `None` where no task with a context came of it.
    pub(crate) async fn begin(stage: &mut Stage<'_>, client: &mut Client) -> Result<Option<Self>, CouldNotRun> {
        let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
        let request = message(stage, &example.parts);
        let reply = client.call(stage, Operation::SendMessage(request)).await?;
        Ok(match led_to(&reply) {
            Led::Task(TaskRef { id, context: Some(context), .. }) => Some(Self { context, first: id }),
            Led::Task(_) | Led::Message | Led::Nowhere(_) => None,
        })
    }

    /// A further message of it that works for long, where the contract has such an example.
    pub(crate) fn lasting(&self, stage: &mut Stage<'_>) -> SendMessage {
        let example = example::lasting(stage.bundle(), stage.card());
        let mut request = message(stage, &example.parts);
        request.message.context_id = Some(self.context.clone());
        request
    }

    /// Looks at the list of the conversation until it shows another task than the first; `None` when it does not.
    pub(crate) async fn newcomer(
        &self,
        stage: &mut Stage<'_>,
        client: &mut Client,
        looks: u32,
    ) -> Result<Option<TaskRef>, CouldNotRun> {
        for look in 0..looks {
            if look > 0 {
                stage.wait(LOOK).await;
            }
            let list = ListTasks { context_id: Some(self.context.clone()), ..ListTasks::default() };
            let reply = client.call(stage, Operation::ListTasks(list)).await?;
            let Some((listed, _)) = reply.result() else { return Ok(None) };
            let tasks = listed.get("tasks").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let tasks: Vec<TaskView<'_>> = tasks.iter().filter_map(TaskView::of).collect();
            if !tasks.iter().any(|t| t.id() == self.first) {
                // a list that does not hold what is known to be there says nothing of what may be
                return Ok(None);
            }
            if look == 0 {
                stage.mark(LISTED, Some(&self.first));
            }
            if let Some(task) = tasks.iter().find(|t| t.id() != self.first && self.holds(t)) {
                let (id, state) = (task.id().to_owned(), task.state());
                return Ok(Some(TaskRef { id, context: Some(self.context.clone()), state }));
            }
        }
        Ok(None)
    }

    /// An agent that does not filter its list shows tasks of other conversations as well.
    fn holds(&self, task: &TaskView<'_>) -> bool {
        task.context_id() == Some(self.context.as_str())
    }
}
