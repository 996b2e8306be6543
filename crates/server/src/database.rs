//! The database that was configured, opened.

use std::{path::Path, sync::Arc};

use ostiary_domain::{Store, ports::StorePorts};
use ostiary_store_postgres::{Hints, PostgresStore};
use ostiary_store_sqlite::SqliteStore;

use crate::config::DatabaseConfig;

/// An open database. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Database {
    /// A file.
    Sqlite(SqliteStore),
    /// A server.
    Postgres(Box<PostgresStore>),
}

/// Why the database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The file.
    #[error(transparent)]
    Sqlite(#[from] ostiary_store_sqlite::OpenError),
    /// The server.
    #[error(transparent)]
    Postgres(#[from] ostiary_store_postgres::OpenError),
}

// === impl Database ===

impl Database {
    /// Opens what is configured; a file lies in `data_dir`.
    ///
    /// # Errors
    /// When it cannot be used.
    pub async fn open(config: &DatabaseConfig, data_dir: &Path, ports: StorePorts) -> Result<Self, DatabaseError> {
        Ok(match config {
            DatabaseConfig::Sqlite => Self::Sqlite(SqliteStore::open(&data_dir.join("ostiary.db"), ports).await?),
            DatabaseConfig::Postgres(settings) => Self::Postgres(Box::new(PostgresStore::open(settings, ports).await?)),
        })
    }

    /// The store's ports.
    #[must_use]
    pub fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Sqlite(store) => Arc::new(store.clone()),
            Self::Postgres(store) => Arc::new(PostgresStore::clone(store)),
        }
    }

    /// Wake-up calls about what other servers wrote; a file has no other writers.
    #[must_use]
    pub fn hints(&self) -> Option<Hints> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(store) => Some(store.hints()),
        }
    }

    /// Closes all connections.
    pub async fn close(self) {
        match self {
            Self::Sqlite(store) => store.close().await,
            Self::Postgres(store) => store.close().await,
        }
    }
}
