//! A card judged by itself: no contract, no call. The declaration layer as a lint.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use ostiary_canon::json::{Limits, parse_strict};
use ostiary_contract::{Bundle, Files, Problems};
use ostiary_protocol::a2a::card::{CardFormat, recognise};
use ostiary_record::{EnvironmentFacts, Gate, Layer, Monotonic, Report, Run, run::RUN_FORMAT};

use crate::{
    discover,
    judge::{JudgeOptions, judge},
    registry::{HARNESS_VERSION, Harness},
};

/// Judges cards by themselves.
pub struct CardLint {
    harness: Harness,
    bundle: Bundle,
    options: JudgeOptions,
    strictness: &'static str,
    clock: Arc<dyn Monotonic>,
}

/// The check that says what a document is; alone where it is no card of the version to judge by, so that such a document
/// gets one verdict.
const REQUIRED: &str = "a2a.card.required";
/// The checks that hold for the cards of every version.
const OF_ANY_VERSION: [&str; 3] = ["a2a.card.https", "a2a.card.address", "a2a.card.text"];
/// The check that compares with the last known card.
const UNCHANGED: &str = "a2a.card.unchanged";

/// The shape of a card; `None` for what is not even JSON.
#[must_use]
pub fn format_of(card: &[u8]) -> Option<CardFormat> {
    parse_strict(card, Limits::DOCUMENT).ok().map(|value| recognise(&value))
}

// === impl CardLint ===

impl CardLint {
    /// Judges with these options, whose checks and layers are chosen here: with what a development environment lets
    /// through, or as production needs it.
    ///
    /// # Errors
    /// Never in a build whose tests pass: what stands in for the contract is a good bundle.
    pub fn new(options: JudgeOptions, development: bool, clock: Arc<dyn Monotonic>) -> Result<Self, Problems> {
        let strictness = if development { "development" } else { "production" };
        let options = JudgeOptions { layers: Some([Layer::Declaration].into()), card_alone: true, ..options };
        Ok(Self { harness: Harness::standard(), bundle: stand_in()?, options, strictness, clock })
    }

    /// The report on one card; `plain` is the card as served to callers that send no `A2A-Version`.
    #[must_use]
    pub fn report(&self, card: Bytes, plain: Option<Bytes>, now: Timestamp) -> Report {
        let options = JudgeOptions { only: self.checks(format_of(&card)), ..self.options.clone() };
        let run = Run {
            format: RUN_FORMAT.to_owned(),
            started_at: now.to_string(),
            harness_version: HARNESS_VERSION.to_owned(),
            gate: Some(Gate::Static),
            environment: EnvironmentFacts { strictness: self.strictness.to_owned(), ..EnvironmentFacts::default() },
            recordings: vec![discover::of_cards(Arc::clone(&self.clock), card, plain)],
            not_run: Vec::new(),
        };
        let report = judge(&self.harness, &run, &self.bundle, &options);
        // what stood in for the contract names nothing
        Report { bundle_digest: None, producer_digest: None, ..report }
    }

    /// The checks of the card's own promises, not of the bundle around it.
    fn checks(&self, format: Option<CardFormat>) -> Vec<String> {
        let Some(format) = format else { return vec![REQUIRED.to_owned()] };
        let mut only = vec![REQUIRED.to_owned()];
        if format.is_v1() {
            let specs = self.harness.checks().map(crate::Check::spec);
            let of_card =
                specs.filter(|s| s.layer == Layer::Declaration && s.covers.iter().any(|id| id.starts_with("C-")));
            only = of_card.map(|spec| spec.id.to_owned()).collect();
        } else if format.is_legacy() && self.options.legacy_cards {
            only.extend(OF_ANY_VERSION.map(str::to_owned));
        }
        if self.options.last_card.is_some() && (format.is_v1() || format.is_legacy()) {
            only.push(UNCHANGED.to_owned());
        }
        only
    }
}

/// A bundle that promises nothing but the version to judge by.
fn stand_in() -> Result<Bundle, Problems> {
    let contract = "contract_bundle:\n  contract_id: card-lint\n  contract_version: 0.0.0\n  protocol: { a2a: \"1.0\" }\n  \
                    producer: { agent_id: any }\n  declarations: { mcp_tools: tools.snapshot.json }\n";
    let files: Files = [("contract.yaml", contract), ("tools.snapshot.json", r#"{"tools":[]}"#)]
        .into_iter()
        .map(|(path, text)| (path.to_owned(), Bytes::from_static(text.as_bytes())))
        .collect();
    Bundle::load(&files)
}
