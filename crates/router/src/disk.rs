//! What survives a restart: the highest verified revision with its head, and the copy under it.
//!
//! Two files for each scope. `*.state.json` holds the floor and the newest head; it is replaced by a rename. `*.copy` holds
//! the messages that made the copy, in order: a snapshot, then every step, each with its checksum. Reading it back is
//! feeding the same messages to the same rules, so that nothing is believed from disk that would not be believed from the
//! wire. A step is on disk before it is acknowledged: a restart never goes back behind an acknowledgement.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufReader, BufWriter, Read as _, Write as _},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use ostiary_admission::{Frozen, ViewScope};
use ostiary_canon::{Digest, Revision};
use ostiary_proto::admission::v1::{self as wire, watch_admissions_response::Message};
use prost::Message as _;
use serde::{Deserialize, Serialize};

use crate::copy::Floor;

/// The files of one scope.
pub(crate) struct Disk {
    scope: ViewScope,
    state: PathBuf,
    copy: PathBuf,
    /// Open at its end, once it holds a snapshot.
    log: Option<File>,
    written: u64,
    snapshot: u64,
    /// What the state file is known to hold.
    floor: Option<Floor>,
}

/// What was found at the start.
#[derive(Default)]
pub(crate) struct Found {
    /// Nothing older is believed.
    pub(crate) floor: Option<Floor>,
    /// The messages of the copy, and last a heartbeat with its newest head.
    pub(crate) messages: Vec<Message>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    format: u32,
    scope: String,
    floor: Floor,
    head: String,
}

const FORMAT: u32 = 1;
/// Entries of a chunk: some hundred bytes each, far below what gRPC takes in one message.
const CHUNK: usize = 512;
/// A longer message was not written by us.
const FRAME_LIMIT: u32 = 16 << 20;
/// A log shorter than this is not worth a new snapshot.
const LOG_LEAST: u64 = 1 << 20;

// === impl Disk ===

impl Disk {
    /// The files of `scope` in `directory`, which is made if it is not there.
    pub(crate) fn open(directory: &Path, scope: &ViewScope) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let stem = match scope {
            ViewScope::All => "all".to_owned(),
            ViewScope::Namespace(namespace) => format!("namespace-{namespace}"),
        };
        Ok(Self {
            scope: scope.clone(),
            state: directory.join(format!("{stem}.state.json")),
            copy: directory.join(format!("{stem}.copy")),
            log: None,
            written: 0,
            snapshot: 0,
            floor: None,
        })
    }

    /// What is there. What cannot be read is left out, and said; a floor that can be read holds in any case.
    pub(crate) fn load(&mut self) -> Found {
        let state = self.read_state().unwrap_or_else(|error| {
            tracing::warn!(path = %self.state.display(), %error, "the state file cannot be read; starting without it");
            None
        });
        let Some(state) = state else { return Found::default() };
        self.floor = Some(state.floor);
        let mut messages = read_copy(&self.copy).unwrap_or_else(|error| {
            tracing::warn!(path = %self.copy.display(), %error, "the copy on disk cannot be read; starting without it");
            Vec::new()
        });
        if !messages.is_empty() {
            messages.push(Message::Heartbeat(wire::Heartbeat { head: state.head.into() }));
        }
        Found { floor: Some(state.floor), messages }
    }

    /// A verified head: the floor rises before anything is acknowledged under it.
    pub(crate) fn keep_head(&mut self, floor: Floor, head: &[u8]) -> io::Result<()> {
        let state = State {
            format: FORMAT,
            scope: self.scope.to_string(),
            floor,
            head: String::from_utf8_lossy(head).into_owned(),
        };
        // A newer lease of the same revision may be lost; a revision may not.
        let durable = self.floor.is_none_or(|known| known.revision != floor.revision || known.root != floor.root);
        replace(&self.state, durable, |file| Ok(serde_json::to_writer(file, &state)?))?;
        self.floor = Some(floor);
        Ok(())
    }

    /// One more step, durable when this returns.
    pub(crate) fn keep_step(&mut self, step: wire::Delta) -> io::Result<()> {
        let Some(log) = &mut self.log else { return Err(io::Error::other("there is no snapshot to go on from")) };
        let frame = framed(Message::Delta(step));
        log.write_all(&frame)?;
        log.sync_data()?;
        self.written += frame.len() as u64;
        Ok(())
    }

    /// The whole copy anew.
    pub(crate) fn keep_whole(&mut self, frozen: &Frozen, head: &Bytes) -> io::Result<()> {
        self.log = None;
        let (revision, scope) = (frozen.revision(), self.scope.clone());
        replace(&self.copy, true, |file| write_copy(file, frozen, revision, &scope, head))?;
        let log = OpenOptions::new().append(true).open(&self.copy)?;
        self.snapshot = log.metadata()?.len();
        self.written = 0;
        self.log = Some(log);
        Ok(())
    }

    /// Whether the copy must be written anew before steps can be kept, or is shorter when it is.
    pub(crate) fn wants_whole(&self) -> bool {
        self.log.is_none() || self.written > self.snapshot.max(LOG_LEAST)
    }

    /// The copy on disk is older than what was acknowledged: it must not be found again.
    pub(crate) fn forget_copy(&mut self) -> io::Result<()> {
        self.log = None;
        match fs::remove_file(&self.copy) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => sync_directory(&self.copy),
        }
    }

    fn read_state(&self) -> io::Result<Option<State>> {
        let bytes = match fs::read(&self.state) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let state: State = serde_json::from_slice(&bytes)?;
        if state.format != FORMAT || state.scope != self.scope.to_string() {
            return Err(io::Error::other("it is of another format or scope"));
        }
        Ok(Some(state))
    }
}

/// Writes beside, then renames over: a reader sees the old file or the new one, never a part.
fn replace(path: &Path, durable: bool, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    let mut file = BufWriter::new(private(&beside)?);
    write(&mut file)?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    if durable {
        file.sync_all()?;
    }
    fs::rename(&beside, path)?;
    if durable { sync_directory(path) } else { Ok(()) }
}

/// A new file that nobody else reads, for it names every agent. Whatever lies there is taken away first: a link that somebody
/// left would lead the writing elsewhere.
fn private(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A rename is durable when its directory is.
fn sync_directory(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(directory) => File::open(directory)?.sync_all(),
        None => Ok(()),
    }
}

fn write_copy(
    file: &mut BufWriter<File>,
    frozen: &Frozen,
    revision: Revision,
    scope: &ViewScope,
    head: &Bytes,
) -> io::Result<()> {
    let parts = || (0..frozen.parts()).flat_map(|part| frozen.part(part, scope));
    let begin = wire::SnapshotBegin { revision: revision.0, entries: parts().count() as u64 };
    file.write_all(&framed(Message::SnapshotBegin(begin)))?;
    let mut entries = Vec::with_capacity(CHUNK);
    for (_, bytes) in parts() {
        entries.push(bytes);
        if entries.len() == CHUNK {
            let entries = std::mem::replace(&mut entries, Vec::with_capacity(CHUNK));
            file.write_all(&framed(Message::SnapshotChunk(wire::SnapshotChunk { entries })))?;
        }
    }
    file.write_all(&framed(Message::SnapshotChunk(wire::SnapshotChunk { entries })))?;
    file.write_all(&framed(Message::SnapshotEnd(wire::SnapshotEnd { head: head.clone() })))
}

/// Length, checksum, message.
fn framed(message: Message) -> Vec<u8> {
    let bytes = wire::WatchAdmissionsResponse { message: Some(message) }.encode_to_vec();
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let mut frame = Vec::with_capacity(36 + bytes.len());
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(Digest::of(&bytes).as_bytes());
    frame.extend_from_slice(&bytes);
    frame
}

/// All messages. A torn end is where a write was cut short, before it was acknowledged, and is left out; anything else
/// that does not add up makes the whole copy unreadable.
fn read_copy(path: &Path) -> io::Result<Vec<Message>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        file => file?,
    };
    let mut left = file.metadata()?.len();
    let mut file = BufReader::new(file);
    let mut messages = Vec::new();
    while left >= 36 {
        let (mut length, mut sum) = ([0; 4], [0; 32]);
        file.read_exact(&mut length)?;
        file.read_exact(&mut sum)?;
        left -= 36;
        let length = u32::from_be_bytes(length);
        if length > FRAME_LIMIT {
            return Err(io::Error::other("a message is longer than any that is written"));
        }
        if u64::from(length) > left {
            break;
        }
        let mut bytes = vec![0; length as usize];
        file.read_exact(&mut bytes)?;
        left -= u64::from(length);
        if Digest::of(&bytes).as_bytes() != &sum {
            return Err(io::Error::other("a message does not have its checksum"));
        }
        let message = wire::WatchAdmissionsResponse::decode(Bytes::from(bytes)).map_err(io::Error::other)?;
        messages.extend(message.message);
    }
    Ok(messages)
}
