//! What an environment's settings say against each other, and what this build cannot honour: a setting that would be
//! ignored is an error, because its author believes that it holds.

use std::{collections::BTreeSet, net::SocketAddr};

use super::{Dependency, Environment, Fault, Identity, McpServer, Sandbox, Subject};
use crate::{
    decode::{Cx, Located},
    problem::{Code, Position},
    yaml::{Node, Value, clip},
};

/// Subjects whose credential is the absence of one.
const ANONYMOUS: &str = "anonymous";

// === impl Environment ===

impl Environment {
    pub(super) fn check(&self, node: &Node, cx: &mut Cx<'_>) {
        if self.name.trim().is_empty() {
            cx.problem(self.name.at, Code::InvalidValue, "`name` is empty");
        }
        if self.a2a.is_none() && self.mcp.is_empty() {
            cx.problem_with_hint(node.at, Code::MissingKey, "the environment names no target", "write `a2a` or `mcp`");
        }
        self.check_addresses(node, cx);
        self.check_budget(node, cx);
        for (server, n) in self.mcp.iter().zip(items(node, "mcp")) {
            server.check(n.at, cx);
        }
        for (n, server) in self.mcp.iter().enumerate() {
            if self.mcp.iter().take(n).any(|other| other.server.value == server.server.value) {
                let message = format!("the server `{}` stands twice", clip(&server.server));
                cx.problem(server.server.at, Code::InvalidValue, message);
            }
        }
        for (name, subject) in &self.subjects {
            let at = member(node, "subjects").and_then(|s| s.get(name)).map_or(node.at, |n| n.at);
            subject.check(name, self, at, cx);
        }
        if let Some(callbacks) = &self.callbacks {
            if let Some(base) = &callbacks.base {
                web_address(base, cx);
            }
            callbacks.check(member(node, "callbacks").map_or(node.at, |n| n.at), cx);
        }
        self.check_commands(node, cx);
        self.check_dependencies(cx);
    }

    /// A bound of nothing would let nothing be verified.
    fn check_budget(&self, node: &Node, cx: &mut Cx<'_>) {
        let budget = &self.budget;
        let bounds = [("time_s", budget.time_s), ("answer_s", budget.answer_s), ("memory_mib", budget.memory_mib)];
        for (name, _) in bounds.into_iter().filter(|(_, bound)| *bound == Some(0)) {
            let at = member(node, "budget").and_then(|n| key_at(n, name)).unwrap_or(node.at);
            cx.problem(at, Code::InvalidValue, format!("`{name}` is 0; it must be 1 or more"));
        }
    }

    fn check_addresses(&self, node: &Node, cx: &mut Cx<'_>) {
        if let Some(a2a) = &self.a2a {
            self.url(&a2a.card_url, cx);
        }
        self.mcp.iter().filter_map(|m| m.url.as_ref()).for_each(|url| self.url(url, cx));
        if let Some(states) = &self.provider_states {
            // The operator's own endpoint, not the target: plain http is the operator's choice.
            web_address(&states.url, cx);
        }
        let at = |key: &str| member(node, "connect_to").and_then(|n| key_at(n, key)).unwrap_or(node.at);
        for (from, to) in &self.connect_to {
            for (what, text) in [("from", from), ("to", to)] {
                if !is_host_port(text) {
                    let message = format!("`{}` ({what}) is no `host:port`", clip(text));
                    cx.problem_with_hint(at(from), Code::InvalidValue, message, "write it like agents.example.com:443");
                }
            }
        }
    }

    fn url(&self, url: &Located<String>, cx: &mut Cx<'_>) {
        if web_address(url, cx) && url.starts_with("http://") && !self.allow_insecure_http {
            let message = format!("`{}` is plain http", clip(url));
            cx.problem_with_hint(
                url.at,
                Code::Contradiction,
                message,
                "write `allow_insecure_http: true`, or use https",
            );
        }
    }

    fn check_commands(&self, node: &Node, cx: &mut Cx<'_>) {
        let Identity::TokenCommand(identity) = &self.identity else { return };
        if identity.token_command.is_empty() {
            let at = member(node, "identity").map_or(node.at, |n| n.at);
            cx.problem(at, Code::InvalidValue, "`token_command` names no command");
        }
    }

    fn check_dependencies(&self, cx: &mut Cx<'_>) {
        let mut names = BTreeSet::new();
        for dependency in &self.dependencies {
            dependency.check(cx);
            if !names.insert(&dependency.name.value) {
                let message = format!("two dependencies are named `{}`", clip(&dependency.name));
                cx.problem(dependency.name.at, Code::Contradiction, message);
            }
        }
        let down = self.faults.iter().find(|fault| fault.value == Fault::DependencyDown);
        if let Some(fault) = down.filter(|_| self.dependencies.is_empty()) {
            let hint = "write `dependencies: [{name: store, listen: 127.0.0.1:9700, connect: 127.0.0.1:5432}]`";
            let message = "`dependency_down` takes down a dependency, and the environment names none";
            cx.problem_with_hint(fault.at, Code::Contradiction, message, hint);
        }
    }

    /// Settings of the format that this build has no code for yet.
    pub(super) fn check_supported(&self, node: &Node, cx: &mut Cx<'_>) {
        let mut unsupported = |at: Position, what: &str| {
            cx.problem_with_hint(
                at,
                Code::SettingUnsupported,
                format!("{what} cannot be honoured by this build"),
                "remove it",
            );
        };
        let at = |key: &str| member(node, key).map_or(node.at, |n| n.at);
        if !matches!(self.identity, Identity::Harness(_)) {
            unsupported(at("identity"), "an identity other than `issuer: harness`");
        }
        for (server, n) in self.mcp.iter().zip(items(node, "mcp")) {
            if server.sandbox == Some(Sandbox::Overlay) {
                unsupported(n.at, "`sandbox: overlay`");
            }
        }
        for observer in self.observers.iter().filter(|o| o.kind() != "egress") {
            unsupported(observer.at, &format!("the observer `{}`", observer.kind()));
        }
    }

    /// The settings of the format that need an operator: they name commands, files or variables of our
    /// own surroundings, or an address to listen on.
    #[must_use]
    pub fn needs_operator(&self) -> bool {
        let identity = match &self.identity {
            Identity::Harness(h) => h.key_env.is_some() || h.key_file.is_some() || h.serve.is_some(),
            Identity::TokenCommand(_) | Identity::ClientCredentials(_) => true,
        };
        let server = |m: &McpServer| m.command.is_some() || !m.env_from.is_empty();
        let subject = |s: &Subject| s.token_env.is_some();
        let observes = self.observers.iter().any(|o| o.kind() != "approvals");
        identity
            || self.trust_roots.is_some()
            || self.card_keys.is_some()
            || self.artifact.is_some()
            || self.callbacks.is_some()
            || observes
            || !self.dependencies.is_empty()
            || self.mcp.iter().any(server)
            || self.subjects.values().any(subject)
    }
}

// === impl Dependency ===

impl Dependency {
    fn check(&self, cx: &mut Cx<'_>) {
        if self.name.trim().is_empty() {
            cx.problem(self.name.at, Code::InvalidValue, "`name` is empty");
        }
        if !self.listen.parse::<SocketAddr>().is_ok_and(|at| at.port() > 0) {
            let message = format!("`{}` is no address to listen on", clip(&self.listen));
            cx.problem_with_hint(self.listen.at, Code::InvalidValue, message, "write it like 127.0.0.1:9700");
        }
        if !is_host_port(&self.connect) {
            let message = format!("`{}` is no `host:port`", clip(&self.connect));
            cx.problem_with_hint(self.connect.at, Code::InvalidValue, message, "write it like 127.0.0.1:5432");
        }
        if self.listen.value == self.connect.value {
            let message = "the dependency would be led to itself: `listen` and `connect` are one address";
            cx.problem(self.connect.at, Code::Contradiction, message);
        }
    }
}

// === impl McpServer ===

impl McpServer {
    fn check(&self, at: Position, cx: &mut Cx<'_>) {
        if self.url.is_some() == self.command.is_some() {
            let message = "an MCP server has a `url` or a `command`, not both and not neither";
            cx.problem(at, Code::InvalidValue, message);
        }
        let name = &self.server;
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)) {
            let message = format!("`{}` is no name of a server", clip(name));
            cx.problem_with_hint(name.at, Code::InvalidValue, message, "use letters, digits, `.`, `_` and `-`");
        }
        if self.command.as_ref().is_some_and(Vec::is_empty) {
            cx.problem(at, Code::InvalidValue, "`command` names no program");
        }
        if self.command.is_none() && (self.sandbox.is_some() || !self.env_from.is_empty()) {
            let message = "`sandbox` and `env_from` hold for a `command` only";
            cx.problem(at, Code::Contradiction, message);
        }
        self.env_from.iter().for_each(|name| variable(name, at, cx));
    }
}

// === impl Subject ===

impl Subject {
    fn check(&self, name: &str, environment: &Environment, at: Position, cx: &mut Cx<'_>) {
        if name == ANONYMOUS {
            let message = "`anonymous` is the subject without credential and cannot be described";
            cx.problem_with_hint(at, Code::Contradiction, message, "give the subject another name");
        }
        if let Some(env) = &self.token_env {
            variable(env, at, cx);
            if self.expired || self.foreign {
                let message = "a token that is given cannot also be made expired or foreign";
                cx.problem_with_hint(
                    at,
                    Code::Contradiction,
                    message,
                    "drop `token_env`, or describe what the token is",
                );
            }
        }
        if self.foreign && !matches!(environment.identity, Identity::Harness(_)) {
            cx.problem(at, Code::Contradiction, "only the harness makes foreign tokens");
        }
        for (what, part) in [("profile", &self.profile), ("tenant_class", &self.tenant_class)] {
            let Some(part) = part else { continue };
            if ostiary_canon::Profile::new("a2a-jsonrpc-1.0", part, "default").is_err() {
                cx.problem(at, Code::InvalidValue, format!("`{}` is no {what}", clip(part)));
            }
        }
    }
}

fn member<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    node.get(key)
}

fn items<'n>(node: &'n Node, key: &str) -> impl Iterator<Item = &'n Node> {
    let list = match member(node, key).map(|n| &n.value) {
        Some(Value::List(list)) => list.as_slice(),
        _ => &[],
    };
    list.iter()
}

fn key_at(node: &Node, key: &str) -> Option<Position> {
    match &node.value {
        Value::Map(entries) => entries.iter().find(|e| e.key == key).map(|e| e.at),
        _ => None,
    }
}

/// Whether a text is an http or https address without credentials; else the problem is noted.
fn web_address(url: &Located<String>, cx: &mut Cx<'_>) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let authority = rest.map(|r| r.split(['/', '?', '#']).next().unwrap_or_default());
    match authority {
        Some(authority) if authority.contains('@') => {
            let hint = "name the credential by reference under `subjects`";
            cx.problem_with_hint(url.at, Code::SecretInline, "the address holds a credential", hint);
            false
        }
        Some(authority) if !authority.is_empty() && !authority.starts_with(':') => true,
        _ => {
            let message = format!("`{}` is no http or https address", clip(url));
            cx.problem(url.at, Code::InvalidValue, message);
            false
        }
    }
}

fn is_host_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let host_ok = !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-[]:_".contains(&b));
    host_ok && port.parse::<u16>().is_ok_and(|p| p > 0)
}

/// A reference to a variable is a name, never a value.
fn variable(name: &str, at: Position, cx: &mut Cx<'_>) {
    let first = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    if !first || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        let message = "a variable's name is wanted here, like PLAN_TOKEN; the value is never written out";
        cx.problem(at, Code::SecretInline, message);
    }
}
