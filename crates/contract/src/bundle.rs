//! A whole bundle: what it holds once it is proved well-formed, and the digest that names it.

use std::collections::BTreeMap;

use bytes::Bytes;
use ostiary_canon::Digest;
use serde_json::Value;

pub use files::{FILE_BYTES, FILES, TOTAL_BYTES};
pub use pins::PinProblem;
pub use schemas::SchemaError;
pub(crate) use schemas::steps_alone;

use crate::{
    decode::Located,
    file::{
        authorization::Authorization,
        case::Case,
        contract::{ContractBundle, Sections},
        coverage::CoveragePolicy,
        drift::DriftPolicy,
        error::ErrorContract,
        machine::TaskMachine,
        operations::Operation,
        reasons::DeclaredReason,
        skill::SkillContract,
        snapshot::CardSnapshot,
        temporal::Temporal,
        tools::{Tool, ToolSnapshot},
    },
    problem::Problems,
};

mod archive;
mod cost;
mod cross;
mod files;
mod gather;
mod layout;
mod pins;
mod reference;
mod schemas;

/// The files of a bundle: paths relative to its root, with `/`, and their bytes.
pub type Files = BTreeMap<String, Bytes>;

/// The agent card as it lies in the bundle.
#[derive(Clone, Debug, PartialEq)]
pub struct CardDocument {
    /// Its file.
    pub path: String,
    /// Its bytes, exactly.
    pub bytes: Bytes,
    /// Its content; nothing dropped, nothing defaulted.
    pub value: Value,
}

/// A bundle that is well-formed, complete and free of contradictions.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bundle {
    /// Its name: the digest over all its files.
    pub digest: Digest,
    /// All its files.
    pub files: Files,
    /// `contract.yaml`.
    pub contract: ContractBundle,
    /// The agent card; `None` for a producer that speaks MCP only.
    pub card: Option<CardDocument>,
    /// How the card was fetched, where the bundle says so.
    pub card_snapshot: Option<CardSnapshot>,
    /// Tool snapshots by server and profile.
    pub tools: Vec<ToolSnapshot>,
    /// The task machine; `None` = only the standard's hard rules.
    pub machine: Option<TaskMachine>,
    /// Names of invariants.
    pub invariants: Vec<Located<String>>,
    /// The codes that cases may expect.
    pub reason_codes: Vec<DeclaredReason>,
    /// Skill contracts.
    pub skills: Vec<SkillContract>,
    /// Error contracts.
    pub errors: Vec<ErrorContract>,
    /// Operations with their risks.
    pub operations: Vec<Operation>,
    /// The authorization policy; `None` = nothing promised.
    pub authorization: Option<Authorization>,
    /// Deadlines; all absent = nothing promised.
    pub temporal: Temporal,
    /// The coverage policy, or its default.
    pub coverage: CoveragePolicy,
    /// The drift policy; all absent = the installation's.
    pub drift: DriftPolicy,
    /// Everything to be executed.
    pub cases: Vec<Case>,
    /// JSON Schemas by path.
    pub schemas: BTreeMap<String, Value>,
    /// Fixtures by path.
    pub fixtures: BTreeMap<String, Value>,
}

// === impl Bundle ===

impl Bundle {
    /// Reads, checks and names a bundle.
    ///
    /// # Errors
    /// Everything that is wrong with it, at once (B-07).
    pub fn load(files: &Files) -> Result<Self, Problems> {
        gather::load(files)
    }

    /// Reads a bundle from a tar archive.
    ///
    /// # Errors
    /// What is wrong with the archive; else what is wrong with the bundle.
    pub fn from_tar(archive: &[u8]) -> Result<Self, Problems> {
        Self::load(&archive::unpack(archive)?)
    }

    /// The bundle as a tar archive; the same bytes for the same bundle.
    #[must_use]
    pub fn to_tar(&self) -> Vec<u8> {
        archive::pack(&self.files)
    }

    /// The files of a tar archive, bounded and safe, without reading them as a bundle.
    ///
    /// # Errors
    /// What is wrong with the archive.
    pub fn unpack(archive: &[u8]) -> Result<Files, Problems> {
        archive::unpack(archive)
    }

    /// The digest that names a set of files, whether or not they are a well-formed bundle (B-02): SHA-256 of the RFC 8785
    /// form of an object that gives each path the `sha256:…` of its bytes.
    #[must_use]
    pub fn digest_of(files: &Files) -> Digest {
        files::digest(files)
    }

    /// What the pinning check of every gate refuses (P-01); empty when all is pinned.
    #[must_use]
    pub fn pins(&self) -> Vec<PinProblem> {
        pins::check(self)
    }

    /// A schema by its path, or by its bare name.
    #[must_use]
    pub fn schema(&self, name: &str) -> Option<(&str, &Value)> {
        named(&self.schemas, "schemas/", name)
    }

    /// A fixture by its path, or by its bare name.
    #[must_use]
    pub fn fixture(&self, name: &str) -> Option<(&str, &Value)> {
        named(&self.fixtures, "fixtures/", name)
    }

    /// Consumers' contracts: path and bytes. They are carried and named by digest, not read.
    pub fn pacts(&self) -> impl Iterator<Item = (&str, &Bytes)> {
        let layout = layout::Layout::of(&Sections::of(&self.contract));
        self.files.iter().filter(move |(path, _)| layout.is_pact(path)).map(|(path, bytes)| (path.as_str(), bytes))
    }

    /// The contract of a skill.
    #[must_use]
    pub fn skill(&self, id: &str) -> Option<&SkillContract> {
        self.skills.iter().find(|s| s.skill_id.value == id)
    }

    /// A tool by its name, with the snapshot that has it.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<(&ToolSnapshot, &Tool)> {
        self.tools.iter().find_map(|s| s.tools.iter().find(|t| t.name == name).map(|t| (s, t)))
    }

    /// What the contract says about a skill or tool.
    #[must_use]
    pub fn operation(&self, subject: &str) -> Option<&Operation> {
        self.operations.iter().find(|o| o.subject() == subject)
    }

    /// Whether a reason code may be expected: of the catalogue, or of this contract.
    #[must_use]
    pub fn knows_reason(&self, code: &str) -> bool {
        code.parse::<ostiary_record::ReasonCode>().is_ok() || self.reason_codes.iter().any(|r| r.code().0 == code)
    }
}

fn named<'a>(map: &'a BTreeMap<String, Value>, directory: &str, name: &str) -> Option<(&'a str, &'a Value)> {
    let found = map.get_key_value(name).or_else(|| map.get_key_value(&format!("{directory}{name}")));
    found.map(|(path, value)| (path.as_str(), value))
}
