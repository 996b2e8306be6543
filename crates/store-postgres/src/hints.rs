//! Wake-up calls from the database. Never more than a hint: they are lost while nobody is connected, so whoever waits for
//! them also looks by itself now and then.

use std::time::Duration;

use sqlx::postgres::{PgListener, PgPool, PgPoolOptions};

use crate::settings::Settings;

/// The channel; its messages are empty. Written out in `transaction` as well, where SQL cannot take it as an argument.
const CHANNEL: &str = "ostiary_revision";
/// Between two attempts to listen again, when the database does not answer.
const AGAIN: Duration = Duration::from_secs(2);

/// Somebody who listens, on a connection of its own.
#[derive(Debug)]
pub struct Hints {
    pool: PgPool,
    listener: Option<PgListener>,
}

// === impl Hints ===

impl Hints {
    /// Listens from the first [`next`](Self::next) on.
    pub(crate) fn of(settings: &Settings) -> Self {
        let one = PgPoolOptions::new().max_connections(1).acquire_timeout(settings.patience);
        Self { pool: one.connect_lazy_with(settings.unbounded()), listener: None }
    }

    /// Returns when something may have changed: at a message, and whenever listening began anew, since messages may have
    /// been missed until then.
    pub async fn next(&mut self) {
        loop {
            match &mut self.listener {
                // `None` = the connection was lost and made again.
                Some(listener) => match listener.try_recv().await {
                    Ok(_) => return,
                    Err(_) => self.listener = None,
                },
                None => match self.listen().await {
                    Ok(listener) => {
                        self.listener = Some(listener);
                        return;
                    }
                    // Whoever polls reports the outage; a second voice would only repeat it.
                    Err(_) => tokio::time::sleep(AGAIN).await,
                },
            }
        }
    }

    async fn listen(&self) -> Result<PgListener, sqlx::Error> {
        let mut listener = PgListener::connect_with(&self.pool).await?;
        listener.listen(CHANNEL).await?;
        Ok(listener)
    }
}
