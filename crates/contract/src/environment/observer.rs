//! What watches the candidate's effects.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    decode::{Cx, Decode, Located, did_you_mean, file_type},
    problem::Code,
    yaml::Node,
};

/// Something that watches.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Observer {
    /// Rows of tables.
    Sql(SqlObserver),
    /// Files below a directory.
    Filesystem(FilesystemObserver),
    /// Calls that leave the candidate.
    Egress(EgressObserver),
    /// Approvals asked for and given.
    Approvals(ApprovalsObserver),
    /// Audit events.
    Audit(AuditObserver),
}

/// Declares one observer with its constant `kind`.
macro_rules! observer {
    ($(#[$meta:meta])* $name:ident $word:ident = $kind:literal { $($fields:tt)* }) => {
        crate::decode::choice! {
            /// The kind of observer.
            pub enum $word {
                /// This one.
                This = $kind,
            }
        }

        file_type! {
            $(#[$meta])*
            pub struct $name {
                /// The kind of observer.
                kind: $word,
                $($fields)*
            }
        }
    };
}

observer! {
    /// Rows of tables, in PostgreSQL or SQLite.
    SqlObserver SqlKind = "sql" {
        /// The variable that holds the connection string.
        dsn_env: String,
        /// The tables.
        tables: Vec<String>,
    }
}

observer! {
    /// Files below a directory.
    FilesystemObserver FilesystemKind = "filesystem" {
        /// The directory, relative to the environment file.
        path: String,
    }
}

observer! {
    /// Calls that leave the candidate, through a recording proxy.
    EgressObserver EgressKind = "egress" {
        /// Hosts that may be called: `host`, `host:port` or `*.domain`.
        allow: Vec<String> = default,
        /// Where the proxy listens: `IP:port`; absent = a free port of the loopback, which nobody is told.
        listen: Option<Located<String>>,
        /// Whether the candidate has no other way out; without it nothing can be proved by what was not seen.
        only_way_out: bool = default,
    }
}

observer! {
    /// An approval double that keeps a ledger.
    ApprovalsObserver ApprovalsKind = "approvals" {}
}

observer! {
    /// Audit events, from a table, a file or an endpoint.
    AuditObserver AuditKind = "audit" {
        /// The variable that holds the connection string.
        dsn_env: Option<String>,
        /// The table.
        table: Option<String>,
        /// The file.
        path: Option<String>,
        /// The endpoint.
        url: Option<String>,
    }
}

const KINDS: &[&str] = &["sql", "filesystem", "egress", "approvals", "audit"];

// === impl Observer ===

impl Observer {
    /// The word that names its kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Sql(_) => "sql",
            Self::Filesystem(_) => "filesystem",
            Self::Egress(_) => "egress",
            Self::Approvals(_) => "approvals",
            Self::Audit(_) => "audit",
        }
    }
}

impl Decode for Observer {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let Some(kind) = node.get("kind") else {
            cx.problem(node.at, Code::MissingKey, "the key `kind` is missing");
            return None;
        };
        match kind.as_text().unwrap_or_default() {
            "sql" => SqlObserver::decode(node, cx).map(Self::Sql),
            "filesystem" => FilesystemObserver::decode(node, cx).map(Self::Filesystem),
            "egress" => {
                let read = EgressObserver::decode(node, cx)?;
                if let Some(listen) = read.listen.as_ref().filter(|at| at.parse::<SocketAddr>().is_err()) {
                    let message = format!("`{}` is no address to listen on", crate::yaml::clip(listen));
                    cx.problem_with_hint(listen.at, Code::InvalidValue, message, "write it like 127.0.0.1:9501");
                }
                Some(Self::Egress(read))
            }
            "approvals" => ApprovalsObserver::decode(node, cx).map(Self::Approvals),
            "audit" => {
                let read = AuditObserver::decode(node, cx)?;
                let sources = [read.dsn_env.is_some(), read.path.is_some(), read.url.is_some()];
                if sources.iter().filter(|s| **s).count() != 1 || read.dsn_env.is_some() != read.table.is_some() {
                    let message = "an audit observer has one source: dsn_env with table, path, or url";
                    cx.problem(node.at, Code::InvalidValue, message);
                }
                Some(Self::Audit(read))
            }
            other => {
                let message = format!("`{}` is no kind of observer", crate::yaml::clip(other));
                cx.problem_with_hint(kind.at, Code::InvalidValue, message, did_you_mean(other, KINDS));
                None
            }
        }
    }
}
