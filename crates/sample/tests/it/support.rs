//! A client small enough to be trusted, and an issuer of tokens.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use ed25519_dalek::{Signer as _, SigningKey};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use ostiary_sample::{Config, Lie, Lies, PlanningAgent, Running, Trust};
use serde_json::{Value, json};
use tokio::net::TcpStream;

pub const TENANT_A: &str = "tenant-fixture-a";
pub const TENANT_B: &str = "tenant-fixture-b";
const ISSUER: &str = "https://issuer.example.test";
const AUDIENCE: &str = "https://planning.example.test";
/// 2100-01-01: no test runs that long.
const LATER: i64 = 4_102_444_800;

/// A running agent with the tokens it takes.
pub struct Agent {
    pub running: Running,
    issuer: SigningKey,
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// One call, ready to be varied.
#[derive(Clone)]
pub struct Call {
    token: Option<String>,
    version: Option<&'static str>,
    content_type: &'static str,
    body: String,
}

// === impl Agent ===

impl Agent {
    pub async fn honest() -> Self {
        Self::start(&card(), |_| {}).await
    }

    pub async fn lying(lie: Lie) -> Self {
        Self::start(&card(), |config| config.lies = Lies::from(lie)).await
    }

    pub async fn start(card: &Value, change: impl FnOnce(&mut Config)) -> Self {
        let issuer = SigningKey::from_bytes(&[7; 32]);
        let mut config = Config::new(card.to_string(), trust(&issuer));
        change(&mut config);
        Self { running: PlanningAgent::start(config).await.expect("the agent starts"), issuer }
    }

    /// A token as the issuer gives it out, changed by `change`.
    pub fn token_with(&self, tenant: &str, change: impl FnOnce(&mut Value)) -> String {
        let mut claims = json!({"iss": ISSUER, "aud": AUDIENCE, "exp": LATER, "sub": format!("user-of-{tenant}"),
            "tenant": tenant, "scopes": ["plan.write"]});
        change(&mut claims);
        sign(&self.issuer, &claims)
    }

    pub fn token(&self, tenant: &str) -> String {
        self.token_with(tenant, |_| {})
    }

    pub fn call(&self, tenant: &str, method: &str, params: &Value) -> Call {
        Call {
            token: Some(self.token(tenant)),
            version: Some("1.0"),
            content_type: "application/json",
            body: json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string(),
        }
    }

    pub async fn send(&self, call: Call) -> Answer {
        self.exchange(self.request(call), async || {}).await
    }

    fn request(&self, call: Call) -> Request<Full<Bytes>> {
        let mut request = Request::post("/a2a").header("host", "planning").header("content-type", call.content_type);
        if let Some(token) = &call.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if let Some(version) = call.version {
            request = request.header("A2A-Version", version);
        }
        request.body(Full::from(call.body)).unwrap()
    }

    pub async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = Request::get(path).header("host", "planning");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.exchange(request.body(Full::default()).unwrap(), async || {}).await
    }

    /// A result, or a failed test.
    pub async fn result(&self, tenant: &str, method: &str, params: Value) -> Value {
        let answer = self.send(self.call(tenant, method, &params)).await.json();
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// An error's code, or a failed test.
    pub async fn error(&self, tenant: &str, method: &str, params: Value) -> i64 {
        self.send(self.call(tenant, method, &params)).await.code()
    }

    /// Sends a work request and waits for its task.
    pub async fn plan(&self, tenant: &str, request_id: &str) -> Value {
        self.result(tenant, "SendMessage", message(tenant, request_id, 1)).await["task"].clone()
    }

    /// Starts work that lasts until it is canceled or the test ends.
    pub async fn start_long(&self, tenant: &str) -> Value {
        let mut params = message(tenant, "long", 200);
        params["configuration"] = json!({"returnImmediately": true});
        self.result(tenant, "SendMessage", params).await["task"].clone()
    }

    /// The events of a stream, read to its end.
    pub async fn stream(&self, tenant: &str, method: &str, params: Value) -> Vec<Value> {
        self.send(self.call(tenant, method, &params)).await.events()
    }

    /// The events of a stream, read to its end; `then` happens once, when the first bytes have come.
    pub async fn stream_then(&self, call: Call, then: impl AsyncFn()) -> Vec<Value> {
        let happened = std::cell::Cell::new(false);
        let once = async || {
            if !happened.replace(true) {
                then().await;
            }
        };
        self.exchange(self.request(call), once).await.events()
    }

    /// Sends a call, and counts the drafts at the moment the first bytes of the answer's body arrive.
    pub async fn send_noting_first(&self, call: Call) -> (Answer, u64) {
        let drafts = std::cell::Cell::new(None);
        let note = async || {
            if drafts.get().is_none() {
                drafts.set(Some(self.running.ledger(None).await.unwrap().drafts));
            }
        };
        let answer = self.exchange(self.request(call), note).await;
        (answer, drafts.get().expect("the body was not empty"))
    }

    async fn exchange(&self, request: Request<Full<Bytes>>, on_frame: impl AsyncFn()) -> Answer {
        let stream = TcpStream::connect(self.running.addr()).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        let exchange = async {
            let response = sender.send_request(request).await.unwrap();
            let (head, mut incoming) = response.into_parts();
            let mut body = Vec::new();
            while let Some(frame) = incoming.frame().await {
                on_frame().await;
                body.extend_from_slice(frame.unwrap().data_ref().unwrap());
            }
            Answer { status: head.status, headers: head.headers, body: body.into() }
        };
        tokio::pin!(exchange);
        tokio::select! {
            answer = &mut exchange => answer,
            _ = connection => exchange.await,
        }
    }
}

// === impl Call ===

impl Call {
    pub fn token(mut self, token: Option<String>) -> Self {
        self.token = token;
        self
    }

    pub fn version(mut self, version: Option<&'static str>) -> Self {
        self.version = version;
        self
    }

    pub fn content_type(mut self, content_type: &'static str) -> Self {
        self.content_type = content_type;
        self
    }

    pub fn body(mut self, body: &str) -> Self {
        body.clone_into(&mut self.body);
        self
    }
}

// === impl Answer ===

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {:?}", self.body))
    }

    pub fn code(&self) -> i64 {
        let answer = self.json();
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
    }

    pub fn events(&self) -> Vec<Value> {
        assert_eq!(self.headers["content-type"], "text/event-stream", "{:?}", self.body);
        let text = std::str::from_utf8(&self.body).unwrap();
        let data = text.split("\n\n").filter(|event| !event.is_empty()).map(|event| {
            let envelope: Value = serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(envelope["id"], 1, "each event answers the request");
            envelope["result"].clone()
        });
        data.collect()
    }
}

pub fn trust(issuer: &SigningKey) -> Trust {
    let x = URL_SAFE_NO_PAD.encode(issuer.verifying_key().as_bytes());
    let jwks = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k1", "x": x}]});
    Trust::from_jwks(ISSUER, AUDIENCE, &jwks).unwrap()
}

pub fn sign(key: &SigningKey, claims: &Value) -> String {
    let encode = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let signed = format!("{}.{}", encode(&json!({"alg": "EdDSA", "typ": "JWT", "kid": "k1"})), encode(claims));
    let signature = URL_SAFE_NO_PAD.encode(key.sign(signed.as_bytes()).to_bytes());
    format!("{signed}.{signature}")
}

/// Parameters that send a work request with `items` items.
pub fn message(tenant: &str, request_id: &str, items: usize) -> Value {
    let items: Vec<Value> = (0..items).map(|n| json!({"title": format!("step {n}")})).collect();
    let data = json!({"tenant_id": tenant, "request_id": request_id, "items": items});
    json!({"message": {"messageId": "m-1", "role": "ROLE_USER",
        "parts": [{"data": data, "mediaType": "application/json"}]}})
}

pub fn card() -> Value {
    json!({"name": "Planning agent", "version": "3.4.1",
        "capabilities": {"streaming": true, "pushNotifications": false, "extendedAgentCard": false},
        "skills": [{"id": "work-planning"}]})
}

/// The states that a stream shows, in order.
pub fn states(events: &[Value]) -> Vec<&str> {
    let state = |event: &'_ Value| -> Option<&'static str> {
        let status = event["task"]["status"]["state"].as_str().or(event["statusUpdate"]["status"]["state"].as_str())?;
        ["SUBMITTED", "WORKING", "COMPLETED", "FAILED", "CANCELED"].into_iter().find(|name| status.ends_with(name))
    };
    events.iter().filter_map(state).collect()
}
