//! The operations of A2A as this agent offers them.

use std::{pin::Pin, sync::Arc, time::Duration};

use futures::Stream;
use serde_json::{Value, json};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    card::Card,
    clock,
    lies::{Lie, Switches},
    live::LiveTasks,
    rpc::{Request, RpcError, Violation},
    store::{Filter, Store, StoreError},
    task::{Shown, State, Task},
    token::{Caller, Trust},
};

mod lying;
mod run;
mod send;
mod stream;

/// Largest page of a listing, and the page when none is asked for (A2A 1.0, `ListTasks`).
const MAX_PAGE: u64 = 100;
const DEFAULT_PAGE: u64 = 50;

pub(crate) use lying::Taken;

/// Events of a stream, each a whole `StreamResponse`.
pub(crate) type Events = Pin<Box<dyn Stream<Item = Value> + Send>>;

/// What an operation answers.
pub(crate) enum Reply {
    Result(Value),
    Stream(Events),
}

/// The agent, as its operations share it.
pub(crate) struct Agent {
    pub(crate) card: Card,
    pub(crate) trust: Trust,
    pub(crate) switches: Switches,
    pub(crate) store: Store,
    pub(crate) live: LiveTasks,
    pub(crate) pace: Duration,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
    /// What was shown by callers that were let in; kept only by a lie.
    pub(crate) taken: Taken,
}

// === impl Agent ===

impl Agent {
    /// Answers one call.
    pub(crate) async fn call(self: &Arc<Self>, caller: &Caller, request: &Request) -> Result<Reply, RpcError> {
        let params = &request.params;
        match request.method.as_str() {
            "SendMessage" => writing(caller).map(|()| self.send(caller, params))?.await.map(Reply::Result),
            "SendStreamingMessage" => {
                self.streaming_declared()?;
                writing(caller)?;
                self.send_streaming(caller, params).await.map(Reply::Stream)
            }
            "GetTask" => reading(caller).map(|()| self.get(caller, params))?.await.map(Reply::Result),
            "ListTasks" => reading(caller).map(|()| self.list(caller, params))?.await.map(Reply::Result),
            "CancelTask" => writing(caller).map(|()| self.cancel(caller, params))?.await.map(Reply::Result),
            "SubscribeToTask" => {
                self.streaming_declared()?;
                reading(caller)?;
                self.subscribe(caller, params).await.map(Reply::Stream)
            }
            "GetExtendedAgentCard" => Err(RpcError::Unsupported("there is no extended card")),
            method if method.ends_with("TaskPushNotificationConfig") || method == PUSH_LIST => {
                self.push(method, params)
            }
            _ => Err(RpcError::MethodNotFound),
        }
    }

    /// Tasks that a former process left unfinished will never finish now, and say so.
    pub(crate) async fn give_up_unfinished(&self) -> Result<(), StoreError> {
        for state in [State::Submitted, State::Working] {
            let filter = Filter {
                tenant: None,
                context_id: None,
                state: Some(state.name()),
                since: None,
                after: None,
                limit: i64::MAX,
            };
            for mut task in self.store.tasks(&filter).await?.0 {
                task.state = State::Failed;
                task.note = Some("The agent was restarted before the plan was made.".to_owned());
                task.at = clock::now();
                self.store.put_task(&task).await?;
            }
        }
        Ok(())
    }

    async fn get(&self, caller: &Caller, params: &Value) -> Result<Value, RpcError> {
        let task = self.find(caller, &task_id(params)?).await?;
        Ok(task.show(Shown { history: history_length(params)?, artifacts: true }))
    }

    async fn list(&self, caller: &Caller, params: &Value) -> Result<Value, RpcError> {
        let page_size = count(params, "pageSize")?.unwrap_or(DEFAULT_PAGE);
        if !(1..=MAX_PAGE).contains(&page_size) {
            return Err(invalid("pageSize", "must be 1 to 100"));
        }
        let after = params["pageToken"].as_str().filter(|token| !token.is_empty());
        let after = after.map(|token| token.split_once('/').ok_or_else(|| invalid("pageToken", "is none of ours")));
        let filter = Filter {
            tenant: self.visible_tenant(caller),
            context_id: given(params, "contextId"),
            state: given(params, "status"),
            since: given(params, "statusTimestampAfter"),
            after: after.transpose()?,
            // one more than asked for tells whether there is another page
            limit: i64::try_from(page_size).unwrap_or(i64::MAX).saturating_add(1),
        };
        let shown =
            Shown { history: history_length(params)?, artifacts: params["includeArtifacts"].as_bool() == Some(true) };
        let (mut tasks, total) = self.store.tasks(&filter).await.map_err(|e| internal(&e))?;
        let more = tasks.len() as u64 > page_size;
        tasks.truncate(usize::try_from(page_size).unwrap_or(usize::MAX));
        let next = tasks.last().filter(|_| more).map(|t| format!("{}/{}", clock::stamp(t.at), t.id));
        let tasks: Vec<Value> = tasks.iter().map(|task| task.show(shown)).collect();
        Ok(json!({"tasks": tasks, "nextPageToken": next.unwrap_or_default(), "pageSize": page_size,
            "totalSize": total}))
    }

    async fn cancel(&self, caller: &Caller, params: &Value) -> Result<Value, RpcError> {
        let task = self.find(caller, &task_id(params)?).await?;
        if self.switches.tells(Lie::HideResult) && task.state == State::Completed {
            return self.hide_result(task).await;
        }
        let live = self.live.get(&task.id).ok_or(RpcError::TaskNotCancelable)?;
        let mut live = live.lock().await;
        if live.task.state.is_terminal() {
            return Err(RpcError::TaskNotCancelable);
        }
        if self.switches.tells(Lie::IgnoreCancel) {
            return Ok(live.task.whole());
        }
        self.enter(&mut live, State::Canceled, None).await.map_err(|e| internal(&e))?;
        live.close();
        self.live.remove(&live.task.id);
        Ok(live.task.whole())
    }

    async fn subscribe(&self, caller: &Caller, params: &Value) -> Result<Events, RpcError> {
        let task = self.find(caller, &task_id(params)?).await?;
        let over = RpcError::Unsupported("the task is finished");
        let live = self.live.get(&task.id).ok_or(over.clone())?;
        let live = live.lock().await;
        if live.task.state.is_terminal() {
            return Err(over);
        }
        let (now, updates) = live.watch();
        Ok(stream::relay(now, updates, &self.switches.get()))
    }

    /// Refuses what the card does not declare (the card of the documentation declares no push notifications).
    fn push(&self, method: &str, params: &Value) -> Result<Reply, RpcError> {
        if self.switches.tells(Lie::ServeUndeclaredPush) {
            let answer =
                if method == PUSH_LIST { json!({"configs": [params], "nextPageToken": ""}) } else { params.clone() };
            return Ok(Reply::Result(answer));
        }
        Err(RpcError::PushNotSupported)
    }

    fn streaming_declared(&self) -> Result<(), RpcError> {
        if self.card.declares("streaming") || self.switches.tells(Lie::ServeUndeclaredStreaming) {
            return Ok(());
        }
        Err(RpcError::Unsupported("streaming is not declared"))
    }

    /// The caller's task; one of another tenant is none.
    async fn find(&self, caller: &Caller, id: &str) -> Result<Task, RpcError> {
        let found = self.store.task(id, self.visible_tenant(caller)).await.map_err(|e| internal(&e))?;
        found.filter(|task| !self.forgets(task)).ok_or(RpcError::TaskNotFound)
    }

    fn visible_tenant<'c>(&self, caller: &'c Caller) -> Option<&'c str> {
        if self.switches.tells(Lie::ServeForeignTasks) { None } else { caller.tenant.as_deref() }
    }
}

const PUSH_LIST: &str = "ListTaskPushNotificationConfigs";

fn writing(caller: &Caller) -> Result<(), RpcError> {
    if caller.may_write() { Ok(()) } else { Err(RpcError::Forbidden) }
}

fn reading(caller: &Caller) -> Result<(), RpcError> {
    if caller.may_read() { Ok(()) } else { Err(RpcError::Forbidden) }
}

fn task_id(params: &Value) -> Result<String, RpcError> {
    given(params, "id").map(str::to_owned).ok_or_else(|| invalid("id", "is required"))
}

fn history_length(of: &Value) -> Result<Option<usize>, RpcError> {
    Ok(count(of, "historyLength")?.map(|n| usize::try_from(n).unwrap_or(usize::MAX)))
}

fn count(of: &Value, name: &str) -> Result<Option<u64>, RpcError> {
    match &of[name] {
        Value::Null => Ok(None),
        value => value.as_u64().map(Some).ok_or_else(|| invalid(name, "must be a number that is not negative")),
    }
}

fn given<'v>(of: &'v Value, name: &str) -> Option<&'v str> {
    of[name].as_str().filter(|text| !text.is_empty())
}

fn invalid(field: &str, description: &str) -> RpcError {
    RpcError::InvalidParams(vec![Violation::new(field, description)])
}

fn internal(error: &StoreError) -> RpcError {
    tracing::error!(error = error as &dyn std::error::Error, "the plan store failed");
    RpcError::Internal
}
