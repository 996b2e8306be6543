//! What each endpoint answers. Pure: the request is read already, and time is an argument.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{header, request::Parts};
use jiff::Timestamp;
use serde_json::{Value, json};
use url::form_urlencoded;

use super::issue::Book;
use crate::double::{
    identity::CredentialOf,
    serve::{Answer, json as answer_json, status, with},
};

/// A request, as far as the endpoints care.
pub(super) struct Ask {
    method: String,
    path: String,
    form: Vec<(String, String)>,
    /// The client's name, from the form or from `Authorization: Basic`.
    pub(super) client_id: Option<String>,
    client_secret: Option<String>,
}

/// Where metadata of OpenID Connect is (Discovery 1.0 §4), relative to the issuer.
const OPENID: &str = "/.well-known/openid-configuration";
/// Where metadata of OAuth is (RFC 8414 §3): between host and path of the issuer.
const OAUTH: &str = "/.well-known/oauth-authorization-server";

// === impl Ask ===

impl Ask {
    pub(super) fn of(parts: &Parts, body: &[u8]) -> Self {
        let form: Vec<(String, String)> = form_urlencoded::parse(body).into_owned().collect();
        let basic = parts.headers.get(header::AUTHORIZATION).and_then(|value| basic(value.to_str().ok()?));
        let named = |name: &str| form.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone());
        let (client_id, client_secret) = match basic {
            Some((id, secret)) => (Some(id), Some(secret)),
            None => (named("client_id"), named("client_secret")),
        };
        let (method, path) = (parts.method.to_string(), parts.uri.path().to_owned());
        Self { method, path, form, client_id, client_secret }
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.form.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

/// Answers a request, and says what it was.
pub(super) fn answer(book: &mut Book, ask: &Ask, now: Timestamp) -> (String, Answer) {
    let base = path_of(book.issuer());
    let own = ask.path.strip_prefix(base.as_str()).unwrap_or(&ask.path);
    let inserted = |known: &str| ask.path.strip_prefix(known) == Some(base.as_str());
    let (what, method) = match own {
        OPENID => ("discovery", "GET"),
        _ if inserted(OPENID) || inserted(OAUTH) => ("discovery", "GET"),
        "/jwks" => ("jwks", "GET"),
        "/token" => ("token", "POST"),
        "/introspect" => ("introspection", "POST"),
        "/revoke" => ("revocation", "POST"),
        _ => return (ask.path.clone(), status(404)),
    };
    let answer = if ask.method != method {
        with(status(405), header::ALLOW, method)
    } else {
        match what {
            "discovery" => answer_json(200, &metadata(book)),
            "jwks" => answer_json(200, &book.jwks()),
            "token" => token(book, ask, now),
            "introspection" => introspect(book, ask, now),
            _ => revoke(book, ask, now),
        }
    };
    (what.to_owned(), with(answer, header::CACHE_CONTROL, "no-store"))
}

fn metadata(book: &Book) -> Value {
    let issuer = book.issuer();
    // The name stays as it is, to the last slash: it is compared exactly.
    let base = issuer.trim_end_matches('/');
    let methods = ["client_secret_basic", "client_secret_post"];
    json!({
        "issuer": issuer,
        "jwks_uri": format!("{base}/jwks"),
        "token_endpoint": format!("{base}/token"),
        "introspection_endpoint": format!("{base}/introspect"),
        "revocation_endpoint": format!("{base}/revoke"),
        "grant_types_supported": ["client_credentials"],
        // Required by both documents, and there is no authorization endpoint: the registered word for nothing.
        "response_types_supported": ["none"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [book.algorithm.as_str()],
        "token_endpoint_auth_methods_supported": methods,
        "introspection_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_methods_supported": methods,
        "scopes_supported": book.scopes(),
        "claims_supported": ["iss", "sub", "aud", "exp", "nbf", "iat", "jti", "client_id", "scope", "tenant"],
    })
}

/// RFC 6749 §4.4: a client asks for its own token.
fn token(book: &mut Book, ask: &Ask, now: Timestamp) -> Answer {
    let Some(client) = client(book, ask) else { return no_client() };
    match ask.value("grant_type") {
        Some("client_credentials") => {}
        Some(_) => return refused(400, "unsupported_grant_type"),
        None => return refused(400, "invalid_request"),
    }
    // RFC 8707 §2; `audience` is what libraries said before it.
    if ask.value("resource").or_else(|| ask.value("audience")).is_some_and(|wanted| wanted != book.audience) {
        return refused(400, "invalid_target");
    }
    let own = book.subject(&client).map(|subject| subject.scopes.clone()).unwrap_or_default();
    let wanted: Option<Vec<String>> = ask.value("scope").map(|s| s.split_whitespace().map(str::to_owned).collect());
    if wanted.as_ref().is_some_and(|wanted| wanted.iter().any(|scope| !own.contains(scope))) {
        return refused(400, "invalid_scope");
    }
    let Some(claims) = book.claims(&client, wanted, now) else { return refused(401, "invalid_client") };
    answer_json(
        200,
        &json!({
            "access_token": book.key().token(&claims),
            "token_type": "Bearer",
            "expires_in": book.lifetime(),
            "scope": claims["scope"],
        }),
    )
}

/// RFC 7662 §2: what is not active is told no more about.
fn introspect(book: &Book, ask: &Ask, now: Timestamp) -> Answer {
    if client(book, ask).is_none() {
        return no_client();
    }
    let Some(token) = ask.value("token") else { return refused(400, "invalid_request") };
    let mut told = book.active(token, now).unwrap_or_else(|| json!({}));
    told["active"] = json!(told.get("sub").is_some());
    if told["active"] == true {
        told["token_type"] = json!("Bearer");
    }
    answer_json(200, &told)
}

/// RFC 7009 §2: also what is no token of ours is answered with 200; a token of somebody else is not revoked.
fn revoke(book: &mut Book, ask: &Ask, now: Timestamp) -> Answer {
    let Some(client) = client(book, ask) else { return no_client() };
    let Some(token) = ask.value("token") else { return refused(400, "invalid_request") };
    match book.active(token, now) {
        Some(claims) if claims["client_id"] != client.as_str() => return refused(400, "invalid_grant"),
        Some(_) => book.revoke_token(token, now),
        None => {}
    }
    status(200)
}

/// The client that proved its name.
fn client(book: &Book, ask: &Ask) -> Option<String> {
    let (id, secret) = (ask.client_id.as_ref()?, ask.client_secret.as_ref()?);
    let subject = book.subject(id)?;
    let knows = subject.credential != CredentialOf::Anonymous && *secret == book.client_secret(id);
    knows.then(|| id.clone())
}

fn no_client() -> Answer {
    with(refused(401, "invalid_client"), header::WWW_AUTHENTICATE, "Basic realm=\"ostiary\"")
}

fn refused(code: u16, error: &str) -> Answer {
    answer_json(code, &json!({"error": error}))
}

/// RFC 6749 §2.3.1: both halves are form-encoded before they are put together.
fn basic(value: &str) -> Option<(String, String)> {
    let (scheme, encoded) = value.split_once(' ')?;
    let text = scheme.eq_ignore_ascii_case("basic").then(|| STANDARD.decode(encoded.trim()).ok())??;
    let (id, secret) = std::str::from_utf8(&text).ok()?.split_once(':')?;
    let decoded = |half: &str| form_urlencoded::parse(half.as_bytes()).next().map(|(name, _)| name.into_owned());
    Some((decoded(id)?, decoded(secret).unwrap_or_default()))
}

/// The path of an issuer; empty at a host's root.
fn path_of(issuer: &str) -> String {
    let path = url::Url::parse(issuer).map(|url| url.path().trim_end_matches('/').to_owned());
    path.unwrap_or_default()
}
