//! The declaration layer alone: one card, no contract, no call but the fetch.

use std::{path::Path, sync::Arc};

use bytes::Bytes;
use clap::Args;
use ostiary_canon::json::{Limits, parse_strict};
use ostiary_contract::{Bundle, Files};
use ostiary_protocol::a2a::card::{CardFormat, recognise};
use ostiary_record::{EnvironmentFacts, Gate, Layer, Report, Run, run::RUN_FORMAT};
use ostiary_verify::{HARNESS_VERSION, Harness, JudgeOptions, discover, judge, output::Documents};

use super::Reach;
use crate::{
    api::read,
    console::Console,
    error::CliError,
    exit::Exit,
    report::{self, Judged},
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
    #[command(flatten)]
    reach: Reach,
}

/// What findings call the card that is judged.
const CARD: &str = "agent-card.json";

// === impl Lint ===

impl Lint {
    pub(super) async fn run(self, console: Console) -> Result<Exit, CliError> {
        let mut all = Vec::new();
        for card in &self.cards {
            let is_url = card.starts_with("https://") || card.starts_with("http://");
            let bytes = if is_url { self.reach.fetch(card).await?.body } else { Bytes::from(read(Path::new(card))?) };
            let format = format_of(&bytes);
            // a card that was fetched has no place in the reader's tree
            let documents = if is_url { Documents::default() } else { Documents::at_home(card).with(CARD, card) };
            let judged = Judged::new(card, self.judge(bytes)?).with("card", card.as_str()).with("format", format);
            all.push(judged.headed(format!("{card}  ({format})")).documents(documents));
        }
        Ok(report::show(console, &all))
    }

    fn judge(&self, card: Bytes) -> Result<Report, CliError> {
        let strictness = if self.dev { "development" } else { "production" };
        let run = Run {
            format: RUN_FORMAT.to_owned(),
            started_at: system::now().to_string(),
            harness_version: HARNESS_VERSION.to_owned(),
            gate: Some(Gate::Static),
            environment: EnvironmentFacts { strictness: strictness.to_owned(), ..EnvironmentFacts::default() },
            recordings: vec![discover::of_card(Arc::new(system::Elapsed::start()), card)],
            not_run: Vec::new(),
        };
        let harness = Harness::standard();
        let options = JudgeOptions {
            layers: Some([Layer::Declaration].into()),
            only: about_cards(&harness),
            consumer_extensions: self.consumer_extensions.clone(),
            ..JudgeOptions::default()
        };
        let report = judge(&harness, &run, &no_contract(&self.a2a)?, &options);
        // what stood in for the contract names nothing
        Ok(Report { bundle_digest: None, producer_digest: None, ..report })
    }
}

/// The checks that judge a card by itself: those of the card's own promises, not of the bundle around it.
fn about_cards(harness: &Harness) -> Vec<String> {
    let of_card = |covers: &[&str]| covers.iter().any(|id| id.starts_with("C-"));
    let checks = harness.checks().map(ostiary_verify::Check::spec);
    checks.filter(|spec| spec.layer == Layer::Declaration && of_card(spec.covers)).map(|s| s.id.to_owned()).collect()
}

/// A bundle that promises nothing but the version to judge by.
fn no_contract(a2a: &str) -> Result<Bundle, CliError> {
    let contract = format!(
        "contract_bundle:\n  contract_id: card-lint\n  contract_version: 0.0.0\n  protocol: {{ a2a: \"{a2a}\" }}\n  \
         producer: {{ agent_id: any }}\n  declarations: {{ mcp_tools: tools.snapshot.json }}\n"
    );
    let files: Files = [("contract.yaml", contract), ("tools.snapshot.json", r#"{"tools":[]}"#.to_owned())]
        .into_iter()
        .map(|(path, text)| (path.to_owned(), Bytes::from(text)))
        .collect();
    Bundle::load(&files).map_err(|e| CliError::because("this build cannot lint cards", &e))
}

fn format_of(bytes: &[u8]) -> &'static str {
    match parse_strict(bytes, Limits::DOCUMENT) {
        Err(_) => "malformed",
        Ok(card) => match recognise(&card) {
            CardFormat::V1_0 => "a2a-1.0",
            CardFormat::Hybrid => "a2a-hybrid",
            CardFormat::Draft1_0 => "a2a-1.0-draft",
            CardFormat::V0_3 => "a2a-0.3",
            CardFormat::V0_2 => "a2a-0.2",
            CardFormat::NotACard => "not-a-card",
        },
    }
}
