//! Who may be called. Pure.

use std::str::FromStr;

/// Hosts that may be called; empty = none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList(Vec<Entry>);

/// A text that is no entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no host: write `host`, `host:port` or `*.domain`")]
pub struct NoHost(pub String);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    host: String,
    /// Whether the host is a domain whose members are meant, not the domain itself.
    below: bool,
    port: Option<u16>,
}

// === impl AllowList ===

impl AllowList {
    /// Reads entries: `host`, `host:port`, `*.domain`, `[::1]:443`.
    ///
    /// # Errors
    /// At the first entry that is none.
    pub fn of<S: AsRef<str>>(entries: &[S]) -> Result<Self, NoHost> {
        entries.iter().map(|entry| entry.as_ref().parse()).collect::<Result<_, _>>().map(Self)
    }

    /// Whether a host may be called on a port.
    #[must_use]
    pub fn allows(&self, host: &str, port: u16) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        self.0.iter().any(|entry| entry.port.is_none_or(|p| p == port) && entry.names(&host))
    }
}

// === impl Entry ===

impl Entry {
    fn names(&self, host: &str) -> bool {
        match host.strip_suffix(&self.host) {
            Some("") => !self.below,
            // A domain's member ends with a dot and the domain: `evilexample.test` is none of `example.test`.
            Some(rest) => self.below && rest.ends_with('.'),
            None => false,
        }
    }
}

impl FromStr for Entry {
    type Err = NoHost;

    fn from_str(text: &str) -> Result<Self, NoHost> {
        let wrong = || NoHost(text.to_owned());
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (host, Some(port.parse().map_err(|_| wrong())?))
            }
            _ => (text, None),
        };
        let (below, host) = host.strip_prefix("*.").map_or((false, host), |domain| (true, domain));
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
        if host.is_empty() || !host.chars().all(good) {
            return Err(wrong());
        }
        Ok(Self { host: host.trim_matches(['[', ']']).to_ascii_lowercase(), below, port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_allowed_by_name_port_or_domain() {
        let list =
            AllowList::of(&["payments.example.test", "db.example.test:5432", "*.Mail.test", "[::1]:8080"]).unwrap();
        for (host, port, allowed) in [
            ("payments.example.test", 443, true),
            ("PAYMENTS.example.test.", 80, true),
            ("evilpayments.example.test", 443, false),
            ("payments.example.test.evil.test", 443, false),
            ("db.example.test", 5432, true),
            ("db.example.test", 5433, false),
            ("a.mail.test", 25, true),
            ("a.b.mail.test", 25, true),
            ("mail.test", 25, false),
            ("evilmail.test", 25, false),
            ("::1", 8080, true),
            ("::1", 8081, false),
        ] {
            assert_eq!(list.allows(host, port), allowed, "{host}:{port}");
        }
        assert!(!AllowList::default().allows("payments.example.test", 443));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in ["", "*.", "https://a.test", "a.test:port", "a test", "a.test:70000"] {
            assert_eq!(AllowList::of(&[text]), Err(NoHost(text.to_owned())));
        }
    }
}
