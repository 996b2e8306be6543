//! An MCP server in memory, of both eras and over both transports; honest unless told otherwise.

use std::collections::VecDeque;

use bytes::Bytes;
use ostiary_protocol::mcp::speech::META_VERSION;
use ostiary_record::{
    ChannelId, End, Event, ExchangeId, Route,
    ports::{Abort, BoxFuture, CouldNotRun, Deadline, Limits, Next, Outbound},
};

use super::*;

/// How an opening is answered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Answers {
    Well,
    NoMethod,
    Silence,
    Version(&'static str),
}

pub(super) struct Server {
    pub(super) tools: Vec<Value>,
    /// Tools of one page.
    pub(super) page: usize,
    pub(super) stateless: Answers,
    pub(super) sessions: Answers,
    pub(super) declares: Value,
    /// Nobody is let in.
    pub(super) denies: bool,
    /// Each page leads to the first.
    pub(super) circle: bool,
    /// Pages disagree on their scope.
    pub(super) scopes: bool,
    /// Asks the client two things before it answers.
    pub(super) asks: bool,
    pub(super) heard: Arc<Mutex<Heard>>,
}

#[derive(Default)]
pub(super) struct Heard {
    channels: usize,
    said: Vec<(usize, String)>,
    answers: Vec<Value>,
}

struct Line {
    server: Server,
    number: usize,
    wire: Carrier,
    tape: Tape,
    events: VecDeque<Event>,
}

// === impl Server ===

impl Server {
    pub(super) fn new(tools: Vec<Value>) -> Self {
        Self {
            tools,
            page: 2,
            stateless: Answers::Well,
            sessions: Answers::Well,
            declares: json!({"tools": {}}),
            denies: false,
            circle: false,
            scopes: false,
            asks: false,
            heard: Arc::default(),
        }
    }

    pub(super) fn said(&self) -> Vec<(usize, String)> {
        self.heard.lock().unwrap().said.clone()
    }

    pub(super) fn answers(&self) -> Vec<Value> {
        self.heard.lock().unwrap().answers.clone()
    }

    fn copy(&self) -> Self {
        let (tools, declares, heard) = (self.tools.clone(), self.declares.clone(), Arc::clone(&self.heard));
        Self { tools, declares, heard, ..*self }
    }

    fn opening(&self, modern: bool) -> Result<Option<Value>, i64> {
        let info = json!({"name": "store", "version": "1"});
        match (if modern { self.stateless } else { self.sessions }, modern) {
            (Answers::Silence, _) => Ok(None),
            (Answers::NoMethod, _) => Err(-32601),
            (answers, true) => {
                let version = if let Answers::Version(v) = answers { v } else { "2026-07-28" };
                Ok(Some(
                    json!({"resultType": "complete", "supportedVersions": [version], "capabilities": self.declares,
                    "ttlMs": 0, "cacheScope": "private", "_meta": {"io.modelcontextprotocol/serverInfo": info}}),
                ))
            }
            (answers, false) => {
                let version = if let Answers::Version(v) = answers { v } else { "2025-11-25" };
                Ok(Some(json!({"protocolVersion": version, "capabilities": self.declares, "serverInfo": info})))
            }
        }
    }

    fn list(&self, params: &Value) -> Value {
        let from: usize = params["cursor"].as_str().and_then(|c| c.parse().ok()).unwrap_or(0);
        let to = (from + self.page).min(self.tools.len());
        let mut result = json!({"tools": self.tools[from..to]});
        if to < self.tools.len() {
            result["nextCursor"] = json!(if self.circle { "0".to_owned() } else { to.to_string() });
        }
        if params["_meta"][META_VERSION].is_string() {
            result["resultType"] = json!("complete");
            result["ttlMs"] = json!(0);
            result["cacheScope"] = json!(if self.scopes && from > 0 { "public" } else { "private" });
        }
        result
    }

    /// `Ok(None)` = nothing is said.
    fn answer(&self, request: &Value) -> Result<Option<Value>, i64> {
        match request["method"].as_str() {
            Some("server/discover") => self.opening(true),
            Some("initialize") => self.opening(false),
            Some("tools/list") => Ok(Some(self.list(&request["params"]))),
            _ => Err(-32601),
        }
    }
}

impl Transport for Server {
    fn open<'a>(
        &'a self,
        tape: &'a Tape,
        target: &'a Target,
        _: &'a Actor,
        _: Limits,
    ) -> BoxFuture<'a, Result<Box<dyn Channel>, CouldNotRun>> {
        let number = {
            let mut heard = self.heard.lock().unwrap();
            heard.channels += 1;
            heard.channels - 1
        };
        // channels outlive borrows
        let server = self.copy();
        let line = Line { server, number, wire: target.carrier, tape: tape.clone(), events: VecDeque::new() };
        Box::pin(async move { Ok(Box::new(line) as Box<dyn Channel>) })
    }
}

// === impl Line ===

impl Line {
    fn push(&mut self, kind: Kind) {
        let event = self.tape.push(Source::Wire(ChannelId("memory".to_owned())), kind);
        self.events.push_back(event);
    }

    fn inbound(&mut self, message: &Value) {
        let kind = Kind::Inbound { channel: ChannelId("memory".to_owned()), bytes: Blob::from(message.to_string()) };
        self.push(kind);
    }

    fn say(&mut self, x: ExchangeId, status: u16, body: Option<&Value>) {
        if self.wire != Carrier::Stdio {
            let fields = [("content-type", "application/json"), ("mcp-session-id", "s")];
            let headers = fields.map(|(n, v)| (n.to_owned(), Blob::from(v))).to_vec();
            self.push(Kind::Head { x, status, headers });
        }
        if let Some(body) = body {
            self.push(Kind::Frame { x, n: 0, bytes: Blob::from(Bytes::from(body.to_string())) });
        }
        self.push(Kind::Ended { x, how: End::Complete });
    }

    fn take(&mut self, x: ExchangeId, route: &Route, body: &[u8]) {
        let request: Value = serde_json::from_slice(body).unwrap_or_default();
        let method = match (request["method"].as_str(), route) {
            (Some(method), _) => method.to_owned(),
            (None, Route::Http { method, .. }) if body.is_empty() => method.clone(),
            _ => {
                self.server.heard.lock().unwrap().answers.push(request);
                return self.say(x, 202, None);
            }
        };
        self.server.heard.lock().unwrap().said.push((self.number, method));
        if self.server.denies {
            return self.say(x, 401, None);
        }
        if request.get("id").is_none() {
            return self.say(x, 202, None);
        }
        if self.server.asks && request["method"] == "tools/list" {
            self.inbound(&json!({"jsonrpc": "2.0", "id": "s1", "method": "ping"}));
            self.inbound(&json!({"jsonrpc": "2.0", "id": "s2", "method": "roots/list"}));
        }
        match self.server.answer(&request) {
            Ok(None) => {}
            Ok(Some(result)) => {
                self.say(x, 200, Some(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result})))
            }
            Err(code) => {
                let error = json!({"code": code, "message": "no"});
                self.say(x, 200, Some(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error})));
            }
        }
    }
}

impl Channel for Line {
    fn start(&mut self, out: Outbound) -> ExchangeId {
        let x = self.tape.next_exchange();
        self.take(x, &out.route, &out.body);
        x
    }

    fn next(&mut self, _: Deadline) -> BoxFuture<'_, Next> {
        let next = self.events.pop_front().map_or(Next::Idle, Next::Event);
        Box::pin(async move { next })
    }

    fn abort(&mut self, _: ExchangeId, _: Abort) {}
}
