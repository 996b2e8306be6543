//! What a router is told at its start.

use std::{fmt, net::IpAddr, path::PathBuf, sync::Arc, time::Duration};

use ostiary_admission::ViewScope;
use ostiary_canon::dsse::Keyring;
use tonic::transport::Endpoint;

use crate::downstream::Downstream;

/// How a router finds its control plane, whom it believes, and how patient it is. Start from [`RouterConfig::new`].
#[derive(Clone)]
pub struct RouterConfig {
    /// The control plane, or a sidecar that relays it. TLS is configured on the endpoint.
    pub endpoint: Endpoint,
    /// Bearer token of a router.
    pub token: Option<Token>,
    /// What is watched. A question about any other namespace is denied with NAMESPACE_FORBIDDEN.
    pub scopes: Vec<ViewScope>,
    /// The keys that sign heads. Nothing is believed that none of them signed.
    pub trust: Keyring,
    /// The name under which operators see this router; unique in an installation.
    pub router_id: String,
    /// Where the highest verified revision and the last snapshot are kept. Without it a router that starts while the
    /// control plane is away denies everything, and one that restarts can be shown an older view.
    pub state_dir: Option<PathBuf>,
    /// How far this machine's clock may be off, and how uncertain the control plane's time may be: beyond it every
    /// question is answered with VIEW_STALE.
    pub max_skew: Duration,
    /// How long a step that only lowered trust may go without a signed head that covers it.
    pub head_within: Duration,
    /// How long a connection may be silent before it is given up.
    pub silence: Duration,
    /// How long [`crate::Router::check_or_ask`] waits for the control plane.
    pub ask_within: Duration,
    /// Whether an ALLOW is believed that the control plane gives to a single question. Heads are signed, answers are not:
    /// whoever sits in between could make one up. By default only where the endpoint proves itself by TLS, or is this
    /// machine.
    pub believe_answers: bool,
    /// What happens to dispatches that are under way when their version is taken off the road.
    pub in_flight: InFlight,
    /// How often counts of outcomes are sent.
    pub report_every: Duration,
    /// How many entries a scope may have; a longer snapshot is refused.
    pub max_entries: usize,
    /// Who is told of every step, to pass it on.
    pub downstream: Option<Arc<dyn Downstream>>,
}

/// What happens to a dispatch that is under way when its version is taken off the road. New ones are denied in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFlight {
    /// It may end by itself.
    Drain,
    /// It is cut this long after.
    CutAfter(Duration),
}

/// A secret that is never printed.
#[derive(Clone)]
pub struct Token(String);

/// Why a router cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Nothing would be watched.
    #[error("no scope is given; watch `*` or at least one namespace")]
    NoScope,
    /// Two scopes cover the same namespace.
    #[error("scope `{0}` is covered twice; give `*` alone, or each namespace once")]
    ScopeTwice(ViewScope),
    /// Nobody could sign.
    #[error("no key is trusted, so no head could ever verify; give the control plane's public keys")]
    NoTrust,
    /// The name is missing, too long, or cannot be shown.
    #[error("the router's id must have 1 to 128 bytes and no control characters: operators read it")]
    RouterId,
    /// The token cannot stand in a header.
    #[error("the token has characters that no header may carry")]
    Token,
    /// The directory cannot be used.
    #[error("failed to use the state directory `{path}`")]
    StateDir {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// Longer names would not fit on an operator's line.
const ROUTER_ID_LIMIT: usize = 128;

// === impl RouterConfig ===

impl RouterConfig {
    /// A router of everything, with the patience that the documentation names.
    #[must_use]
    pub fn new(endpoint: Endpoint, router_id: impl Into<String>, trust: Keyring) -> Self {
        Self {
            believe_answers: is_proven(&endpoint),
            endpoint,
            token: None,
            scopes: vec![ViewScope::All],
            trust,
            router_id: router_id.into(),
            state_dir: None,
            max_skew: Duration::from_secs(2),
            // Two heartbeats, which come every two seconds.
            head_within: Duration::from_secs(4),
            silence: Duration::from_secs(6),
            ask_within: Duration::from_millis(50),
            in_flight: InFlight::Drain,
            report_every: Duration::from_secs(10),
            max_entries: 10_000_000,
            downstream: None,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        if self.scopes.is_empty() {
            return Err(ConfigError::NoScope);
        }
        for (at, scope) in self.scopes.iter().enumerate() {
            let others = self.scopes.iter().enumerate().filter(|(other, _)| *other != at);
            if others.map(|(_, other)| other).any(|other| overlap(other, scope)) {
                return Err(ConfigError::ScopeTwice(scope.clone()));
            }
        }
        if self.trust.trusted().next().is_none() {
            return Err(ConfigError::NoTrust);
        }
        let id = &self.router_id;
        if id.is_empty() || id.len() > ROUTER_ID_LIMIT || id.chars().any(char::is_control) {
            return Err(ConfigError::RouterId);
        }
        if self.token.as_ref().is_some_and(|token| token.header().is_none()) {
            return Err(ConfigError::Token);
        }
        Ok(())
    }
}

// === impl Token ===

impl Token {
    /// A token as it was handed out.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn header(&self) -> Option<tonic::metadata::AsciiMetadataValue> {
        let mut value: tonic::metadata::AsciiMetadataValue = format!("Bearer {}", self.0.trim()).parse().ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Whether whoever answers there is who it should be.
fn is_proven(endpoint: &Endpoint) -> bool {
    let uri = endpoint.uri();
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let local = host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    local || uri.scheme_str() == Some("https")
}

fn overlap(one: &ViewScope, two: &ViewScope) -> bool {
    matches!((one, two), (ViewScope::All, _) | (_, ViewScope::All)) || one == two
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_has_a_name_that_can_be_shown() {
        let key = ostiary_canon::dsse::SigningKey::from_seed([1; 32]).verifying_key();
        for (id, good) in [("edge 1", true), ("", false), ("edge\n1", false), (&"x".repeat(129), false)] {
            let endpoint = Endpoint::from_static("http://127.0.0.1:7443");
            let config = RouterConfig::new(endpoint, id, Keyring::trusting([key]));
            assert_eq!(config.validate().is_ok(), good, "{id:?}");
        }
    }

    #[test]
    fn answers_are_believed_from_this_machine_and_over_tls() {
        for (url, believed) in [
            ("http://127.0.0.1:7443", true),
            ("http://[::1]:7443", true),
            ("http://localhost:7443", true),
            ("https://registry.example:7443", true),
            ("http://registry.example:7443", false),
            ("http://10.0.0.7:7443", false),
            ("http://127.0.0.1.example:7443", false),
        ] {
            let config = RouterConfig::new(Endpoint::from_static(url), "r", Keyring::default());
            assert_eq!(config.believe_answers, believed, "{url}");
        }
    }
}
