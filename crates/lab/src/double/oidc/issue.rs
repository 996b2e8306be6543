//! What an issuer knows: keys, subjects, what was revoked. Pure: time is an argument.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use ostiary_canon::jwk::{Algorithm, KeySet};
use serde_json::{Value, json};

use super::IssuerOptions;
use crate::double::{
    identity::Subject,
    key::{JwtKey, derive},
    verify,
};

/// Everything behind the endpoints.
pub(super) struct Book {
    issuer: String,
    pub(super) audience: String,
    pub(super) algorithm: Algorithm,
    pub(super) seed: [u8; 32],
    lifetime: SignedDuration,
    subjects: BTreeMap<String, Subject>,
    offset: SignedDuration,
    /// The newest last; it signs.
    keys: Vec<JwtKey>,
    generation: u64,
    /// A key that nobody publishes; made when it is first needed.
    foreign: Option<JwtKey>,
    issued: u64,
    revoked: BTreeSet<u64>,
    /// All tokens of a subject up to this one are revoked.
    revoked_up_to: BTreeMap<String, u64>,
}

/// Seconds that a candidate's clock may be slow: tokens from the future are refused.
const SLOW_CLOCK: i64 = 60;
/// Old keys that stay published; a rotation beyond them withdraws the oldest.
const OLD_KEYS: usize = 4;
/// Single tokens that are remembered as revoked; beyond them the oldest count as good again.
const REVOKED: usize = 100_000;

// === impl Book ===

impl Book {
    pub(super) fn new(issuer: &str, options: IssuerOptions) -> Self {
        let IssuerOptions { audience, algorithm, seed, lifetime, subjects, .. } = options;
        Self {
            issuer: issuer.to_owned(),
            audience,
            algorithm,
            seed,
            lifetime,
            subjects: subjects.into_iter().map(|(name, subject)| (name.0, subject)).collect(),
            offset: SignedDuration::ZERO,
            keys: vec![signing_key(algorithm, &seed, 0)],
            generation: 0,
            foreign: None,
            issued: 0,
            revoked: BTreeSet::new(),
            revoked_up_to: BTreeMap::new(),
        }
    }

    pub(super) fn issuer(&self) -> &str {
        &self.issuer
    }

    pub(super) fn subject(&self, name: &str) -> Option<&Subject> {
        self.subjects.get(name)
    }

    pub(super) fn scopes(&self) -> BTreeSet<&str> {
        self.subjects.values().flat_map(|subject| &subject.scopes).map(String::as_str).collect()
    }

    pub(super) fn jwks(&self) -> Value {
        json!({"keys": self.keys.iter().map(JwtKey::jwk).collect::<Vec<_>>()})
    }

    pub(super) fn client_secret(&self, name: &str) -> String {
        hex(&derive(&self.seed, &format!("client secret of {name}")))
    }

    /// The key that signs.
    pub(super) fn key(&self) -> &JwtKey {
        self.keys.last().expect("an issuer has a key from the beginning, and rotation adds before it removes")
    }

    pub(super) fn foreign_key(&mut self) -> &JwtKey {
        let (algorithm, seed) = (self.algorithm, &self.seed);
        self.foreign.get_or_insert_with(|| JwtKey::derived(algorithm, seed, "a key that nobody publishes"))
    }

    /// The issuer's own time.
    pub(super) fn time(&self, now: Timestamp) -> Timestamp {
        now.checked_add(self.offset).unwrap_or(now)
    }

    /// Seconds that a token lives.
    pub(super) const fn lifetime(&self) -> i64 {
        self.lifetime.as_secs()
    }

    pub(super) fn set_lifetime(&mut self, lifetime: SignedDuration) {
        self.lifetime = lifetime;
    }

    pub(super) fn set_offset(&mut self, offset: SignedDuration) {
        self.offset = offset;
    }

    pub(super) fn rotate(&mut self, keep_old: bool) {
        self.generation += 1;
        if !keep_old {
            self.keys.clear();
        } else if self.keys.len() >= OLD_KEYS {
            self.keys.remove(0);
        }
        self.keys.push(signing_key(self.algorithm, &self.seed, self.generation));
    }

    /// The claims of a good token with some of the subject's scopes; `None` = all of them.
    pub(super) fn claims(&mut self, name: &str, scopes: Option<Vec<String>>, now: Timestamp) -> Option<Value> {
        let subject = self.subjects.get(name)?;
        let scopes = scopes.unwrap_or_else(|| subject.scopes.clone());
        self.issued += 1;
        let now = self.time(now).as_second();
        let mut claims = json!({
            "iss": self.issuer, "sub": name, "aud": self.audience, "client_id": name,
            "iat": now - SLOW_CLOCK, "nbf": now - SLOW_CLOCK, "exp": now.saturating_add(self.lifetime()),
            "jti": format!("{}-{}", self.issued, &hex(&derive(&self.seed, &format!("jti {}", self.issued)))[..16]),
            "scope": scopes.join(" "), "scopes": scopes,
        });
        if let Some(tenant) = &subject.tenant {
            claims["tenant"] = json!(tenant);
        }
        Some(claims)
    }

    pub(super) fn token(&mut self, name: &str, now: Timestamp) -> Option<String> {
        let claims = self.claims(name, None, now)?;
        Some(self.key().token(&claims))
    }

    /// A token that ends so long from now, whatever tokens live otherwise.
    pub(super) fn lasting(&mut self, name: &str, life: SignedDuration, now: Timestamp) -> Option<String> {
        let mut claims = self.claims(name, None, now)?;
        let now = self.time(now).as_second();
        claims["exp"] = json!(now.saturating_add(life.as_secs()));
        // A token ends after it was issued.
        let issued = now.saturating_add(life.as_secs().min(0)).saturating_sub(SLOW_CLOCK);
        (claims["iat"], claims["nbf"]) = (json!(issued), json!(issued));
        Some(self.key().token(&claims))
    }

    /// What RFC 7662 says of a token: its claims while it is active.
    pub(super) fn active(&self, token: &str, now: Timestamp) -> Option<Value> {
        let keys = KeySet::parse(self.jwks().to_string().as_bytes()).ok()?;
        let claims = verify::claims(token, &keys, self.time(now)).ok()?;
        // Who issued it knows to the second when it ends.
        let ended = claims["exp"].as_i64()? <= self.time(now).as_second();
        let ours = claims["iss"] == self.issuer.as_str() && !ended;
        let (n, subject) = (number(&claims)?, claims["sub"].as_str()?);
        let revoked = self.revoked.contains(&n) || self.revoked_up_to.get(subject).is_some_and(|last| n <= *last);
        (ours && !revoked).then_some(claims)
    }

    /// RFC 7009: a token that is not active needs no revocation.
    pub(super) fn revoke_token(&mut self, token: &str, now: Timestamp) {
        if let Some(n) = self.active(token, now).as_ref().and_then(number) {
            self.revoke_number(n);
        }
    }

    pub(super) fn revoke_number(&mut self, n: u64) {
        self.revoked.insert(n);
        if self.revoked.len() > REVOKED {
            self.revoked.pop_first();
        }
    }

    pub(super) fn revoke_all(&mut self, subject: &str) {
        if self.subjects.contains_key(subject) {
            self.revoked_up_to.insert(subject.to_owned(), self.issued);
        }
    }
}

/// The number of a token among all that were issued, as its `jti` says.
pub(super) fn number(claims: &Value) -> Option<u64> {
    claims["jti"].as_str()?.split_once('-')?.0.parse().ok()
}

fn signing_key(algorithm: Algorithm, seed: &[u8], generation: u64) -> JwtKey {
    // The first key is that of the seed itself, as `issuer: harness` has always had it.
    match (generation, <[u8; 32]>::try_from(seed)) {
        (0, Ok(seed)) => JwtKey::from_seed(algorithm, seed),
        _ => JwtKey::derived(algorithm, seed, &format!("signing key {generation}")),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
