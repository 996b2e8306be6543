//! Drafts a whole bundle, and an environment for it, from what a producer declares.
//!
//! Pure: card and snapshots come as bytes, files go out as text. What the declarations do not tell is guessed in the way
//! that claims least, and every guess that a person must confirm carries a comment `# DECIDE: …`. Start with [`draft`].

use std::collections::BTreeMap;

use bytes::Bytes;
use ostiary_canon::{Digest, json};
use ostiary_protocol::a2a::{
    Card, CardFormat,
    card::{looks_like, recognise},
    codec::SUPPORTED,
};
use serde::Serialize;

use crate::{
    bundle::{Bundle, Files},
    file::tools::Tool,
    problem::Problems,
};

mod contract;
mod environment;
mod policy;
mod sample;
mod skills;
mod text;
mod tools;

/// What a bundle is drafted from.
#[derive(Clone, Debug, Default)]
pub struct Declared {
    /// The agent's name in the registry; `None` = made from the card's name, or the first server's.
    pub agent_id: Option<String>,
    /// The card's bytes, as served.
    pub card: Option<Bytes>,
    /// Where the card was fetched; `None` = it came from a file.
    pub card_url: Option<String>,
    /// `agent-card.snapshot.json`, where the fetch was noted.
    pub card_snapshot: Option<Bytes>,
    /// Answers to `tools/list`: the server's name, and the bytes.
    pub tools: Vec<(String, Bytes)>,
    /// The servers that were asked for them, by their names.
    pub servers: BTreeMap<String, LiveServer>,
    /// SHA-256 of what runs.
    pub artifact: Option<Digest>,
    /// Where connections to a declared `host:port` really go.
    pub connect_to: BTreeMap<String, String>,
    /// Certificate authorities of the target, as the environment file is to name them.
    pub trust_roots: Option<String>,
}

/// A server that was asked for its tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveServer {
    /// Where it is.
    pub place: ServerPlace,
    /// The revision that it was asked by: `2026-07-28`.
    pub revision: String,
}

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerPlace {
    /// At this address.
    Url(String),
    /// In a process that this command starts.
    Command(Vec<String>),
}

/// A drafted bundle, well-formed already.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The agent's name in the registry.
    pub agent_id: String,
    /// The bundle's files.
    pub files: Files,
    /// The text of the environment file that goes beside it.
    pub environment: String,
}

/// A place where a person must decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The file, within the bundle; the environment file goes by the name that the caller gives it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is to be decided.
    pub what: String,
}

/// Why nothing can be drafted.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// Neither card nor tools.
    #[error("nothing is declared: give a card or a snapshot of tools")]
    Nothing,
    /// The card is no acceptable JSON, or no card at all.
    #[error("card is not readable: {0}")]
    Card(String),
    /// A snapshot is not readable.
    #[error("snapshot of `{server}` is not readable: {why}")]
    Tools {
        /// Whose.
        server: String,
        /// Why.
        why: String,
    },
    /// The name is none that a registry takes.
    #[error("`{0}` is no name for an agent: letters, digits, `.`, `_` and `-` only")]
    Name(String),
    /// The declarations say something that no bundle can hold, a secret for example.
    #[error("declarations make no well-formed bundle:\n{0}")]
    Unsound(Problems),
}

/// Marks a line that a person must look at.
const MARK: &str = "# DECIDE: ";

/// The protocol version that is driven.
const DRIVEN: &str = "1.0";

/// What is drafted, read once.
struct Source<'a> {
    declared: &'a Declared,
    agent_id: String,
    card: Option<Card>,
    servers: Vec<Server>,
}

/// One server's tools.
struct Server {
    name: String,
    bytes: Bytes,
    tools: Vec<Tool>,
}

/// Drafts a bundle and an environment.
///
/// # Errors
/// When the declarations cannot be read, or cannot stand in a bundle as they are.
pub fn draft(declared: &Declared) -> Result<Draft, InitError> {
    let source = Source::read(declared)?;
    let mut files = Files::new();
    if let Some(card) = &declared.card {
        files.insert("agent-card.json".to_owned(), card.clone());
    }
    if let (Some(_), Some(snapshot)) = (&declared.card, &declared.card_snapshot) {
        files.insert("agent-card.snapshot.json".to_owned(), snapshot.clone());
    }
    skills::write(&source, &mut files);
    tools::write(&source, &mut files);
    policy::write(&source, &mut files);
    contract::write(&source, &mut files);
    Bundle::load(&files).map_err(InitError::Unsound)?;
    let environment = environment::text(&source);
    Ok(Draft { agent_id: source.agent_id, files, environment })
}

/// Everything that is still marked in a text.
pub fn decisions(file: &str, bytes: &[u8]) -> Vec<Decision> {
    let text = String::from_utf8_lossy(bytes);
    let marked = text.lines().enumerate().filter_map(|(n, line)| Some((n, line.split_once(MARK)?.1)));
    marked.map(|(n, what)| Decision { file: file.to_owned(), line: n + 1, what: what.trim().to_owned() }).collect()
}

// === impl Draft ===

impl Draft {
    /// Everything that a person must decide, in the order of the files; `environment` names the environment file.
    #[must_use]
    pub fn decisions(&self, environment: &str) -> Vec<Decision> {
        let yaml = self.files.iter().filter(|(path, _)| path.ends_with(".yaml"));
        let mut all: Vec<Decision> = yaml.flat_map(|(path, bytes)| decisions(path, bytes)).collect();
        all.extend(decisions(environment, self.environment.as_bytes()));
        all
    }
}

// === impl Source ===

impl<'a> Source<'a> {
    fn read(declared: &'a Declared) -> Result<Self, InitError> {
        let card = declared.card.as_deref().map(card).transpose()?;
        let servers = declared.tools.iter().map(|(name, bytes)| server(name, bytes)).collect::<Result<Vec<_>, _>>()?;
        if card.is_none() && servers.is_empty() {
            return Err(InitError::Nothing);
        }
        let from = card.as_ref().and_then(|c| c.text("name")).or(servers.first().map(|s| s.name.as_str()));
        let agent_id = declared.agent_id.clone().unwrap_or_else(|| text::slug(from.unwrap_or("agent")));
        ostiary_canon::AgentId::new("any", &agent_id).map_err(|_| InitError::Name(agent_id.clone()))?;
        Ok(Self { declared, agent_id, card, servers })
    }

    /// The server of that name that was asked itself.
    fn live(&self, name: &str) -> Option<&LiveServer> {
        self.declared.servers.iter().find(|(given, _)| text::slug(given) == name).map(|(_, server)| server)
    }

    /// Whether anybody may call: the card declares no security.
    fn public(&self) -> bool {
        self.card.as_ref().is_some_and(|card| !card.declares_security())
    }

    /// The protocols of the declared interfaces, in the order of the card, each once: those that can be driven, and the
    /// others.
    fn protocols(&self) -> (Vec<String>, Vec<String>) {
        let (mut drivable, mut other) = (Vec::new(), Vec::new());
        for interface in self.card.iter().flat_map(Card::interfaces) {
            let (Some(binding), Some(version)) = (&interface.binding, interface.version()) else { continue };
            let Some(slug) = binding.slug() else { continue };
            let can = SUPPORTED.contains(binding) && interface.version_text == Some(DRIVEN);
            let list = if can { &mut drivable } else { &mut other };
            let name = format!("{slug}-{version}");
            if !list.contains(&name) {
                list.push(name);
            }
        }
        (drivable, other)
    }
}

fn card(bytes: &[u8]) -> Result<Card, InitError> {
    let value = json::parse_strict(bytes, json::Limits::DOCUMENT).map_err(|e| InitError::Card(e.to_string()))?;
    match value {
        // an error message that came in a card's place would make a bundle that promises nothing
        value if recognise(&value) == CardFormat::NotACard => {
            Err(InitError::Card(format!("it is no agent card; it looks like {}", looks_like(&value))))
        }
        value => Ok(Card::new(value)),
    }
}

fn server(name: &str, bytes: &Bytes) -> Result<Server, InitError> {
    let wrong = |why: String| InitError::Tools { server: name.to_owned(), why };
    let value = json::parse_strict(bytes, json::Limits::DOCUMENT).map_err(|e| wrong(e.to_string()))?;
    let tools = Tool::list(&value).map_err(|all| wrong(all.join("; ")))?;
    Ok(Server { name: text::slug(name), bytes: bytes.clone(), tools })
}
