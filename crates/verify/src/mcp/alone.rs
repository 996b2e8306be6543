//! A snapshot judged alone: no bundle around it, no server behind it, the same checks and the same report.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use ostiary_contract::{Bundle, Files, Problems};
use ostiary_protocol::mcp::Revision;
use ostiary_record::{EnvironmentFacts, Gate, Layer, Monotonic, Report, Run, run::RUN_FORMAT};

use crate::{
    discover::{self, BUNDLE_PREFIX},
    judge::{JudgeOptions, judge},
    registry::{HARNESS_VERSION, Harness},
};

/// What findings call the snapshot that is judged.
pub const SNAPSHOT: &str = "tools.snapshot.json";

/// Judges snapshots one after the other.
pub struct Alone {
    harness: Harness,
    bundle: Bundle,
    options: JudgeOptions,
    clock: Arc<dyn Monotonic>,
}

// === impl Alone ===

impl Alone {
    /// Judges by a revision; `None` = by the one that each snapshot shows.
    ///
    /// # Errors
    /// Never in a build whose tests pass: what stands in for the contract is a good bundle.
    pub fn new(revision: Option<Revision>, clock: Arc<dyn Monotonic>) -> Result<Self, Problems> {
        let harness = Harness::standard();
        let specs = super::check::checks();
        let only = specs.iter().map(|c| c.spec().id.to_owned()).collect();
        let layers = Some([Layer::Declaration].into());
        let options = JudgeOptions { layers, only, ..JudgeOptions::default() };
        Ok(Self { harness, bundle: stand_in(revision)?, options, clock })
    }

    /// The report on one snapshot.
    #[must_use]
    pub fn report(&self, snapshot: Bytes, now: Timestamp) -> Report {
        let name = format!("{BUNDLE_PREFIX}{SNAPSHOT}");
        let run = Run {
            format: RUN_FORMAT.to_owned(),
            started_at: now.to_string(),
            harness_version: HARNESS_VERSION.to_owned(),
            gate: Some(Gate::Static),
            environment: EnvironmentFacts::default(),
            recordings: vec![discover::of_documents(Arc::clone(&self.clock), [(name.as_str(), snapshot)])],
            not_run: Vec::new(),
        };
        let report = judge(&self.harness, &run, &self.bundle, &self.options);
        // what stood in for the contract names nothing
        Report { bundle_digest: None, producer_digest: None, ..report }
    }
}

/// A bundle that declares nothing but a snapshot; the real one stands on the tape in its place.
fn stand_in(revision: Option<Revision>) -> Result<Bundle, Problems> {
    let protocol = revision.map(|r| format!("  protocol: {{ mcp: \"{r}\" }}\n")).unwrap_or_default();
    let contract = format!(
        "contract_bundle:\n  contract_id: mcp-lint\n  contract_version: 0.0.0\n{protocol}  producer: {{ agent_id: any \
         }}\n  declarations: {{ mcp_tools: {SNAPSHOT} }}\n"
    );
    let files: Files = [("contract.yaml", contract), (SNAPSHOT, r#"{"tools":[]}"#.to_owned())]
        .into_iter()
        .map(|(path, text)| (path.to_owned(), Bytes::from(text)))
        .collect();
    Bundle::load(&files)
}

#[cfg(test)]
mod tests {
    use ostiary_record::{MonoNanos, Outcome};

    use super::*;

    struct Still;

    impl Monotonic for Still {
        fn now(&self) -> MonoNanos {
            MonoNanos(0)
        }
    }

    fn verdict(text: &'static str, revision: Option<Revision>) -> Outcome {
        let alone = Alone::new(revision, Arc::new(Still)).unwrap();
        alone.report(Bytes::from(text), Timestamp::UNIX_EPOCH).verdict
    }

    #[test]
    fn a_snapshot_needs_no_bundle() {
        let good = r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}"#;
        for revision in Revision::ALL.map(Some).into_iter().chain([None]) {
            assert_eq!(verdict(good, revision), Outcome::Pass);
            assert_eq!(verdict(r#"{"tools":[{"name":"a"}]}"#, revision), Outcome::Fail);
            assert_eq!(verdict("{", revision), Outcome::Fail);
            assert_eq!(verdict(r#"{"tools":[]}"#, revision), Outcome::Inconclusive, "nothing was judged");
        }
    }
}
