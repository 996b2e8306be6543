//! The members of a 0.x card as tables. Required lists may be empty there.

use crate::a2a::card::lint::{
    Need::{self, Optional, Present, Required},
    Type,
};

type Row = (&'static str, Need, Type);

/// `AgentCard`, of 0.2 and 0.3.
pub(super) const CARD: &[Row] = &[
    ("name", Required, Type::Text),
    ("description", Required, Type::Text),
    ("version", Required, Type::Text),
    ("url", Required, Type::Name),
    ("preferredTransport", Optional, Type::Text),
    ("additionalInterfaces", Optional, Type::Objects),
    ("provider", Optional, Type::Object),
    ("documentationUrl", Optional, Type::Url),
    ("iconUrl", Optional, Type::Url),
    ("capabilities", Required, Type::Object),
    ("securitySchemes", Optional, Type::Object),
    ("security", Optional, Type::Objects),
    ("supportsAuthenticatedExtendedCard", Optional, Type::Bool),
    ("defaultInputModes", Present, Type::Modes),
    ("defaultOutputModes", Present, Type::Modes),
    ("skills", Present, Type::Objects),
    ("signatures", Optional, Type::Objects),
];

/// What 0.3 requires beside: the field came with 0.2.5.
pub(super) const SINCE_0_3: &[Row] = &[("protocolVersion", Required, Type::Name)];

/// `AgentProvider`.
pub(super) const PROVIDER: &[Row] = &[("url", Required, Type::Text), ("organization", Required, Type::Text)];

/// `AgentInterface`.
pub(super) const INTERFACE: &[Row] = &[("url", Required, Type::Name), ("transport", Required, Type::Name)];

/// `AgentCapabilities`.
pub(super) const CAPABILITIES: &[Row] = &[
    ("streaming", Optional, Type::Bool),
    ("pushNotifications", Optional, Type::Bool),
    ("stateTransitionHistory", Optional, Type::Bool),
    ("extensions", Optional, Type::Objects),
];

/// `AgentSkill`.
pub(super) const SKILL: &[Row] = &[
    ("id", Required, Type::Name),
    ("name", Required, Type::Text),
    ("description", Required, Type::Text),
    ("tags", Present, Type::Texts),
    ("examples", Optional, Type::Texts),
    ("inputModes", Optional, Type::Modes),
    ("outputModes", Optional, Type::Modes),
    ("security", Optional, Type::Objects),
];

/// Security schemes by `type`, as OpenAPI has them.
pub(super) const SCHEMES: &[(&str, &[Row])] = &[
    ("apiKey", &[("in", Required, Type::Name), ("name", Required, Type::Name)]),
    ("http", &[("scheme", Required, Type::Name)]),
    ("oauth2", &[("flows", Required, Type::Object)]),
    ("openIdConnect", &[("openIdConnectUrl", Required, Type::Url)]),
    ("mutualTLS", &[]),
];
