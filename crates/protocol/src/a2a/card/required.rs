//! The members of a 1.0 card as tables: name, whether it is REQUIRED in `a2a.proto`, and its type.

use super::lint::{
    Need::{self, Droppable, Optional, Required},
    Type,
};

type Row = (&'static str, Need, Type);

/// `AgentCard`.
pub(super) const CARD: &[Row] = &[
    ("name", Required, Type::Text),
    ("description", Required, Type::Text),
    ("version", Required, Type::Text),
    ("supportedInterfaces", Required, Type::Objects),
    ("provider", Optional, Type::Object),
    ("documentationUrl", Optional, Type::Url),
    ("iconUrl", Optional, Type::Url),
    ("capabilities", Required, Type::Object),
    ("securitySchemes", Optional, Type::Object),
    ("securityRequirements", Optional, Type::Objects),
    ("defaultInputModes", Required, Type::Modes),
    ("defaultOutputModes", Required, Type::Modes),
    ("skills", Required, Type::Objects),
    ("signatures", Optional, Type::Objects),
];

/// `AgentProvider`.
pub(super) const PROVIDER: &[Row] = &[("url", Required, Type::Url), ("organization", Required, Type::Text)];

/// `AgentInterface`. `url` is judged by its own checks: gRPC addresses need not be URLs.
pub(super) const INTERFACE: &[Row] = &[
    ("url", Required, Type::Name),
    ("protocolBinding", Required, Type::Name),
    ("protocolVersion", Required, Type::Name),
    ("tenant", Optional, Type::Text),
];

/// `AgentCapabilities`.
pub(super) const CAPABILITIES: &[Row] = &[
    ("streaming", Optional, Type::Bool),
    ("pushNotifications", Optional, Type::Bool),
    ("extendedAgentCard", Optional, Type::Bool),
    ("extensions", Optional, Type::Objects),
];

/// `AgentExtension`: nothing of it is REQUIRED.
pub(super) const EXTENSION: &[Row] = &[
    ("uri", Optional, Type::Text),
    ("description", Optional, Type::Text),
    ("required", Optional, Type::Bool),
    ("params", Optional, Type::Object),
];

/// `AgentSkill`.
pub(super) const SKILL: &[Row] = &[
    ("id", Required, Type::Name),
    ("name", Required, Type::Text),
    ("description", Required, Type::Text),
    ("tags", Required, Type::Texts),
    ("examples", Optional, Type::Texts),
    ("inputModes", Optional, Type::Modes),
    ("outputModes", Optional, Type::Modes),
    ("securityRequirements", Optional, Type::Objects),
];

/// `AgentCardSignature`.
pub(super) const SIGNATURE: &[Row] =
    &[("protected", Required, Type::Name), ("signature", Required, Type::Name), ("header", Optional, Type::Object)];

/// The members of `SecurityScheme`, one of which is set, with what each holds. `flows` is judged by [`FLOWS`].
pub(super) const SCHEMES: &[(&str, &[Row])] = &[
    (
        "apiKeySecurityScheme",
        &[("location", Required, Type::Name), ("name", Required, Type::Name), ("description", Optional, Type::Text)],
    ),
    (
        "httpAuthSecurityScheme",
        &[
            ("scheme", Required, Type::Name),
            ("bearerFormat", Optional, Type::Text),
            ("description", Optional, Type::Text),
        ],
    ),
    (
        "oauth2SecurityScheme",
        &[
            ("flows", Required, Type::Object),
            ("oauth2MetadataUrl", Optional, Type::Url),
            ("description", Optional, Type::Text),
        ],
    ),
    (
        "openIdConnectSecurityScheme",
        &[("openIdConnectUrl", Required, Type::Url), ("description", Optional, Type::Text)],
    ),
    ("mtlsSecurityScheme", &[("description", Optional, Type::Text)]),
];

/// The members of `OAuthFlows`, one of which is set. `scopes` may be empty, as in OpenAPI, and is then
/// gone from what an SDK prints.
pub(super) const FLOWS: &[(&str, &[Row])] = &[
    (
        "authorizationCode",
        &[
            ("authorizationUrl", Required, Type::Url),
            ("tokenUrl", Required, Type::Url),
            ("refreshUrl", Optional, Type::Url),
            ("scopes", Droppable, Type::Object),
            ("pkceRequired", Optional, Type::Bool),
        ],
    ),
    (
        "clientCredentials",
        &[("tokenUrl", Required, Type::Url), ("refreshUrl", Optional, Type::Url), ("scopes", Droppable, Type::Object)],
    ),
    (
        "deviceCode",
        &[
            ("deviceAuthorizationUrl", Required, Type::Url),
            ("tokenUrl", Required, Type::Url),
            ("refreshUrl", Optional, Type::Url),
            ("scopes", Droppable, Type::Object),
        ],
    ),
    ("implicit", &[]),
    ("password", &[]),
];
