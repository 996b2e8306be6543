//! A live MCP server, by its address or by the command that starts it.

use std::{sync::Arc, time::Duration};

use clap::Args;
use indicatif::ProgressBar;
use ostiary_contract::init::ServerPlace;
use ostiary_drivers::{HttpTransport, StdioTransport, Transports};
use ostiary_protocol::mcp::{ClientProfile, Revision};
use ostiary_record::{
    Tape, TargetId,
    ports::{Actor, Carrier, Target},
};
use ostiary_verify::{
    HARNESS_VERSION,
    mcp::live::{Caller, Endpoint, EraView, Look, Outcome, Patience, Seen},
};
use serde_json::Value;

use crate::{
    commands::card::Reach,
    console::{Console, visible},
    error::CliError,
    system,
};

/// How a server is asked.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Ask {
    /// A variable of our own surroundings that the process may see; can be given several times
    #[arg(long = "env-from", value_name = "NAME")]
    env_from: Vec<String>,
    /// The variable that holds a bearer token to show to a server at an address
    #[arg(long, value_name = "NAME")]
    token_env: Option<String>,
    /// Seconds that the server has to start and to answer
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    #[command(flatten)]
    pub(crate) reach: Reach,
}

/// One list of a server.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    /// What was seen of the server as a whole.
    pub(crate) seen: Seen,
    /// The revision that the list is of.
    pub(crate) revision: Revision,
    /// The first part of its profiles: `mcp-http-2026-07-28`.
    pub(crate) protocol: String,
    /// The list.
    pub(crate) list: Value,
}

// === impl Ask ===

impl Ask {
    /// Looks at a server.
    pub(crate) async fn look(&self, console: &Console, name: &str, place: &ServerPlace) -> Result<Seen, CliError> {
        let target = TargetId(format!("mcp:{name}"));
        let (url, carrier) = match place {
            ServerPlace::Url(url) => (url.clone(), Carrier::Http),
            ServerPlace::Command(_) => (String::new(), Carrier::Stdio),
        };
        let transport = self.transports(place, &target)?;
        let endpoint = Endpoint { server: name.to_owned(), target: Target { id: target, url, carrier } };
        let tape = Tape::new(Arc::new(system::Elapsed::start()));
        let bar = if console.live() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        bar.enable_steady_tick(Duration::from_millis(120));
        let tell = |what: &str| bar.set_message(visible(what));
        let mut look = Look::new(&transport, &tape, &tell);
        let seconds = Duration::from_secs(self.timeout);
        look.patience = Patience {
            probe: Patience::default().probe.min(seconds),
            start: seconds,
            answer: seconds,
            ..look.patience
        };
        let seen = look.at(&endpoint, &self.caller()?).await;
        bar.finish_and_clear();
        Ok(seen)
    }

    fn transports(&self, place: &ServerPlace, target: &TargetId) -> Result<Transports, CliError> {
        let http = HttpTransport::new(self.reach.settings()?).map_err(|e| CliError::because("cannot ask", &e))?;
        let programs = match place {
            ServerPlace::Url(_) => Vec::new(),
            ServerPlace::Command(command) => {
                let program = ostiary_worker::local::started(command.clone(), &self.env_from, None);
                let program = program.map_err(|e| CliError::because("cannot start the server", &e))?;
                vec![(target.clone(), program)]
            }
        };
        Ok(Transports { http, stdio: StdioTransport::new(programs) })
    }

    fn caller(&self) -> Result<Caller, CliError> {
        let credentials = match &self.token_env {
            None => Vec::new(),
            Some(name) => {
                let token = system::variable(name).ok_or_else(|| {
                    CliError::usage(format!("the variable `{name}`, named by --token-env, is not set"))
                })?;
                vec![("Authorization".to_owned(), format!("Bearer {token}"))]
            }
        };
        let id = if credentials.is_empty() { "anonymous" } else { "token" };
        let part = || "default".to_owned();
        Ok(Caller {
            client: ClientProfile::harness(HARNESS_VERSION),
            actor: Actor { id: id.into(), credentials },
            authorization: part(),
            tenant_class: part(),
        })
    }
}

// === impl Taken ===

impl Taken {
    /// The list of a revision, or of the newest that is spoken.
    pub(crate) fn of(seen: Seen, wanted: Option<Revision>) -> Result<Self, CliError> {
        let spoken: Vec<(Revision, &EraView)> =
            seen.view.eras().into_iter().filter_map(|era| Some((era.spoken()?, era))).collect();
        let names: Vec<&str> = spoken.iter().map(|(revision, _)| revision.as_str()).collect();
        let found = spoken.iter().find(|(revision, _)| wanted.is_none_or(|wanted| wanted == *revision));
        let Some((revision, era)) = found else {
            return Err(if names.is_empty() { not_spoken(&seen) } else { other_revision(wanted, &names) });
        };
        let Some(list) = &era.list else {
            let what = format!("`{}` declares no tools by {revision}", seen.view.server);
            return Err(CliError::could_not_run(what).hint("there is nothing to take a snapshot of"));
        };
        if let Some(problem) = &list.problem {
            let what =
                format!("the list of `{}` cannot be read to its end: {}", seen.view.server, visible(&problem.why));
            return Err(CliError::could_not_run(what)
                .hint("a snapshot of a part would pass for the whole; see the server's log"));
        }
        let protocol = era.protocol.clone().unwrap_or_default();
        let value = seen.lists.iter().find(|(of, _)| *of == protocol).map(|(_, list)| list.clone());
        let list = value.ok_or_else(|| CliError::could_not_run("the list is not there"))?;
        Ok(Self { revision: *revision, protocol, list, seen })
    }
}

fn other_revision(wanted: Option<Revision>, spoken: &[&str]) -> CliError {
    let wanted = wanted.map_or_else(String::new, |revision| revision.to_string());
    CliError::could_not_run(format!("the server does not speak {wanted}"))
        .hint(format!("it speaks {}; without --protocol the newest is taken", spoken.join(" and ")))
}

/// Why nothing could be asked: of both openings the one that says most.
fn not_spoken(seen: &Seen) -> CliError {
    let of = |outcome| seen.view.eras().into_iter().find(|era| era.outcome == outcome);
    let why = |era: &EraView| visible(era.why.as_deref().unwrap_or_default());
    let name = &seen.view.server;
    if let Some(era) = of(Outcome::Denied) {
        return CliError::could_not_run(format!("`{name}` lets nobody in: {}", why(era)))
            .hint("name the variable that holds a token with --token-env");
    }
    if let Some(era) = of(Outcome::Unknown) {
        let versions = visible(&era.versions.join(", "));
        return CliError::could_not_run(format!("`{name}` speaks {versions} only"))
            .hint("2025-06-18, 2025-11-25 and 2026-07-28 are known here");
    }
    if let Some(era) = of(Outcome::Unreachable) {
        let error = CliError::could_not_run(format!("`{name}` cannot be reached: {}", why(era)));
        return if seen.view.wire == "http" {
            error.hint(
                "for a server on this machine or network give --allow-private, for http also --allow-insecure-http",
            )
        } else {
            error.hint("give the program by its path, and its arguments behind it")
        };
    }
    if of(Outcome::Silent).is_some() && of(Outcome::Refuses).is_none() {
        return CliError::could_not_run(format!("`{name}` gave no answer: {}", why(&seen.view.sessions)))
            .hint("it may need longer (--timeout), or a variable of yours (--env-from)");
    }
    let both = seen.view.eras().map(|era| era.why.as_deref().unwrap_or_default().to_owned());
    let what = format!(
        "`{name}` is no MCP server that we know: server/discover gave {}; initialize gave {}",
        both[0], both[1]
    );
    let hint = if seen.view.wire == "http" {
        "give the address of the MCP endpoint itself, mostly one that ends in /mcp"
    } else {
        "give the command that starts the server on stdio; many servers want an argument for that"
    };
    CliError::could_not_run(visible(&what)).hint(hint)
}
