//! Does what the rules say must be on disk, in a thread that may wait for it.

use std::{io, path::PathBuf, sync::Arc};

use bytes::Bytes;
use ostiary_admission::{Index, ViewScope};
use ostiary_proto::admission::v1 as wire;

use crate::{
    copy::{Floor, Keep},
    disk::{Disk, Found},
    metrics::Metrics,
};

/// The disk of one scope, or none.
pub(crate) struct Keeper {
    disk: Option<Disk>,
    metrics: Arc<Metrics>,
}

/// What is held, for the disk.
pub(crate) struct Holding {
    pub(crate) index: Arc<Index>,
    pub(crate) floor: Option<Floor>,
    pub(crate) head: Option<Bytes>,
}

// === impl Keeper ===

impl Keeper {
    /// Opens the files and reads what is there.
    pub(crate) async fn open(
        directory: Option<PathBuf>,
        scope: ViewScope,
        metrics: Arc<Metrics>,
    ) -> io::Result<(Self, Found)> {
        let Some(directory) = directory else { return Ok((Self { disk: None, metrics }, Found::default())) };
        let opened = tokio::task::spawn_blocking(move || {
            let mut disk = Disk::open(&directory, &scope)?;
            let found = disk.load();
            Ok::<_, io::Error>((disk, found))
        });
        let (disk, found) = opened.await.map_err(io::Error::other)??;
        Ok((Self { disk: Some(disk), metrics }, found))
    }

    /// Keeps what must be kept before an acknowledgement. `false`: the copy on disk is older than what would be
    /// acknowledged and cannot be removed, so nothing may be.
    pub(crate) async fn keep(&mut self, keep: Keep, holding: Holding) -> bool {
        let Some(disk) = self.disk.take() else { return true };
        let metrics = Arc::clone(&self.metrics);
        let kept = tokio::task::spawn_blocking(move || {
            let mut disk = disk;
            let kept = match write(&mut disk, keep, &holding) {
                Ok(()) => true,
                Err(error) => {
                    metrics.disk_errors();
                    tracing::warn!(%error, "the copy cannot be kept on disk; a restart begins without it");
                    disk.forget_copy().is_ok()
                }
            };
            (disk, kept)
        });
        match kept.await {
            Ok((disk, kept)) => {
                self.disk = Some(disk);
                kept
            }
            // The thread panicked, which is our bug, and the files are as they are.
            Err(_) => false,
        }
    }
}

fn write(disk: &mut Disk, keep: Keep, holding: &Holding) -> io::Result<()> {
    let verified = holding.floor.zip(holding.head.as_ref());
    match keep {
        Keep::Step { from, to, entries, head } => {
            let signed = !head.is_empty();
            disk.keep_step(wire::Delta { from: from.0, to: to.0, entries, head })?;
            match verified {
                Some((floor, head)) if signed => disk.keep_head(floor, head),
                _ => Ok(()),
            }
        }
        Keep::Whole | Keep::Head => {
            let Some((floor, head)) = verified else { return Ok(()) };
            disk.keep_head(floor, head)?;
            if matches!(keep, Keep::Whole) || disk.wants_whole() {
                disk.keep_whole(&holding.index.freeze(), head)?;
            }
            Ok(())
        }
    }
}
