//! Which database keeps the registry.

use std::{fs, path::PathBuf};

use ostiary_store_postgres::Settings;
use serde::Deserialize;

/// One file beside everything else, or a server that several of us share.
#[derive(Clone, Debug, Default)]
pub enum DatabaseConfig {
    /// `data_dir/ostiary.db`: one process, nothing to install.
    #[default]
    Sqlite,
    /// A PostgreSQL database.
    Postgres(Box<Settings>),
}

/// The section as it stands in a file.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Written {
    Sqlite,
    Postgres(WrittenPostgres),
}

/// Where the URL is, not the URL: it holds a password.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPostgres {
    url_file: Option<PathBuf>,
    url_env: Option<String>,
    connections: Option<u32>,
}

/// Fewest and most connections: with less than two a slow reader stops everything, and a server has about a hundred to
/// give to all of us.
const CONNECTIONS: std::ops::RangeInclusive<u32> = 2..=64;

// === impl DatabaseConfig ===

impl DatabaseConfig {
    /// Reads the section; the URL is fetched from where the section says, so that a wrong one shows before the start.
    pub(super) fn read(
        section: serde_json::Value,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        match serde_json::from_value(section) {
            Ok(Written::Sqlite) => Ok(Self::Sqlite),
            Ok(Written::Postgres(postgres)) => {
                postgres.settings(environment).map(|settings| Self::Postgres(Box::new(settings)))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

// === impl WrittenPostgres ===

impl WrittenPostgres {
    fn settings(self, environment: &dyn Fn(&str) -> Option<String>) -> Result<Settings, String> {
        let url = match (self.url_file, self.url_env) {
            (Some(path), None) => {
                fs::read_to_string(&path).map_err(|error| format!("url_file `{}`: {error}", path.display()))?
            }
            (None, Some(name)) => environment(&name).ok_or_else(|| format!("url_env: `{name}` is not set"))?,
            _ => return Err("exactly one of url_file and url_env is wanted".to_owned()),
        };
        let settings = Settings::from_url(&url).map_err(|error| error.to_string())?;
        match self.connections {
            None => Ok(settings),
            Some(number) if CONNECTIONS.contains(&number) => Ok(settings.connections(number)),
            Some(number) => {
                Err(format!("connections is {number}; give {} to {}", CONNECTIONS.start(), CONNECTIONS.end()))
            }
        }
    }
}
