//! What HTTP+JSON says of a request that never reaches the SDK's handler: the web framework below it answers in plain text.

use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::Response,
};
use serde_json::json;

/// Turns a refusal in plain text into the error object of the binding.
pub async fn in_the_bindings_words(mut response: Response) -> Response {
    let json = |kind: &HeaderValue| kind.to_str().is_ok_and(|kind| kind.contains("json"));
    if !response.status().is_client_error() || response.headers().get(header::CONTENT_TYPE).is_some_and(json) {
        return response;
    }
    let status = response.status();
    let error = json!({"error": {
        "code": status.as_u16(),
        "status": if status.as_u16() == 404 { "NOT_FOUND" } else { "INVALID_ARGUMENT" },
        "message": "the request is not one of this binding",
        "details": [{
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "INVALID_REQUEST",
            "domain": "a2a-protocol.org",
            "metadata": {},
        }],
    }});
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/a2a+json"));
    response.map(|_| Body::from(error.to_string()))
}
