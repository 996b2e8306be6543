//! Requests that are wrong as requests: an unknown method, missing parameters, a broken envelope, bytes that are no JSON
//! or no message; each binding has those that it can have.

use bytes::Bytes;
use ostiary_protocol::a2a::{Binding, Call, Operation, grpc, http_json, jsonrpc};
use ostiary_record::{
    Axes,
    ports::{BoxFuture, CouldNotRun, Outbound},
};
use serde_json::json;

use crate::{
    plan::PlanInput,
    scenario::{Control, Role, Scenario, ScenarioSpec},
    scenarios::{client::Client, send},
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.rpc.invalid";
/// The axis that says what is wrong.
pub(crate) const AXIS: &str = "wrong";

/// What is wrong with the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// A method, or a path, that no version has.
    Method,
    /// A read whose parameters are none: no task, or a length that is no number.
    Params,
    /// No method at all; of JSON-RPC alone.
    Envelope,
    /// No JSON; of the two bindings that speak it.
    Json,
    /// No message of the method; of gRPC alone.
    Message,
}

/// What is wrong is refused as such. The request asks for nothing that could have an effect.
pub(super) struct InvalidRequest;

static SPEC: ScenarioSpec = ScenarioSpec {
    control: Control::By(send::ID),
    ..ScenarioSpec::new(ID, "Requests that are wrong as requests: method, parameters, envelope, JSON or message.")
};

impl Scenario for InvalidRequest {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        let of = |axes: &Axes| {
            let profile = axes.profile.as_deref().and_then(|p| p.parse().ok());
            let interface = profile.as_ref().and_then(|p| input.interface(p));
            let binding = interface.map_or(Binding::JsonRpc, |i| Binding::parse(&i.binding));
            let with = |wrong: &Wrong| {
                let mut axes = axes.clone();
                axes.values.insert(AXIS.to_owned(), wrong.as_str().to_owned());
                axes
            };
            Wrong::of(&binding).iter().map(with).collect::<Vec<_>>()
        };
        input.each_profile().iter().flat_map(of).collect()
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(async move {
            let wrong = stage.axes().values.get(AXIS).and_then(|w| Wrong::parse(w)).unwrap_or(Wrong::Method);
            let mut client = Client::open(stage, Role::Primary).await?;
            let call = client.prepare(Operation::GetTask { id: String::new(), history_length: None });
            let out = match client.binding() {
                Binding::HttpJson => wrong.over_http(&call),
                Binding::Grpc => wrong.over_grpc(&call),
                Binding::JsonRpc | Binding::Custom(_) => jsonrpc::raw(&call, wrong.envelope(), None),
            };
            client.send_raw(stage, out).await.map(drop)
        })
    }
}

// === impl Wrong ===

impl Wrong {
    /// All of them.
    pub(crate) const ALL: [Self; 5] = [Self::Method, Self::Params, Self::Envelope, Self::Json, Self::Message];

    /// Those that a binding can have.
    pub(crate) const fn of(binding: &Binding) -> &'static [Self] {
        match binding {
            Binding::JsonRpc | Binding::Custom(_) => &[Self::Method, Self::Params, Self::Envelope, Self::Json],
            Binding::HttpJson => &[Self::Method, Self::Params, Self::Json],
            Binding::Grpc => &[Self::Method, Self::Params, Self::Message],
        }
    }

    /// Its name among the variants.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Method => "method",
            Self::Params => "params",
            Self::Envelope => "envelope",
            Self::Json => "json",
            Self::Message => "message",
        }
    }

    /// The variant of that name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|w| w.as_str() == text)
    }

    fn envelope(self) -> Bytes {
        let text = match self {
            Self::Method => json!({"jsonrpc": "2.0", "id": 1, "method": "NoSuchMethod", "params": {}}).to_string(),
            Self::Params => json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {}}).to_string(),
            Self::Envelope => json!({"jsonrpc": "2.0", "id": 1}).to_string(),
            Self::Json | Self::Message => "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": ".to_owned(),
        };
        Bytes::from(text)
    }

    fn over_http(self, call: &Call) -> Outbound {
        let raw = |method, path, body: &'static str| http_json::raw(call, method, path, body.into(), None);
        match self {
            Self::Params => raw("GET", "/tasks/no-such-task?historyLength=many", ""),
            Self::Json | Self::Message => raw("POST", "/message:send", "{\"message\": "),
            Self::Method | Self::Envelope => raw("GET", "/noSuchOperation", ""),
        }
    }

    fn over_grpc(self, call: &Call) -> Outbound {
        let raw = |method: &str, message: &[u8]| {
            grpc::raw(call, format!("/{}/{method}", grpc::SERVICE), grpc::framed(message), None)
        };
        match self {
            Self::Params => raw("GetTask", b""),
            // a field that says to be longer than the message
            Self::Json | Self::Message => raw("GetTask", b"\x12\x7f"),
            Self::Method | Self::Envelope => raw("NoSuchMethod", b""),
        }
    }
}
