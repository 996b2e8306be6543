//! What was seen of one server as one caller: plain data, on the tape as a document.

use ostiary_protocol::mcp::{Handshake, Opening, Revision, Wire};
use ostiary_record::{EventRef, Kind, Recording, ports::CouldNotRun};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Caller;

/// The format that views carry.
const FORMAT: &str = "ostiary.mcp-view/1";
/// Documents of live servers stand under this prefix, and views have this name.
const PREFIX: &str = "mcp/";
const NAME: &str = "live.json";

/// One server as one caller sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// What this is.
    pub format: String,
    /// The server's name.
    pub server: String,
    /// `http` or `stdio`.
    pub wire: String,
    /// The client profile.
    pub client: String,
    /// The authorization profile.
    pub authorization: String,
    /// The class of tenant.
    pub tenant_class: String,
    /// The era without sessions: 2026-07-28.
    pub stateless: EraView,
    /// The era of sessions: 2025-06-18 and 2025-11-25.
    pub sessions: EraView,
}

/// What one opening came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EraView {
    /// In one word.
    pub outcome: Outcome,
    /// In words, where the era is not spoken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The revision that was settled on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The first part of its profiles: `mcp-http-2026-07-28`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The revisions that the server named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<String>,
    /// The result of the opening, as it came: capabilities, instructions, who the server says it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake: Option<Value>,
    /// Its tools; none where it declares none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<ListView>,
}

/// What an opening came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The era is spoken.
    Speaks,
    /// The era is spoken, in revisions that we do not know.
    Unknown,
    /// The era is not spoken.
    Refuses,
    /// The caller is not let in.
    Denied,
    /// There was no answer.
    Silent,
    /// There was no connection.
    Unreachable,
    /// It was not asked.
    NotAsked,
}

/// The list of tools as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListView {
    /// The document that holds it.
    pub document: String,
    /// How many pages it had.
    pub pages: usize,
    /// How many tools were read.
    pub tools: usize,
    /// Why it is not whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// Whether its pages disagree on `cacheScope`.
    #[serde(default)]
    pub scope_differs: bool,
}

/// What went wrong with a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// A stable name.
    pub what: String,
    /// In words.
    pub why: String,
}

// === impl View ===

impl View {
    pub(super) fn new(server: &str, wire: Wire, caller: &Caller) -> Self {
        Self {
            format: FORMAT.to_owned(),
            server: server.to_owned(),
            wire: wire.slug().to_owned(),
            client: caller.client.name.clone(),
            authorization: caller.authorization.clone(),
            tenant_class: caller.tenant_class.clone(),
            stateless: EraView::empty(Outcome::NotAsked),
            sessions: EraView::empty(Outcome::NotAsked),
        }
    }

    /// The views on a tape, with the event that holds each. What is no view, is none: a stored run may hold anything.
    #[must_use]
    pub fn all(recording: &Recording) -> Vec<(Self, EventRef)> {
        let view = |event: &ostiary_record::Event| match &event.kind {
            Kind::Document { name, bytes } if name.0.starts_with(PREFIX) && name.0.ends_with(NAME) => {
                let view: Self = serde_json::from_slice(bytes.as_bytes()).ok()?;
                (view.format == FORMAT).then(|| (view, Recording::cite(0, event.seq)))
            }
            _ => None,
        };
        recording.events.iter().filter_map(view).collect()
    }

    /// Whom it was seen as, in the form of the bundle's snapshots: `harness.default.default`.
    #[must_use]
    pub fn profile(&self) -> String {
        format!("{}.{}.{}", self.client, self.authorization, self.tenant_class)
    }

    /// Where its documents stand.
    #[must_use]
    pub fn folder(&self) -> String {
        format!("{PREFIX}{}/{}", self.server, self.profile())
    }

    /// The name of its own document.
    #[must_use]
    pub fn document(&self) -> String {
        format!("{}/{NAME}", self.folder())
    }

    /// Both eras, the newer first.
    #[must_use]
    pub const fn eras(&self) -> [&EraView; 2] {
        [&self.stateless, &self.sessions]
    }

    pub(super) fn wire(&self) -> Wire {
        if self.wire == Wire::Stdio.slug() { Wire::Stdio } else { Wire::Http }
    }
}

// === impl EraView ===

impl EraView {
    fn empty(outcome: Outcome) -> Self {
        let (why, revision, protocol, versions, handshake, list) = (None, None, None, Vec::new(), None, None);
        Self { outcome, why, revision, protocol, versions, handshake, list }
    }

    pub(super) fn of(opening: Result<Opening, CouldNotRun>, wire: Wire, result: Option<Value>) -> Self {
        let because = |outcome, why: String| Self { why: Some(why), ..Self::empty(outcome) };
        match opening {
            Ok(Opening::Speaks { revision, handshake }) => Self {
                revision: Some(revision.to_string()),
                protocol: Some(wire.protocol(revision)),
                versions: handshake.map(|h| h.versions).unwrap_or_default(),
                handshake: result,
                ..Self::empty(Outcome::Speaks)
            },
            Ok(Opening::Unknown { versions }) => Self { versions, ..Self::empty(Outcome::Unknown) },
            Ok(Opening::Refuses { why }) => because(Outcome::Refuses, why),
            Ok(Opening::Silent { why }) => because(Outcome::Silent, why),
            Ok(Opening::Denied { status }) => because(Outcome::Denied, format!("HTTP {status}")),
            Err(problem) => because(Outcome::Unreachable, problem.to_string()),
        }
    }

    /// Whether it says that it has tools, or says nothing of what it has.
    pub(super) fn lists_tools(&self, revision: Revision) -> bool {
        self.handshake.as_ref().is_none_or(|result| Handshake::of(result, revision).declares("tools"))
    }

    /// The revision that is spoken, where we know it.
    #[must_use]
    pub fn spoken(&self) -> Option<Revision> {
        self.revision.as_ref().filter(|_| self.outcome == Outcome::Speaks)?.parse().ok()
    }

    /// The result of the opening, read.
    #[must_use]
    pub fn handshake(&self) -> Option<Handshake> {
        Some(Handshake::of(self.handshake.as_ref()?, self.spoken()?))
    }
}

// === impl Problem ===

impl Problem {
    pub(super) fn new(what: &str, why: String) -> Self {
        Self { what: what.to_owned(), why }
    }
}
