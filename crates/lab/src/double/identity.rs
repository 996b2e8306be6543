//! Credentials for the subjects of an environment, good ones and bad ones on purpose.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use ostiary_record::{
    ActorId,
    ports::{Actor, BoxFuture, CouldNotRun, Identity},
};

use super::token::{Claims, TokenSigner};

/// Gives each subject the credential it is set up with.
pub struct SyntheticIdentity {
    issuer: Issuer,
    foreign: TokenSigner,
    subjects: BTreeMap<ActorId, Subject>,
    now: Box<dyn Fn() -> Timestamp + Send + Sync>,
}

/// Who signs, as whom, for whom, for how long.
pub struct Issuer {
    /// Signs the good tokens.
    pub signer: TokenSigner,
    /// The issuer that the candidate trusts.
    pub name: String,
    /// The audience that the candidate is.
    pub audience: String,
    /// How long a token lives.
    pub lifetime: SignedDuration,
}

/// One subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// Its tenant.
    pub tenant: Option<String>,
    /// What its token permits.
    pub scopes: Vec<String>,
    /// What it shows.
    pub credential: CredentialOf,
}

/// What a subject shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CredentialOf {
    /// A token that the candidate should take.
    #[default]
    Valid,
    /// A token of the right issuer whose time is over.
    Expired,
    /// A token that claims the right issuer and is signed by a key that nobody trusts.
    ForeignKey,
    /// A token of the right issuer for somebody else.
    ForeignAudience,
    /// Nothing.
    Anonymous,
    /// A bearer token that the operator gave.
    Static(String),
}

/// Seconds that a candidate's clock may be slow: tokens from the future are refused.
const SLOW_CLOCK: i64 = 60;
/// The subject that every environment has: nobody.
const ANONYMOUS: &str = "anonymous";

// === impl SyntheticIdentity ===

impl SyntheticIdentity {
    /// Credentials by name of the subject; `now` tells the time at which tokens are issued.
    pub fn new(
        issuer: Issuer,
        subjects: BTreeMap<ActorId, Subject>,
        now: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Self {
        let foreign = TokenSigner::derived(issuer.signer.kid().as_bytes(), "a key that nobody trusts");
        Self { issuer, foreign, subjects, now: Box::new(now) }
    }

    /// The credential fields of a subject; `None` = no such subject.
    #[must_use]
    pub fn actor_named(&self, name: &ActorId) -> Option<Actor> {
        let credentials = match self.subjects.get(name) {
            None if name.0 == ANONYMOUS => Vec::new(),
            None => return None,
            Some(subject) => self.token(name, subject).map(bearer).into_iter().collect(),
        };
        Some(Actor { id: name.clone(), credentials })
    }

    fn token(&self, name: &ActorId, subject: &Subject) -> Option<String> {
        let Issuer { signer, name: issuer, audience, lifetime } = &self.issuer;
        let good = || {
            let now = (self.now)();
            let end = now.checked_add(*lifetime).unwrap_or(Timestamp::MAX);
            Claims {
                iss: issuer.clone(),
                sub: name.0.clone(),
                aud: audience.clone(),
                iat: now.as_second() - SLOW_CLOCK,
                exp: end.as_second(),
                tenant: subject.tenant.clone(),
                scopes: subject.scopes.clone(),
            }
        };
        let hour = SignedDuration::from_hours(1).as_secs();
        match &subject.credential {
            CredentialOf::Valid => Some(signer.sign(&good())),
            CredentialOf::Expired => {
                let claims = good();
                // Well past any leeway that a verifier grants to slow clocks.
                let (iat, exp) = (claims.iat - 2 * hour, claims.iat - hour);
                Some(signer.sign(&Claims { iat, exp, ..claims }))
            }
            CredentialOf::ForeignKey => Some(self.foreign.sign(&good())),
            CredentialOf::ForeignAudience => Some(signer.sign(&Claims { aud: format!("not-{audience}"), ..good() })),
            CredentialOf::Anonymous => None,
            CredentialOf::Static(token) => Some(token.clone()),
        }
    }
}

impl Identity for SyntheticIdentity {
    fn actor<'a>(&'a self, subject: &'a ActorId) -> BoxFuture<'a, Result<Option<Actor>, CouldNotRun>> {
        Box::pin(std::future::ready(Ok(self.actor_named(subject))))
    }
}

/// The header field that shows a token.
pub(super) fn bearer(token: String) -> (String, String) {
    ("Authorization".to_owned(), format!("Bearer {token}"))
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    use serde_json::Value;

    use super::*;

    const NOW: i64 = 1_767_225_600;

    fn identity(subjects: &[(&str, CredentialOf)]) -> SyntheticIdentity {
        let issuer = Issuer {
            signer: TokenSigner::from_seed([1; 32]),
            name: "https://issuer.test".to_owned(),
            audience: "planning-agent".to_owned(),
            lifetime: SignedDuration::from_mins(10),
        };
        let subject = |credential: &CredentialOf| Subject {
            tenant: Some("tenant-a".to_owned()),
            scopes: vec!["plan.write".to_owned()],
            credential: credential.clone(),
        };
        let subjects = subjects.iter().map(|(name, c)| (ActorId::from(*name), subject(c))).collect();
        SyntheticIdentity::new(issuer, subjects, || Timestamp::from_second(NOW).unwrap())
    }

    /// Key name and claims of what the subject shows.
    fn shown(credential: CredentialOf) -> (String, Value) {
        let actor = identity(&[("s", credential)]).actor_named(&ActorId::from("s")).unwrap();
        let token = actor.credentials[0].1.strip_prefix("Bearer ").unwrap().to_owned();
        let part = |n: usize| -> Value {
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token.split('.').nth(n).unwrap()).unwrap()).unwrap()
        };
        (part(0)["kid"].as_str().unwrap().to_owned(), part(1))
    }

    #[test]
    fn each_bad_credential_varies_one_thing() {
        let (kid, good) = shown(CredentialOf::Valid);
        assert_eq!((good["exp"].as_i64(), &good["tenant"]), (Some(NOW + 600), &Value::from("tenant-a")));
        let (expired_kid, expired) = shown(CredentialOf::Expired);
        assert!(expired["exp"].as_i64().unwrap() < NOW - 600);
        assert_eq!((expired_kid, &expired["aud"]), (kid.clone(), &good["aud"]));
        let (foreign_kid, foreign) = shown(CredentialOf::ForeignKey);
        assert_ne!(foreign_kid, kid);
        assert_eq!(foreign, good);
        let (same_kid, other) = shown(CredentialOf::ForeignAudience);
        assert_eq!((same_kid, &other["exp"]), (kid, &good["exp"]));
        assert_ne!(other["aud"], good["aud"]);
    }

    #[test]
    fn nobody_shows_nothing_and_strangers_do_not_exist() {
        let identity = identity(&[("guest", CredentialOf::Anonymous), ("bot", CredentialOf::Static("abc".into()))]);
        let of = |name: &str| identity.actor_named(&ActorId::from(name)).map(|a| a.credentials);
        assert_eq!(of("anonymous"), Some(vec![]));
        assert_eq!(of("guest"), Some(vec![]));
        assert_eq!(of("bot"), Some(vec![("Authorization".to_owned(), "Bearer abc".to_owned())]));
        assert_eq!(of("stranger"), None);
    }
}
