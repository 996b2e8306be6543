//! Which file is what: fixed names, fixed directories, and the paths that `contract.yaml` gives.

use crate::{
    decode::Located,
    file::{
        case::CaseSet,
        contract::{Sections, ToolDeclaration, ToolDeclarations},
    },
};

/// What a file of the bundle is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    Contract,
    Card,
    CardSnapshot,
    Tools,
    Machine,
    Invariants,
    Reasons,
    Skills,
    Errors,
    Operations,
    Authorization,
    Temporal,
    Coverage,
    Drift,
    Schema,
    Fixture,
    Case(CaseSet),
    Pact,
}

/// The server name of a snapshot that is declared by its path alone.
pub(super) const DEFAULT_SERVER: &str = "default";

/// Where the parts of one bundle lie.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) card: String,
    pub(super) machine: String,
    pub(super) invariants: String,
    pub(super) reasons: String,
    pub(super) tools: Vec<ToolPlace>,
    pacts: String,
    positive: String,
    negative: String,
    regression: String,
}

/// A declared tool snapshot.
#[derive(Clone, Debug)]
pub(super) struct ToolPlace {
    pub(super) server: String,
    pub(super) profile: Option<String>,
    pub(super) path: String,
    pub(super) artifact_digest: Option<ostiary_canon::DeclaredDigest>,
}

// === impl Layout ===

impl Layout {
    /// The layout that a contract gives; the default one where it says nothing.
    pub(super) fn of(sections: &Sections) -> Self {
        let path = |given: &Option<Located<String>>, default: &str| {
            given.as_ref().map_or_else(|| default.to_owned(), |p| p.value.clone())
        };
        let Sections { declarations, models, examples, expected_results } = sections;
        Self {
            card: path(&declarations.agent_card, "agent-card.json"),
            machine: path(&models.task_state_machine, "a2a-task-machine.yaml"),
            invariants: path(&models.invariants, "behavior-invariants.yaml"),
            reasons: path(&expected_results.reason_codes, "reason-codes.yaml"),
            tools: declarations.mcp_tools.as_ref().map_or_else(Vec::new, tool_places),
            pacts: directory(path(&examples.consumer_pacts, "pacts/")),
            positive: directory(path(&examples.positive_cases, "cases/positive/")),
            negative: directory(path(&examples.negative_cases, "cases/negative/")),
            regression: directory(path(&examples.regression_cases, "cases/regression/")),
        }
    }

    /// What a path is; `None` when no rule knows it.
    pub(super) fn kind(&self, path: &str) -> Option<FileKind> {
        let is_tools = || self.tools.iter().any(|t| t.path == path) || path == "mcp-tools.snapshot.json";
        Some(match path {
            "contract.yaml" => FileKind::Contract,
            _ if path == self.card => FileKind::Card,
            "agent-card.snapshot.json" => FileKind::CardSnapshot,
            _ if path == self.machine => FileKind::Machine,
            _ if path == self.invariants => FileKind::Invariants,
            _ if path == self.reasons => FileKind::Reasons,
            _ if is_tools() || tool_place(path).is_some() => FileKind::Tools,
            "skills.yaml" => FileKind::Skills,
            "errors.yaml" => FileKind::Errors,
            "operations.yaml" => FileKind::Operations,
            "authorization.yaml" => FileKind::Authorization,
            "temporal.yaml" => FileKind::Temporal,
            "coverage.yaml" => FileKind::Coverage,
            "drift.yaml" => FileKind::Drift,
            _ => return self.kind_by_directory(path),
        })
    }

    fn kind_by_directory(&self, path: &str) -> Option<FileKind> {
        let inside = |directory: &str, ending: &str| path.starts_with(directory) && path.ends_with(ending);
        if inside("schemas/", ".schema.json") {
            return Some(FileKind::Schema);
        }
        if inside("fixtures/", ".json") {
            return Some(FileKind::Fixture);
        }
        if inside(&self.pacts, ".json") {
            return Some(FileKind::Pact);
        }
        let sets = [
            (&self.positive, CaseSet::Positive),
            (&self.negative, CaseSet::Negative),
            (&self.regression, CaseSet::Regression),
        ];
        sets.into_iter().find(|(directory, _)| inside(directory, ".yaml")).map(|(_, set)| FileKind::Case(set))
    }

    /// Whether a path is a consumer's contract.
    pub(super) fn is_pact(&self, path: &str) -> bool {
        self.kind(path) == Some(FileKind::Pact)
    }

    /// The declared place of a snapshot, else the one that its path tells.
    pub(super) fn tool_place(&self, path: &str) -> ToolPlace {
        let declared = self.tools.iter().find(|t| t.path == path).cloned();
        declared.or_else(|| tool_place(path)).unwrap_or_else(|| ToolPlace {
            server: DEFAULT_SERVER.to_owned(),
            profile: None,
            path: path.to_owned(),
            artifact_digest: None,
        })
    }
}

fn directory(path: String) -> String {
    if path.ends_with('/') { path } else { path + "/" }
}

fn tool_places(declared: &ToolDeclarations) -> Vec<ToolPlace> {
    match declared {
        ToolDeclarations::Path(path) => {
            let fallback = tool_place(path);
            vec![fallback.unwrap_or_else(|| ToolPlace {
                server: DEFAULT_SERVER.to_owned(),
                profile: None,
                path: path.value.clone(),
                artifact_digest: None,
            })]
        }
        ToolDeclarations::List(list) => list.iter().map(declared_place).collect(),
    }
}

fn declared_place(declared: &ToolDeclaration) -> ToolPlace {
    ToolPlace {
        server: declared.server.clone(),
        profile: declared.profile.clone(),
        path: declared.path.value.clone(),
        artifact_digest: declared.artifact_digest.as_ref().map(|d| d.value.clone()),
    }
}

/// `mcp/<server>/<client>.<auth-profile>.<tenant-class>.snapshot.json`
fn tool_place(path: &str) -> Option<ToolPlace> {
    let (server, file) = path.strip_prefix("mcp/")?.split_once('/')?;
    let profile = file.strip_suffix(".snapshot.json")?;
    let parts: Vec<&str> = profile.split('.').collect();
    if file.contains('/') || parts.len() != 3 || parts.iter().any(|p| p.is_empty()) {
        return None;
    }
    Some(ToolPlace {
        server: server.to_owned(),
        profile: Some(profile.to_owned()),
        path: path.to_owned(),
        artifact_digest: None,
    })
}
