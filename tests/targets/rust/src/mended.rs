//! What the SDK's handler leaves out, and whoever builds an agent on it has to add, for all bindings at once:
//!
//! - the protocol version, which it looks at over JSON-RPC alone;
//! - messages without content, which it takes;
//! - subscribing to a task that waits for input, which it does not find;
//! - callbacks of tasks that do not exist, which it keeps.

use a2a::{
    A2AError, AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse, ListTasksRequest, ListTasksResponse, SendMessageRequest,
    SendMessageResponse, StreamResponse, SubscribeToTaskRequest, Task, TaskPushNotificationConfig, error_code,
};
use a2a_server::{DefaultRequestHandler, RequestHandler, ServiceParams};
use async_trait::async_trait;
use futures::stream::{BoxStream, StreamExt as _};

type Streamed = Result<BoxStream<'static, Result<StreamResponse, A2AError>>, A2AError>;

/// The SDK's handler with what it leaves out.
pub struct Mended(pub DefaultRequestHandler);

// === impl Mended ===

impl Mended {
    async fn task(&self, params: &ServiceParams, id: &str) -> Result<Task, A2AError> {
        let request = GetTaskRequest { id: id.to_owned(), history_length: None, tenant: None };
        self.0.get_task(params, request).await
    }

    /// Callbacks are an operation of a task: where push is declared, the task comes first.
    async fn callback_of(&self, params: &ServiceParams, id: &str) -> Result<(), A2AError> {
        spoken(params)?;
        let request = ListTaskPushNotificationConfigsRequest {
            task_id: id.to_owned(),
            page_size: None,
            page_token: None,
            tenant: None,
        };
        self.0.list_push_configs(params, request).await?;
        self.task(params, id).await.map(|_| ())
    }
}

#[async_trait]
impl RequestHandler for Mended {
    async fn send_message(
        &self,
        params: &ServiceParams,
        request: SendMessageRequest,
    ) -> Result<SendMessageResponse, A2AError> {
        spoken(params)?;
        said(&request)?;
        self.0.send_message(params, request).await
    }

    async fn send_streaming_message(&self, params: &ServiceParams, request: SendMessageRequest) -> Streamed {
        spoken(params)?;
        said(&request)?;
        self.0.send_streaming_message(params, request).await
    }

    async fn get_task(&self, params: &ServiceParams, request: GetTaskRequest) -> Result<Task, A2AError> {
        spoken(params)?;
        self.0.get_task(params, request).await
    }

    async fn list_tasks(
        &self,
        params: &ServiceParams,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, A2AError> {
        spoken(params)?;
        if request.page_size.is_some_and(|size| !(1..=100).contains(&size)) {
            return Err(A2AError::invalid_params("a page has one to a hundred tasks"));
        }
        self.0.list_tasks(params, request).await
    }

    async fn cancel_task(&self, params: &ServiceParams, request: CancelTaskRequest) -> Result<Task, A2AError> {
        spoken(params)?;
        self.0.cancel_task(params, request).await
    }

    async fn subscribe_to_task(&self, params: &ServiceParams, request: SubscribeToTaskRequest) -> Streamed {
        spoken(params)?;
        let id = request.id.clone();
        match self.0.subscribe_to_task(params, request).await {
            // Nothing is executed for a task that waits; it is there all the same.
            Err(error) if error.code == error_code::TASK_NOT_FOUND => {
                let task = self.task(params, &id).await?;
                Ok(futures::stream::iter([Ok(StreamResponse::Task(task))]).boxed())
            }
            other => other,
        }
    }

    async fn create_push_config(
        &self,
        params: &ServiceParams,
        request: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, A2AError> {
        self.callback_of(params, &request.task_id).await?;
        self.0.create_push_config(params, request).await
    }

    async fn get_push_config(
        &self,
        params: &ServiceParams,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, A2AError> {
        self.callback_of(params, &request.task_id).await?;
        self.0.get_push_config(params, request).await
    }

    async fn list_push_configs(
        &self,
        params: &ServiceParams,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, A2AError> {
        self.callback_of(params, &request.task_id).await?;
        self.0.list_push_configs(params, request).await
    }

    async fn delete_push_config(
        &self,
        params: &ServiceParams,
        request: DeleteTaskPushNotificationConfigRequest,
    ) -> Result<(), A2AError> {
        self.callback_of(params, &request.task_id).await?;
        self.0.delete_push_config(params, request).await
    }

    async fn get_extended_agent_card(
        &self,
        params: &ServiceParams,
        request: GetExtendedAgentCardRequest,
    ) -> Result<AgentCard, A2AError> {
        spoken(params)?;
        self.0.get_extended_agent_card(params, request).await
    }
}

/// Refuses every version but the one that the card declares; without one a request means 0.3.
fn spoken(params: &ServiceParams) -> Result<(), A2AError> {
    let version = params.get("a2a-version").and_then(|values| values.first()).map_or("0.3", |v| v.trim());
    if version == "1.0" { Ok(()) } else { Err(A2AError::version_not_supported(version)) }
}

/// Refuses a message that says nothing.
fn said(request: &SendMessageRequest) -> Result<(), A2AError> {
    if request.message.message_id.is_empty() || request.message.parts.is_empty() {
        return Err(A2AError::invalid_params("a message has an id and at least one part"));
    }
    Ok(())
}
