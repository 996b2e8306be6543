//! Where the database is, and how it is talked to.

use std::{fmt, net::IpAddr, time::Duration};

use sqlx::postgres::{PgConnectOptions, PgSslMode};
use url::Url;

/// Connections of one server: commands wait for each other at the revision counter anyway, and checks of routers read
/// memory, so that more would only queue inside the database.
const CONNECTIONS: u32 = 16;
/// How long a caller waits for a connection before the database counts as unavailable.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long one statement may run. The longest honest one is the first filling of a server's index.
const STATEMENT: Duration = Duration::from_secs(30);
/// How long one statement waits for another transaction's lock.
const LOCK: Duration = Duration::from_secs(5);
/// How long a transaction may wait for its own server: one that hangs must not keep the revision counter.
const IDLE: Duration = Duration::from_secs(15);

/// How to reach the database. Never printed with its password.
#[derive(Clone)]
pub struct Settings {
    options: PgConnectOptions,
    pub(crate) connections: u32,
    pub(crate) patience: Duration,
    pub(crate) time: TimeSource,
}

/// Whose clock dates the transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeSource {
    /// The database's, read once a transaction: servers whose clocks differ agree on leases and expiries.
    Database,
    /// That of [`StorePorts`](crate::Ports): for tests that set the time.
    Ports,
}

/// Why a text is no address of a PostgreSQL database. Says nothing of what stood in it: that may be a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Not a URL.
    #[error("the database URL is no URL: {0}; expected like postgres://user:password@host:5432/database")]
    NoUrl(url::ParseError),
    /// Of something else.
    #[error("the database URL begins with `{0}:`; expected `postgres:` or `postgresql:`")]
    Scheme(String),
    /// A parameter that the driver refuses.
    #[error("the database URL has a parameter that cannot be used (sslmode, port or hostaddr)")]
    Parameter,
    /// Encryption is not possible or was made optional towards another machine.
    #[error(
        "the database URL says `sslmode={0}`, which silently falls back to plain text; use verify-full, require or disable"
    )]
    SslMode(String),
}

// === impl Settings ===

impl Settings {
    /// Reads `postgres://user:password@host:port/database?sslmode=…`.
    ///
    /// Without `sslmode`, another machine must prove its name with a certificate (`verify-full`); a socket or this
    /// machine is talked to as it wants.
    ///
    /// # Errors
    /// When it is no such URL, or would let an eavesdropper choose plain text.
    pub fn from_url(text: &str) -> Result<Self, SettingsError> {
        let url = Url::parse(text.trim()).map_err(SettingsError::NoUrl)?;
        if !matches!(url.scheme(), "postgres" | "postgresql") {
            return Err(SettingsError::Scheme(url.scheme().to_owned()));
        }
        let options: PgConnectOptions = url.as_str().parse().map_err(|_| SettingsError::Parameter)?;
        let asked = url.query_pairs().find(|(key, _)| matches!(&**key, "sslmode" | "ssl-mode"));
        let options = match asked {
            _ if is_here(&options) => options,
            None => options.ssl_mode(PgSslMode::VerifyFull),
            Some((_, mode)) if matches!(options.get_ssl_mode(), PgSslMode::Allow | PgSslMode::Prefer) => {
                return Err(SettingsError::SslMode(mode.into_owned()));
            }
            Some(_) => options,
        };
        let options = options.application_name("ostiary");
        Ok(Self { options, connections: CONNECTIONS, patience: PATIENCE, time: TimeSource::Database })
    }

    /// With another number of connections; at least two.
    #[must_use]
    pub fn connections(self, connections: u32) -> Self {
        Self { connections: connections.max(2), ..self }
    }

    /// With another time until the database counts as unavailable.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// With another clock.
    #[must_use]
    pub fn time(self, time: TimeSource) -> Self {
        Self { time, ..self }
    }

    /// Host, port and database, without anything secret.
    #[must_use]
    pub fn place(&self) -> String {
        let database = self.options.get_database().unwrap_or_else(|| self.options.get_username());
        match self.options.get_socket() {
            Some(socket) => format!("{}:{}/{database}", socket.display(), self.options.get_port()),
            None => format!("{}:{}/{database}", self.options.get_host(), self.options.get_port()),
        }
    }

    /// For work that is bounded: no statement, lock or pause lasts for ever.
    pub(crate) fn bounded(&self) -> PgConnectOptions {
        let milliseconds = |limit: Duration| limit.as_millis().to_string();
        self.options.clone().options([
            ("statement_timeout", milliseconds(STATEMENT)),
            ("lock_timeout", milliseconds(LOCK)),
            ("idle_in_transaction_session_timeout", milliseconds(IDLE)),
        ])
    }

    /// For migrations, which take as long as they take, and for listening, which takes for ever.
    pub(crate) fn unbounded(&self) -> PgConnectOptions {
        self.options.clone()
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Settings");
        shown.field("place", &self.place()).field("connections", &self.connections).field("time", &self.time);
        shown.finish_non_exhaustive()
    }
}

/// Whether the database is on this machine, where nobody listens in between.
fn is_here(options: &PgConnectOptions) -> bool {
    let host = options.get_host().trim_matches(['[', ']']);
    options.get_socket().is_some()
        || host == "localhost"
        || host.starts_with('/')
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(url: &str) -> PgSslMode {
        Settings::from_url(url).expect("a database URL").options.get_ssl_mode()
    }

    #[test]
    fn another_machine_must_prove_its_name_unless_told_otherwise() {
        assert!(matches!(mode("postgres://o:p@db.example.test/ostiary"), PgSslMode::VerifyFull));
        assert!(matches!(mode("postgres://o:p@db.example.test/ostiary?sslmode=require"), PgSslMode::Require));
        assert!(matches!(mode("postgres://o:p@db.example.test/ostiary?sslmode=disable"), PgSslMode::Disable));
        assert!(matches!(mode("postgres://o:p@127.0.0.1/ostiary"), PgSslMode::Prefer));
        assert!(matches!(mode("postgres://o:p@[::1]/ostiary"), PgSslMode::Prefer));
        assert!(matches!(mode("postgres:///ostiary?host=/run/postgresql"), PgSslMode::Prefer));
    }

    #[test]
    fn a_mode_that_falls_back_to_plain_text_is_refused_towards_another_machine() {
        let refused = Settings::from_url("postgres://o:p@db.example.test/ostiary?sslmode=prefer").expect_err("prefer");
        assert_eq!(refused, SettingsError::SslMode("prefer".into()));
        assert!(Settings::from_url("postgres://o:p@localhost/ostiary?sslmode=prefer").is_ok());
    }

    #[test]
    fn what_is_no_database_url_is_refused_without_repeating_it() {
        for (text, expected) in [
            ("no url of mine", "is no URL"),
            ("mysql://o:hunter2@h/d", "begins with `mysql:`"),
            ("postgres://o:hunter2@h/d?sslmode=maybe", "cannot be used"),
        ] {
            let refused = Settings::from_url(text).expect_err(text).to_string();
            assert!(refused.contains(expected), "{refused}");
            assert!(!refused.contains("hunter2"), "{refused}");
        }
    }

    #[test]
    fn a_password_is_not_printed() {
        let settings = Settings::from_url("postgres://o:hunter2@db.example.test:6543/ostiary").expect("a database URL");
        assert_eq!(settings.place(), "db.example.test:6543/ostiary");
        assert!(!format!("{settings:?}").contains("hunter2"));
    }
}
