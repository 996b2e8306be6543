//! Lists of tasks as A2A 1.0 §3.1.4 orders them: the task whose status changed last comes first, artifacts only where they
//! are asked for. The SDK's store orders by id, leaves artifacts in, and takes "after" for later than.

use a2a::{A2AError, ListTasksRequest, ListTasksResponse, Task};
use a2a_server::{
    InMemoryTaskStore, TaskStore,
    pagination::{MAX_PAGE_SIZE, resolve_page_size},
    task_store::TaskVersion,
};
use async_trait::async_trait;

/// The SDK's store with its lists in order.
pub struct Ordered(pub InMemoryTaskStore);

// === impl Ordered ===

impl Ordered {
    async fn all(&self, request: &ListTasksRequest) -> Result<Vec<Task>, A2AError> {
        let (mut tasks, mut token) = (Vec::new(), None);
        loop {
            let page = ListTasksRequest {
                page_size: i32::try_from(MAX_PAGE_SIZE).ok(),
                page_token: token,
                status_timestamp_after: None,
                history_length: None,
                ..request.clone()
            };
            let page = self.0.list(&page).await?;
            tasks.extend(page.tasks);
            if page.next_page_token.is_empty() {
                return Ok(tasks);
            }
            token = Some(page.next_page_token);
        }
    }
}

#[async_trait]
impl TaskStore for Ordered {
    async fn create(&self, task: Task) -> Result<TaskVersion, A2AError> {
        self.0.create(task).await
    }

    async fn update(&self, task: Task) -> Result<TaskVersion, A2AError> {
        self.0.update(task).await
    }

    async fn get(&self, id: &str) -> Result<Option<Task>, A2AError> {
        self.0.get(id).await
    }

    async fn list(&self, request: &ListTasksRequest) -> Result<ListTasksResponse, A2AError> {
        let mut tasks = self.all(request).await?;
        tasks.retain(|task| request.status_timestamp_after.is_none_or(|after| task.status.timestamp >= Some(after)));
        tasks.sort_by(|a, b| b.status.timestamp.cmp(&a.status.timestamp).then_with(|| b.id.cmp(&a.id)));
        let (total, size) = (tasks.len(), resolve_page_size(request.page_size));
        let start = match request.page_token.as_deref() {
            None | Some("") => 0,
            Some(token) => token.parse().map_err(|_| A2AError::invalid_params("no such page"))?,
        };
        let mut page: Vec<Task> = tasks.into_iter().skip(start).take(size).collect();
        if request.include_artifacts != Some(true) {
            page.iter_mut().for_each(|task| task.artifacts = None);
        }
        let next = start + page.len();
        Ok(ListTasksResponse {
            tasks: page,
            next_page_token: if next < total { next.to_string() } else { String::new() },
            page_size: i32::try_from(size).unwrap_or(i32::MAX),
            total_size: i32::try_from(total).unwrap_or(i32::MAX),
        })
    }

    async fn begin_cancel(&self, id: &str) -> Result<Task, A2AError> {
        self.0.begin_cancel(id).await
    }
}
