//! Reading: first the claim, then, when the database bears it out, the entries, on all processors.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    num::NonZero,
    path::Path,
    sync::{
        Mutex, PoisonError,
        mpsc::{SyncSender, sync_channel},
    },
    thread,
};

use ostiary_admission::{
    Change, Index, ShardNumber, Tree,
    wire::{leaf, read_entry},
};
use ostiary_canon::{
    Digest,
    dsse::{Envelope, Keyring},
};

use super::{CLAIM_TYPE, Claim, HEAD, LARGEST_FRAME, MAGIC, SnapshotError};

/// A file whose claim is signed; its entries are not read yet.
#[derive(Debug)]
pub struct Found {
    claim: Claim,
    entries: BufReader<File>,
}

/// An entry, and where it counts in the tree.
type Entry = (Change, ShardNumber, Digest);

/// Frames that are read ahead for each thread.
const AHEAD: usize = 2;

/// Most threads: beyond, the one that fills the index is the slowest.
const THREADS: usize = 8;

// === impl Found ===

impl Found {
    /// What is claimed.
    #[must_use]
    pub const fn claim(&self) -> &Claim {
        &self.claim
    }
}

/// Opens the file and verifies its claim; `None` when there is no file.
///
/// # Errors
/// When it is not ours, or not of today.
pub fn open(path: &Path, keys: &Keyring) -> Result<Option<Found>, SnapshotError> {
    let failed = |source| SnapshotError::Io { path: path.to_owned(), source };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut entries = BufReader::with_capacity(1 << 20, file);
    let mut head = vec![0; HEAD];
    entries.read_exact(&mut head).map_err(|_| SnapshotError::Damaged("it ends within its head"))?;
    let claim = claim(&head, keys)?;
    claim.is_of_today(keys)?;
    Ok(Some(Found { claim, entries }))
}

fn claim(head: &[u8], keys: &Keyring) -> Result<Claim, SnapshotError> {
    let damaged = SnapshotError::Damaged;
    let rest = head.strip_prefix(MAGIC.as_slice()).ok_or(damaged("it does not begin as ours do"))?;
    let (length, rest) = rest.split_first_chunk::<4>().ok_or(damaged("it ends within its head"))?;
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    let envelope = rest.get(..length).ok_or(damaged("its claim is too large"))?;
    let verified = keys.verify(&Envelope::parse(envelope)?)?;
    if verified.payload_type() != CLAIM_TYPE {
        return Err(SnapshotError::Claim(format!("a signed `{}`", verified.payload_type())));
    }
    serde_json::from_slice(verified.payload()).map_err(|error| SnapshotError::Claim(error.to_string()))
}

/// Reads the entries and makes an index of them, if they are those that were claimed. Its lease is over. Blocks.
///
/// # Errors
/// When the file is damaged, or other entries were signed.
pub fn fill(found: Found) -> Result<Index, SnapshotError> {
    let Found { claim, entries } = found;
    let index = Index::new();
    let (mut leaves, mut failed) = (Vec::new(), None);
    let reader = Mutex::new(entries);
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(THREADS);
        let (sender, frames) = sync_channel(AHEAD * threads);
        for _ in 0..threads {
            let (reader, sender) = (&reader, sender.clone());
            scope.spawn(move || read_frames(reader, &sender));
        }
        drop(sender);
        // Ends at the first error; dropping the channel then ends the threads.
        let good = frames.into_iter().map_while(|frame| frame.map_err(|error| failed = Some(error)).ok());
        let changes = good.flatten().map(|(change, shard, leaf)| {
            leaves.push((shard, leaf));
            change
        });
        index.replace(changes, claim.revision).expect("a new index is of no revision yet");
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let count = leaves.len() as u64;
    let root = leaves.into_iter().collect::<Tree>().root();
    if (count, root) == (claim.entries, claim.root) { Ok(index) } else { Err(SnapshotError::Root) }
}

fn read_frames(reader: &Mutex<BufReader<File>>, sender: &SyncSender<Result<Vec<Entry>, SnapshotError>>) {
    loop {
        let frame = next_frame(&mut *reader.lock().unwrap_or_else(PoisonError::into_inner));
        let entries = match frame {
            Ok(None) => return,
            Ok(Some(frame)) => decode(&frame),
            Err(error) => Err(error),
        };
        let last = entries.is_err();
        // A closed channel: somebody else found an error.
        if sender.send(entries).is_err() || last {
            return;
        }
    }
}

fn next_frame(reader: &mut impl Read) -> Result<Option<Vec<u8>>, SnapshotError> {
    let mut length = [0; 4];
    match reader.read(&mut length[..1]) {
        Ok(0) => return Ok(None),
        Ok(_) => {}
        Err(_) => return Err(SnapshotError::Damaged("it cannot be read to its end")),
    }
    reader.read_exact(&mut length[1..]).map_err(|_| SnapshotError::Damaged("it ends within a frame"))?;
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if length > LARGEST_FRAME {
        return Err(SnapshotError::Damaged("a frame is too large"));
    }
    let mut frame = vec![0; length];
    reader.read_exact(&mut frame).map_err(|_| SnapshotError::Damaged("it ends within a frame"))?;
    Ok(Some(frame))
}

fn decode(mut frame: &[u8]) -> Result<Vec<Entry>, SnapshotError> {
    let mut entries = Vec::new();
    while !frame.is_empty() {
        let (length, rest) = frame.split_first_chunk::<4>().ok_or(SnapshotError::Damaged("a frame ends early"))?;
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        let (entry, rest) = rest.split_at_checked(length).ok_or(SnapshotError::Damaged("a frame ends early"))?;
        let change = read_entry(entry)?;
        let shard = change.shard();
        entries.push((change, shard, leaf(entry)));
        frame = rest;
    }
    Ok(entries)
}
