//! The declaration layer alone: one card, no contract, no call but the fetch.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use clap::Args;
use ostiary_canon::json::{Limits, parse_strict};
use ostiary_protocol::a2a::card::{CardFormat, project};
use ostiary_verify::{
    CardLint, JudgeOptions,
    discover::{CARD, PLAIN_CARD},
    format_of,
    output::Documents,
};

use super::{Reach, last_known, verify};
use crate::{
    api::read,
    console::Console,
    error::CliError,
    exit::Exit,
    report::{self, Judged, Tried},
    system,
};

/// Judges agent cards by themselves; strict, as production needs it, unless told otherwise
#[derive(Args, Debug)]
pub(crate) struct Lint {
    /// Files or addresses of cards
    #[arg(required = true, value_name = "FILE|URL")]
    cards: Vec<String>,
    /// The A2A version to judge by
    #[arg(long, default_value = "1.0", value_parser = ["1.0"])]
    a2a: String,
    /// An extension that the consumer supports
    #[arg(long = "consumer-extension", value_name = "URI")]
    consumer_extensions: Vec<String>,
    /// Judges https, public addresses and media types as warnings
    #[arg(long)]
    dev: bool,
    /// Judges cards of A2A 0.2 and 0.3 by their own version, instead of telling what to migrate
    #[arg(long)]
    legacy: bool,
    /// The last known card, or its snapshot with the card beside it: silent changes, endpoints that moved and
    /// authentication that is gone are told
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// The operator's keys for signed cards, as a JWK set
    #[arg(long, value_name = "FILE")]
    trust: Option<PathBuf>,
    /// Fails for cards without a valid signature
    #[arg(long, requires = "trust")]
    require_signature: bool,
    #[command(flatten)]
    reach: Reach,
}

/// A card to lint.
struct Document {
    card: Bytes,
    /// As served to callers that send no version, where that was asked.
    plain: Option<Bytes>,
    /// Its format; `None` = not even JSON.
    format: Option<CardFormat>,
}

// === impl Lint ===

impl Lint {
    pub(super) async fn run(self, console: Console) -> Result<Exit, CliError> {
        let clock = Arc::new(system::Elapsed::start());
        let lint = CardLint::new(self.options()?, self.dev, clock);
        let lint = lint.map_err(|e| CliError::because("this build cannot lint cards", &e))?;
        let mut all = Vec::with_capacity(self.cards.len());
        for card in &self.cards {
            all.push(Tried::of("card", card, self.one(&lint, card).await));
        }
        report::show_each(console, all)
    }

    async fn one(&self, lint: &CardLint, card: &str) -> Result<Judged, CliError> {
        let is_url = card.starts_with("https://") || card.starts_with("http://");
        let document = if is_url { self.fetched(card).await? } else { Document::of(read(Path::new(card))?.into()) };
        // a card that was fetched has no place in the reader's tree
        let documents = if is_url { Documents::default() } else { Documents::at_home(card).with(card, card) };
        let format = document.format.map_or("malformed", CardFormat::slug);
        let projection = document.projection();
        let judged = Judged::new(card, lint.report(document.card, document.plain, system::now()))
            .renamed(CARD, card)
            .renamed(PLAIN_CARD, &format!("{card} without A2A-Version"))
            .with("card", card)
            .with("format", format)
            .with("a2a", self.a2a.as_str());
        let judged = match projection {
            Some(projection) => judged.with("projection", projection),
            None => judged,
        };
        Ok(judged.headed(format!("{card}  ({format})")).documents(documents))
    }

    async fn fetched(&self, url: &str) -> Result<Document, CliError> {
        let card = self.reach.fetch(url).await?.body;
        let plain = self.reach.fetch_plain(url).await.filter(|plain| *plain != card);
        Ok(Document { plain, ..Document::of(card) })
    }

    fn options(&self) -> Result<JudgeOptions, CliError> {
        let keys = self.trust.as_deref().map(verify::keys).transpose()?;
        Ok(JudgeOptions {
            consumer_extensions: self.consumer_extensions.clone(),
            card_keys: keys.unwrap_or_default(),
            card_signature_required: self.require_signature,
            last_card: self.against.as_deref().map(last_known::card).transpose()?,
            legacy_cards: self.legacy,
            ..JudgeOptions::default()
        })
    }
}

// === impl Document ===

impl Document {
    fn of(card: Bytes) -> Self {
        Self { format: format_of(&card), card, plain: None }
    }

    /// What a 1.0 card would hold of an older one, and what is lost.
    fn projection(&self) -> Option<serde_json::Value> {
        self.format.filter(|format| format.is_legacy())?;
        let value = parse_strict(&self.card, Limits::DOCUMENT).ok()?;
        serde_json::to_value(project(&value)).ok()
    }
}
