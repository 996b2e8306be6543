//! Static tokens: who may call, as what, and for which namespaces.

use std::{collections::BTreeSet, path::PathBuf};

use ostiary_canon::Digest;
use serde::Deserialize;

use super::ConfigProblem;
use crate::auth::{Role, role_names};

/// One caller with a static token.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Written")]
pub struct TokenConfig {
    /// Name in the audit log; the same name is the same caller.
    pub name: String,
    /// Whether a person answers for what is done with it; machines only lower trust.
    pub person: bool,
    /// The token, never in the clear.
    pub secret: TokenSecret,
    /// What the caller may do.
    pub roles: Vec<Role>,
    /// For whom: names of namespaces, or `*` alone for all. Left out, none.
    pub namespaces: BTreeSet<String>,
}

/// A token as it stands in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    #[serde(default)]
    person: bool,
    digest: Option<Digest>,
    file: Option<PathBuf>,
    roles: Vec<Role>,
    #[serde(default)]
    namespaces: BTreeSet<String>,
}

/// How a token is given without writing it down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenSecret {
    /// `sha256:<hex>` of the token.
    Digest(Digest),
    /// Path of a file that holds the token and nothing else.
    File(PathBuf),
}

/// The rights of a caller that is set up in process, by the demo or a test.
#[derive(Clone, Copy, Debug)]
pub struct RolesOf<'a> {
    /// What it may do.
    pub roles: &'a [Role],
    /// For whom.
    pub namespaces: &'a [&'a str],
    /// Whether a person answers for it.
    pub person: bool,
}

// === impl TokenConfig ===

impl TokenConfig {
    /// A caller by its token; only the token's digest is kept.
    #[must_use]
    pub fn of(name: &str, token: &str, rights: RolesOf<'_>) -> Self {
        Self {
            name: name.to_owned(),
            person: rights.person,
            secret: TokenSecret::Digest(Digest::of(token.as_bytes())),
            roles: rights.roles.to_vec(),
            namespaces: rights.namespaces.iter().map(|name| (*name).to_owned()).collect(),
        }
    }
}

impl TryFrom<Written> for TokenConfig {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { name, person, digest, file, roles, namespaces } = written;
        let secret = match (digest, file) {
            (Some(digest), None) => TokenSecret::Digest(digest),
            (None, Some(file)) => TokenSecret::File(file),
            _ => return Err(format!("`{name}` must have either `digest` or `file`")),
        };
        Ok(Self { name, person, secret, roles, namespaces })
    }
}

/// What is wrong with a secret by itself: one that is not there, or that everybody knows.
fn secret(token: &TokenConfig) -> Option<ConfigProblem> {
    let empty = |what: &str| {
        let message = format!("token `{}`: {what}", token.name);
        Some(ConfigProblem::of(message, "make one nobody can guess, such as with `openssl rand -hex 32`"))
    };
    match &token.secret {
        TokenSecret::Digest(digest) if *digest == Digest::of(b"") => empty("the digest is that of the empty text"),
        TokenSecret::Digest(_) => None,
        TokenSecret::File(path) => match std::fs::read_to_string(path) {
            Ok(text) if text.trim().is_empty() => empty(&format!("`{}` is empty", path.display())),
            Ok(_) => None,
            Err(error) => {
                let message = format!("token `{}`: `{}` cannot be read: {error}", token.name, path.display());
                Some(ConfigProblem::of(message, "write the token into that file, readable by the server alone"))
            }
        },
    }
}

/// What tells one caller from another, wherever it is written; `None` where [`secret`] says what is wrong.
fn digest_of(token: &TokenConfig) -> Option<Digest> {
    match &token.secret {
        TokenSecret::Digest(digest) => Some(*digest),
        TokenSecret::File(path) => std::fs::read_to_string(path).ok().map(|text| Digest::of(text.trim().as_bytes())),
    }
}

pub(super) fn validate(tokens: &[TokenConfig]) -> Vec<ConfigProblem> {
    let mut problems = Vec::new();
    let mut names = BTreeSet::new();
    let mut secrets = BTreeSet::new();
    for token in tokens {
        if token.name.is_empty() || !token.name.bytes().all(|b| b.is_ascii_graphic()) {
            let message = format!("token name `{}` must be printable ASCII without white space", token.name);
            problems.push(ConfigProblem::of(message, "it appears in the audit log"));
        }
        if !names.insert(&token.name) {
            let message = format!("two tokens are named `{}`", token.name);
            problems.push(ConfigProblem::of(message, "give each caller its own name, so that the audit log can tell"));
        }
        if token.roles.is_empty() {
            let hint = format!("give at least one of {}", role_names());
            problems.push(ConfigProblem::of(format!("token `{}` has no role", token.name), hint));
        }
        problems.extend(secret(token));
        if !digest_of(token).is_none_or(|digest| secrets.insert(digest)) {
            let message = format!("token `{}` is also somebody else's", token.name);
            problems.push(ConfigProblem::of(message, "give each caller its own token"));
        }
    }
    problems
}
