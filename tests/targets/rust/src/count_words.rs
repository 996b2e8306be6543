//! Counts the words of a text: what the agent does with a message.
//!
//! A message is a text, or a JSON object with the text in `text` and how it is to be treated:
//!
//! - `steps` and `pace_ms`: work in that many steps with that pause before each, and report each of them;
//! - `ask`: ask for the text, which the next message to the task has to bring;
//! - `fail`: fail; `refuse`: reject the task.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use a2a::{
    A2AError, Artifact, Message, Part, Role, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus,
    TaskStatusUpdateEvent, new_artifact_id,
};
use a2a_server::{AgentExecutor, ExecutorContext};
use futures::{StreamExt as _, stream::BoxStream};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

/// Answers each message with one JSON artifact: words and characters.
pub struct CountWords {
    /// Whether a stream begins with the task, which the SDK leaves to its user.
    begins_with_task: bool,
    /// What stops each task at work.
    stops: Arc<Mutex<HashMap<String, Arc<Notify>>>>,
}

/// One message being treated: the events go through a channel, so that the work reads as what it is.
struct Work {
    task: String,
    context: String,
    events: mpsc::Sender<Result<StreamResponse, A2AError>>,
}

// === impl CountWords ===

impl CountWords {
    pub fn new(begins_with_task: bool) -> Self {
        Self { begins_with_task, stops: Arc::default() }
    }
}

impl AgentExecutor for CountWords {
    fn execute(&self, context: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        let (events, receiver) = mpsc::channel(1);
        let work = Work { task: context.task_id.clone(), context: context.context_id.clone(), events };
        let (stops, stop) = (self.stops.clone(), Arc::new(Notify::new()));
        stops.lock().expect("nobody panics while holding it").insert(work.task.clone(), stop.clone());
        let begins_with_task = self.begins_with_task;
        let worked = async move {
            if begins_with_task {
                work.event(StreamResponse::Task(begun(&context))).await;
            }
            let wish = wish_of(context.message.as_ref());
            tokio::select! {
                () = work.treat(&wish) => {}
                () = stop.notified() => {}
            }
            stops.lock().expect("nobody panics while holding it").remove(&work.task);
        };
        // the work goes on inside of the stream: whoever drops that ends it
        let nothing = futures::stream::once(worked).filter_map(|()| async { None });
        futures::stream::select(received(receiver), nothing).boxed()
    }

    fn cancel(&self, context: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        if let Some(stop) = self.stops.lock().expect("nobody panics while holding it").get(&context.task_id) {
            stop.notify_one();
        }
        let event = status(&context.task_id, &context.context_id, TaskState::Canceled, None);
        futures::stream::iter([Ok(event)]).boxed()
    }
}

// === impl Work ===

impl Work {
    async fn treat(&self, wish: &Value) {
        let is = |key: &str| wish[key].as_bool().unwrap_or(false);
        if is("refuse") {
            return self.tell(TaskState::Rejected, Some("this text is not counted")).await;
        }
        self.tell(TaskState::Working, None).await;
        if is("ask") {
            return self.tell(TaskState::InputRequired, Some("which text?")).await;
        }
        if is("fail") {
            return self.tell(TaskState::Failed, Some("the text could not be counted")).await;
        }
        let steps = wish["steps"].as_u64().unwrap_or(0);
        for step in 1..=steps {
            tokio::time::sleep(Duration::from_millis(wish["pace_ms"].as_u64().unwrap_or(0))).await;
            self.tell(TaskState::Working, Some(&format!("step {step} of {steps}"))).await;
        }
        self.event(self.counts(wish["text"].as_str().unwrap_or_default())).await;
        self.tell(TaskState::Completed, None).await;
    }

    fn counts(&self, text: &str) -> StreamResponse {
        let counts = json!({"words": text.split_whitespace().count(), "characters": text.chars().count()});
        StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: self.task.clone(),
            context_id: self.context.clone(),
            artifact: Artifact {
                artifact_id: new_artifact_id(),
                name: Some("counts".to_owned()),
                description: None,
                parts: vec![Part::data(counts).with_media_type("application/json")],
                metadata: None,
                extensions: None,
            },
            append: None,
            last_chunk: Some(true),
            metadata: None,
        })
    }

    async fn tell(&self, state: TaskState, text: Option<&str>) {
        self.event(status(&self.task, &self.context, state, text)).await;
    }

    async fn event(&self, event: StreamResponse) {
        // fails only when the SDK has stopped listening, and then nobody wants it
        let _ = self.events.send(Ok(event)).await;
    }
}

fn received(
    receiver: mpsc::Receiver<Result<StreamResponse, A2AError>>,
) -> impl futures::Stream<Item = Result<StreamResponse, A2AError>> {
    futures::stream::unfold(
        receiver,
        |mut receiver| async move { receiver.recv().await.map(|event| (event, receiver)) },
    )
}

/// What a message asks for: the object that it is, or its text.
fn wish_of(message: Option<&Message>) -> Value {
    let text: String = message.into_iter().flat_map(|m| &m.parts).filter_map(Part::as_text).collect();
    let object = serde_json::from_str::<Value>(&text).ok().filter(Value::is_object);
    object.unwrap_or_else(|| json!({ "text": text }))
}

/// The task of a message; one that waited for it goes on.
fn begun(context: &ExecutorContext) -> Task {
    let waited = context.stored_task.as_ref().filter(|t| t.status.state == TaskState::InputRequired);
    let state = if waited.is_some() { TaskState::Working } else { TaskState::Submitted };
    let mut history = context.stored_task.as_ref().and_then(|t| t.history.clone()).unwrap_or_default();
    if let Some(message) = context.message.as_ref().filter(|m| history.iter().all(|h| h.message_id != m.message_id)) {
        history.push(message.clone());
    }
    Task {
        id: context.task_id.clone(),
        context_id: context.context_id.clone(),
        status: TaskStatus { state, message: None, timestamp: None },
        artifacts: context.stored_task.as_ref().and_then(|t| t.artifacts.clone()),
        history: Some(history),
        metadata: None,
    }
}

fn status(task: &str, context: &str, state: TaskState, text: Option<&str>) -> StreamResponse {
    let message = text.map(|text| Message {
        task_id: Some(task.to_owned()),
        context_id: Some(context.to_owned()),
        ..Message::new(Role::Agent, vec![Part::text(text)])
    });
    StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
        task_id: task.to_owned(),
        context_id: context.to_owned(),
        status: TaskStatus { state, message, timestamp: None },
        metadata: None,
    })
}
