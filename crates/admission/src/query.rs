//! What a router asks.

use ostiary_canon::Digest;

/// One question, borrowed from the request: asking allocates nothing.
///
/// Agent, version, card digest and profile are required; leaving one out denies. The others are compared when given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Query<'a> {
    /// `namespace/agent`.
    pub agent: &'a str,
    /// The version label.
    pub version: &'a str,
    /// The card that the caller sees.
    pub card_digest: Observed,
    /// The profile that the caller would use.
    pub profile: Option<&'a str>,
    /// The contract that the caller holds.
    pub contract_digest: Observed,
    /// The artifact that the caller sees.
    pub producer_digest: Observed,
    /// Who would call.
    pub consumer: Option<&'a str>,
    /// Over which interface.
    pub interface: Option<&'a str>,
    /// What keeps a conversation in one cohort.
    pub cohort_key: Option<&'a str>,
}

/// A digest in a question. What cannot be read is not the same as what was left out: it equals nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Observed {
    /// Left out.
    #[default]
    Omitted,
    /// Given, but no digest.
    Unreadable,
    /// Given.
    Digest(Digest),
}

// === impl Query ===

impl<'a> Query<'a> {
    /// The agent's namespace; the whole text where it has none.
    #[must_use]
    pub fn namespace(&self) -> &'a str {
        self.agent.split_once('/').map_or(self.agent, |(namespace, _)| namespace)
    }
}

// === impl Observed ===

impl Observed {
    /// Reads a field of a request; empty means left out, as protobuf has it.
    #[must_use]
    pub fn read(text: &str) -> Self {
        if text.is_empty() {
            return Self::Omitted;
        }
        text.parse().map_or(Self::Unreadable, Self::Digest)
    }

    /// Whether it is given and is not `admitted`.
    pub(crate) fn differs_from(self, admitted: &Digest) -> bool {
        match self {
            Self::Omitted => false,
            Self::Unreadable => true,
            Self::Digest(digest) => digest != *admitted,
        }
    }
}

impl From<Option<Digest>> for Observed {
    fn from(digest: Option<Digest>) -> Self {
        digest.map_or(Self::Omitted, Self::Digest)
    }
}
