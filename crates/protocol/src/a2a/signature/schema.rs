//! The members of a card by A2A 1.0 (`a2a.proto`, messages below `AgentCard`) with what the canonical form asks of
//! each: whether it is REQUIRED, has presence, or is dropped at its default.

/// One member of a message.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) presence: Presence,
}

/// What a member holds.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// Text.
    Text,
    /// True or false.
    Flag,
    /// JSON that the schema does not look into.
    Free,
    /// A message.
    One(&'static [Field]),
    /// A list of messages.
    Many(&'static [Field]),
    /// A list of texts.
    Texts,
    /// A map of texts to texts.
    TextMap,
    /// A map of names to messages.
    Map(&'static [Field]),
}

/// What becomes of a default value in the canonical form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// REQUIRED, `optional`, a message, or one of several: stays whenever it is set.
    Kept,
    /// A plain field: its default is as good as absent.
    Plain,
}

use Kind::{Flag, Free, Many, Map, One, Text, TextMap, Texts};

const fn kept(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, presence: Presence::Kept }
}

const fn plain(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, presence: Presence::Plain }
}

/// `AgentCard`.
pub(super) const CARD: &[Field] = &[
    kept("name", Text),
    kept("description", Text),
    kept("supportedInterfaces", Many(INTERFACE)),
    kept("provider", One(PROVIDER)),
    kept("version", Text),
    kept("documentationUrl", Text),
    kept("capabilities", One(CAPABILITIES)),
    plain("securitySchemes", Map(SCHEME)),
    plain("securityRequirements", Many(REQUIREMENT)),
    kept("defaultInputModes", Texts),
    kept("defaultOutputModes", Texts),
    kept("skills", Many(SKILL)),
    kept("iconUrl", Text),
];

const INTERFACE: &[Field] =
    &[kept("url", Text), kept("protocolBinding", Text), plain("tenant", Text), kept("protocolVersion", Text)];

const PROVIDER: &[Field] = &[kept("url", Text), kept("organization", Text)];

const CAPABILITIES: &[Field] = &[
    kept("streaming", Flag),
    kept("pushNotifications", Flag),
    plain("extensions", Many(EXTENSION)),
    kept("extendedAgentCard", Flag),
];

const EXTENSION: &[Field] =
    &[plain("uri", Text), plain("description", Text), plain("required", Flag), kept("params", Free)];

const SKILL: &[Field] = &[
    kept("id", Text),
    kept("name", Text),
    kept("description", Text),
    kept("tags", Texts),
    plain("examples", Texts),
    plain("inputModes", Texts),
    plain("outputModes", Texts),
    plain("securityRequirements", Many(REQUIREMENT)),
];

const REQUIREMENT: &[Field] = &[plain("schemes", Map(SCOPES))];

const SCOPES: &[Field] = &[plain("list", Texts)];

const SCHEME: &[Field] = &[
    kept("apiKeySecurityScheme", One(&[plain("description", Text), kept("location", Text), kept("name", Text)])),
    kept(
        "httpAuthSecurityScheme",
        One(&[plain("description", Text), kept("scheme", Text), plain("bearerFormat", Text)]),
    ),
    kept(
        "oauth2SecurityScheme",
        One(&[plain("description", Text), kept("flows", One(FLOWS)), plain("oauth2MetadataUrl", Text)]),
    ),
    kept("openIdConnectSecurityScheme", One(&[plain("description", Text), kept("openIdConnectUrl", Text)])),
    kept("mtlsSecurityScheme", One(&[plain("description", Text)])),
];

const FLOWS: &[Field] = &[
    kept(
        "authorizationCode",
        One(&[
            kept("authorizationUrl", Text),
            kept("tokenUrl", Text),
            plain("refreshUrl", Text),
            kept("scopes", TextMap),
            plain("pkceRequired", Flag),
        ]),
    ),
    kept("clientCredentials", One(&[kept("tokenUrl", Text), plain("refreshUrl", Text), kept("scopes", TextMap)])),
    kept("implicit", One(&[plain("authorizationUrl", Text), plain("refreshUrl", Text), plain("scopes", TextMap)])),
    kept("password", One(&[plain("tokenUrl", Text), plain("refreshUrl", Text), plain("scopes", TextMap)])),
    kept(
        "deviceCode",
        One(&[
            kept("deviceAuthorizationUrl", Text),
            kept("tokenUrl", Text),
            plain("refreshUrl", Text),
            kept("scopes", TextMap),
        ]),
    ),
];
