//! Reads every file by its kind, then puts the files together; nothing stops at the first problem.

use std::collections::BTreeMap;

use bytes::Bytes;
use ostiary_canon::json;
use serde_json::Value;

use super::{
    Bundle, CardDocument, Files, cross, files,
    layout::{FileKind, Layout},
    reference, schemas,
};
use crate::{
    decode::{Cx, Decode},
    file::{
        authorization::{Authorization, AuthorizationFile},
        case::{Case, CaseFile},
        contract::{self, ContractBundle, ContractFile, Sections},
        coverage::{CoverageFile, CoveragePolicy},
        drift::{DriftFile, DriftPolicy},
        error::{ErrorContract, ErrorsFile},
        invariants::InvariantsFile,
        machine::{MachineFile, TaskMachine},
        operations::{Operation, OperationsFile},
        reasons::{DeclaredReason, ReasonsFile},
        skill::{SkillContract, SkillsFile},
        snapshot::CardSnapshot,
        temporal::{Temporal, TemporalFile},
        tools::{Tool, ToolSnapshot},
    },
    problem::{Code, Problem, Problems},
    secrets,
    yaml::{self, Node},
};

/// The root file of every bundle.
pub(super) const CONTRACT: &str = "contract.yaml";

/// What was read of a bundle, as far as it could be read.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) contract: Option<ContractBundle>,
    pub(super) sections: Sections,
    pub(super) card: Option<CardDocument>,
    pub(super) card_snapshot: Option<CardSnapshot>,
    pub(super) tools: Vec<ToolSnapshot>,
    pub(super) machine: Option<TaskMachine>,
    pub(super) invariants: Vec<crate::decode::Located<String>>,
    pub(super) reason_codes: Vec<DeclaredReason>,
    pub(super) skills: Vec<SkillContract>,
    pub(super) errors: Vec<ErrorContract>,
    pub(super) operations: Vec<Operation>,
    pub(super) authorization: Option<Authorization>,
    pub(super) temporal: Option<Temporal>,
    pub(super) coverage: Option<CoveragePolicy>,
    pub(super) drift: Option<DriftPolicy>,
    pub(super) cases: Vec<Case>,
    pub(super) schemas: BTreeMap<String, Value>,
    pub(super) fixtures: BTreeMap<String, Value>,
    /// Files that are there and could not be read: what they would have said is not known.
    pub(super) unread: Vec<FileKind>,
    pub(super) problems: Vec<Problem>,
}

/// Reads, checks and names a bundle.
pub(super) fn load(files: &Files) -> Result<Bundle, Problems> {
    let mut parts = Parts { problems: files::bounds(files), ..Parts::default() };
    if !parts.problems.is_empty() {
        return Err(sorted(parts.problems));
    }
    parts.problems.extend(files::same_but_for_case(files));
    match files.get(CONTRACT) {
        Some(bytes) => parts.read_contract(bytes),
        None => parts.problems.push(missing_contract(files)),
    }
    let layout = Layout::of(&parts.sections);
    for (path, bytes) in files {
        parts.read_any(path, bytes, &layout);
    }
    reference::check(&mut parts, files, &layout);
    schemas::check(&mut parts, files);
    cross::check(&mut parts);
    if !parts.problems.is_empty() {
        return Err(sorted(parts.problems));
    }
    parts.into_bundle(files)
}

fn sorted(problems: Vec<Problem>) -> Problems {
    let mut problems = Problems(problems);
    secrets::hide_values(&mut problems.0);
    problems.sort();
    problems
}

fn missing_contract(files: &Files) -> Problem {
    let problem = Problem::new(CONTRACT, Code::ContractMissing, "the bundle has no contract.yaml");
    let below = files.keys().find_map(|path| path.strip_suffix("/contract.yaml"));
    match below {
        Some(directory) => problem.hint(format!("it stands in `{directory}/`: that directory is the bundle's root")),
        None => problem.hint("is this the bundle's own directory?"),
    }
}

/// A file that no rule of the layout knows.
fn unknown_file(path: &str) -> Problem {
    let hint = match path.split_once('/') {
        Some(("schemas", _)) => "schemas are named `schemas/<name>.schema.json`",
        Some(("fixtures", _)) => "fixtures are named `fixtures/<name>.json`",
        Some(("cases", _)) => "cases are named `cases/{positive,negative,regression}/<name>.yaml`",
        Some(("pacts", _)) => "consumer contracts are named `pacts/<name>.json`",
        Some(("mcp", _)) => "snapshots are named `mcp/<server>/<client>.<auth-profile>.<tenant-class>.snapshot.json`",
        _ => "remove the file, or name it in contract.yaml",
    };
    Problem::new(path, Code::UnknownFile, "the file is no part of a bundle's layout").hint(hint)
}

// === impl Parts ===

impl Parts {
    fn read_contract(&mut self, bytes: &Bytes) {
        let Some(node) = self.node(CONTRACT, bytes) else { return };
        self.contract = self.decode::<ContractFile>(CONTRACT, &node).map(|file| file.contract_bundle);
        let mut cx = Cx::new(CONTRACT);
        contract::check(&node, &mut cx);
        self.problems.append(&mut cx.problems);
        self.sections = self.contract.as_ref().map_or_else(|| Sections::salvage(&node), Sections::of);
    }

    fn read_any(&mut self, path: &str, bytes: &Bytes, layout: &Layout) {
        let kind = layout.kind(path);
        if let Some(problem) = files::refused(path, bytes) {
            self.problems.push(problem);
            self.unread.extend(kind);
            return;
        }
        self.problems.extend(secrets::scan(path, bytes));
        match kind {
            Some(FileKind::Contract) => {}
            Some(kind) => self.read(kind, path, bytes, layout),
            None => self.problems.push(unknown_file(path)),
        }
    }

    fn node(&mut self, path: &str, bytes: &Bytes) -> Option<Node> {
        match yaml::read(path, bytes, yaml::Limits::default()) {
            Ok(node) => Some(node),
            Err(problems) => {
                self.problems.extend(problems);
                None
            }
        }
    }

    fn decode<T: Decode>(&mut self, path: &str, node: &Node) -> Option<T> {
        let mut cx = Cx::new(path);
        let value = T::decode(node, &mut cx);
        self.problems.append(&mut cx.problems);
        value
    }

    /// Decodes a YAML file; what is wrong is noted.
    fn yaml<T: Decode>(&mut self, path: &str, bytes: &Bytes) -> Option<(T, Node)> {
        let node = self.node(path, bytes)?;
        self.decode(path, &node).map(|value| (value, node))
    }

    /// Decodes a YAML file and checks or changes it with its positions at hand.
    fn then<T: Decode, U>(
        &mut self,
        path: &str,
        bytes: &Bytes,
        then: impl FnOnce(T, &Node, &mut Cx<'_>) -> U,
    ) -> Option<U> {
        let (value, node) = self.yaml::<T>(path, bytes)?;
        let mut cx = Cx::new(path);
        let out = then(value, &node, &mut cx);
        self.problems.append(&mut cx.problems);
        Some(out)
    }

    fn json(&mut self, path: &str, bytes: &Bytes) -> Option<Value> {
        match json::parse_strict(bytes, json::Limits::DOCUMENT) {
            Ok(value) => Some(value),
            Err(error) => {
                self.problems.push(json_problem(path, &error));
                None
            }
        }
    }

    fn read(&mut self, kind: FileKind, path: &str, bytes: &Bytes, layout: &Layout) {
        let read = match kind {
            FileKind::Contract => true,
            FileKind::Card => self.read_card(path, bytes),
            FileKind::Tools => self.read_tools(path, bytes, layout),
            FileKind::Schema => self.json(path, bytes).map(|v| self.schemas.insert(path.to_owned(), v)).is_some(),
            FileKind::Fixture => self.json(path, bytes).map(|v| self.fixtures.insert(path.to_owned(), v)).is_some(),
            FileKind::Pact => self.json(path, bytes).is_some(),
            FileKind::CardSnapshot => {
                self.card_snapshot = self.json(path, bytes).and_then(|_| self.yaml(path, bytes)).map(|(s, _)| s);
                self.card_snapshot.is_some()
            }
            FileKind::Case(set) => {
                let cases = self.then::<CaseFile, _>(path, bytes, |f, node, cx| f.into_cases(node.at, set, cx));
                cases.map(|cases| self.cases.extend(cases)).is_some()
            }
            _ => self.read_part(kind, path, bytes),
        };
        if !read {
            self.unread.push(kind);
        }
    }

    /// The files of which there is at most one.
    fn read_part(&mut self, kind: FileKind, path: &str, bytes: &Bytes) -> bool {
        match kind {
            FileKind::Machine => {
                self.machine = self.then::<MachineFile, _>(path, bytes, |f, node, cx| {
                    f.task_machine.check(node, cx);
                    f.task_machine
                });
                self.machine.is_some()
            }
            FileKind::Operations => {
                let read = self.then::<OperationsFile, _>(path, bytes, |f, _, cx| f.into_operations(cx));
                read.map(|operations| self.operations = operations).is_some()
            }
            FileKind::Coverage => {
                self.coverage = self.then::<CoverageFile, _>(path, bytes, |f, _, cx| f.into_policy(cx));
                self.coverage.is_some()
            }
            FileKind::Invariants => {
                self.yaml::<InvariantsFile>(path, bytes).map(|(f, _)| self.invariants = f.invariants).is_some()
            }
            FileKind::Reasons => {
                self.yaml::<ReasonsFile>(path, bytes).map(|(f, _)| self.reason_codes = f.reason_codes).is_some()
            }
            FileKind::Skills => {
                self.yaml::<SkillsFile>(path, bytes).map(|(f, _)| self.skills = f.skill_contract).is_some()
            }
            FileKind::Errors => {
                self.yaml::<ErrorsFile>(path, bytes).map(|(f, _)| self.errors = f.error_contract).is_some()
            }
            FileKind::Authorization => {
                self.authorization = self.yaml::<AuthorizationFile>(path, bytes).map(|(f, _)| f.into_policy());
                self.authorization.is_some()
            }
            FileKind::Temporal => {
                self.temporal = self.yaml::<TemporalFile>(path, bytes).map(|(f, _)| f.temporal_contract);
                self.temporal.is_some()
            }
            FileKind::Drift => {
                self.drift = self.yaml::<DriftFile>(path, bytes).map(|(f, _)| f.drift_policy);
                self.drift.is_some()
            }
            _ => true,
        }
    }

    fn read_card(&mut self, path: &str, bytes: &Bytes) -> bool {
        let Some(value) = self.json(path, bytes) else { return false };
        if !value.is_object() {
            self.problems.push(Problem::new(path, Code::CardInvalid, "an agent card is a JSON object"));
            return false;
        }
        self.card = Some(CardDocument { path: path.to_owned(), bytes: bytes.clone(), value });
        true
    }

    fn read_tools(&mut self, path: &str, bytes: &Bytes, layout: &Layout) -> bool {
        let Some(value) = self.json(path, bytes) else { return false };
        match Tool::list(&value) {
            Ok(tools) => {
                let place = layout.tool_place(path);
                self.tools.push(ToolSnapshot {
                    server: place.server,
                    profile: place.profile,
                    path: place.path,
                    artifact_digest: place.artifact_digest,
                    tools,
                    value,
                });
                true
            }
            Err(wrong) => {
                self.problems.extend(wrong.into_iter().map(|w| Problem::new(path, Code::SnapshotInvalid, w)));
                false
            }
        }
    }

    fn into_bundle(self, files: &Files) -> Result<Bundle, Problems> {
        let Some(contract) = self.contract else {
            return Err(
                Problem::new(CONTRACT, Code::ContractMissing, "the bundle has no readable contract.yaml").into()
            );
        };
        Ok(Bundle {
            digest: files::digest(files),
            files: files.clone(),
            contract,
            card: self.card,
            card_snapshot: self.card_snapshot,
            tools: self.tools,
            machine: self.machine,
            invariants: self.invariants,
            reason_codes: self.reason_codes,
            skills: self.skills,
            errors: self.errors,
            operations: self.operations,
            authorization: self.authorization,
            temporal: self.temporal.unwrap_or_default(),
            coverage: self.coverage.unwrap_or_default(),
            drift: self.drift.unwrap_or_default(),
            cases: self.cases,
            schemas: self.schemas,
            fixtures: self.fixtures,
        })
    }
}

/// A strict-JSON error as a problem of a file.
pub(crate) fn json_problem(path: &str, error: &json::JsonError) -> Problem {
    use json::JsonErrorKind as Kind;
    let code = match error.kind {
        Kind::TooLarge { .. } => Code::FileTooLarge,
        Kind::TooDeep { .. } => Code::NestingTooDeep,
        Kind::NotUtf8 => Code::NotUtf8,
        Kind::DuplicateKey { .. } => Code::DuplicateKey,
        Kind::IntegerNotExact { .. } | Kind::NumberOutOfRange { .. } => Code::NumberOutOfRange,
        _ => Code::JsonSyntax,
    };
    let at = crate::problem::Position { line: error.line, column: error.column };
    Problem::new(path, code, error.kind.to_string()).at(at)
}
