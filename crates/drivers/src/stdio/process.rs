//! A process with a group of its own, which is gone when nobody holds it any more.

use std::{process::Stdio, time::Duration};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::watch,
};

use super::Program;

/// How long a process may take to end once it is asked to by a signal.
const AFTER_SIGNAL: Duration = Duration::from_millis(500);

/// A process that runs, with its pipes.
pub(super) struct Started {
    pub(super) process: Process,
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

/// A process; dropped, it is killed with all of its group.
pub(super) struct Process {
    // dropped in this order: the group while its leader is not yet reaped, so that its number means no other
    group: Group,
    child: Child,
}

struct Group(Option<Pid>);

/// How a process is asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// It may run.
    Run,
    /// Its input is closed: it has this long to end by itself.
    End(Duration),
    /// At once.
    Kill,
}

/// Starts a program; why it cannot be started, otherwise.
pub(super) fn start(program: &Program) -> Result<Started, String> {
    let Some((name, arguments)) = program.command.split_first() else {
        return Err("the command names no program".to_owned());
    };
    let mut command = Command::new(name);
    command
        .args(arguments)
        .env_clear()
        .envs(&program.variables)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if let Some(folder) = &program.folder {
        command.current_dir(folder);
    }
    let mut child = command.spawn().map_err(|e| format!("`{name}` cannot be started: {e}"))?;
    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let process = Process { group: Group(id), child };
    match (stdin, stdout, stderr) {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok(Started { process, stdin, stdout, stderr }),
        _ => Err(format!("`{name}` was started without pipes")),
    }
}

// === impl Process ===

impl Process {
    /// Waits for the end, as wished; says how it ended.
    pub(super) async fn ended(mut self, mut wish: watch::Receiver<Wish>) -> String {
        loop {
            let now = *wish.borrow_and_update();
            match now {
                Wish::Run => tokio::select! {
                    ended = self.child.wait() => return self.told(ended),
                    changed = wish.changed() => if changed.is_err() { return self.kill().await },
                },
                Wish::End(within) => {
                    if let Ok(ended) = tokio::time::timeout(within, self.child.wait()).await {
                        return self.told(ended);
                    }
                    self.group.signal(Signal::TERM);
                    return match tokio::time::timeout(AFTER_SIGNAL, self.child.wait()).await {
                        Ok(ended) => format!("{} (it did not end with its input)", self.told(ended)),
                        Err(_) => self.kill().await,
                    };
                }
                Wish::Kill => return self.kill().await,
            }
        }
    }

    async fn kill(&mut self) -> String {
        self.group.signal(Signal::KILL);
        let ended = self.child.wait().await;
        format!("{} (by us)", self.told(ended))
    }

    /// What it left behind goes with it: the leader has just been reaped, and its number is not given again so soon.
    fn told(&mut self, ended: std::io::Result<std::process::ExitStatus>) -> String {
        self.group.signal(Signal::KILL);
        self.group.0 = None;
        ended.map_or_else(|e| format!("unknown: {e}"), |status| status.to_string())
    }
}

// === impl Group ===

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(id) = self.0 {
            // fails when there is nobody left, which is what is wanted
            let _ = kill_process_group(id, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
