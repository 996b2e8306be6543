//! Requests of the tests by our own client.

use ostiary_drivers::{
    AddressGuard, Settings,
    http_client::{HttpClient, Request, Response},
};
use serde_json::Value;

pub async fn send(request: &Request) -> Response {
    let settings = Settings { allow_insecure_http: true, guard: AddressGuard::off(), ..Settings::default() };
    HttpClient::new(settings).unwrap().send(request).await.unwrap()
}

pub async fn get(url: &str) -> (u16, Value) {
    let answer = send(&Request::new("GET", url)).await;
    (answer.status, serde_json::from_slice(&answer.body).unwrap_or_default())
}

/// Posts a form with a client's name and secret.
pub async fn form(url: &str, client: Option<(&str, &str)>, fields: &str) -> (u16, Value) {
    let mut request = Request::new("POST", url).body("application/x-www-form-urlencoded", fields.to_owned());
    if let Some((id, secret)) = client {
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        request = request.header("Authorization", &format!("Basic {}", STANDARD.encode(format!("{id}:{secret}"))));
    }
    let answer = send(&request).await;
    (answer.status, serde_json::from_slice(&answer.body).unwrap_or_default())
}
