//! Requests that are wrong as requests: an unknown method, missing parameters, a broken envelope, bytes that are no JSON.

use bytes::Bytes;
use ostiary_protocol::a2a::{Binding, Operation, jsonrpc};
use ostiary_record::{
    Axes,
    ports::{BoxFuture, CouldNotRun},
};
use serde_json::json;

use crate::{
    plan::PlanInput,
    scenario::{Control, Role, Scenario, ScenarioSpec},
    scenarios::{client::Client, send, variants},
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.rpc.invalid";
/// The axis that says what is wrong.
pub(crate) const AXIS: &str = "wrong";

/// What is wrong with the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// A method that no version has.
    Method,
    /// A read that names no task.
    Params,
    /// No method at all.
    Envelope,
    /// No JSON.
    Json,
}

/// What is wrong is refused as such. The request asks for nothing that could have an effect.
pub(super) struct InvalidRequest;

static SPEC: ScenarioSpec = ScenarioSpec {
    control: Control::By(send::ID),
    ..ScenarioSpec::new(ID, "Requests that are wrong as requests: method, parameters, envelope, JSON.")
};

impl Scenario for InvalidRequest {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        variants(input, AXIS, &Wrong::ALL.map(Wrong::as_str))
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(async move {
            let wrong = stage.axes().values.get(AXIS).and_then(|w| Wrong::parse(w)).unwrap_or(Wrong::Method);
            let binding = Binding::parse(&stage.interface()?.binding);
            if binding != Binding::JsonRpc {
                return Err(CouldNotRun::Internal(format!("wrong requests are not written for {binding} yet")));
            }
            let mut client = Client::open(stage, Role::Primary).await?;
            let call = client.prepare(Operation::GetTask { id: String::new(), history_length: None });
            client.send_raw(stage, jsonrpc::raw(&call, wrong.body(), None)).await.map(drop)
        })
    }
}

// === impl Wrong ===

impl Wrong {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Method, Self::Params, Self::Envelope, Self::Json];

    /// Its name among the variants.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Method => "method",
            Self::Params => "params",
            Self::Envelope => "envelope",
            Self::Json => "json",
        }
    }

    /// The variant of that name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|w| w.as_str() == text)
    }

    fn body(self) -> Bytes {
        let text = match self {
            Self::Method => json!({"jsonrpc": "2.0", "id": 1, "method": "NoSuchMethod", "params": {}}).to_string(),
            Self::Params => json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {}}).to_string(),
            Self::Envelope => json!({"jsonrpc": "2.0", "id": 1}).to_string(),
            Self::Json => "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": ".to_owned(),
        };
        Bytes::from(text)
    }
}
