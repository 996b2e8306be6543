//! The MCP servers of an environment: where they are, and how those on stdio are started.

use std::{collections::BTreeMap, path::PathBuf};

use ostiary_contract::environment::{McpServer, Sandbox};
use ostiary_drivers::{Program, StdioTransport};
use ostiary_record::{
    TargetId,
    ports::{Carrier, Target},
};
use ostiary_verify::mcp::live::Endpoint;

use super::{EnvironmentError, Place, identity::variable};

/// What every process gets of our own surroundings where it is set: enough to find an interpreter and a home, and nothing
/// that is anybody's secret.
const GIVEN: [&str; 4] = ["PATH", "HOME", "LANG", "TMPDIR"];

/// The servers, and the transport that starts some of them.
pub(super) struct Servers {
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) stdio: StdioTransport,
}

/// The servers of an environment.
pub(super) fn of(place: &Place) -> Result<Servers, EnvironmentError> {
    let servers = &place.environment.mcp;
    let programs = servers.iter().filter_map(|server| {
        let command = server.command.clone()?;
        let started = started(command, &server.env_from, place.root.clone());
        Some(started.map(|program| (target(&server.server.value), program)))
    });
    let programs: BTreeMap<TargetId, Program> = programs.collect::<Result<_, _>>()?;
    Ok(Servers { endpoints: servers.iter().map(endpoint).collect(), stdio: StdioTransport::new(programs) })
}

/// The name of a server's target on tapes.
fn target(server: &str) -> TargetId {
    TargetId(format!("mcp:{server}"))
}

fn endpoint(server: &McpServer) -> Endpoint {
    let name = server.server.value.clone();
    let (url, carrier) = match &server.url {
        Some(url) => (url.value.clone(), Carrier::Http),
        None => (String::new(), Carrier::Stdio),
    };
    Endpoint { target: Target { id: target(&name), url, carrier }, server: name }
}

/// A program with the variables that it may see: the few that each gets, and those that are named.
///
/// # Errors
/// When a named variable is not set.
pub fn started(
    command: Vec<String>,
    env_from: &[String],
    folder: Option<PathBuf>,
) -> Result<Program, EnvironmentError> {
    let given = GIVEN.iter().filter_map(|name| Some(((*name).to_owned(), variable(name, "").ok()?)));
    let mut variables: BTreeMap<String, String> = given.collect();
    for name in env_from {
        variables.insert(name.clone(), variable(name, "`env_from`")?);
    }
    Ok(Program { command, variables, secret: env_from.to_vec(), folder })
}

/// What this build cannot do for a server; `None` when it can do all that is asked.
pub(super) fn unsupported(server: &McpServer) -> Option<String> {
    let overlay = server.sandbox == Some(Sandbox::Overlay);
    overlay.then(|| format!("`sandbox: overlay` of the MCP server `{}`", server.server.value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(mcp: &str) -> Place {
        let text = format!("environment:\n  name: local\n  allow_insecure_http: true\n  mcp:\n{mcp}");
        Place::of_text("e.yaml", text.as_bytes()).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn servers_are_addresses_or_programs() {
        let place = place(
            "    - { server: plans, url: http://127.0.0.1:9200/mcp }\n    - { server: files, command: [node, s.js] }\n",
        );
        let servers = of(&place).expect("nothing is missing");
        let told: Vec<_> = servers.endpoints.iter().map(|e| (e.target.id.0.as_str(), e.target.carrier)).collect();
        assert_eq!(told, [("mcp:plans", Carrier::Http), ("mcp:files", Carrier::Stdio)]);
    }

    #[test]
    fn a_process_sees_what_is_named_and_little_else() {
        // cargo sets this one for tests
        let program = started(vec!["x".to_owned()], &["CARGO_MANIFEST_DIR".to_owned()], None).expect("it is set");
        let seen: Vec<&str> = program.variables.keys().map(String::as_str).collect();
        assert!(seen.contains(&"CARGO_MANIFEST_DIR") && seen.contains(&"PATH"), "{seen:?}");
        assert!(seen.iter().all(|name| GIVEN.contains(name) || *name == "CARGO_MANIFEST_DIR"), "{seen:?}");
        assert_eq!(program.secret, ["CARGO_MANIFEST_DIR"]);
        let missing = started(Vec::new(), &["OSTIARY_NO_SUCH".to_owned()], None);
        assert!(matches!(missing, Err(EnvironmentError::Variable { name, .. }) if name == "OSTIARY_NO_SUCH"));
    }
}
