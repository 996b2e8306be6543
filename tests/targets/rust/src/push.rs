//! Which callbacks the agent takes.
//!
//! The SDK's sender looks at an address only when it sends, and a refused one ends the task there and then: the store
//! refuses it when it is asked for.

use std::net::IpAddr;

use a2a::{A2AError, TaskPushNotificationConfig};
use a2a_server::{InMemoryPushConfigStore, PushConfigStore};
use async_trait::async_trait;

/// Keeps only callbacks that lead outside, or below the receiver that the operator names.
pub struct Screened {
    kept: InMemoryPushConfigStore,
    receiver: Option<String>,
}

// === impl Screened ===

impl Screened {
    pub fn new(receiver: Option<String>) -> Self {
        Self { kept: InMemoryPushConfigStore::new(), receiver }
    }
}

#[async_trait]
impl PushConfigStore for Screened {
    async fn save(&self, config: TaskPushNotificationConfig) -> Result<TaskPushNotificationConfig, A2AError> {
        let known = self.receiver.as_ref().is_some_and(|receiver| config.url.starts_with(receiver.as_str()));
        if !known && !leads_outside(&config.url).await {
            return Err(A2AError::invalid_params("this callback is not called"));
        }
        self.kept.save(config).await
    }

    async fn get(&self, task: &str, config: &str) -> Result<TaskPushNotificationConfig, A2AError> {
        self.kept.get(task, config).await
    }

    async fn list(&self, task: &str) -> Result<Vec<TaskPushNotificationConfig>, A2AError> {
        self.kept.list(task).await
    }

    async fn delete(&self, task: &str, config: &str) -> Result<(), A2AError> {
        self.kept.delete(task, config).await
    }

    async fn delete_all(&self, task: &str) -> Result<(), A2AError> {
        self.kept.delete_all(task).await
    }
}

/// Whether a URL leads out of this network.
async fn leads_outside(url: &str) -> bool {
    let Ok(url) = url.parse::<axum::http::Uri>() else { return false };
    let (Some("http" | "https"), Some(host)) = (url.scheme_str(), url.host()) else { return false };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let Ok(addresses) = tokio::net::lookup_host((host, 443)).await else { return false };
    let addresses: Vec<IpAddr> = addresses.map(|address| address.ip().to_canonical()).collect();
    !addresses.is_empty() && !addresses.iter().any(is_inside)
}

fn is_inside(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            v4.is_private() || v4.is_link_local() || matches!(a, 0 | 127 | 224..) || (a == 100 && b & 0xc0 == 64)
        }
        IpAddr::V6(v6) => {
            v6.is_loopback() || v6.is_unspecified() || v6.is_multicast() || matches!(v6.segments()[0] >> 9, 0x7e | 0x7f)
        }
    }
}
