//! `contract.yaml`: what the bundle is a contract of, and where its parts lie.

use std::{collections::BTreeMap, fmt};

use ostiary_canon::{DeclaredDigest, Digest};
use ostiary_protocol::{
    a2a::Version,
    mcp::{Dialect, Revision},
};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::{
    decode::{Cx, Decode, Located, file_type},
    problem::{Code, Position},
    yaml::{Node, Value},
};

file_type! {
    /// `contract.yaml`.
    pub struct ContractFile {
        /// The contract.
        contract_bundle: ContractBundle,
    }
}

file_type! {
    /// What is under contract, and where each part of the contract lies.
    pub struct ContractBundle {
        /// The contract's name; stays the same from version to version.
        contract_id: Located<String>,
        /// The contract's own semantic version.
        contract_version: Located<ContractVersion>,
        /// The protocol versions that the producer is judged by.
        protocol: ProtocolPins = default,
        /// Who is judged.
        producer: Producer,
        /// What the producer says about itself.
        declarations: Declarations = default,
        /// The models that its behaviour is compared with.
        models: Models = default,
        /// Where examples lie.
        examples: Examples = default,
        /// What cases may expect.
        expected_results: ExpectedResults = default,
    }
}

file_type! {
    /// Pinned protocol versions.
    #[derive(Default)]
    pub struct ProtocolPins {
        /// A2A, `Major.Minor`.
        a2a: Option<Located<String>>,
        /// The MCP revision, a date.
        mcp: Option<Located<String>>,
        /// The JSON Schema dialect.
        json_schema: Option<Located<String>>,
    }
}

file_type! {
    /// The agent or server under verification.
    pub struct Producer {
        /// Its name in the registry.
        agent_id: Located<String>,
        /// SHA-256 of the artifact that runs. A placeholder loads and is refused by every gate.
        #[schemars(with = "Option<String>")]
        artifact_digest: Option<Located<DeclaredDigest>>,
        /// Who stands behind it. How far that party is trusted is the registry's business.
        publisher: Option<String>,
        /// Versions of what it runs on.
        runtime: Runtime = default,
    }
}

file_type! {
    /// Versions of what the producer runs on; each a value, or `unknown`.
    #[derive(Default)]
    pub struct Runtime {
        /// The model.
        model: Option<String>,
        /// The protocol SDK.
        sdk: Option<String>,
        /// The adapter between agent and protocol.
        adapter: Option<String>,
        /// The backend behind it.
        backend: Option<String>,
        /// The permissions it runs with.
        permissions: Option<String>,
        /// Versions of tool implementations, by server.
        tool_implementations: BTreeMap<String, String> = default,
    }
}

file_type! {
    /// What the producer declares.
    #[derive(Default)]
    pub struct Declarations {
        /// The agent card; absent for a producer that speaks MCP only.
        agent_card: Option<Located<String>>,
        /// Snapshots of `tools/list`.
        mcp_tools: Option<ToolDeclarations>,
    }
}

/// One snapshot by its path, or several, each for a server and profile.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ToolDeclarations {
    /// One snapshot of one server.
    Path(Located<String>),
    /// Snapshots by server and profile.
    List(Vec<ToolDeclaration>),
}

file_type! {
    /// A snapshot of one server's tools as one profile sees them.
    pub struct ToolDeclaration {
        /// The server, by the name that the environment uses.
        server: String,
        /// `<client>.<auth-profile>.<tenant-class>`; absent = the default profile.
        profile: Option<String>,
        /// Where the snapshot lies.
        path: Located<String>,
        /// SHA-256 of the server's artifact.
        #[schemars(with = "Option<String>")]
        artifact_digest: Option<Located<DeclaredDigest>>,
    }
}

file_type! {
    /// Models of behaviour.
    #[derive(Default)]
    pub struct Models {
        /// The task machine; absent = only the standard's hard rules.
        task_state_machine: Option<Located<String>>,
        /// Invariants of effects.
        invariants: Option<Located<String>>,
    }
}

file_type! {
    /// Directories of examples.
    #[derive(Default)]
    pub struct Examples {
        /// Consumer contracts.
        consumer_pacts: Option<Located<String>>,
        /// Cases that must succeed.
        positive_cases: Option<Located<String>>,
        /// Cases that must be caught or refused.
        negative_cases: Option<Located<String>>,
        /// Past incidents, always run.
        regression_cases: Option<Located<String>>,
    }
}

file_type! {
    /// What cases may expect.
    #[derive(Default)]
    pub struct ExpectedResults {
        /// The list of reason codes.
        reason_codes: Option<Located<String>>,
    }
}

/// A semantic version, or one of the texts that name no version and are refused by the pinning check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContractVersion {
    /// A version.
    Pinned(semver::Version),
    /// `latest`, or nothing.
    Unpinned(String),
}

/// Where the parts of a contract lie: all that is needed to read its other files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sections {
    pub(crate) declarations: Declarations,
    pub(crate) models: Models,
    pub(crate) examples: Examples,
    pub(crate) expected_results: ExpectedResults,
}

/// The A2A versions that this build judges by.
const A2A: [&str; 3] = ["0.2", "0.3", "1.0"];

/// The JSON Schema dialects that schemas may be written in.
const DIALECTS: [Dialect; 5] =
    [Dialect::Draft4, Dialect::Draft6, Dialect::Draft7, Dialect::Draft201909, Dialect::Draft202012];

/// What can be told of single values of `contract.yaml`, whatever is wrong with the others (B-07): names that are empty,
/// and protocol versions that this build does not know. What names no version at all loads, and is no pin.
pub(crate) fn check(root: &Node, cx: &mut Cx<'_>) {
    let Some(bundle) = root.get("contract_bundle") else { return };
    let agent = bundle.get("producer").and_then(|producer| producer.get("agent_id"));
    for (node, what) in [(bundle.get("contract_id"), "contract_id"), (agent, "producer.agent_id")] {
        if let Some((text, at)) = node.and_then(text)
            && text.trim().is_empty()
        {
            cx.problem(at, Code::InvalidValue, format!("`{what}` is empty"));
        }
    }
    let protocol = |key: &str| bundle.get("protocol").and_then(|p| p.get(key)).and_then(text);
    let known: [(&str, Vec<&str>); 3] = [
        ("a2a", A2A.to_vec()),
        ("mcp", Revision::ALL.map(Revision::as_str).to_vec()),
        ("json_schema", DIALECTS.map(Dialect::as_str).to_vec()),
    ];
    for (key, known) in known {
        let Some((version, at)) = protocol(key).filter(|(text, _)| names_version(text)) else { continue };
        let otherwise = match key {
            "a2a" => knows_a2a(version),
            "json_schema" => Dialect::of_uri(version).is_some(),
            _ => false,
        };
        if !otherwise && !known.contains(&version.trim()) {
            let message = format!("`protocol.{key}`: this build does not know `{}`", crate::yaml::clip(version));
            cx.problem_with_hint(at, Code::SettingUnsupported, message, format!("known here: {}", known.join(", ")));
        }
    }
}

/// Whether this build judges by an A2A version; cards of old write it with a patch number.
pub(crate) fn knows_a2a(text: &str) -> bool {
    Version::parse_lenient(text).is_some_and(|version| A2A.contains(&version.to_string().as_str()))
}

/// Whether a text names a version, known or not; `latest` and `stable` do not.
pub(crate) fn names_version(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
}

fn text(node: &Node) -> Option<(&str, Position)> {
    if let Value::Text(text) = &node.value { Some((text, node.at)) } else { None }
}

// === impl Sections ===

impl Sections {
    /// Reads the sections each for itself, so that a mistake elsewhere in `contract.yaml` hides nothing of the other
    /// files. Problems are those of the whole file and not reported again.
    pub(crate) fn salvage(root: &Node) -> Self {
        fn section<T: Decode + Default>(bundle: Option<&Node>, key: &str) -> T {
            let node = bundle.and_then(|b| b.get(key));
            node.and_then(|n| T::decode(n, &mut Cx::new(""))).unwrap_or_default()
        }
        let bundle = root.get("contract_bundle");
        Self {
            declarations: section(bundle, "declarations"),
            models: section(bundle, "models"),
            examples: section(bundle, "examples"),
            expected_results: section(bundle, "expected_results"),
        }
    }

    /// The sections of a contract.
    pub(crate) fn of(contract: &ContractBundle) -> Self {
        Self {
            declarations: contract.declarations.clone(),
            models: contract.models.clone(),
            examples: contract.examples.clone(),
            expected_results: contract.expected_results.clone(),
        }
    }
}

// === impl ContractVersion ===

impl fmt::Display for ContractVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pinned(version) => version.fmt(f),
            Self::Unpinned(text) => f.write_str(text),
        }
    }
}

impl Serialize for ContractVersion {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl JsonSchema for ContractVersion {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ContractVersion".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "description": "A semantic version, like 3.4.0."})
    }
}

impl Decode for ContractVersion {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let text = String::decode(node, cx)?;
        if text.trim().is_empty() || text.trim().eq_ignore_ascii_case("latest") {
            return Some(Self::Unpinned(text));
        }
        match semver::Version::parse(&text) {
            Ok(version) => Some(Self::Pinned(version)),
            Err(error) => {
                let message = format!("`{}` is no semantic version: {error}", crate::yaml::clip(&text));
                cx.problem_with_hint(node.at, Code::InvalidValue, message, "write it like 3.4.0");
                Some(Self::Unpinned(text))
            }
        }
    }
}

// === impl ToolDeclarations ===

impl Decode for ToolDeclarations {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        match &node.value {
            Value::Text(_) => Located::decode(node, cx).map(Self::Path),
            Value::List(_) => Vec::decode(node, cx).map(Self::List),
            _ => {
                cx.wrong_type(node, "the text of a path, or a list of snapshots,");
                None
            }
        }
    }
}

// === impl Producer ===

impl Producer {
    /// The artifact's digest, where a real one is declared.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        self.artifact_digest.as_ref().and_then(|d| d.value.digest())
    }
}
