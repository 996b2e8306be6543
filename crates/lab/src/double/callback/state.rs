//! The registrations of a receiver and what arrived at each; bounded.

use std::collections::BTreeMap;

use http::HeaderMap;
use jiff::Timestamp;
use ostiary_record::{
    Arrived, ChannelId, Delivery, Kind, Proof, Registration, Reply, Shown, Source, Tape, event::DoubleId, fault::Draw,
};
use serde_json::json;

use super::proof;

/// Addresses and strays.
#[derive(Default)]
pub(super) struct State {
    slots: BTreeMap<String, Slot>,
    strays: Arrived,
    next: u64,
    bytes: usize,
}

/// Which of the two ports something came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Door {
    /// The one that candidates are told.
    Told,
    /// The one inside, that none may call.
    Inside,
}

struct Slot {
    registration: Registration,
    tape: Tape,
    withdrawn: bool,
    arrived: Arrived,
    count: u64,
}

/// What is decided about a delivery.
pub(super) struct Judged {
    pub(super) to: Option<String>,
    pub(super) withdrawn: bool,
    pub(super) shown: Shown,
    pub(super) reply: Reply,
    pub(super) secret_fields: Vec<String>,
}

/// Deliveries of an address that are kept.
const KEPT: usize = 1_000;
/// Strays that are kept: nobody expects any.
const STRAYS: usize = 100;
/// Bytes of bodies that are kept in all.
const BYTES: usize = 16 << 20;
/// The mark of a tape whose address got more than is kept.
const DROPPED: &str = "callbacks_dropped";

// === impl State ===

impl State {
    /// Opens an address and tells its path.
    pub(super) fn register(&mut self, door: Door, seed: u64, tape: Tape, registration: Registration) -> String {
        let name: String = registration.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let mut draw = Draw::new(seed, self.slots.len() as u64 + 1);
        let path = format!("{}{name}/{:08x}{:08x}", door.prefix(), draw.below(1 << 32), draw.below(1 << 32));
        let slot = Slot { registration, tape, withdrawn: false, arrived: Arrived::default(), count: 0 };
        self.slots.insert(path.clone(), slot);
        path
    }

    pub(super) fn withdraw(&mut self, path: &str) {
        if let Some(slot) = self.slots.get_mut(path) {
            slot.withdrawn = true;
        }
    }

    pub(super) fn arrived(&self, path: &str) -> Arrived {
        self.slots.get(path).map(|slot| slot.arrived.clone()).unwrap_or_default()
    }

    pub(super) fn strays(&self) -> Arrived {
        self.strays.clone()
    }

    /// All deliveries of an address, kept or not.
    pub(super) fn count(&self, path: &str) -> u64 {
        self.slots.get(path).map_or(0, |slot| slot.count)
    }

    /// What a delivery shows, and how it is answered.
    pub(super) fn judge(&self, door: Door, path: &str, headers: &HeaderMap, now: Timestamp) -> Judged {
        let Some(slot) = self.slots.get(path).filter(|_| door.leads_to(path)) else {
            let (shown, reply) = (Shown::NotAsked, Reply::Status(404));
            return Judged { to: None, withdrawn: false, shown, reply, secret_fields: Vec::new() };
        };
        let Registration { name, replies, proofs } = &slot.registration;
        let reply = usize::try_from(slot.count).ok().and_then(|n| replies.get(n)).or(replies.last());
        Judged {
            to: Some(name.clone()),
            withdrawn: slot.withdrawn,
            shown: proof::shown(proofs, headers, now),
            reply: reply.cloned().unwrap_or(Reply::Status(200)),
            secret_fields: proofs.iter().flat_map(fields_of).collect(),
        }
    }

    /// Keeps a delivery, or counts it.
    pub(super) fn keep(&mut self, door: Door, path: &str, delivery: Delivery) {
        let delivery = Delivery { n: self.next, ..delivery };
        self.next += 1;
        let room = self.bytes + delivery.body.as_bytes().len() <= BYTES;
        let (arrived, most, tape) = match self.slots.get_mut(path).filter(|_| door.leads_to(path)) {
            Some(slot) => {
                slot.count += 1;
                (&mut slot.arrived, KEPT, Some(&slot.tape))
            }
            None => (&mut self.strays, STRAYS, None),
        };
        if !room || arrived.deliveries.len() >= most {
            arrived.dropped += 1;
            if let (1, Some(tape)) = (arrived.dropped, tape) {
                tape.push(source(), Kind::Mark { label: DROPPED.into(), value: delivery.to });
            }
            return;
        }
        self.bytes += delivery.body.as_bytes().len();
        if let (Some(tape), Some(name)) = (tape, &delivery.to) {
            let channel = ChannelId(format!("callback:{name}"));
            tape.push(source(), Kind::Inbound { channel, bytes: json!(delivery).to_string().into() });
        }
        arrived.deliveries.push(delivery);
    }
}

// === impl Door ===

impl Door {
    /// What the paths of its addresses begin with.
    const fn prefix(self) -> &'static str {
        match self {
            Self::Told => "/callback/",
            Self::Inside => "/inside/",
        }
    }

    /// Whether a path is one of its own: what came by the wrong port came to an address that nobody registered.
    fn leads_to(self, path: &str) -> bool {
        path.starts_with(self.prefix())
    }
}

fn source() -> Source {
    Source::Double(DoubleId("callbacks".to_owned()))
}

/// The header fields that carry what a proof asks for.
fn fields_of(proof: &Proof) -> Vec<String> {
    match proof {
        Proof::Token { fields, .. } => fields.clone(),
        Proof::Authorization { .. } | Proof::Jwt { .. } => Vec::new(),
    }
}
