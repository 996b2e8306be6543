//! Where a candidate's push notifications are received while a run goes on.

use std::net::SocketAddr;

use ostiary_record::{CallbackFacts, SignedCallbacks};

use crate::{
    decode::{Cx, Located, choice, file_type},
    problem::Code,
    yaml::clip,
};

file_type! {
    /// The receiver of callbacks. It opens ports on the machine of the run.
    #[derive(Default)]
    pub struct Callbacks {
        /// Where it listens: `IP:port`; absent = a free port of the loopback.
        listen: Option<Located<String>>,
        /// What the candidate is told instead of `http://IP:port`, where a name or a TLS terminator stands before the
        /// receiver.
        base: Option<Located<String>>,
        /// Whether these addresses are public, or on the loopback.
        reachable: Reachable = default,
        /// JWK set of the public keys that the candidate signs its notifications with, relative to the environment file;
        /// absent = it signs none.
        signed_by: Option<Located<String>>,
        /// The `aud` of signed notifications.
        audience: Option<String>,
        /// The `iss` of signed notifications, where it matters.
        issuer: Option<String>,
    }
}

choice! {
    /// Who can call an address.
    #[derive(Default)]
    pub enum Reachable {
        /// Processes of this machine. A candidate that refuses such an address is right.
        #[default]
        Loopback = "loopback",
        /// Everybody.
        Public = "public",
    }
}

// === impl Callbacks ===

impl Callbacks {
    /// The facts that a judge may know; `jwks` are the keys of `signed_by`, read by the run.
    #[must_use]
    pub fn facts(&self, jwks: Option<serde_json::Value>) -> CallbackFacts {
        CallbackFacts {
            public: self.reachable == Reachable::Public,
            https: self.base.as_ref().is_some_and(|base| base.starts_with("https://")),
            signed: jwks.map(|jwks| SignedCallbacks {
                jwks,
                audience: self.audience.clone().unwrap_or_default(),
                issuer: self.issuer.clone(),
            }),
        }
    }

    pub(super) fn check(&self, at: crate::problem::Position, cx: &mut Cx<'_>) {
        if let Some(listen) = &self.listen
            && listen.value.parse::<SocketAddr>().is_err()
        {
            let message = format!("`{}` is no address to listen on", clip(listen));
            cx.problem_with_hint(listen.at, Code::InvalidValue, message, "write it like 127.0.0.1:9500");
        }
        if self.reachable == Reachable::Public && self.base.is_none() {
            let message = "an address that everybody can call is a name, and `base` names none";
            cx.problem_with_hint(
                at,
                Code::Contradiction,
                message,
                "write `base: https://hooks.example.test` beside it",
            );
        }
        let audience = self.audience.is_some();
        if self.signed_by.is_some() != audience || (!audience && self.issuer.is_some()) {
            let message =
                "signed notifications are verified by `signed_by` and `audience` together, and `issuer` if wanted";
            cx.problem(at, Code::Contradiction, message);
        }
    }
}
