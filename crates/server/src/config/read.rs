//! From text to settings, section by section, so that one mistake does not hide the next.

use ostiary_contract::{
    problem::Position,
    yaml::{self, Entry, Node, Value},
};

use super::{Config, ConfigProblem, DatabaseConfig, Section, TokenConfig};

const SECTIONS: &str = "data_dir, database, http, grpc, admission, reports, worker, tokens, development_namespaces";

/// The settings of a file; what is wrong is added to `problems` and the default stands in for it.
pub(super) fn file(
    file: &str,
    bytes: &[u8],
    environment: &dyn Fn(&str) -> Option<String>,
    problems: &mut Vec<ConfigProblem>,
) -> Config {
    let mut config = Config::default();
    if bytes.trim_ascii().is_empty() {
        return config;
    }
    match yaml::read(file, bytes, yaml::Limits::default()) {
        Ok(Node { value: Value::Map(entries), .. }) => {
            let mut reader = Reader { file, environment, problems };
            for entry in &entries {
                reader.section(&mut config, entry);
            }
        }
        Ok(node) => {
            problems.push(problem(file, node.at, format!("a mapping is wanted, not {}", node.kind()), SECTIONS))
        }
        Err(found) => problems.extend(found.into_iter().map(|p| ConfigProblem {
            place: p.file,
            line: p.line,
            message: p.message,
            hint: p.hint.unwrap_or_default(),
        })),
    }
    config
}

/// Applies the environment's overrides.
pub(super) fn overrides(
    config: &mut Config,
    environment: &dyn Fn(&str) -> Option<String>,
    problems: &mut Vec<ConfigProblem>,
) {
    for name in super::OVERRIDES {
        let Some(value) = environment(name) else { continue };
        let listen = match name {
            "OSTIARY_DATA_DIR" => {
                config.data_dir = value.into();
                continue;
            }
            "OSTIARY_HTTP_LISTEN" => &mut config.http.listen,
            _ => &mut config.grpc.listen,
        };
        match value.parse() {
            Ok(address) => *listen = address,
            Err(_) => problems.push(ConfigProblem {
                place: name.to_owned(),
                line: None,
                message: format!("`{value}` is no address"),
                hint: "expected like 127.0.0.1:8420".to_owned(),
            }),
        }
    }
}

struct Reader<'a> {
    file: &'a str,
    environment: &'a dyn Fn(&str) -> Option<String>,
    problems: &'a mut Vec<ConfigProblem>,
}

impl Reader<'_> {
    fn section(&mut self, config: &mut Config, entry: &Entry) {
        match entry.key.as_str() {
            "data_dir" => match entry.node.as_text() {
                Some(path) => config.data_dir = path.into(),
                None => self.add(entry.node.at, format!("a path is wanted, not {}", entry.node.kind()), ""),
            },
            "database" => match DatabaseConfig::read(entry.node.to_json(), self.environment) {
                Ok(database) => config.database = database,
                Err(error) => self.add(
                    entry.at,
                    format!("section `database`: {error}"),
                    "`sqlite`, or `postgres: { url_file: … }` with a file that holds postgres://user:password@host/database",
                ),
            },
            "http" => self.read(&mut config.http, entry),
            "grpc" => self.read(&mut config.grpc, entry),
            "admission" => self.read(&mut config.admission, entry),
            "reports" => self.read(&mut config.reports, entry),
            "worker" => self.read(&mut config.worker, entry),
            "development_namespaces" => self.read(&mut config.development_namespaces, entry),
            "tokens" => self.tokens(&mut config.tokens, &entry.node),
            other => self.add(entry.at, format!("unknown section `{other}`"), &format!("one of {SECTIONS}")),
        }
    }

    fn read<T: Section>(&mut self, into: &mut T, entry: &Entry) {
        match serde_json::from_value(entry.node.to_json()) {
            Ok(section) => *into = section,
            Err(error) => self.add(entry.at, format!("section `{}`: {error}", entry.key), ""),
        }
    }

    fn tokens(&mut self, into: &mut Vec<TokenConfig>, node: &Node) {
        let Value::List(items) = &node.value else {
            return self.add(node.at, format!("a list of tokens is wanted, not {}", node.kind()), "");
        };
        for item in items {
            match serde_json::from_value(item.to_json()) {
                Ok(token) => into.push(token),
                Err(error) => self.add(
                    item.at,
                    format!("token: {error}"),
                    "a token has name, roles, namespaces, and digest (`sha256:…`) or file",
                ),
            }
        }
    }

    fn add(&mut self, at: Position, message: String, hint: &str) {
        self.problems.push(problem(self.file, at, message, hint));
    }
}

fn problem(file: &str, at: Position, message: String, hint: &str) -> ConfigProblem {
    ConfigProblem { place: file.to_owned(), line: Some(at.line), message, hint: hint.to_owned() }
}
