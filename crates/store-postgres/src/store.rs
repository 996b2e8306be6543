//! Opening the database: all migrations applied, a bounded number of connections.

use ostiary_domain::ports::StorePorts;
use sqlx::{PgPool, postgres::PgPoolOptions};

use crate::{
    hints::Hints,
    settings::{Settings, TimeSource},
};

/// The registry in a PostgreSQL database. Cheap to clone; other processes may have it open, too.
#[derive(Clone, Debug)]
pub struct PostgresStore {
    pub(crate) pool: PgPool,
    pub(crate) ports: StorePorts,
    pub(crate) time: TimeSource,
    settings: Settings,
}

/// Why the database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It does not answer, or not to us.
    #[error("failed to connect to the database at `{place}`")]
    Connect {
        /// Host, port and database.
        place: String,
        /// Why.
        #[source]
        source: sqlx::Error,
    },
    /// The tables cannot be brought up to date.
    #[error("failed to migrate the database at `{place}`")]
    Migrate {
        /// Host, port and database.
        place: String,
        /// Why.
        #[source]
        source: sqlx::migrate::MigrateError,
    },
}

// === impl PostgresStore ===

impl PostgresStore {
    /// Connects, and brings the tables up to date; of several servers that start at the same time one does it.
    ///
    /// # Errors
    /// When the database does not answer, or its tables cannot be brought up to date.
    pub async fn open(settings: &Settings, ports: StorePorts) -> Result<Self, OpenError> {
        let connect = |source| OpenError::Connect { place: settings.place(), source };
        migrate(settings).await?;
        let pool = PgPoolOptions::new().max_connections(settings.connections).acquire_timeout(settings.patience);
        let pool = pool.connect_with(settings.bounded()).await.map_err(connect)?;
        Ok(Self { pool, ports, time: settings.time, settings: settings.clone() })
    }

    /// Hints that somebody, here or in another server, made a new revision.
    #[must_use]
    pub fn hints(&self) -> Hints {
        Hints::of(&self.settings)
    }

    /// Closes all connections.
    pub async fn close(self) {
        self.pool.close().await;
    }
}

/// On a connection without limits: a second server waits at the driver's lock until the first one is through.
async fn migrate(settings: &Settings) -> Result<(), OpenError> {
    let once = PgPoolOptions::new().max_connections(1).acquire_timeout(settings.patience);
    let connected = once.connect_with(settings.unbounded()).await;
    let pool = connected.map_err(|source| OpenError::Connect { place: settings.place(), source })?;
    let migrated = sqlx::migrate!("../../migrations/postgres").run(&pool).await;
    pool.close().await;
    migrated.map_err(|source| OpenError::Migrate { place: settings.place(), source })
}
