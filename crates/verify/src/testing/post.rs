//! The receiver of push notifications in memory, and ways to make what came to it a lie.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use ostiary_record::{
    Arrived, CallbackFacts, ChannelId, Delivery, Kind, Proof, Registration, Reply, Shown, Source, Tape,
    event::DoubleId,
    ports::{Address, BoxFuture, Inbox},
};
use serde_json::{Value, json};

use super::{
    Driven, World,
    agent::{Honest, RECEIVER},
    edit::renumber,
};

/// What stands behind the addresses.
#[derive(Default)]
pub(crate) struct Post(Mutex<BTreeMap<String, Slot>>);

struct Slot {
    registration: Registration,
    tape: Tape,
    withdrawn: bool,
    arrived: Arrived,
}

/// The agent's receiver: whoever waits at it lets time pass for the agent.
pub(crate) struct Mailbox(pub(super) Arc<Honest>);

/// Where what nobody may call would listen.
const INSIDE: &str = "http://127.0.0.1:9501";
/// Progress that is waited for at most.
const TICKS: usize = 8;
const SKILLS: &str = "skill_contract:
  skill_id: work-planning
  input_modes: [application/json]
  output_modes: [application/json]
  examples:
    - { name: create-draft-plan, input_fixture: work-request-valid.json, expected_artifact_schema: work-plan.schema.json }
    - { name: at-length, input_fixture: work-request-valid.json, runs: long }
";

// === impl World ===

impl World {
    /// The honest agent with push notifications, its receiver, and an example that runs long.
    pub(crate) fn pushing() -> Self {
        let mut world = Self::with_card(|card| card["capabilities"]["pushNotifications"] = json!(true));
        world.put("skills.yaml", SKILLS);
        world.environment.callbacks = Some(CallbackFacts { public: true, https: true, signed: None });
        world
    }
}

// === impl Driven ===

impl Driven {
    /// The same run with what came to callbacks changed: each delivery becomes those that `change` gives for it.
    pub(crate) fn deliveries(mut self, mut change: impl FnMut(&str, Delivery) -> Vec<Delivery>) -> Self {
        for recording in &mut self.run.recordings {
            let mut events = Vec::new();
            for event in recording.events.drain(..) {
                let Kind::Inbound { channel, bytes } = &event.kind else {
                    events.push(event);
                    continue;
                };
                let delivery = serde_json::from_slice(bytes.as_bytes()).expect("a delivery is JSON");
                for changed in change(&recording.scenario.0, delivery) {
                    let (channel, bytes) = (channel.clone(), json!(changed).to_string().into());
                    events.push(ostiary_record::Event { kind: Kind::Inbound { channel, bytes }, ..event.clone() });
                }
            }
            recording.events = events;
            renumber(recording);
        }
        self
    }

    /// The same run with this put behind everything of one scenario.
    pub(crate) fn inbound(mut self, scenario: &str, channel: &str, delivery: &Delivery) -> Self {
        for recording in self.run.recordings.iter_mut().filter(|r| r.scenario.0 == scenario) {
            let last = recording.events.last().expect("it is not empty").clone();
            let kind =
                Kind::Inbound { channel: ChannelId(channel.to_owned()), bytes: json!(delivery).to_string().into() };
            recording.events.push(ostiary_record::Event { kind, ..last });
            renumber(recording);
        }
        self
    }

    /// What came to the callback of that name in a scenario.
    pub(crate) fn came(&self, scenario: &str, name: &str) -> Vec<Delivery> {
        let recordings = self.run.recordings.iter().filter(|r| r.scenario.0 == scenario);
        let read = |event: &ostiary_record::Event| match &event.kind {
            Kind::Inbound { bytes, .. } => serde_json::from_slice::<Delivery>(bytes.as_bytes()).ok(),
            _ => None,
        };
        recordings.flat_map(|r| &r.events).filter_map(read).filter(|d| d.to.as_deref() == Some(name)).collect()
    }
}

/// The delivery with its body changed.
pub(crate) fn with_body(delivery: Delivery, change: impl FnOnce(&mut Value)) -> Delivery {
    let mut body = serde_json::from_slice(delivery.body.as_bytes()).expect("an honest body is JSON");
    change(&mut body);
    Delivery { body: body.to_string().into(), ..delivery }
}

// === impl Post ===

impl Post {
    /// Takes a notification; the status that its receiver answers.
    pub(super) fn take(&self, config: &Value, item: &Value) -> Option<u16> {
        let url = config["url"].as_str().unwrap_or_default();
        let path = url.trim_start_matches(RECEIVER).to_owned();
        let mut slots = self.lock();
        let n = slots.values().map(|s| s.arrived.deliveries.len() as u64).sum();
        let slot = slots.get_mut(&path)?;
        let place = slot.arrived.deliveries.len();
        let replies = &slot.registration.replies;
        let answered = match replies.get(place).or(replies.last()) {
            None => Some(200),
            Some(Reply::Status(status) | Reply::Slow { status, .. }) => Some(*status),
            Some(Reply::Redirect(_)) => Some(307),
            Some(Reply::Silence | Reply::Broken) => None,
        };
        let content = ("content-type".to_owned(), "application/a2a+json".to_owned());
        let delivery = Delivery {
            n,
            at: slot.tape.now(),
            to: Some(slot.registration.name.clone()),
            withdrawn: slot.withdrawn,
            method: "POST".to_owned(),
            target: path,
            headers: [content].into(),
            body: item.to_string().into(),
            cut: false,
            shown: shown(&slot.registration.proofs, config),
            answered,
        };
        let channel = ChannelId(format!("callback:{}", slot.registration.name));
        let from = Source::Double(DoubleId("callbacks".to_owned()));
        slot.tape.push(from, Kind::Inbound { channel, bytes: json!(delivery).to_string().into() });
        slot.arrived.deliveries.push(delivery);
        answered
    }

    fn open(&self, base: &str, door: &str, tape: &Tape, registration: Registration) -> Address {
        let mut slots = self.lock();
        let path = format!("/{door}/{}/{}", registration.name, slots.len());
        let slot = Slot { registration, tape: tape.clone(), withdrawn: false, arrived: Arrived::default() };
        slots.insert(path.clone(), slot);
        Address { url: format!("{base}{path}"), path }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Slot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Mailbox ===

impl Inbox for Mailbox {
    fn blind(&self) -> Vec<String> {
        Vec::new()
    }

    fn register(&self, tape: &Tape, registration: Registration) -> Address {
        self.0.post().open(RECEIVER, "callback", tape, registration)
    }

    fn register_inside(&self, tape: &Tape, registration: Registration) -> Option<Address> {
        Some(self.0.post().open(INSIDE, "inside", tape, registration))
    }

    fn withdraw(&self, address: &Address) {
        if let Some(slot) = self.0.post().lock().get_mut(&address.path) {
            slot.withdrawn = true;
        }
    }

    fn arrived(&self, address: &Address) -> Arrived {
        self.0.post().lock().get(&address.path).map(|slot| slot.arrived.clone()).unwrap_or_default()
    }

    fn strays(&self) -> Arrived {
        Arrived::default()
    }

    fn wait<'a>(&'a self, address: &'a Address, count: u64, _: Duration) -> BoxFuture<'a, bool> {
        let there = || self.arrived(address).deliveries.len() as u64 >= count;
        for _ in 0..TICKS {
            if there() {
                break;
            }
            self.0.tick();
        }
        Box::pin(std::future::ready(there()))
    }
}

/// What an honest notification of a configuration shows.
fn shown(proofs: &[Proof], config: &Value) -> Shown {
    let Some(proof) = proofs.first() else { return Shown::NotAsked };
    let right = match proof {
        Proof::Authorization { scheme, credentials } => {
            config["authentication"] == json!({"scheme": scheme, "credentials": credentials})
        }
        Proof::Token { value, .. } => config["token"] == json!(value),
        Proof::Jwt { .. } => true,
    };
    if right { Shown::Right } else { Shown::Missing }
}
