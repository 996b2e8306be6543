//! Push notifications: configurations registered, read, deleted; deliveries waited for at a receiver of our own.
//!
//! Each registration has a name and an address of its own in the receiver, so that a check knows from a delivery which
//! configuration it was for.

use std::time::Duration;

use ostiary_canon::Digest;
use ostiary_protocol::a2a::{
    Card, Operation, Reply, StreamItem, TaskView,
    card::Capability,
    operation::{PushConfig, SendMessage},
};
use ostiary_record::{
    ActorId, Axes, ChannelId, Kind, Proof, Registration, Reply as Answer, Source,
    event::DoubleId,
    ports::{Address, CouldNotRun, Inbox},
};
use serde_json::{Value, json};

use crate::{
    plan::{NO_CALLBACKS, PlanInput},
    scenario::{Needs, Scenario},
    scenarios::{
        client::{Client, TaskRef},
        example::{self, Example},
    },
    stage::Stage,
};

pub(crate) mod configuration;
pub(crate) mod delivery;
pub(crate) mod inside;
pub(crate) mod redelivery;
pub(crate) mod undeclared;

/// The channel of what came to addresses that nobody registered.
pub(crate) const STRAY: &str = "callback:⟨stray⟩";
/// What the channels of deliveries begin with; the name of the registration follows.
pub(crate) const CHANNEL: &str = "callback:";
/// The header fields that SDKs put the `token` of a configuration into; no specification names one.
const TOKEN_FIELDS: [&str; 2] = ["X-A2A-Notification-Token", "A2A-Notification-Token"];
/// The longest wait for a first delivery: agents send in the background, and may pause between attempts.
const FIRST: Duration = Duration::from_secs(10);
/// Somebody to call as, and somewhere to be called.
const NEEDS: Needs = Needs { callbacks: true, ..Needs::USUAL };

/// What a delivery must show, and how its configuration asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Show {
    /// Nothing.
    Nothing,
    /// `Authorization` of this scheme.
    Scheme(&'static str),
    /// A token, in whatever field; and a JWT, where the environment says that the agent signs.
    Token,
}

/// A registered address with the configuration that names it.
struct Callback {
    address: Address,
    config: PushConfig,
}

/// What is watched of the calls that leave the agent, from one point of the story on.
struct Watch(Vec<(usize, u64)>);

// === impl Watch ===

impl Watch {
    async fn begin(stage: &mut Stage<'_>) -> Result<Self, CouldNotRun> {
        let mut marks = Vec::new();
        for (n, observer) in stage.observers().enumerate() {
            if observer.sees().iter().any(|kind| kind == "egress") {
                marks.push((n, observer.begin(stage.tape()).await?));
            }
        }
        Ok(Self(marks))
    }

    /// Whether anybody watches.
    const fn sees(&self) -> bool {
        !self.0.is_empty()
    }

    async fn end(self, stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
        for (n, observer) in stage.observers().enumerate() {
            if let Some((_, mark)) = self.0.iter().find(|(of, _)| *of == n) {
                observer.since(stage.tape(), *mark).await?;
            }
        }
        Ok(())
    }
}

// === impl Callback ===

impl Callback {
    /// Opens an address at the receiver that answers as told.
    fn open(stage: &mut Stage<'_>, name: &str, show: Show, replies: Vec<Answer>) -> Result<Self, CouldNotRun> {
        let (proofs, config) = asked(stage, name, show);
        // an agent may give every configuration without a name the same one, and keep one of them
        let id = Some(stage.fresh(name));
        let registration = Registration { name: name.to_owned(), replies, proofs };
        let address = inbox(stage)?.register(stage.tape(), registration);
        Ok(Self { config: PushConfig { id, url: address.url.clone(), ..config }, address })
    }

    /// The configuration for a task.
    fn of(&self, task: &TaskRef) -> PushConfig {
        PushConfig { task_id: task.id.clone(), ..self.config.clone() }
    }

    /// Registers it for a task; the id that the agent gave it, where it took it.
    async fn create(
        &self,
        client: &mut Client,
        stage: &mut Stage<'_>,
        task: &TaskRef,
    ) -> Result<Option<String>, CouldNotRun> {
        let reply = client.call(stage, Operation::CreateTaskPushNotificationConfig(self.of(task))).await?;
        Ok(id_of(&reply))
    }

    /// How many deliveries came so far.
    fn count(&self, stage: &Stage<'_>) -> Result<u64, CouldNotRun> {
        let arrived = inbox(stage)?.arrived(&self.address);
        Ok(arrived.deliveries.len() as u64 + arrived.dropped)
    }

    /// Waits until so many deliveries came.
    async fn wait(&self, stage: &mut Stage<'_>, count: u64, within: Duration) -> Result<bool, CouldNotRun> {
        Ok(inbox(stage)?.wait(&self.address, count, within).await)
    }

    /// Waits for the delivery that shows the end of a task, as long as others come in between; there may be none, since
    /// what is told is the agent's choice.
    async fn wait_for_end(&self, stage: &mut Stage<'_>, pause: Duration) -> Result<(), CouldNotRun> {
        self.wait(stage, 1, FIRST).await?;
        loop {
            let arrived = inbox(stage)?.arrived(&self.address);
            let count = arrived.deliveries.len() as u64 + arrived.dropped;
            let ended = arrived.deliveries.iter().any(|d| ends(d.body.as_bytes()));
            if ended || arrived.dropped > 0 || !self.wait(stage, count + 1, pause).await? {
                return Ok(());
            }
        }
    }
}

/// All scenarios of push notifications, in the order of the documentation.
pub(super) fn all() -> Vec<Box<dyn Scenario>> {
    vec![
        Box::new(undeclared::Undeclared),
        Box::new(configuration::Configuration),
        Box::new(delivery::Delivery),
        Box::new(redelivery::Redelivery),
        Box::new(inside::Inside),
    ]
}

/// One variant for each activated profile, where the card declares push notifications.
fn variants(input: &PlanInput<'_>) -> Vec<Axes> {
    if input.declares(Capability::PushNotifications.member()) { input.each_profile() } else { Vec::new() }
}

/// Whether the card declares push notifications.
pub(crate) fn declared(card: Option<&Value>) -> bool {
    card.is_some_and(|card| Card::new(card.clone()).capability(Capability::PushNotifications) == Some(true))
}

/// The receiver.
fn inbox<'s>(stage: &'s Stage<'_>) -> Result<&'s dyn Inbox, CouldNotRun> {
    let missing = || CouldNotRun::Setup { what: "callbacks".to_owned(), why: NO_CALLBACKS.to_owned() };
    stage.inbox().ok_or_else(missing)
}

/// An example whose task is open for long, else the first one.
fn lasting(stage: &Stage<'_>) -> Example {
    let ordinary = || example::of_variant(stage.axes(), stage.bundle(), stage.card());
    example::long_running(stage.bundle(), stage.card()).unwrap_or_else(ordinary)
}

/// A message that is answered right after its task was made.
fn starting(mut request: SendMessage) -> SendMessage {
    request.return_immediately = Some(true);
    request
}

/// What deliveries to an address must show, and the configuration that asks for it.
fn asked(stage: &mut Stage<'_>, name: &str, show: Show) -> (Vec<Proof>, PushConfig) {
    let secret = secret(stage, name);
    stage.tape().hide(&secret, &ActorId(format!("{CHANNEL}{name}")));
    match show {
        Show::Nothing => (Vec::new(), PushConfig::default()),
        Show::Scheme(scheme) => {
            let proof = Proof::Authorization { scheme: scheme.to_owned(), credentials: secret.clone() };
            let authentication = Some((scheme.to_owned(), secret));
            (vec![proof], PushConfig { authentication, ..PushConfig::default() })
        }
        Show::Token => {
            let fields = TOKEN_FIELDS.map(str::to_owned).to_vec();
            let token = Proof::Token { fields, value: secret.clone() };
            let signed = stage.callbacks().and_then(|c| c.signed.clone());
            let proof = signed.map_or(token, |signed| Proof::Jwt {
                jwks: signed.jwks,
                audience: signed.audience,
                issuer: signed.issuer,
            });
            (vec![proof], PushConfig { token: Some(secret), ..PushConfig::default() })
        }
    }
}

/// A fresh credential, as long as what the tape writes in its place: a message of gRPC whose text changes its length
/// could not be read any more. It is base64 of something whose first bytes are `callback:`, as `Basic` wants it.
fn secret(stage: &mut Stage<'_>, name: &str) -> String {
    const USER: &str = "Y2FsbGJhY2s6";
    let written = format!("⟨credential:{CHANNEL}{name}⟩");
    let random = Digest::of(stage.fresh("callback").as_bytes()).hex();
    let mut secret: String = USER.chars().chain(random.chars()).take(written.len()).collect();
    while secret.len() < written.len() {
        secret.push('0');
    }
    secret
}

/// The id of a configuration in an answer.
fn id_of(reply: &Reply) -> Option<String> {
    let (config, _) = reply.result()?;
    config.get("id").and_then(Value::as_str).filter(|id| !id.is_empty()).map(str::to_owned)
}

/// Whether a body shows a task that has ended.
fn ends(body: &[u8]) -> bool {
    let Ok(value) = serde_json::from_slice::<Value>(body) else { return false };
    let item = StreamItem::read(&value).ok();
    let status = item.and_then(|item| item.status().map(|s| s.state()));
    let bare = || TaskView::of(&value).and_then(TaskView::state);
    status.flatten().or_else(bare).is_some_and(|state| state.is_terminal())
}

/// Puts on the tape what came to addresses that nobody registered and names a task of this story.
fn note_strays(stage: &Stage<'_>, task: &TaskRef) -> Result<(), CouldNotRun> {
    let strays = inbox(stage)?.strays();
    for stray in strays.deliveries.iter().filter(|d| d.body.as_str().is_some_and(|body| body.contains(&task.id))) {
        let from = Source::Double(DoubleId("callbacks".to_owned()));
        let kind = Kind::Inbound { channel: ChannelId(STRAY.to_owned()), bytes: json!(stray).to_string().into() };
        stage.tape().push(from, kind);
    }
    Ok(())
}
