//! Writing: beside the file, flushed to the disk, then renamed over it. A crash leaves the old file or the new one.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Seek as _, SeekFrom, Write},
    path::Path,
};

use jiff::Timestamp;
use ostiary_admission::{Frozen, Tree, ViewScope, wire::leaf};
use ostiary_canon::{Digest, dsse::Keyring};
use ostiary_domain::Signer;

use super::{CLAIM_TYPE, Claim, FRAME, HEAD, MAGIC, PROJECTION, SnapshotError, key_set};

/// Writes `frozen`, whose revision has `audit` as its hash in the audit chain. Blocks: seconds for a million versions.
///
/// # Errors
/// When the disk or the key does not serve; what was there before stays.
pub fn write(
    path: &Path,
    frozen: &Frozen,
    audit: Digest,
    (keys, signer): (&Keyring, &dyn Signer),
    made_at: Timestamp,
) -> Result<(), SnapshotError> {
    let failed = |source| SnapshotError::Io { path: path.to_owned(), source };
    let partial = path.with_extension("partial");
    let mut file = BufWriter::with_capacity(FRAME, private(&partial).map_err(failed)?);
    file.write_all(&[0; HEAD]).map_err(failed)?;
    let mut tree = entries(&mut file, frozen).map_err(failed)?;
    let claim = Claim {
        audit,
        entries: tree.len() as u64,
        keys: key_set(keys),
        made_at,
        projection: PROJECTION,
        revision: frozen.revision(),
        root: tree.root(),
    };
    let claim = serde_json::to_vec(&claim).expect("digests, numbers and a time have a JSON form");
    let envelope = signer.sign(CLAIM_TYPE, &claim)?;
    head(&mut file, &envelope).map_err(failed)?;
    let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
    file.sync_all().and_then(|()| fs::rename(&partial, path)).and_then(|()| sync_directory(path)).map_err(failed)
}

/// Writes all entries; answers the tree over them.
fn entries(file: &mut impl Write, frozen: &Frozen) -> io::Result<Tree> {
    let (mut frame, mut leaves) = (Vec::with_capacity(2 * FRAME), Vec::new());
    for part in 0..frozen.parts() {
        for (shard, entry) in frozen.part(part, &ViewScope::All) {
            leaves.push((shard, leaf(&entry)));
            frame.extend_from_slice(&length(entry.len())?);
            frame.extend_from_slice(&entry);
            if frame.len() >= FRAME {
                flush(file, &mut frame)?;
            }
        }
    }
    flush(file, &mut frame)?;
    Ok(leaves.into_iter().collect())
}

fn flush(file: &mut impl Write, frame: &mut Vec<u8>) -> io::Result<()> {
    if !frame.is_empty() {
        file.write_all(&length(frame.len())?)?;
        file.write_all(frame)?;
        frame.clear();
    }
    Ok(())
}

fn head(file: &mut BufWriter<File>, envelope: &[u8]) -> io::Result<()> {
    if MAGIC.len() + 4 + envelope.len() > HEAD {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the claim's envelope is too large"));
    }
    file.seek(SeekFrom::Start(0))?;
    file.write_all(MAGIC)?;
    file.write_all(&length(envelope.len())?)?;
    file.write_all(envelope)
}

fn length(of: usize) -> io::Result<[u8; 4]> {
    u32::try_from(of)
        .map(u32::to_be_bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "an entry is too large"))
}

/// A new file that nobody else reads: it names every agent.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A rename is on the disk once its directory is.
fn sync_directory(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(directory) = path.parent() {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}
