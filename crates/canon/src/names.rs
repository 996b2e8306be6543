//! The names that stand in signed statements: agents, versions, profiles, revisions.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longest accepted name, in bytes: keeps index keys and log lines short.
const MAX_NAME: usize = 128;

/// Why a text is no name of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing, or more than 128 bytes.
    #[error("{kind} `{text}` must have 1 to 128 bytes")]
    Length {
        /// Which kind of name was wanted.
        kind: &'static str,
        /// What was given.
        text: String,
    },
    /// A character outside the allowed set.
    #[error("{kind} `{text}` may hold only {allowed}")]
    Character {
        /// Which kind of name was wanted.
        kind: &'static str,
        /// What was given.
        text: String,
        /// The allowed characters, in words.
        allowed: &'static str,
    },
    /// Nothing but dots: in a path or an address such a name is a step, not a name.
    #[error("{kind} `{text}` must not be dots alone")]
    Dots {
        /// Which kind of name was wanted.
        kind: &'static str,
        /// What was given.
        text: String,
    },
    /// The parts are not as many as the form wants.
    #[error("{kind} `{text}` must have the form {form}")]
    Form {
        /// Which kind of name was wanted.
        kind: &'static str,
        /// What was given.
        text: String,
        /// The form that is wanted.
        form: &'static str,
    },
    /// A version label that names no version.
    #[error("version `{0}` is not pinned")]
    NotPinned(String),
}

/// Who owns an agent, and the agent: `namespace/agent`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId {
    text: Box<str>,
    slash: usize,
}

/// The label of one version of an agent; free text without white space, never `latest`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VersionLabel(Box<str>);

/// What evidence holds for: protocol + binding + version, authorization profile, tenant class.
///
/// Prints as `a2a-jsonrpc-1.0/user/standard`; the short form `a2a-jsonrpc-1.0` means `…/default/default` only (Z-05).
///
/// Kept as one text with two marks: there are as many as there are versions times interfaces.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Profile {
    text: Box<str>,
    /// Where the first slash is.
    first: u16,
    /// Where the second slash is.
    second: u16,
}

/// One point in the history of what is admitted; only goes up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Revision(pub u64);

const NAME_CHARACTERS: &str = "letters, digits, `.`, `_` and `-`";
const LABEL_CHARACTERS: &str = "printable ASCII without white space, `/` and `@`";

fn name(kind: &'static str, text: &str) -> Result<(), NameError> {
    checked(kind, text, NAME_CHARACTERS, |b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

fn checked(kind: &'static str, text: &str, allowed: &'static str, ok: impl Fn(u8) -> bool) -> Result<(), NameError> {
    if text.is_empty() || text.len() > MAX_NAME {
        return Err(NameError::Length { kind, text: text.to_owned() });
    }
    if text.bytes().all(|b| b == b'.') {
        return Err(NameError::Dots { kind, text: text.to_owned() });
    }
    if text.bytes().all(ok) { Ok(()) } else { Err(NameError::Character { kind, text: text.to_owned(), allowed }) }
}

// === impl AgentId ===

impl AgentId {
    /// An agent of a namespace.
    ///
    /// # Errors
    /// When either part is empty, too long or holds a forbidden character.
    pub fn new(namespace: &str, agent: &str) -> Result<Self, NameError> {
        name("namespace", namespace)?;
        name("agent", agent)?;
        Ok(Self { text: format!("{namespace}/{agent}").into(), slash: namespace.len() })
    }

    /// The owner.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.text[..self.slash]
    }

    /// The agent's own name.
    #[must_use]
    pub fn agent(&self) -> &str {
        &self.text[self.slash + 1..]
    }

    /// The whole `namespace/agent`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for AgentId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        match text.split_once('/') {
            Some((namespace, agent)) => Self::new(namespace, agent),
            None => Err(NameError::Form { kind: "agent id", text: text.to_owned(), form: "namespace/agent" }),
        }
    }
}

// === impl VersionLabel ===

impl VersionLabel {
    /// The label's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for VersionLabel {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        checked("version", text, LABEL_CHARACTERS, |b| b.is_ascii_graphic() && !matches!(b, b'/' | b'@'))?;
        if text.eq_ignore_ascii_case("latest") {
            return Err(NameError::NotPinned(text.to_owned()));
        }
        Ok(Self(text.into()))
    }
}

// === impl Profile ===

impl Profile {
    /// The authorization profile and tenant class that the short form stands for.
    pub const DEFAULT: &'static str = "default";

    /// A profile from its three parts.
    ///
    /// # Errors
    /// When a part is empty, too long or holds a forbidden character.
    pub fn new(protocol: &str, authorization: &str, tenant_class: &str) -> Result<Self, NameError> {
        checked("protocol", protocol, "letters, digits, `.`, `_`, `+` and `-`", |b| {
            b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'+')
        })?;
        name("authorization profile", authorization)?;
        name("tenant class", tenant_class)?;
        let text = format!("{protocol}/{authorization}/{tenant_class}").into_boxed_str();
        let mark = |at: usize| u16::try_from(at).expect("each part has at most 128 bytes");
        Ok(Self { text, first: mark(protocol.len()), second: mark(protocol.len() + 1 + authorization.len()) })
    }

    /// The long form, always with three parts.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether `text` names this profile, in the long or the short form; allocates nothing.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        *self.text == *text || (self.is_default() && self.protocol() == text)
    }

    fn is_default(&self) -> bool {
        self.authorization() == Self::DEFAULT && self.tenant_class() == Self::DEFAULT
    }

    /// Protocol, binding or transport, and version: `a2a-jsonrpc-1.0`.
    #[must_use]
    pub fn protocol(&self) -> &str {
        &self.text[..usize::from(self.first)]
    }

    /// The privilege level: `user`, `agent`, `default`.
    #[must_use]
    pub fn authorization(&self) -> &str {
        &self.text[usize::from(self.first) + 1..usize::from(self.second)]
    }

    /// The class of tenant: `standard`, `default`.
    #[must_use]
    pub fn tenant_class(&self) -> &str {
        &self.text[usize::from(self.second) + 1..]
    }
}

impl FromStr for Profile {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let parts: Vec<&str> = text.split('/').collect();
        match parts[..] {
            [protocol] => Self::new(protocol, Self::DEFAULT, Self::DEFAULT),
            [protocol, authorization, tenant] => Self::new(protocol, authorization, tenant),
            _ => Err(NameError::Form {
                kind: "profile",
                text: text.to_owned(),
                form: "protocol or protocol/authorization/tenant-class",
            }),
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_default() { self.protocol() } else { self.as_str() })
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for VersionLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Serialises a name as its text and parses it on the way in.
macro_rules! text_serde {
    ($($name:ty),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

text_serde!(AgentId, VersionLabel, Profile);
