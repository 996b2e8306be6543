//! What the candidate declares now, read from the discovery tape: its card and the interfaces in it.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use ostiary_canon::Profile;
use ostiary_protocol::a2a::{Binding, Version, codec::SUPPORTED};
use ostiary_record::{
    ActorId, Axes, Blob, DocumentName, End, Kind, Recording, Route, Source, Tape, TargetId,
    ports::{Carrier, CouldNotRun, Fetched, Limits, Target},
    view::ExchangeView,
};
use serde_json::Value;

use crate::{
    drive::{Ports, Request},
    mcp::{Linted, live::callers},
    meter::Meter,
    scenario::DISCOVER,
    stage::ANONYMOUS,
};

/// The name of the served card on the discovery tape.
pub const CARD: &str = "agent-card.json";
/// The card as callers get it that send no `A2A-Version`, where it was asked for.
pub const PLAIN_CARD: &str = "agent-card.plain.json";
/// What the request for the card means.
const FETCH_CARD: &str = "FetchAgentCard";
/// Bundle files stand on the discovery tape under this prefix.
pub const BUNDLE_PREFIX: &str = "bundle/";

/// What discovery found; read from its recording alone, so that judging a stored run finds the same.
#[derive(Clone, Debug)]
pub struct Discovered {
    /// The discovery tape; place 0 of every run.
    pub recording: Recording,
    /// The card as served, where it is a readable JSON object.
    pub card: Option<Value>,
    /// Why the card could not be read, if it was served and could not.
    pub card_problem: Option<String>,
    /// The declared interfaces, in the card's order.
    pub interfaces: Vec<Interface>,
    /// What is to say about the tool snapshots; made when the first check asks.
    tool_lints: OnceLock<Linted>,
}

/// One interface of the card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// What drivers call.
    pub target: Target,
    /// Its place in the card: `/supportedInterfaces/0`.
    pub pointer: String,
    /// `JSONRPC`, `GRPC`, `HTTP+JSON`, or a URI.
    pub binding: String,
    /// `1.0`.
    pub protocol_version: String,
    /// The tenant routing value that every request must repeat.
    pub tenant: Option<String>,
}

// === impl Discovered ===

impl Discovered {
    /// Reads the discovery tape.
    #[must_use]
    pub fn read(recording: Recording) -> Self {
        let (card, card_problem) = match recording.document(CARD) {
            None => (None, None),
            Some((blob, _)) => {
                match ostiary_canon::json::parse_strict(blob.as_bytes(), ostiary_canon::json::Limits::DOCUMENT) {
                    Ok(value) if value.is_object() => (Some(value), None),
                    Ok(_) => (None, Some("the document is no JSON object".to_owned())),
                    Err(problem) => (None, Some(problem.to_string())),
                }
            }
        };
        let interfaces = card.as_ref().map(interfaces).unwrap_or_default();
        Self { recording, card, card_problem, interfaces, tool_lints: OnceLock::new() }
    }

    /// The lint of the tool snapshots, one for all checks of a judgement.
    pub(crate) fn tool_lints(&self, lint: impl FnOnce(&Recording) -> Linted) -> &Linted {
        self.tool_lints.get_or_init(|| lint(&self.recording))
    }

    /// Why there is no card, with the address asked and what came of it; `None` where there is one, or nobody was asked.
    #[must_use]
    pub fn card_absence(&self) -> Option<String> {
        let asked = self.asked_for_card().filter(|_| self.recording.document(CARD).is_none())?;
        let Route::Http { path: url, .. } = asked.route else { return None };
        let came = match (asked.status(), asked.ended.map(|(how, _)| how)) {
            (_, Some(End::NoConnection { why } | End::PeerReset { why })) => why.clone(),
            (_, Some(End::Limit { which })) => format!("the bound {which} was hit"),
            (Some(status), _) => format!("HTTP {status}"),
            (None, _) => "no answer".to_owned(),
        };
        Some(if came.contains(url.as_str()) { came } else { format!("{url}: {came}") })
    }

    /// The first request for the card; MCP servers are asked on the same tape.
    fn asked_for_card(&self) -> Option<ExchangeView<'_>> {
        self.recording.exchanges().into_iter().find(|x| x.intent.is_some_and(|intent| intent.0 == FETCH_CARD))
    }

    /// Why the candidate could not be reached at all: no connection for its card, so that nothing was verified.
    #[must_use]
    pub fn unreachable(&self) -> Option<String> {
        let first = self.asked_for_card()?;
        let reached = first.status().is_some() || !matches!(first.ended, Some((End::NoConnection { .. }, _)));
        if reached { None } else { self.card_absence() }
    }

    /// The interface that a profile is about.
    #[must_use]
    pub fn interface(&self, profile: &Profile) -> Option<&Interface> {
        self.interfaces.iter().find(|i| i.protocol().as_deref() == Some(profile.protocol()))
    }
}

// === impl Interface ===

impl Interface {
    /// Whether the harness can drive it: a binding with a codec, and a version that scenarios are written for.
    #[must_use]
    pub fn exercisable(&self) -> bool {
        let known = SUPPORTED.contains(&Binding::parse(&self.binding));
        known && Version::parse_lenient(&self.protocol_version) == Some(Version::V1_0)
    }

    /// The first part of the profile names of this interface: `a2a-jsonrpc-1.0`; `None` for a binding that no profile
    /// can name.
    #[must_use]
    pub fn protocol(&self) -> Option<String> {
        let slug = Binding::parse(&self.binding).slug()?;
        Some(format!("{slug}-{}", Version::parse_lenient(&self.protocol_version)?))
    }
}

/// Where the declared address really led.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// The URL that answered.
    pub(crate) endpoint: Option<String>,
    /// SHA-256 of the server key's SPKI, over TLS.
    pub(crate) spki_sha256: Option<String>,
}

/// Puts the declarations on a tape: the bundle's files, and the card as the candidate serves it now. Without an address
/// the bundle's own card stands for it.
pub(crate) async fn discover(ports: &Ports, request: &Request<'_>, meter: &Meter) -> (Recording, Seen) {
    let tape = Tape::new(Arc::clone(&ports.clock));
    for (path, bytes) in &request.bundle.files {
        document(&tape, &format!("{BUNDLE_PREFIX}{path}"), bytes.clone());
    }
    let mut seen = Seen::default();
    match request.card_url {
        Some(url) => seen = fetch_card(ports, url, &tape).await,
        None => {
            if let Some(card) = &request.bundle.card {
                document(&tape, CARD, card.bytes.clone());
            }
        }
    }
    callers::look(ports, request, meter, &tape).await;
    (Recording { scenario: DISCOVER.into(), axes: Axes::default(), seed: request.seed, events: tape.events() }, seen)
}

/// A discovery tape of a card alone, for judging a file without a candidate.
#[must_use]
pub fn of_card(clock: Arc<dyn ostiary_record::Monotonic>, card: Bytes) -> Recording {
    of_cards(clock, card, None)
}

/// The same, with the card as it is served to callers that send no `A2A-Version`.
#[must_use]
pub fn of_cards(clock: Arc<dyn ostiary_record::Monotonic>, card: Bytes, plain: Option<Bytes>) -> Recording {
    of_documents(clock, [Some((CARD, card)), plain.map(|plain| (PLAIN_CARD, plain))].into_iter().flatten())
}

/// A discovery tape of these documents alone, by their names.
#[must_use]
pub fn of_documents<'a>(
    clock: Arc<dyn ostiary_record::Monotonic>,
    documents: impl IntoIterator<Item = (&'a str, Bytes)>,
) -> Recording {
    let tape = Tape::new(clock);
    documents.into_iter().for_each(|(name, bytes)| document(&tape, name, bytes));
    Recording { scenario: DISCOVER.into(), axes: Axes::default(), seed: 0, events: tape.events() }
}

/// Asks twice: a server may give callers that send no version another card.
async fn fetch_card(ports: &Ports, url: &str, tape: &Tape) -> Seen {
    let accept = ("Accept".to_owned(), "application/json".to_owned());
    let version = ("A2A-Version".to_owned(), "1.0".to_owned());
    let Some(fetched) = get_card(ports, url, &[version, accept.clone()], tape).await else { return Seen::default() };
    if fetched.status == 200 {
        document(tape, CARD, fetched.body.clone());
        // what is wrong with this one alone is nothing that callers of 1.0 see
        let plain = get_card(ports, url, &[accept], tape).await;
        if let Some(plain) = plain.filter(|plain| plain.status == 200 && plain.body != fetched.body) {
            document(tape, PLAIN_CARD, plain.body);
        }
    }
    seen_at(fetched)
}

/// One GET on the tape; `None` when there was no answer.
async fn get_card(ports: &Ports, url: &str, headers: &[(String, String)], tape: &Tape) -> Option<Fetched> {
    let wire = || Source::Wire("card".into());
    let x = tape.next_exchange();
    let target = TargetId("card".to_owned());
    tape.push(wire(), Kind::Opened { target, actor: ActorId(ANONYMOUS.to_owned()) });
    tape.push(
        wire(),
        Kind::Sent {
            x,
            route: Route::Http { method: "GET".to_owned(), path: url.to_owned() },
            headers: headers.iter().map(|(n, v)| (n.clone(), Blob::from(v.clone()))).collect(),
            bytes: Blob::default(),
            intent: Some(FETCH_CARD.into()),
        },
    );
    match ports.fetch.get(url, headers, Limits::default()).await {
        Ok(fetched) => {
            let fields = fetched.headers.iter().map(|(n, v)| (n.clone(), Blob::from(v.clone()))).collect();
            tape.push(wire(), Kind::Head { x, status: fetched.status, headers: fields });
            tape.push(wire(), Kind::Frame { x, n: 0, bytes: Blob(fetched.body.clone()) });
            tape.push(wire(), Kind::Ended { x, how: End::Complete });
            Some(fetched)
        }
        Err(problem) => {
            tape.push(wire(), Kind::Ended { x, how: end_of(&problem) });
            None
        }
    }
}

fn seen_at(fetched: Fetched) -> Seen {
    Seen { endpoint: Some(fetched.url), spki_sha256: fetched.spki_sha256 }
}

fn end_of(problem: &CouldNotRun) -> End {
    match problem {
        CouldNotRun::Bound { what } => End::Limit { which: what.clone() },
        other => End::NoConnection { why: other.to_string() },
    }
}

fn document(tape: &Tape, name: &str, bytes: Bytes) {
    tape.push(Source::Script, Kind::Document { name: DocumentName(name.to_owned()), bytes: Blob(bytes) });
}

fn interfaces(card: &Value) -> Vec<Interface> {
    let list = card.get("supportedInterfaces").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let text = |v: &Value, key: &str| v.get(key).and_then(Value::as_str).map(str::to_owned);
    let read = |(n, entry): (usize, &Value)| {
        let binding = text(entry, "protocolBinding")?;
        let carrier = if Binding::parse(&binding) == Binding::Grpc { Carrier::Grpc } else { Carrier::Http };
        Some(Interface {
            target: Target { id: TargetId(format!("interface-{n}")), url: text(entry, "url")?, carrier },
            pointer: format!("/supportedInterfaces/{n}"),
            binding,
            protocol_version: text(entry, "protocolVersion")?,
            tenant: text(entry, "tenant").filter(|t| !t.is_empty()),
        })
    };
    list.iter().enumerate().filter_map(read).collect()
}
