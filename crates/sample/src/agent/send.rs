//! Sending a message: checked in full, then made a task.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::{Agent, Events, given, history_length, internal, lying::Bound, stream};
use crate::{
    clock,
    lies::Lie,
    live::Live,
    rpc::{RpcError, Violation},
    task::{Shown, State, Task},
    token::Caller,
    work::{WorkRequest, is_json},
};

/// A message that may be worked on.
enum Accepted {
    /// A task of its own; its first update cannot have been sent yet.
    New(Arc<Mutex<Live>>, WorkRequest),
    /// Only a lie accepts a message for a task that is there already.
    Finished(Box<Task>),
}

// === impl Agent ===

impl Agent {
    /// `SendMessage`: waits for the end unless asked to return at once.
    pub(super) async fn send(self: &Arc<Self>, caller: &Caller, params: &Value) -> Result<Value, RpcError> {
        let shown = Shown { history: history_length(&params["configuration"])?, artifacts: true };
        let (live, work) = match self.accept(caller, params).await? {
            Accepted::New(live, work) => (live, work),
            Accepted::Finished(task) => return Ok(json!({"task": task.show(shown)})),
        };
        let (submitted, id, updates) = {
            let live = live.lock().await;
            (live.task.show(shown), live.task.id.clone(), live.watch().1)
        };
        self.work_on(live, work);
        if params["configuration"]["returnImmediately"] == json!(true) {
            return Ok(json!({"task": submitted}));
        }
        let mut bound = self.switches.tells(Lie::CancelWithCaller).then(|| Bound::to(self, &id));
        if let Some(updates) = updates {
            stream::wait_for_end(updates).await;
        }
        bound.iter_mut().for_each(Bound::ended);
        let task = self.store.task(&id, None).await.map_err(|e| internal(&e))?.ok_or(RpcError::Internal)?;
        Ok(json!({"task": task.show(shown)}))
    }

    /// `SendStreamingMessage`: the task first, then its updates.
    pub(super) async fn send_streaming(self: &Arc<Self>, caller: &Caller, params: &Value) -> Result<Events, RpcError> {
        let lies = self.switches.get();
        match self.accept(caller, params).await? {
            Accepted::Finished(task) => Ok(stream::relay(task.whole(), None, &lies)),
            Accepted::New(live, work) => {
                let (task, updates) = live.lock().await.watch();
                self.work_on(live, work);
                Ok(stream::relay(task, updates, &lies))
            }
        }
    }

    async fn accept(&self, caller: &Caller, params: &Value) -> Result<Accepted, RpcError> {
        let message = &params["message"];
        check_shape(message)?;
        if let Some(task_id) = given(message, "taskId") {
            return self.follow_up(caller, message, task_id).await;
        }
        let configuration = &params["configuration"];
        if !configuration["taskPushNotificationConfig"].is_null() && !self.switches.tells(Lie::ServeUndeclaredPush) {
            return Err(RpcError::PushNotSupported);
        }
        check_output_modes(configuration)?;
        let work = WorkRequest::from_parts(message["parts"].as_array().map_or(&[], Vec::as_slice))?;
        if !caller.is_of(&work.tenant_id) {
            return Err(RpcError::Forbidden);
        }
        let task = new_task(message, &work);
        self.store.put_task(&task).await.map_err(|e| internal(&e))?;
        Ok(Accepted::New(self.live.add(task), work))
    }

    /// A plan is made from one message: nothing can be added to its task, finished or not.
    async fn follow_up(&self, caller: &Caller, message: &Value, task_id: &str) -> Result<Accepted, RpcError> {
        let task = self.find(caller, task_id).await?;
        if given(message, "contextId").is_some_and(|context| context != task.context_id) {
            return Err(super::invalid("message.contextId", "is not the context of the task"));
        }
        match task.state.is_terminal() {
            true if self.switches.tells(Lie::AcceptTerminalMessage) => Ok(Accepted::Finished(Box::new(task))),
            true => Err(RpcError::Unsupported("the task is finished; send a new message in its context")),
            false => Err(RpcError::Unsupported("the task takes no further messages")),
        }
    }
}

fn check_shape(message: &Value) -> Result<(), RpcError> {
    let mut bad = Vec::new();
    if !message.is_object() {
        return Err(super::invalid("message", "is required"));
    }
    if given(message, "messageId").is_none() {
        bad.push(Violation::new("message.messageId", "is required"));
    }
    if message["role"] != "ROLE_USER" {
        bad.push(Violation::new("message.role", "must be ROLE_USER"));
    }
    match message["parts"].as_array().map(Vec::as_slice) {
        None | Some([]) => bad.push(Violation::new("message.parts", "must have at least one part")),
        Some(parts) => bad.extend(parts.iter().enumerate().filter(|(_, part)| !is_part(part)).map(|(n, _)| {
            Violation::new(format!("message.parts[{n}]"), "must have exactly one of text, raw, url, data")
        })),
    }
    if bad.is_empty() { Ok(()) } else { Err(RpcError::InvalidParams(bad)) }
}

fn is_part(part: &Value) -> bool {
    ["text", "raw", "url", "data"].iter().filter(|kind| part.get(kind).is_some()).count() == 1
}

fn check_output_modes(configuration: &Value) -> Result<(), RpcError> {
    match configuration["acceptedOutputModes"].as_array().map(Vec::as_slice) {
        None | Some([]) => Ok(()),
        Some(modes) => {
            let served = |mode: &str| is_json(mode) || mode == "*/*" || mode == "application/*";
            let any = modes.iter().filter_map(Value::as_str).any(served);
            if any { Ok(()) } else { Err(RpcError::ContentType) }
        }
    }
}

fn new_task(message: &Value, work: &WorkRequest) -> Task {
    let id = clock::new_id("task");
    let context_id = given(message, "contextId").map_or_else(|| clock::new_id("context"), str::to_owned);
    let mut kept = message.clone();
    kept["taskId"] = json!(id);
    kept["contextId"] = json!(context_id);
    Task {
        id,
        tenant: work.tenant_id.clone(),
        context_id,
        state: State::Submitted,
        note: None,
        at: clock::now(),
        artifacts: Vec::new(),
        history: vec![kept],
    }
}
