//! Work on agent cards.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use clap::Subcommand;
use jiff::Timestamp;
use ostiary_canon::json::{Limits as JsonLimits, parse_strict};
use ostiary_drivers::{AddressGuard, HttpTransport, Settings};
use ostiary_protocol::a2a::{
    card::{disagreements_between, disagreements_within},
    digest::{card_digest, raw_digest},
};
use ostiary_record::ports::{CouldNotRun, Fetch as _, Fetched, Limits};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{api::read, console::Console, error::CliError, exit::Exit, local, system};

mod last_known;
mod lint;
mod verify;

/// Work on agent cards
#[derive(Debug, Subcommand)]
pub(crate) enum Card {
    Lint(lint::Lint),
    Verify(verify::Verify),
    /// Fetches a card and keeps it with URL, version, validators, digests and time
    ///
    /// The card is fetched with and without `A2A-Version`; when the two name endpoints on different hosts, the command
    /// ends with 1.
    Snapshot {
        /// Address of the card
        url: String,
        /// The file to write, such as `agent-card.snapshot.json`; the card itself is written beside it, as
        /// `agent-card.json`
        #[arg(long, short, value_name = "FILE")]
        out: PathBuf,
        #[command(flatten)]
        reach: Reach,
    },
    /// Prints the digest that admission compares
    Digest {
        /// The card
        file: PathBuf,
    },
}

/// How a stranger's address is fetched.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Reach {
    /// Also fetch from loopback, private and shared addresses
    #[arg(long)]
    allow_private: bool,
    /// Also fetch over plain http
    #[arg(long)]
    allow_insecure_http: bool,
    /// Certificate authorities in place of the web's own (PEM)
    #[arg(long, value_name = "FILE")]
    pub(super) trust_roots: Option<PathBuf>,
    /// `host:port` of URLs, and the `host:port` to dial in their place
    #[arg(long, value_name = "FROM=TO", value_parser = connect_to)]
    pub(super) connect_to: Vec<(String, String)>,
}

/// What a snapshot says about the card it was made of (P-02), as a bundle takes it beside the card.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Snapshot {
    url: String,
    protocol_versions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_modified: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<String>,
    card_digest: String,
    /// Where callers that send no `A2A-Version` get another card.
    #[serde(skip_serializing_if = "Option::is_none")]
    plain_card_digest: Option<String>,
    raw_digest: String,
    fetched_at: Timestamp,
}

// === impl Card ===

impl Card {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        match self {
            Self::Lint(lint) => lint.run(console).await,
            Self::Verify(verify) => verify.run(console),
            Self::Snapshot { url, out, reach } => snapshot(console, &url, &out, &reach).await,
            Self::Digest { file } => {
                let bytes = read(&file)?;
                let digest = digest_of(&bytes)?;
                let said = json!({"card_digest": digest, "raw_digest": raw_digest(&bytes).to_string()});
                console.result(&said, |console, _| console.line(&digest));
                Ok(Exit::Done)
            }
        }
    }
}

async fn snapshot(console: Console, url: &str, out: &Path, reach: &Reach) -> Result<Exit, CliError> {
    let fetched = reach.fetch(url).await?;
    let mut snapshot = Snapshot::of(&fetched)?;
    let card = parse(&fetched.body)?;
    let plain = reach.fetch_plain(url).await.and_then(|bytes| parse(&bytes).ok()).filter(|plain| *plain != card);
    let digest = plain.as_ref().and_then(|plain| card_digest(plain).ok()).map(|digest| digest.to_string());
    snapshot.plain_card_digest = digest.filter(|digest| *digest != snapshot.card_digest);
    let between = plain.map(|plain| disagreements_between(&card, &plain)).unwrap_or_default();
    let apart = [disagreements_within(&card), between].concat();
    let beside = beside(out);
    local::write(&beside, &fetched.body)?;
    let text = serde_json::to_string_pretty(&snapshot).expect("a snapshot is plain data");
    local::write(out, text.as_bytes())?;
    console.result(&snapshot, |console, snapshot| {
        console.line(format!("{}  {}", snapshot.card_digest, snapshot.url));
        console.line(format!("written to {} and {}", out.display(), beside.display()));
    });
    for other in &apart {
        let known = other.others.join(", ");
        console.note(format!("CARD_ENDPOINTS_DISAGREE {}: `{}` is none of {known}", other.pointer, other.url));
    }
    Ok(if apart.iter().any(|other| other.foreign) { Exit::Failed } else { Exit::Done })
}

// === impl Reach ===

impl Reach {
    /// GETs a card of a stranger.
    pub(crate) async fn fetch(&self, url: &str) -> Result<Fetched, CliError> {
        fetch(self.settings()?, url).await
    }

    /// The card as callers get it that send no `A2A-Version`; nothing where they get none, as they may.
    async fn fetch_plain(&self, url: &str) -> Option<Bytes> {
        let transport = HttpTransport::new(self.settings().ok()?).ok()?;
        let headers = [("Accept".to_owned(), "application/json".to_owned())];
        let fetched = transport.get(url, &headers, Limits::default()).await.ok()?;
        (fetched.status == 200).then_some(fetched.body)
    }

    pub(crate) fn settings(&self) -> Result<Settings, CliError> {
        let guard = AddressGuard::public_only();
        Ok(Settings {
            connect_to: self.connect_to.iter().cloned().collect(),
            trust_roots: self.trust_roots.as_ref().map(|path| read(path)).transpose()?,
            allow_insecure_http: self.allow_insecure_http,
            guard: if self.allow_private { guard.allow_private() } else { guard },
        })
    }
}

/// GETs a card without credentials.
pub(crate) async fn fetch(settings: Settings, url: &str) -> Result<Fetched, CliError> {
    let transport = HttpTransport::new(settings).map_err(|e| CliError::because("cannot fetch", &e))?;
    let headers = [("A2A-Version", "1.0"), ("Accept", "application/json")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let fetched = transport.get(url, &headers, Limits::default()).await;
    let fetched = fetched.map_err(|e| {
        let error = CliError::because("cannot fetch the card", &e);
        if !matches!(e, CouldNotRun::AddressRefused { .. }) {
            return error;
        }
        error.hint("for a card on this machine or network give --allow-private, for http also --allow-insecure-http")
    })?;
    let error = CliError::could_not_run(format!("`{url}` answered with HTTP status {}", fetched.status));
    match fetched.status {
        200 => Ok(fetched),
        401 | 403 => Err(error.hint("a public card is fetched without credentials; lint a file of it instead")),
        404 | 410 => Err(error.hint("give the address of the card itself, mostly /.well-known/agent-card.json")),
        _ => Err(error),
    }
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn of(fetched: &Fetched) -> Result<Self, CliError> {
        let field = |name: &str| {
            let mut named = fetched.headers.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
            named.next().map(|(_, value)| value.clone())
        };
        let card = parse(&fetched.body)?;
        let interfaces = card["supportedInterfaces"].as_array().into_iter().flatten();
        let versions = interfaces.filter_map(|interface| interface["protocolVersion"].as_str());
        let protocol_versions: BTreeSet<&str> = versions.chain(card["protocolVersion"].as_str()).collect();
        Ok(Self {
            url: fetched.url.clone(),
            protocol_versions: protocol_versions.into_iter().map(str::to_owned).collect(),
            etag: field("etag"),
            last_modified: field("last-modified"),
            cache_control: field("cache-control"),
            card_digest: digest_of(&fetched.body)?,
            plain_card_digest: None,
            raw_digest: raw_digest(&fetched.body).to_string(),
            fetched_at: system::now(),
        })
    }
}

/// Where the card goes when its snapshot goes to `out`.
fn beside(out: &Path) -> PathBuf {
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    match name.strip_suffix(".snapshot.json") {
        Some(card) => out.with_file_name(format!("{card}.json")),
        None => out.with_extension("card.json"),
    }
}

fn digest_of(bytes: &[u8]) -> Result<String, CliError> {
    let digest = card_digest(&parse(bytes)?);
    Ok(digest.map_err(|e| CliError::because("the card has no canonical form", &e))?.to_string())
}

fn parse(bytes: &[u8]) -> Result<Value, CliError> {
    parse_strict(bytes, JsonLimits::DOCUMENT).map_err(|e| CliError::because("the card is no acceptable JSON", &e))
}

fn connect_to(text: &str) -> Result<(String, String), String> {
    let split = text.split_once('=').map(|(from, to)| (from.to_owned(), to.to_owned()));
    split.ok_or_else(|| format!("`{text}` is not `host:port=host:port`"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn a_card_goes_beside_its_snapshot_under_the_name_a_bundle_wants() {
        assert_eq!(super::beside(Path::new("b/agent-card.snapshot.json")), Path::new("b/agent-card.json"));
        assert_eq!(super::beside(Path::new("b/other.json")), Path::new("b/other.card.json"));
    }
}
