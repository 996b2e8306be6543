//! MCP servers as they are now: which eras they speak, and their tools in each, whole.
//!
//! [`Look::at`] drives and never judges. It asks each server as one caller for both openings, on a connection of its own
//! each (a process that has spoken one era may refuse the other), before any tool is touched; then for all pages of the
//! list. What it finds goes on the tape as documents, from which [`View`]s are read back when a run is judged.

pub(crate) mod callers;
mod check;
mod client;
mod compare;
mod list;
mod open;
mod view;

use std::time::Duration;

use ostiary_protocol::mcp::{ClientProfile, Revision, Speech, Wire};
use ostiary_record::{
    Blob, DocumentName, Kind, Label, Source, Tape,
    ports::{Actor, Carrier, Channel, Target, Timer, Transport},
};
use serde_json::Value;

pub(crate) use check::checks;
pub use view::{EraView, ListView, Outcome, View};

use self::{client::Client, open::Opened};
use crate::meter::Meter;

/// A server of the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its name, as in the contract's declarations.
    pub server: String,
    /// What drivers call.
    pub target: Target,
}

/// As whom a server is looked at.
#[derive(Clone)]
pub struct Caller {
    /// The client that asks.
    pub client: ClientProfile,
    /// Whose credential is shown; over stdio none is.
    pub actor: Actor,
    /// Its authorization profile.
    pub authorization: String,
    /// Its class of tenant.
    pub tenant_class: String,
}

/// How long a server may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For the first opening: a server of the older era may never answer what it does not know.
    pub probe: Duration,
    /// For the start of a process: some ask others before they say a word.
    pub start: Duration,
    /// For one page.
    pub answer: Duration,
    /// For all pages.
    pub list: Duration,
    /// For ending by itself.
    pub close: Duration,
}

/// What servers are looked at with.
pub struct Look<'a> {
    /// Opens channels.
    pub transport: &'a dyn Transport,
    /// Takes down what happens.
    pub tape: &'a Tape,
    /// How long servers may take.
    pub patience: Patience,
    /// The revision that is offered to servers of the older era.
    pub offered: Revision,
    /// Counts and spaces the calls of a run.
    pub(crate) pace: Option<(&'a Meter, &'a dyn Timer)>,
    /// Is told what is being done.
    pub tell: &'a (dyn Fn(&str) + Send + Sync),
}

/// What was seen of one server, with the lists themselves.
#[derive(Clone, Debug)]
pub struct Seen {
    /// What goes into a run.
    pub view: View,
    /// The tools by the protocol of the profile: `mcp-http-2026-07-28`.
    pub lists: Vec<(String, Value)>,
}

// === impl Look ===

impl<'a> Look<'a> {
    /// With the usual patience, uncounted.
    #[must_use]
    pub fn new(transport: &'a dyn Transport, tape: &'a Tape, tell: &'a (dyn Fn(&str) + Send + Sync)) -> Self {
        let (patience, offered) = (Patience::default(), callers::OFFERED);
        Self { transport, tape, patience, offered, pace: None, tell }
    }

    /// Looks at a server as one caller, and writes what it saw.
    pub async fn at(&self, endpoint: &Endpoint, caller: &Caller) -> Seen {
        let wire = wire(endpoint);
        let mut view = View::new(&endpoint.server, wire, caller);
        let mut lists = Vec::new();
        let began = self.tape.now();
        let stateless = self.stateless(endpoint, caller, self.patience.probe).await;
        view.stateless = self.listed(&view, stateless, &mut lists).await;
        let middle = self.tape.now();
        let sessions = self.sessions(endpoint, caller).await;
        let slow = Duration::from_nanos(self.tape.now().0.saturating_sub(middle.0)) > self.patience.probe;
        view.sessions = self.listed(&view, sessions, &mut lists).await;
        if wire == Wire::Stdio && slow && view.stateless.outcome == Outcome::Silent {
            // it was starting still when it was given up
            let again = self.stateless(endpoint, caller, self.patience.start).await;
            view.stateless = self.listed(&view, again, &mut lists).await;
        }
        let took = self.tape.now().0.saturating_sub(began.0) / 1_000_000;
        self.mark("mcp.looked_at", &format!("{} in {took} ms", view.folder()));
        self.write(&view);
        Seen { view, lists }
    }

    /// Writes that a server was not asked as a caller that there is no credential for.
    pub(crate) fn not_asked(&self, endpoint: &Endpoint, caller: &Caller, why: &str) {
        let mut view = View::new(&endpoint.server, wire(endpoint), caller);
        view.stateless.why = Some(why.to_owned());
        self.write(&view);
    }

    fn write(&self, view: &View) {
        let text = serde_json::to_string(view).expect("a view is plain data");
        self.document(&view.document(), text);
    }

    /// Reads the tools of an era that is spoken, and ends the conversation.
    async fn listed(&self, view: &View, opened: Opened<'_>, lists: &mut Vec<(String, Value)>) -> EraView {
        let Opened { opening, handshake, client } = opened;
        let mut era = EraView::of(opening, view.wire(), handshake);
        let (Some(mut client), Some(protocol)) = (client, era.protocol.clone()) else { return era };
        if era.lists_tools(client.speech.revision) {
            (self.tell)(&format!("{}: tools by {protocol}", view.server));
            let (list, mut told) = list::read(&mut client, self.patience).await;
            told.document = format!("{}/{protocol}.tools.json", view.folder());
            self.document(&told.document, list.to_string());
            lists.push((protocol, list));
            era.list = Some(told);
        }
        client.end(self.patience.close).await;
        era
    }

    fn client(&self, channel: Box<dyn Channel>, speech: Speech) -> Client<'a> {
        Client::new(channel, self.tape, speech, self.pace)
    }

    fn document(&self, name: &str, text: String) {
        let kind = Kind::Document { name: DocumentName(name.to_owned()), bytes: Blob::from(text) };
        self.tape.push(Source::Script, kind);
    }

    fn mark(&self, label: &str, value: &str) {
        self.tape.push(Source::Script, Kind::Mark { label: Label(label.to_owned()), value: Some(value.to_owned()) });
    }
}

// === impl Patience ===

impl Default for Patience {
    /// A cold start of an interpreter on a busy machine was seen to take 28 s.
    fn default() -> Self {
        Self {
            probe: Duration::from_secs(10),
            start: Duration::from_secs(60),
            answer: Duration::from_secs(30),
            list: Duration::from_secs(120),
            close: Duration::from_secs(2),
        }
    }
}

fn wire(endpoint: &Endpoint) -> Wire {
    if endpoint.target.carrier == Carrier::Stdio { Wire::Stdio } else { Wire::Http }
}

#[cfg(test)]
mod tests;
