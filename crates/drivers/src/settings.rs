//! How addresses are reached: routing, trust and the guard, as the operator's environment says.

use std::{collections::BTreeMap, fmt, str::FromStr};

use crate::guard::AddressGuard;

/// What an operator sets; checked as a whole by whoever is built from it.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `host:port` of a URL → `host:port` that is dialled in its place. TLS and `Host` keep the URL's name. What stands
    /// on the right is the operator's own word and passes the guard.
    pub connect_to: BTreeMap<String, String>,
    /// Certificate authorities as PEM, in place of the web's own.
    pub trust_roots: Option<Vec<u8>>,
    /// Whether `http:` URLs may be called at all.
    pub allow_insecure_http: bool,
    /// Which addresses may be dialled.
    pub guard: AddressGuard,
}

/// A host with a port, spelled as in a URL: lower case, IPv6 in brackets.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Authority {
    host: String,
    port: u16,
}

/// Not a `host:port`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not `host:port` (IPv6 in brackets)")]
pub struct AuthorityError {
    text: String,
}

/// All that is wrong with [`Settings`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", join(.0))]
pub struct SettingsError(pub Vec<SettingsProblem>);

/// One thing that is wrong with [`Settings`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsProblem {
    /// An entry of `connect_to` does not parse.
    #[error("connect_to: {0}; write it like `\"agents.example.com:443\": \"127.0.0.1:9100\"`")]
    ConnectTo(#[from] AuthorityError),
    /// `trust_roots` holds no usable certificate.
    #[error("trust_roots: {0}; give at least one CA certificate in PEM form")]
    TrustRoots(String),
}

// === impl Authority ===

impl Authority {
    /// From parts; `host` as a URL spells it.
    #[must_use]
    pub fn new(host: &str, port: u16) -> Self {
        Self { host: host.to_ascii_lowercase(), port }
    }

    /// The host, IPv6 in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The host as a resolver wants it: IPv6 without brackets.
    #[must_use]
    pub fn bare_host(&self) -> &str {
        self.host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(&self.host)
    }

    /// The port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }
}

impl FromStr for Authority {
    type Err = AuthorityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = || AuthorityError { text: text.to_owned() };
        let (host, port) = text.rsplit_once(':').ok_or_else(fail)?;
        let port: u16 = port.parse().map_err(|_| fail())?;
        // The URL parser knows every spelling of a host, `0x7f.1` included; going through it makes spellings meet.
        let url = url::Url::parse(&format!("http://{host}:{port}/")).map_err(|_| fail())?;
        let clean = url.username().is_empty() && url.password().is_none() && url.path() == "/" && url.query().is_none();
        match url.host_str() {
            Some(host) if clean && port != 0 => Ok(Self::new(host, port)),
            _ => Err(fail()),
        }
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

fn join(problems: &[SettingsProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_address_meet() {
        for text in ["127.0.0.1:9100", "0x7f.1:9100", "2130706433:9100", "0177.0.0.1:9100"] {
            assert_eq!(text.parse::<Authority>().unwrap(), Authority::new("127.0.0.1", 9100), "{text}");
        }
        assert_eq!("Agents.Example.COM:443".parse::<Authority>().unwrap().to_string(), "agents.example.com:443");
        assert_eq!("[::1]:80".parse::<Authority>().unwrap().bare_host(), "::1");
    }

    #[test]
    fn what_is_no_authority_is_refused() {
        for text in ["", "host", "host:", "host:0", "host:70000", "user@host:80", "host/path:80", "::1:80", "a b:80"] {
            assert!(text.parse::<Authority>().is_err(), "{text}");
        }
    }
}
