//! The identity provider's double: OpenID Connect Discovery 1.0 and RFC 8414 metadata, keys, client credentials,
//! introspection (RFC 7662) and revocation (RFC 7009), for the synthetic users, tenants and workloads of an environment.
//!
//! [`SyntheticIssuer`] makes tokens, good ones and ones with a flaw, and needs no socket; [`OidcProvider`] serves it.

mod endpoint;
mod flaw;
mod issue;

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use http::Request;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use jiff::{SignedDuration, Timestamp};
use ostiary_canon::jwk::Algorithm;
use ostiary_record::{
    ActorId, TokenFlaw,
    ports::{Actor, Authority, BoxFuture, CouldNotRun, Identity},
};
use serde_json::Value;

use self::{endpoint::Ask, issue::Book};
use super::{
    identity::{CredentialOf, Subject, bearer},
    serve::{Answer, Failure, Server, status},
};

/// Tells the time at which tokens are issued.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Who issues, for whom, for how long.
#[derive(Clone)]
pub struct IssuerOptions {
    /// The `iss`, also the base of all addresses; `None` = where the provider listens.
    pub issuer: Option<String>,
    /// The `aud` that the candidate is.
    pub audience: String,
    /// What tokens are signed with.
    pub algorithm: Algorithm,
    /// Keys and secrets follow from it.
    pub seed: [u8; 32],
    /// How long a token lives.
    pub lifetime: SignedDuration,
    /// Users and workloads by name; each may also ask for its token as a client, see [`SyntheticIssuer::client_secret`].
    pub subjects: BTreeMap<ActorId, Subject>,
    /// Tells the time.
    pub now: Now,
}

/// Issues tokens; clones issue for the same subjects with the same keys.
#[derive(Clone)]
pub struct SyntheticIssuer {
    book: Arc<Mutex<Book>>,
    now: Now,
}

/// A running provider; stops when dropped.
pub struct OidcProvider {
    issuer: SyntheticIssuer,
    asked: Arc<Mutex<VecDeque<Asked>>>,
    server: Server,
}

/// One request to the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// When.
    pub at: Timestamp,
    /// What: `discovery`, `jwks`, `token`, `introspection`, `revocation`, or the path of what there is not.
    pub what: String,
    /// The client, where it said its name.
    pub client: Option<String>,
    /// The status of the answer.
    pub status: u16,
}

/// The subject that every environment has: nobody.
const ANONYMOUS: &str = "anonymous";
/// Requests that are remembered.
const KEPT: usize = 10_000;
/// Most bytes of a request's body.
const BODY: usize = 64 << 10;

// === impl SyntheticIssuer ===

impl SyntheticIssuer {
    /// An issuer whose name is given.
    #[must_use]
    pub fn new(issuer: &str, options: IssuerOptions) -> Self {
        let now = Arc::clone(&options.now);
        Self { book: Arc::new(Mutex::new(Book::new(issuer, options))), now }
    }

    /// The `iss` of its tokens.
    #[must_use]
    pub fn name(&self) -> String {
        self.book().issuer().to_owned()
    }

    /// The keys that it publishes (RFC 7517).
    #[must_use]
    pub fn jwks(&self) -> Value {
        self.book().jwks()
    }

    /// The secret with which a subject asks for its token as a client (`client_id` is its name).
    #[must_use]
    pub fn client_secret(&self, subject: &ActorId) -> String {
        self.book().client_secret(&subject.0)
    }

    /// A good token of a subject; `None` when there is no such subject.
    #[must_use]
    pub fn token(&self, subject: &ActorId) -> Option<String> {
        let now = (self.now)();
        self.book().token(&subject.0, now)
    }

    /// A token that is wrong in one thing; `None` when there is no such subject.
    #[must_use]
    pub fn flawed_token(&self, subject: &ActorId, flaw: TokenFlaw) -> Option<String> {
        let now = (self.now)();
        self.book().flawed(&subject.0, flaw, now)
    }

    /// A good token of a subject that ends so long from now, or ended so long ago; `None` when there is no such subject, or
    /// its credential is none that is made here and good.
    #[must_use]
    pub fn lasting_token(&self, subject: &ActorId, life: SignedDuration) -> Option<String> {
        let now = (self.now)();
        let mut book = self.book();
        let made_good = book.subject(&subject.0)?.credential == CredentialOf::Valid;
        if made_good { book.lasting(&subject.0, life, now) } else { None }
    }

    /// Calls one token in.
    pub fn revoke_token(&self, token: &str) {
        let now = (self.now)();
        self.book().revoke_token(token, now);
    }

    fn shown(&self, name: &ActorId) -> Option<Actor> {
        let credential = match self.book().subject(&name.0) {
            None if name.0 == ANONYMOUS => CredentialOf::Anonymous,
            None => return None,
            Some(subject) => subject.credential.clone(),
        };
        let token = match credential {
            CredentialOf::Anonymous => None,
            CredentialOf::Static(token) => Some(token),
            CredentialOf::Valid => self.token(name),
            CredentialOf::Expired => self.flawed_token(name, TokenFlaw::Expired),
            CredentialOf::ForeignKey => self.flawed_token(name, TokenFlaw::UnknownKey),
            CredentialOf::ForeignAudience => self.flawed_token(name, TokenFlaw::WrongAudience),
        };
        Some(Actor { id: name.clone(), credentials: token.map(bearer).into_iter().collect() })
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Identity for SyntheticIssuer {
    fn actor<'a>(&'a self, subject: &'a ActorId) -> BoxFuture<'a, Result<Option<Actor>, CouldNotRun>> {
        Box::pin(std::future::ready(Ok(self.shown(subject))))
    }
}

impl Authority for SyntheticIssuer {
    fn blind(&self) -> Vec<String> {
        [
            "interactive logins: there is no authorization endpoint, and no ID token or refresh token",
            "a candidate that does not ask the issuer about a token cannot know that it was revoked",
            "proof of possession (DPoP, mutual TLS): all tokens are bearer tokens",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    fn flawed<'a>(
        &'a self,
        subject: &'a ActorId,
        flaw: TokenFlaw,
    ) -> BoxFuture<'a, Result<Option<Actor>, CouldNotRun>> {
        let token = self.flawed_token(subject, flaw);
        let actor = token.map(|token| Actor { id: subject.clone(), credentials: vec![bearer(token)] });
        Box::pin(std::future::ready(Ok(actor)))
    }

    fn lasting<'a>(
        &'a self,
        subject: &'a ActorId,
        life: SignedDuration,
    ) -> BoxFuture<'a, Result<Option<Actor>, CouldNotRun>> {
        let token = self.lasting_token(subject, life);
        let actor = token.map(|token| Actor { id: subject.clone(), credentials: vec![bearer(token)] });
        Box::pin(std::future::ready(Ok(actor)))
    }

    fn revoke(&self, subject: &ActorId) {
        self.book().revoke_all(&subject.0);
    }

    fn set_lifetime(&self, lifetime: SignedDuration) {
        self.book().set_lifetime(lifetime);
    }

    fn set_clock_offset(&self, offset: SignedDuration) {
        self.book().set_offset(offset);
    }

    fn rotate(&self, keep_old: bool) {
        self.book().rotate(keep_old);
    }
}

// === impl OidcProvider ===

impl OidcProvider {
    /// Serves an issuer; `listen` `None` = a free port of the loopback.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn start(options: IssuerOptions, listen: Option<SocketAddr>) -> io::Result<Self> {
        let (listener, addr) = Server::bind(listen).await?;
        let name = options.issuer.clone().unwrap_or_else(|| format!("http://{addr}"));
        let issuer = SyntheticIssuer::new(&name, options);
        let asked = Arc::new(Mutex::new(VecDeque::new()));
        let (serving, ledger) = (issuer.clone(), Arc::clone(&asked));
        let server =
            Server::start(listener, addr, move |request| answer(serving.clone(), Arc::clone(&ledger), request));
        Ok(Self { issuer, asked, server })
    }

    /// The issuer that it serves: the handle by which tokens are made, revoked and aged, and keys rotated.
    #[must_use]
    pub const fn issuer(&self) -> &SyntheticIssuer {
        &self.issuer
    }

    /// Where it listens.
    #[must_use]
    pub const fn addr(&self) -> SocketAddr {
        self.server.addr()
    }

    /// What was asked so far, oldest first; beyond ten thousand requests the oldest are forgotten.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Stops and waits until every connection is gone.
    pub async fn shutdown(self) {
        self.server.shutdown().await;
    }
}

async fn answer(
    issuer: SyntheticIssuer,
    ledger: Arc<Mutex<VecDeque<Asked>>>,
    request: Request<Incoming>,
) -> Result<Answer, Failure> {
    let (parts, body) = request.into_parts();
    let Ok(body) = Limited::new(body, BODY).collect().await else { return Ok(status(413)) };
    let at = (issuer.now)();
    let ask = Ask::of(&parts, &body.to_bytes());
    let (what, answer) = endpoint::answer(&mut issuer.book(), &ask, at);
    let entry = Asked { at, what, client: ask.client_id, status: answer.status().as_u16() };
    let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
    if ledger.len() >= KEPT {
        ledger.pop_front();
    }
    ledger.push_back(entry);
    Ok(answer)
}
