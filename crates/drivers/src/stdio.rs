//! The [`Transport`] of processes: one a channel, spoken to by lines on standard input and output.
//!
//! A process gets no variable of ours but those that are given, a process group of its own, and is killed with all that
//! it started when its channel goes. A line that answers a request is that exchange's frame; every other line of standard
//! output is an `Inbound` event, whatever it holds. Standard error is kept apart, and bounded.

mod answer;
mod channel;
mod lines;
mod process;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use ostiary_record::{
    ActorId, ChannelId, Kind, Source, Tape, TargetId,
    ports::{Actor, BoxFuture, Carrier, Channel, CouldNotRun, Limits, Target, Transport},
};

use self::channel::StdioChannel;
use crate::transport::HttpTransport;

/// How a process is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// All variables that it sees.
    pub variables: BTreeMap<String, String>,
    /// Which of these must not stand on a tape.
    pub secret: Vec<String>,
    /// Where it runs; `None` = where we do.
    pub folder: Option<PathBuf>,
}

/// Starts the processes that an operator names; a tape holds their names and never their commands.
#[derive(Clone, Debug, Default)]
pub struct StdioTransport {
    programs: Arc<BTreeMap<TargetId, Program>>,
    channels: Arc<AtomicU64>,
}

/// Every carrier behind one port.
#[derive(Clone)]
pub struct Transports {
    /// HTTP/1.1 and gRPC.
    pub http: HttpTransport,
    /// Processes.
    pub stdio: StdioTransport,
}

// === impl StdioTransport ===

impl StdioTransport {
    /// A transport to these programs, by the names of their targets.
    #[must_use]
    pub fn new(programs: impl IntoIterator<Item = (TargetId, Program)>) -> Self {
        Self { programs: Arc::new(programs.into_iter().collect()), channels: Arc::default() }
    }
}

impl Transport for StdioTransport {
    fn open<'a>(
        &'a self,
        tape: &'a Tape,
        target: &'a Target,
        actor: &'a Actor,
        limits: Limits,
    ) -> BoxFuture<'a, Result<Box<dyn Channel>, CouldNotRun>> {
        Box::pin(async move {
            let unknown = || CouldNotRun::Internal(format!("no program is known for `{}`", target.id));
            let program = self.programs.get(&target.id).ok_or_else(unknown)?;
            for (name, value) in program.variables.iter().filter(|(name, _)| program.secret.contains(*name)) {
                tape.hide(value, &ActorId(name.clone()));
            }
            let started = process::start(program)
                .map_err(|why| CouldNotRun::Unreachable { target: target.id.to_string(), why })?;
            let id = format!("stdio-{}", self.channels.fetch_add(1, Ordering::Relaxed));
            let from = Source::Wire(ChannelId(id));
            tape.push(from.clone(), Kind::Opened { target: target.id.clone(), actor: actor.id.clone() });
            Ok(Box::new(StdioChannel::new(started, tape.clone(), from, limits)) as Box<dyn Channel>)
        })
    }
}

// === impl Transports ===

impl Transport for Transports {
    fn open<'a>(
        &'a self,
        tape: &'a Tape,
        target: &'a Target,
        actor: &'a Actor,
        limits: Limits,
    ) -> BoxFuture<'a, Result<Box<dyn Channel>, CouldNotRun>> {
        match target.carrier {
            Carrier::Http | Carrier::Grpc => self.http.open(tape, target, actor, limits),
            Carrier::Stdio => self.stdio.open(tape, target, actor, limits),
        }
    }
}
