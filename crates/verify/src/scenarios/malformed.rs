//! Messages that are none: without an id or parts, with a part that has no content, two contents, or broken base64, in
//! a role that nobody plays. Each is sent twice, in a context of one's own, and the tasks of the context are listed before and after.

use ostiary_protocol::a2a::{
    Binding, Call, Operation, codec,
    grpc::{self, Method},
    operation::ListTasks,
};
use ostiary_record::{
    OpName, Recording,
    ports::{BoxFuture, CouldNotRun, Outbound},
};
use serde_json::{Value, json};

use crate::{
    scenario::{Budget, Clearance, Control, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, led_to, message},
        example,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.message.malformed";

/// What is wrong with the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// It has no `messageId`.
    NoId,
    /// Its list of parts is empty.
    NoParts,
    /// A part has no content member.
    NoContent,
    /// A part has two content members; gRPC has no way to say it.
    TwoContents,
    /// A part's bytes are no base64; gRPC has no way to say it.
    Base64,
    /// Its role is none that exists.
    Role,
}

/// A message that is none is refused, and leaves nothing behind.
pub(super) struct Malformed;

static SPEC: ScenarioSpec = ScenarioSpec {
    control: Control::Within,
    clearance: Clearance::Write,
    budget: Budget { calls: 30, ..Budget::USUAL },
    ..ScenarioSpec::new(
        ID,
        "Messages that are none are sent, each twice, and the tasks of their context listed before and after.",
    )
};

impl Scenario for Malformed {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
    let mut client = Client::open(stage, Role::Primary).await?;
    let request = message(stage, &example.parts);
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    let context = match led_to(&reply) {
        Led::Task(mut task) => {
            client.settle(stage, &mut task).await?;
            task.context
        }
        Led::Message => None,
        Led::Nowhere(why) => {
            stage.control_failed(&why);
            return Ok(());
        }
    };
    stage.control_ok();
    list(stage, &mut client, context.as_ref()).await?;
    let binding = client.binding().clone();
    for flaw in Flaw::of(&binding) {
        stage.mark(flaw.mark(), None);
        for _ in 0..2 {
            let mut request = message(stage, &example.parts);
            request.message.context_id.clone_from(&context);
            let call = client.prepare(Operation::SendMessage(request));
            let out = flaw.put_into(&binding, &call)?;
            client.send_raw(stage, out).await?;
        }
    }
    list(stage, &mut client, context.as_ref()).await
}

/// The tasks of the context: whatever else goes on at the same time has contexts of its own.
async fn list(stage: &mut Stage<'_>, client: &mut Client, context: Option<&String>) -> Result<(), CouldNotRun> {
    let Some(context) = context else { return Ok(()) };
    let filter = ListTasks { context_id: Some(context.clone()), page_size: Some(100), ..ListTasks::default() };
    client.call(stage, Operation::ListTasks(filter)).await.map(drop)
}

// === impl Flaw ===

impl Flaw {
    /// All of them.
    pub(crate) const ALL: [Self; 6] =
        [Self::NoId, Self::NoParts, Self::NoContent, Self::TwoContents, Self::Base64, Self::Role];

    /// Those that a binding can say.
    pub(crate) fn of(binding: &Binding) -> impl Iterator<Item = Self> {
        let json = *binding != Binding::Grpc;
        Self::ALL.into_iter().filter(move |f| json || !matches!(f, Self::TwoContents | Self::Base64))
    }

    /// The mark before the two requests that have it.
    pub(crate) const fn mark(self) -> &'static str {
        match self {
            Self::NoId => "flaw.message_id",
            Self::NoParts => "flaw.parts",
            Self::NoContent => "flaw.content",
            Self::TwoContents => "flaw.two_contents",
            Self::Base64 => "flaw.base64",
            Self::Role => "flaw.role",
        }
    }

    /// What is wrong, in words for people.
    pub(crate) const fn what(self) -> &'static str {
        match self {
            Self::NoId => "a message without `messageId`",
            Self::NoParts => "a message without parts",
            Self::NoContent => "a part without content",
            Self::TwoContents => "a part with two contents",
            Self::Base64 => "bytes that are no base64",
            Self::Role => "a role that does not exist",
        }
    }

    /// The flaw of a request: the last one marked before it.
    pub(crate) fn at(recording: &Recording, seq: ostiary_record::Seq) -> Option<Self> {
        let marked = |f: &Self| recording.mark(f.mark()).map(|(_, at)| at).filter(|at| *at < seq);
        Self::ALL.into_iter().filter(|f| marked(f).is_some()).max_by_key(marked)
    }

    /// The request of a call with the flaw in its message.
    fn put_into(self, binding: &Binding, call: &Call) -> Result<Outbound, CouldNotRun> {
        let internal = |e: &dyn std::fmt::Display| CouldNotRun::Internal(e.to_string());
        let mut out = codec::encode(binding, call).map_err(|e| internal(&e))?;
        if *binding == Binding::Grpc {
            let method = Method::named("SendMessage").expect("the service has this method");
            let mut request = call.operation.request(call.tenant.as_deref());
            self.spoil(&mut request["message"]);
            let message = grpc::write(method.request, &request).map_err(|e| internal(&e))?;
            return Ok(grpc::raw(call, method.path(), grpc::framed(&message), Some(OpName::from("SendMessage"))));
        }
        let mut body: Value = serde_json::from_slice(&out.body).map_err(|e| internal(&e))?;
        let at = if *binding == Binding::HttpJson { "/message" } else { "/params/message" };
        if let Some(message) = body.pointer_mut(at) {
            self.spoil(message);
        }
        out.body = body.to_string().into();
        Ok(out)
    }

    fn spoil(self, message: &mut Value) {
        match self {
            Self::NoId => drop(message.as_object_mut().map(|m| m.remove("messageId"))),
            Self::NoParts => message["parts"] = json!([]),
            Self::NoContent => message["parts"] = json!([{"mediaType": "text/plain"}]),
            Self::TwoContents => message["parts"] = json!([{"text": "one", "data": {"two": 2}}]),
            Self::Base64 => message["parts"] = json!([{"raw": "not base64!", "mediaType": "text/plain"}]),
            Self::Role => message["role"] = json!("ROLE_UNSPECIFIED"),
        }
    }
}

#[cfg(test)]
mod tests {
    use ostiary_protocol::a2a::operation::{SendMessage, UserMessage};

    use super::*;

    fn call() -> Call {
        let message =
            UserMessage { message_id: "m1".into(), parts: vec![json!({"text": "hi"})], ..UserMessage::default() };
        Call::new(Operation::SendMessage(SendMessage { message, ..SendMessage::default() }))
    }

    #[test]
    fn each_flaw_changes_the_request_of_each_binding_that_can_say_it() {
        for binding in codec::SUPPORTED {
            let honest = codec::encode(&binding, &call()).unwrap();
            let mut seen = vec![honest.body.clone()];
            for flaw in Flaw::of(&binding) {
                let out = flaw.put_into(&binding, &call()).unwrap();
                assert_eq!((&out.route, &out.headers), (&honest.route, &honest.headers), "{flaw:?} over {binding}");
                assert!(!seen.contains(&out.body), "{flaw:?} over {binding} changes nothing");
                seen.push(out.body);
            }
        }
        assert_eq!(Flaw::of(&Binding::Grpc).count(), 4);
    }
}
