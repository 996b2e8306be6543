//! Which A2A version's shape a document has (C-01): what to migrate depends on it.

use serde_json::Value;

use super::{look_alike, set};
use crate::a2a::binding::Version;

/// The shape of a document that claims to be an agent card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardFormat {
    /// 1.0: `supportedInterfaces` with a version in each entry.
    V1_0,
    /// 1.0 and 0.3 in one document, as several SDKs print it; judged as 1.0.
    Hybrid,
    /// A draft of 1.0 from before its release.
    Draft1_0,
    /// 0.3: top-level `url` and `protocolVersion` or `preferredTransport`.
    V0_3,
    /// 0.2 or older: top-level `url` and nothing that names a version.
    V0_2,
    /// No agent card.
    NotACard,
}

// === impl CardFormat ===

impl CardFormat {
    /// Its name in messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1_0 => "A2A 1.0",
            Self::Hybrid => "A2A 1.0 with the members of 0.3 beside",
            Self::Draft1_0 => "a draft of A2A 1.0",
            Self::V0_3 => "A2A 0.3",
            Self::V0_2 => "A2A 0.2 or older",
            Self::NotACard => "no agent card",
        }
    }

    /// Its name in machine-readable reports.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::V1_0 => "a2a-1.0",
            Self::Hybrid => "a2a-hybrid",
            Self::Draft1_0 => "a2a-1.0-draft",
            Self::V0_3 => "a2a-0.3",
            Self::V0_2 => "a2a-0.2",
            Self::NotACard => "not-a-card",
        }
    }

    /// Whether the document is a card of an older version, complete in itself.
    #[must_use]
    pub const fn is_legacy(self) -> bool {
        matches!(self, Self::V0_3 | Self::V0_2)
    }

    /// Whether the rules of 1.0 apply.
    #[must_use]
    pub const fn is_v1(self) -> bool {
        matches!(self, Self::V1_0 | Self::Hybrid)
    }

    /// What to change to reach 1.0; `None` where nothing or everything has to be.
    #[must_use]
    pub const fn migration(self) -> Option<&'static str> {
        match self {
            Self::V1_0 | Self::Hybrid | Self::NotACard => None,
            Self::Draft1_0 => Some(
                "give each entry of `supportedInterfaces` its own `protocolVersion` and drop top-level \
                 `protocolVersions`; move `supportsExtendedAgentCard` to `capabilities.extendedAgentCard`",
            ),
            Self::V0_3 | Self::V0_2 => Some(
                "move `url`, `preferredTransport`, `protocolVersion` and `additionalInterfaces` into \
                 `supportedInterfaces[{url, protocolBinding, protocolVersion}]`; \
                 `supportsAuthenticatedExtendedCard` becomes `capabilities.extendedAgentCard`, `security` becomes \
                 `securityRequirements`, and each security scheme is wrapped by the member that names its type",
            ),
        }
    }
}

/// The shape of a document. The shape decides; what the document claims is compared by [`contradicted_claim`].
#[must_use]
pub fn recognise(value: &Value) -> CardFormat {
    let has = |name: &str| set(value, name).is_some();
    if !value.is_object() || look_alike::is_of_another_kind(value) {
        return CardFormat::NotACard;
    }
    let of_0_x = claim(value).is_some_and(|v| v.major == 0);
    let legacy = has("preferredTransport") || has("additionalInterfaces") || of_0_x;
    if let Some(list) = set(value, "supportedInterfaces") {
        let entries = list.as_array().map_or(&[][..], Vec::as_slice);
        let versioned = entries.iter().any(|e| set(e, "protocolVersion").is_some());
        let draft = has("protocolVersions") || has("supportsExtendedAgentCard") || !entries.is_empty();
        return match (versioned, has("url") || legacy) {
            (true, true) => CardFormat::Hybrid,
            (true, false) => CardFormat::V1_0,
            (false, _) if draft => CardFormat::Draft1_0,
            (false, true) => CardFormat::Hybrid,
            (false, false) => CardFormat::V1_0,
        };
    }
    let known_to_0_3 = has("preferredTransport") || has("additionalInterfaces");
    let before_0_3 = claim(value).is_none_or(|v| v < Version { major: 0, minor: 3 });
    let a_card = has("name") && (has("skills") || has("capabilities") || has("description"));
    match has("url") && (a_card || known_to_0_3 || set(value, "protocolVersion").is_some()) {
        true if known_to_0_3 || !before_0_3 => CardFormat::V0_3,
        true => CardFormat::V0_2,
        false if looks_like_a_card(value) => CardFormat::V1_0,
        false => CardFormat::NotACard,
    }
}

/// What a card claims at its root when its shape is of another version: a 1.0 on a 0.3 shape deceives its readers.
#[must_use]
pub fn contradicted_claim(value: &Value) -> Option<&str> {
    let claimed = claim(value)?;
    let agrees = match recognise(value) {
        CardFormat::V0_3 => claimed == Version { major: 0, minor: 3 },
        CardFormat::V0_2 => claimed < Version { major: 0, minor: 3 },
        CardFormat::V1_0 | CardFormat::Draft1_0 => claimed.major == 1,
        CardFormat::Hybrid | CardFormat::NotACard => true,
    };
    if agrees { None } else { set(value, "protocolVersion")?.as_str() }
}

fn claim(value: &Value) -> Option<Version> {
    set(value, "protocolVersion").and_then(Value::as_str).and_then(Version::parse_lenient)
}

/// A card that forgot its interfaces: then the missing member is what helps, not "this is no card". Three of the six
/// members that no other well-known document shares.
fn looks_like_a_card(value: &Value) -> bool {
    let members = ["capabilities", "skills", "defaultInputModes", "defaultOutputModes", "description", "version"];
    set(value, "name").is_some() && members.iter().filter(|m| set(value, m).is_some()).count() >= 3
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::a2a::card::tests::honest;

    #[test]
    fn every_shape_of_the_field_is_recognised() {
        assert_eq!(recognise(&honest()), CardFormat::V1_0);
        let mut blended = honest();
        blended["url"] = json!("https://a.example/");
        blended["protocolVersion"] = json!("0.3.0");
        assert_eq!(recognise(&blended), CardFormat::Hybrid);
        let draft = json!({"name": "x", "protocolVersions": ["1.0"], "supportedInterfaces": [{"url": "https://a"}]});
        assert_eq!(recognise(&draft), CardFormat::Draft1_0);
        let old = json!({"name": "x", "url": "https://a", "protocolVersion": "0.3.0", "skills": []});
        assert_eq!(recognise(&old), CardFormat::V0_3);
        assert_eq!(recognise(&json!({"name": "x", "url": "https://a", "skills": []})), CardFormat::V0_2);
        for other in [
            json!([]),
            json!({}),
            json!({"name": "x"}),
            json!({"openapi": "3.1.0", "url": "x"}),
            json!(null),
            json!({"url": "x", "name": "y"}),
        ] {
            assert_eq!(recognise(&other), CardFormat::NotACard, "{other}");
        }
    }

    #[test]
    fn shape_goes_before_claim_and_both_are_compared() {
        let old = |claim: &str| json!({"name": "x", "url": "https://a", "skills": [], "protocolVersion": claim});
        for (claimed, format, contradicts) in [
            ("0.3.0", CardFormat::V0_3, false),
            ("0.2.5", CardFormat::V0_2, false),
            ("0.1", CardFormat::V0_2, false),
            ("1.0", CardFormat::V0_3, true),
            ("latest", CardFormat::V0_2, false),
        ] {
            assert_eq!(recognise(&old(claimed)), format, "{claimed}");
            assert_eq!(contradicted_claim(&old(claimed)).is_some(), contradicts, "{claimed}");
        }
        let mut new = honest();
        new["protocolVersion"] = json!("1.0");
        assert_eq!((recognise(&new), contradicted_claim(&new)), (CardFormat::V1_0, None));
    }

    #[test]
    fn a_card_without_interfaces_is_still_a_card() {
        let mut card = honest();
        card.as_object_mut().unwrap().remove("supportedInterfaces");
        assert_eq!(recognise(&card), CardFormat::V1_0);
        card["supportedInterfaces"] = json!([]);
        assert_eq!(recognise(&card), CardFormat::V1_0);
    }
}
