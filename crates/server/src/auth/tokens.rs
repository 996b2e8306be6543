//! The table of static tokens.

use std::{collections::HashMap, fs, io, path::PathBuf};

use ostiary_canon::Digest;
use subtle::ConstantTimeEq as _;

use super::Caller;
use crate::{
    config::{TokenConfig, TokenSecret},
    error::{ApiError, ErrorCode},
};

/// Finds a caller by its token.
#[derive(Debug, Default)]
pub struct TokenTable {
    /// Buckets by the first bytes of the digest: finding one tells nothing about a token that hashes elsewhere.
    buckets: HashMap<[u8; BUCKET], Vec<(Digest, Caller)>>,
}

/// Why the table could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TokenTableError {
    /// A token's file cannot be read.
    #[error("failed to read the token of `{name}` from `{}`", path.display())]
    File {
        /// Whose token.
        name: String,
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A token is too short to withstand guessing.
    #[error("token of `{name}` has fewer than {MIN_TOKEN} bytes")]
    Short {
        /// Whose token.
        name: String,
    },
}

const BUCKET: usize = 8;

/// Shortest token that is taken from a file: 128 bits in base64.
const MIN_TOKEN: usize = 22;

// === impl TokenTable ===

impl TokenTable {
    /// The table of the configured tokens; token files are read once, here.
    ///
    /// # Errors
    /// When a token file cannot be read or holds too short a token.
    pub fn new(tokens: &[TokenConfig]) -> Result<Self, TokenTableError> {
        let mut table = Self::default();
        for token in tokens {
            table.insert(digest(token)?, token);
        }
        Ok(table)
    }

    fn insert(&mut self, digest: Digest, token: &TokenConfig) {
        let caller = Caller::new(token.name.clone(), token.person, token.roles.clone(), &token.namespaces);
        self.buckets.entry(bucket(&digest)).or_default().push((digest, caller));
    }

    /// Whether nobody can call.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// The caller of a token.
    #[must_use]
    pub fn caller(&self, token: &str) -> Option<&Caller> {
        let digest = Digest::of(token.as_bytes());
        let candidates = self.buckets.get(&bucket(&digest))?;
        candidates.iter().find(|(known, _)| known.as_bytes().ct_eq(digest.as_bytes()).into()).map(|(_, caller)| caller)
    }

    /// The caller of an `Authorization` field.
    ///
    /// # Errors
    /// `UNAUTHENTICATED`, the same for a missing field, another scheme and an unknown token.
    pub fn authenticate(&self, authorization: Option<&[u8]>) -> Result<&Caller, ApiError> {
        let token = authorization.and_then(bearer);
        token.and_then(|token| self.caller(token)).ok_or_else(|| {
            ApiError::new(
                ErrorCode::Unauthenticated,
                "send `Authorization: Bearer <token>` with a token of this server",
            )
        })
    }
}

fn bearer(field: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(field).ok()?;
    let (scheme, token) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn bucket(digest: &Digest) -> [u8; BUCKET] {
    let mut out = [0; BUCKET];
    out.copy_from_slice(&digest.as_bytes()[..BUCKET]);
    out
}

fn digest(token: &TokenConfig) -> Result<Digest, TokenTableError> {
    let path = match &token.secret {
        TokenSecret::Digest(digest) => return Ok(*digest),
        TokenSecret::File(path) => path,
    };
    let name = || token.name.clone();
    let text = fs::read_to_string(path).map_err(|source| TokenTableError::File {
        name: name(),
        path: path.clone(),
        source,
    })?;
    let text = text.trim();
    if text.len() < MIN_TOKEN {
        return Err(TokenTableError::Short { name: name() });
    }
    Ok(Digest::of(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{auth::Role, config::RolesOf};

    fn table() -> TokenTable {
        let rights = RolesOf { roles: &[Role::Router], namespaces: &["acme"], person: false };
        TokenTable::new(&[TokenConfig::of("router-1", "correct-horse-battery", rights)]).expect("no files")
    }

    #[test]
    fn known_token_is_its_caller() {
        let table = table();
        let caller = table.authenticate(Some(b"Bearer correct-horse-battery")).expect("known");
        assert_eq!(caller.name(), "router-1");
        assert!(caller.reaches("acme") && !caller.reaches("globex"));
    }

    #[test]
    fn missing_foreign_and_malformed_credentials_look_the_same() {
        let table = table();
        let tries: [Option<&[u8]>; 5] =
            [None, Some(b"Bearer wrong"), Some(b"Basic abc"), Some(b"correct-horse-battery"), Some(&[0xff, 0xfe])];
        let answers: std::collections::BTreeSet<String> =
            tries.iter().map(|field| table.authenticate(*field).expect_err("unknown").to_string()).collect();
        assert_eq!(answers.len(), 1);
    }

    #[test]
    fn table_keeps_no_token() {
        assert!(!format!("{:?}", table()).contains("correct-horse"));
    }
}
