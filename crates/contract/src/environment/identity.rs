//! Who signs the subjects' tokens.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    decode::{Cx, Decode, Located, file_type},
    problem::Code,
    yaml::Node,
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
        Some(Self::Harness(read))
    }
}
