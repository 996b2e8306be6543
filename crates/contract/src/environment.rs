//! `environment.yaml`: where and how a bundle is verified. No part of the bundle; names secrets by reference only.

use std::collections::BTreeMap;

use crate::{
    decode::{Cx, Decode, Located, choice, file_type},
    problem::{Code, Problem, Problems},
    secrets,
    yaml::{self, Node},
};

pub use callbacks::{Callbacks, Reachable};
pub use identity::{ClientCredentials, HarnessIdentity, Identity, TokenAlgorithm};
pub use observer::{EgressObserver, Observer};

mod callbacks;
mod check;
mod facts;
mod identity;
mod observer;

file_type! {
    /// `environment.yaml`.
    pub struct EnvironmentFile {
        /// The environment.
        environment: Environment,
    }
}

file_type! {
    /// Where and how to verify.
    pub struct Environment {
        /// Its name, as operations are cleared for it.
        name: Located<String>,
        /// How strict declarations are judged.
        strictness: Strictness = default,
        /// Where connections to a declared `host:port` really go; TLS keeps the declared name.
        connect_to: BTreeMap<String, String> = default,
        /// PEM file of certificate roots, relative to the environment file.
        trust_roots: Option<String>,
        /// JWK set of the keys that signed cards are checked with, relative to the environment file.
        card_keys: Option<String>,
        /// What runs there, where that is a file: it is digested when a run begins and compared with the contract's digest.
        artifact: Option<Artifact>,
        /// Whether targets may speak plain http.
        allow_insecure_http: bool = default,
        /// The A2A side.
        a2a: Option<A2a>,
        /// The MCP servers.
        mcp: Vec<McpServer> = default,
        /// Who signs the subjects' tokens.
        identity: Identity = default,
        /// The subjects by name.
        subjects: BTreeMap<String, Subject> = default,
        /// The endpoint that sets provider states up and tears them down.
        provider_states: Option<ProviderStates>,
        /// Where push notifications are received.
        callbacks: Option<Callbacks>,
        /// Which risks may be exercised here; nothing is called that is not cleared.
        cleared_effects: Vec<Risk> = default,
        /// Which parts around the candidate are real, and which are doubles.
        parts: BTreeMap<String, Part> = default,
        /// What watches the candidate's effects.
        observers: Vec<Located<Observer>> = default,
        /// Bounds on what the run may cost.
        budget: Budget = default,
        /// Disturbances that may be injected: on the way to the candidate, and on its way to `dependencies`.
        faults: Vec<Located<Fault>> = default,
        /// Parts that the candidate reaches through the harness while a run goes on, so that they can be disturbed.
        dependencies: Vec<Dependency> = default,
    }
}

file_type! {
    /// A part that the candidate depends on. While a run goes on the harness stands between the two.
    pub struct Dependency {
        /// Its name in reports: `store`.
        name: Located<String>,
        /// Where the candidate is set up to reach it, and the harness listens: `IP:port`.
        listen: Located<String>,
        /// Where it really is: `host:port`.
        connect: Located<String>,
    }
}

file_type! {
    /// The artifact that runs, as a file.
    pub struct Artifact {
        /// Its path, relative to the environment file.
        path: Located<String>,
    }
}

file_type! {
    /// The A2A side of the target.
    pub struct A2a {
        /// Where the card is served.
        card_url: Located<String>,
    }
}

file_type! {
    /// One MCP server of the target.
    pub struct McpServer {
        /// Its name, as in the contract's declarations.
        server: Located<String>,
        /// Where it is served over HTTP.
        url: Option<Located<String>>,
        /// How it is started on stdio.
        command: Option<Vec<String>>,
        /// Variables of our own surroundings that the process may see.
        env_from: Vec<String> = default,
        /// Where its writes go.
        sandbox: Option<Sandbox>,
    }
}

file_type! {
    /// One subject; its credential is signed, fetched or referred to, never written here.
    #[derive(Default)]
    pub struct Subject {
        /// Its authorization profile.
        profile: Option<String>,
        /// Its class of tenant.
        tenant_class: Option<String>,
        /// Its fixture tenant.
        tenant: Option<String>,
        /// The scopes of its token.
        scopes: Vec<String> = default,
        /// Whether its token is past its time.
        expired: bool = default,
        /// Whether its token comes from a foreign issuer.
        foreign: bool = default,
        /// The variable that holds its token.
        token_env: Option<String>,
    }
}

file_type! {
    /// The provider-state endpoint: it takes `{state, params, action}`.
    pub struct ProviderStates {
        /// Where it is.
        url: Located<String>,
    }
}

file_type! {
    /// Bounds on what the run may cost.
    pub struct Budget {
        /// Calls in all.
        calls: u64,
        /// Calls a second; 0 = as many as there are.
        rate_per_s: Option<u32>,
        /// Seconds of all drives together: 3600 where nothing is said.
        time_s: Option<u32>,
        /// Seconds of one answer, a stream included: 30 where nothing is said.
        answer_s: Option<u32>,
        /// MiB of memory that large answers may take together: 24 where nothing is said.
        memory_mib: Option<u32>,
    }
}

choice! {
    /// How strict declarations are judged.
    #[derive(Default)]
    pub enum Strictness {
        /// Production: everything counts.
        #[default]
        Production = "production",
        /// Development: https, public-address and media-type errors are warnings, and the evidence says so.
        Development = "development",
    }
}

choice! {
    /// A risk that may be exercised.
    pub enum Risk {
        /// Nothing but look.
        Read = "read",
        /// Add or change.
        Write = "write",
        /// Remove, or what cannot be taken back.
        Destructive = "destructive",
    }
}

choice! {
    /// Whether a part is the real one.
    pub enum Part {
        /// The real one.
        Real = "real",
        /// A stand-in.
        Double = "double",
    }
}

choice! {
    /// Where a process's writes go.
    pub enum Sandbox {
        /// Into a layer that is thrown away.
        Overlay = "overlay",
        /// Where the process wants.
        None = "none",
    }
}

choice! {
    /// A disturbance.
    pub enum Fault {
        /// Answers come late.
        Latency = "latency",
        /// Connections break.
        Reset = "reset",
        /// Answers stop in the middle.
        PartialResponse = "partial_response",
        /// A dependency does not answer.
        DependencyDown = "dependency_down",
    }
}

// === impl Budget ===

impl Default for Budget {
    /// Enough for every scenario of a bundle on one binding, and a bound on what a mistake can cost.
    fn default() -> Self {
        Self { calls: 2_000, rate_per_s: None, time_s: None, answer_s: None, memory_mib: None }
    }
}

// === impl Environment ===

impl Environment {
    /// Reads `environment.yaml` for a run by this build; `file` is its name in messages.
    ///
    /// # Errors
    /// Everything that is wrong with it, including settings that this build cannot honour.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self, Problems> {
        Self::read(file, bytes, Self::check_supported)
    }

    /// Reads `environment.yaml` by its format alone: for keeping it, and for builds that honour more than this one.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn well_formed(file: &str, bytes: &[u8]) -> Result<Self, Problems> {
        Self::read(file, bytes, |_, _, _| ())
    }

    fn read(file: &str, bytes: &[u8], further: impl FnOnce(&Self, &Node, &mut Cx<'_>)) -> Result<Self, Problems> {
        let mut cx = Cx::new(file);
        cx.problems.extend(secrets::scan(file, bytes).into_iter().filter(|p| p.code == Code::SecretFound).map(inline));
        let read = match yaml::read(file, bytes, yaml::Limits::default()) {
            Ok(root) => {
                let read = EnvironmentFile::decode(&root, &mut cx).map(|f| f.environment);
                if let (Some(environment), Some(node)) = (&read, root.get("environment")) {
                    environment.check(node, &mut cx);
                    further(environment, node, &mut cx);
                }
                read
            }
            Err(problems) => {
                cx.problems.extend(problems);
                None
            }
        };
        match read {
            Some(environment) if cx.problems.is_empty() => Ok(environment),
            _ => {
                let mut problems = Problems(cx.problems);
                secrets::hide_values(&mut problems.0);
                problems.sort();
                Err(problems)
            }
        }
    }
}

/// A secret in an environment: there it could have been referred to.
fn inline(mut problem: Problem) -> Problem {
    problem.code = Code::SecretInline;
    problem.hint("put it into a variable and name the variable")
}
