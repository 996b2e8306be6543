//! The list of a caller's tasks.

use serde_json::{Value, json};

use super::{Agent, Answer, error, result};

/// Where nothing is said, a page has so many tasks.
const PAGE: u64 = 50;

// === impl Agent ===

impl Agent {
    pub(super) fn list(&self, id: &Value, params: &Value, tenant: &str) -> Answer {
        let size = params["pageSize"].as_u64().unwrap_or(PAGE);
        if !(1..=100).contains(&size) {
            return error(id, -32602, Some("INVALID_PARAMS"));
        }
        let context = params["contextId"].as_str();
        let mut own: Vec<(String, String)> = {
            let tasks = self.lock();
            let asked = tasks.iter().filter(|(_, t)| t.tenant == tenant && context.is_none_or(|c| c == t.context));
            asked.map(|(id, t)| (t.status["timestamp"].as_str().unwrap_or_default().to_owned(), id.clone())).collect()
        };
        own.sort();
        own.reverse();
        let from = params["pageToken"].as_str().and_then(|token| token.parse().ok()).unwrap_or(0);
        let to = own.len().min(from + usize::try_from(size).unwrap_or(usize::MAX));
        let tasks: Vec<Value> = own[from.min(to)..to].iter().map(|(_, id)| self.listed(id, params)).collect();
        let next = if to < own.len() { to.to_string() } else { String::new() };
        let page = json!({"tasks": tasks, "nextPageToken": next, "pageSize": size, "totalSize": own.len()});
        result(id, &page)
    }

    fn listed(&self, id: &str, params: &Value) -> Value {
        let mut task = self.show(id, params["historyLength"].as_u64());
        if params["includeArtifacts"] != true
            && let Some(members) = task.as_object_mut()
        {
            members.remove("artifacts");
        }
        task
    }
}
