//! The provider-state endpoint: `POST {state, params, action}`, the shape that Pact providers already have.

use bytes::Bytes;
use ostiary_drivers::{
    AddressGuard, Settings, SettingsError,
    http_client::{HttpClient, Request},
};
use ostiary_record::{
    Tape,
    ports::{BoxFuture, CouldNotRun, States},
};
use serde_json::{Value, json};

/// Sets states up over HTTP.
pub(super) struct HttpStates {
    url: String,
    client: HttpClient,
}

// === impl HttpStates ===

impl HttpStates {
    /// States at an address that the operator wrote: it passes the guard.
    pub(super) fn new(url: &str, settings: &Settings) -> Result<Self, SettingsError> {
        let settings = Settings { guard: AddressGuard::off(), allow_insecure_http: true, ..settings.clone() };
        Ok(Self { url: url.to_owned(), client: HttpClient::new(settings)? })
    }
}

impl States for HttpStates {
    fn set_up<'a>(&'a self, _: &'a Tape, name: &'a str, params: &'a Value) -> BoxFuture<'a, Result<(), CouldNotRun>> {
        Box::pin(async move {
            let failed = |why: String| CouldNotRun::Setup { what: format!("provider state {name}"), why };
            let body = json!({"state": name, "params": params, "action": "setup"}).to_string();
            let request = Request::new("POST", &self.url).body("application/json", Bytes::from(body));
            let response = self.client.send(&request).await.map_err(|e| failed(e.to_string()))?;
            if (200..300).contains(&response.status) {
                Ok(())
            } else {
                Err(failed(format!("status {}", response.status)))
            }
        })
    }
}
