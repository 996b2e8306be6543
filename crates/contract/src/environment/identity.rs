//! Who signs the subjects' tokens.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    decode::{Cx, Decode, Located, file_type},
    problem::Code,
    yaml::{Node, clip},
};

/// Where tokens of subjects come from.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Identity {
    /// The harness signs synthetic tokens that the candidate is set up to trust.
    Harness(HarnessIdentity),
    /// A command prints a subject's token.
    TokenCommand(TokenCommand),
    /// An OAuth client-credentials endpoint issues it.
    ClientCredentials(ClientCredentialsIdentity),
}

file_type! {
    /// The harness signs.
    #[derive(Default)]
    pub struct HarnessIdentity {
        /// Always `harness`.
        issuer: HarnessWord = default,
        /// The variable that holds the signing seed: 32 bytes in hexadecimal.
        key_env: Option<String>,
        /// The file that holds it, relative to the environment file.
        key_file: Option<String>,
        /// The `iss` of the tokens, where the candidate wants a certain one.
        token_issuer: Option<String>,
        /// The `aud` of the tokens.
        audience: Option<String>,
        /// Where an identity provider with these keys and subjects listens while a run goes on, for candidates that look
        /// keys up by OpenID Connect discovery: `IP:port`. The tokens' issuer is then `http://IP:port` unless
        /// `token_issuer` names another.
        serve: Option<Located<String>>,
        /// What its tokens are signed with; another algorithm than `EdDSA` needs `serve`.
        algorithm: TokenAlgorithm = default,
    }
}

crate::decode::choice! {
    /// What tokens are signed with.
    #[derive(Default)]
    pub enum TokenAlgorithm {
        /// Ed25519.
        #[default]
        EdDsa = "EdDSA",
        /// ECDSA on P-256 with SHA-256.
        Es256 = "ES256",
        /// RSA PKCS#1 v1.5 with SHA-256.
        Rs256 = "RS256",
    }
}

crate::decode::choice! {
    /// The word `harness`.
    #[derive(Default)]
    pub enum HarnessWord {
        /// The harness.
        #[default]
        Harness = "harness",
    }
}

file_type! {
    /// A command prints a token.
    pub struct TokenCommand {
        /// The command and its arguments; the subject's name is added as the last one.
        token_command: Vec<String>,
    }
}

file_type! {
    /// A token endpoint issues tokens.
    pub struct ClientCredentialsIdentity {
        /// The endpoint.
        client_credentials: ClientCredentials,
    }
}

file_type! {
    /// An OAuth 2 token endpoint.
    pub struct ClientCredentials {
        /// Where it is.
        token_url: Located<String>,
        /// The variable that holds the client's id.
        client_id_env: String,
        /// The variable that holds the client's secret.
        client_secret_env: String,
        /// The scopes to ask for.
        scopes: Vec<String> = default,
    }
}

// === impl HarnessIdentity ===

impl HarnessIdentity {
    /// The `iss` of the tokens, where the environment says or implies one.
    #[must_use]
    pub fn issuer_name(&self) -> Option<String> {
        self.token_issuer.clone().or_else(|| self.serve.as_ref().map(|at| format!("http://{}", at.value)))
    }

    fn check(&self, node: &Node, cx: &mut Cx<'_>) {
        match &self.serve {
            Some(at) if at.value.parse::<SocketAddr>().is_err() => {
                let message = format!("`{}` is no address to listen on", clip(at));
                cx.problem_with_hint(at.at, Code::InvalidValue, message, "write it like 127.0.0.1:9400");
            }
            None if self.algorithm != TokenAlgorithm::EdDsa => {
                let message = "only a provider that is served signs with another algorithm than EdDSA";
                cx.problem_with_hint(node.at, Code::Contradiction, message, "write `serve: 127.0.0.1:9400` beside it");
            }
            _ => {}
        }
    }
}

// === impl Identity ===

impl Default for Identity {
    fn default() -> Self {
        Self::Harness(HarnessIdentity::default())
    }
}

impl Decode for Identity {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        if node.get("token_command").is_some() {
            return TokenCommand::decode(node, cx).map(Self::TokenCommand);
        }
        if node.get("client_credentials").is_some() {
            return ClientCredentialsIdentity::decode(node, cx).map(Self::ClientCredentials);
        }
        let read = HarnessIdentity::decode(node, cx)?;
        if read.key_env.is_some() && read.key_file.is_some() {
            cx.problem(node.at, Code::Contradiction, "`key_env` and `key_file` both name the signing seed");
        }
        read.check(node, cx);
        Some(Self::Harness(read))
    }
}
