//! Receivers of events: registered by operators, told by the courier.

pub mod add;
pub mod dead;
pub mod list;
pub mod remove;

use ostiary_domain::Webhook;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{app::App, auth::Caller, error::ApiError};

/// One receiver.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct WebhookView {
    /// Its id.
    pub id: String,
    /// Where it listens, without what may be a key in it: values of the query and long parts of the path.
    pub url: String,
    /// Whether an operator vouched for an inner address and plain http.
    pub allow_private: bool,
    /// Of which namespace it is told; absent for all.
    pub namespace: Option<String>,
    /// Who registered it.
    pub registered_by: String,
    /// Everything up to that revision is delivered or given up.
    pub reached: u64,
    /// How often the next one was tried.
    pub tries: u32,
    /// What the last try said, if it failed.
    pub last_error: Option<String>,
}

// === impl WebhookView ===

impl WebhookView {
    fn of(hook: &Webhook) -> Self {
        let facts = &hook.facts;
        Self {
            id: facts.id.to_string(),
            url: facts.shown_url(),
            allow_private: facts.allow_private,
            namespace: facts.namespace.clone(),
            registered_by: facts.by.to_string(),
            reached: hook.reached.0,
            tries: hook.tries,
            last_error: hook.last_error.as_deref().map(|error| hook.shown_error(error)),
        }
    }
}

/// Whether `caller` answers for what the receiver is told of; one of all namespaces needs a right that reaches all.
fn answers_for(caller: &Caller, namespace: Option<&str>) -> bool {
    caller.reaches(namespace.unwrap_or("*"))
}

/// The receiver of that id, if it is one of the caller's.
async fn of_caller(app: &App, caller: &Caller, id: &str) -> Result<Webhook, ApiError> {
    let mut all = app.store.webhooks().await?.into_iter();
    let mine = |hook: &Webhook| hook.facts.id.as_str() == id && answers_for(caller, hook.facts.namespace.as_deref());
    all.find(mine).ok_or_else(|| ApiError::not_found(&format!("webhook `{id}`")))
}
