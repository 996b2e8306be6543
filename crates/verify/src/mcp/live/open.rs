//! The two openings, each on a connection of its own.

use std::time::Duration;

use ostiary_protocol::mcp::{Answer, Opening, Revision, Speech, era};
use ostiary_record::ports::{Carrier, CouldNotRun, Limits};
use serde_json::{Map, Value};

use super::{Caller, Endpoint, Look, client::Client};

/// What an opening came to, with the conversation where there is one.
pub(super) struct Opened<'a> {
    /// What it showed; an error where no connection could be made.
    pub(super) opening: Result<Opening, CouldNotRun>,
    /// The result as it came.
    pub(super) handshake: Option<Value>,
    /// The conversation that goes on from here.
    pub(super) client: Option<Client<'a>>,
}

// === impl Look ===

impl<'a> Look<'a> {
    /// Asks for the era without sessions.
    pub(super) async fn stateless(&self, endpoint: &Endpoint, caller: &Caller, within: Duration) -> Opened<'a> {
        (self.tell)(&format!("{}: server/discover", endpoint.server));
        let mut client = match self.connect(endpoint, caller, Revision::V2026_07_28, within).await {
            Ok(client) => client,
            Err(problem) => return Opened { opening: Err(problem), handshake: None, client: None },
        };
        let reply = client.ask(|s, id| s.request(id, "server/discover", Map::new()), within).await;
        let opening = era::discovered(&reply);
        finish(opening, reply.answer, client)
    }

    /// Asks for the era of sessions.
    pub(super) async fn sessions(&self, endpoint: &Endpoint, caller: &Caller) -> Opened<'a> {
        (self.tell)(&format!("{}: initialize", endpoint.server));
        let within = if endpoint.target.carrier == Carrier::Stdio { self.patience.start } else { self.patience.answer };
        let mut client = match self.connect(endpoint, caller, self.offered, within).await {
            Ok(client) => client,
            Err(problem) => return Opened { opening: Err(problem), handshake: None, client: None },
        };
        let reply = client.ask(Speech::initialize, within).await;
        let opening = era::initialized(&reply);
        if let Opening::Speaks { revision, .. } = &opening {
            client.speech.revision = *revision;
            let ready = client.speech.notification("notifications/initialized", Map::new());
            client.tell(ready, self.patience.answer).await;
        }
        finish(opening, reply.answer, client)
    }

    async fn connect(
        &self,
        endpoint: &Endpoint,
        caller: &Caller,
        revision: Revision,
        within: Duration,
    ) -> Result<Client<'a>, CouldNotRun> {
        // a little longer than we wait ourselves, so that the driver's own end of an exchange is the exception
        let limits =
            Limits { exchange: within.max(self.patience.answer) + Duration::from_secs(1), ..Limits::default() };
        let wire = super::wire(endpoint);
        let channel = self.transport.open(self.tape, &endpoint.target, &caller.actor, limits).await?;
        Ok(self.client(channel, Speech::new(revision, wire, caller.client.clone())))
    }
}

fn finish(opening: Opening, answer: Answer, mut client: Client<'_>) -> Opened<'_> {
    let handshake = if let Answer::Result(result) = answer { Some(result) } else { None };
    let speaks = match &opening {
        Opening::Speaks { revision, .. } => {
            client.speech.revision = *revision;
            true
        }
        _ => false,
    };
    Opened { opening: Ok(opening), handshake, client: speaks.then_some(client) }
}
