//! Pinning (P-01): what must name one exact version before any gate runs.

use ostiary_canon::DeclaredDigest;
use serde::Serialize;

use super::Bundle;
use crate::{
    decode::Located,
    file::contract::{ContractVersion, names_version},
    problem::Position,
};

/// Something that is not pinned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PinProblem {
    /// What, as a path of keys: `producer.artifact_digest`.
    pub what: String,
    /// What stands there instead; empty when nothing does.
    pub value: String,
    /// Where it stands in `contract.yaml`.
    pub at: Option<Position>,
    /// What is wrong with it.
    pub message: String,
}

/// Every pin that is missing.
pub(super) fn check(bundle: &Bundle) -> Vec<PinProblem> {
    let contract = &bundle.contract;
    let mut found = Vec::new();
    if let ContractVersion::Unpinned(text) = &contract.contract_version.value {
        found.push(problem("contract_version", text, Some(contract.contract_version.at), "names no version"));
    }
    digest("producer.artifact_digest", contract.producer.artifact_digest.as_ref(), &mut found);
    let protocol = &contract.protocol;
    let needs_json_schema = !bundle.schemas.is_empty() || !bundle.tools.is_empty();
    version("protocol.a2a", protocol.a2a.as_ref(), bundle.card.is_some(), &mut found);
    version("protocol.mcp", protocol.mcp.as_ref(), !bundle.tools.is_empty(), &mut found);
    version("protocol.json_schema", protocol.json_schema.as_ref(), needs_json_schema, &mut found);
    for snapshot in &bundle.tools {
        if let Some(text) = snapshot.artifact_digest.as_ref().and_then(placeholder) {
            let what = format!("declarations.mcp_tools[{}].artifact_digest", snapshot.server);
            found.push(problem(&what, &text, None, NO_DIGEST));
        }
    }
    found
}

const NO_DIGEST: &str = "is no SHA-256 digest of an artifact";

fn problem(what: &str, value: &str, at: Option<Position>, wrong: &str) -> PinProblem {
    let message = if value.is_empty() { format!("{what} is missing") } else { format!("{what}: `{value}` {wrong}") };
    PinProblem { what: what.to_owned(), value: value.to_owned(), at, message }
}

fn digest(what: &str, declared: Option<&Located<DeclaredDigest>>, found: &mut Vec<PinProblem>) {
    match declared {
        None => found.push(problem(what, "", None, NO_DIGEST)),
        Some(Located { value, at }) => {
            found.extend(placeholder(value).map(|text| problem(what, &text, Some(*at), NO_DIGEST)));
        }
    }
}

/// The text of what is no digest, or of one that nobody has computed: of all zeros.
fn placeholder(declared: &DeclaredDigest) -> Option<String> {
    match declared.digest() {
        Some(digest) if *digest.as_bytes() != [0; 32] => None,
        _ => Some(declared.to_string()),
    }
}

fn version(what: &str, pinned: Option<&Located<String>>, needed: bool, found: &mut Vec<PinProblem>) {
    match pinned {
        None if needed => found.push(problem(what, "", None, "")),
        None => {}
        Some(pin) => {
            let text = pin.value.trim();
            if !names_version(text) {
                found.push(problem(what, text, Some(pin.at), "names no version"));
            }
        }
    }
}
