//! The tables of the agent card: `lf.a2a.v1.AgentCard` and what is below it.

use super::{
    Kind::{self, Bool, Struct, Text},
    Message,
    Rule::{List, Map, Plain, Present, Required, RequiredList},
    messages::{f, m},
};

pub(super) static AGENT_INTERFACE: Message = m(
    "AgentInterface",
    &[
        f(1, "url", Text, Required),
        f(2, "protocolBinding", Text, Required),
        f(3, "tenant", Text, Plain),
        f(4, "protocolVersion", Text, Required),
    ],
);
pub(super) static AGENT_CARD: Message = m(
    "AgentCard",
    &[
        f(1, "name", Text, Required),
        f(2, "description", Text, Required),
        f(3, "supportedInterfaces", Kind::Message(&AGENT_INTERFACE), RequiredList),
        f(4, "provider", Kind::Message(&AGENT_PROVIDER), Plain),
        f(5, "version", Text, Required),
        f(6, "documentationUrl", Text, Present),
        f(7, "capabilities", Kind::Message(&AGENT_CAPABILITIES), Required),
        f(8, "securitySchemes", Kind::Message(&SECURITY_SCHEME), Map),
        f(9, "securityRequirements", Kind::Message(&SECURITY_REQUIREMENT), List),
        f(10, "defaultInputModes", Text, RequiredList),
        f(11, "defaultOutputModes", Text, RequiredList),
        f(12, "skills", Kind::Message(&AGENT_SKILL), RequiredList),
        f(13, "signatures", Kind::Message(&AGENT_CARD_SIGNATURE), List),
        f(14, "iconUrl", Text, Present),
    ],
);
pub(super) static AGENT_PROVIDER: Message =
    m("AgentProvider", &[f(1, "url", Text, Required), f(2, "organization", Text, Required)]);
pub(super) static AGENT_CAPABILITIES: Message = m(
    "AgentCapabilities",
    &[
        f(1, "streaming", Bool, Present),
        f(2, "pushNotifications", Bool, Present),
        f(3, "extensions", Kind::Message(&AGENT_EXTENSION), List),
        f(4, "extendedAgentCard", Bool, Present),
    ],
);
pub(super) static AGENT_EXTENSION: Message = m(
    "AgentExtension",
    &[
        f(1, "uri", Text, Plain),
        f(2, "description", Text, Plain),
        f(3, "required", Bool, Plain),
        f(4, "params", Struct, Plain),
    ],
);
pub(super) static AGENT_SKILL: Message = m(
    "AgentSkill",
    &[
        f(1, "id", Text, Required),
        f(2, "name", Text, Required),
        f(3, "description", Text, Required),
        f(4, "tags", Text, RequiredList),
        f(5, "examples", Text, List),
        f(6, "inputModes", Text, List),
        f(7, "outputModes", Text, List),
        f(8, "securityRequirements", Kind::Message(&SECURITY_REQUIREMENT), List),
    ],
);
pub(super) static AGENT_CARD_SIGNATURE: Message = m(
    "AgentCardSignature",
    &[f(1, "protected", Text, Required), f(2, "signature", Text, Required), f(3, "header", Struct, Plain)],
);
pub(super) static STRING_LIST: Message = m("StringList", &[f(1, "list", Text, List)]);
pub(super) static SECURITY_REQUIREMENT: Message =
    m("SecurityRequirement", &[f(1, "schemes", Kind::Message(&STRING_LIST), Map)]);
pub(super) static SECURITY_SCHEME: Message = m(
    "SecurityScheme",
    &[
        f(1, "apiKeySecurityScheme", Kind::Message(&API_KEY_SECURITY_SCHEME), Present),
        f(2, "httpAuthSecurityScheme", Kind::Message(&HTTP_AUTH_SECURITY_SCHEME), Present),
        f(3, "oauth2SecurityScheme", Kind::Message(&OAUTH2_SECURITY_SCHEME), Present),
        f(4, "openIdConnectSecurityScheme", Kind::Message(&OPEN_ID_CONNECT_SECURITY_SCHEME), Present),
        f(5, "mtlsSecurityScheme", Kind::Message(&MUTUAL_TLS_SECURITY_SCHEME), Present),
    ],
);
pub(super) static API_KEY_SECURITY_SCHEME: Message = m(
    "APIKeySecurityScheme",
    &[f(1, "description", Text, Plain), f(2, "location", Text, Required), f(3, "name", Text, Required)],
);
pub(super) static HTTP_AUTH_SECURITY_SCHEME: Message = m(
    "HTTPAuthSecurityScheme",
    &[f(1, "description", Text, Plain), f(2, "scheme", Text, Required), f(3, "bearerFormat", Text, Plain)],
);
pub(super) static OAUTH2_SECURITY_SCHEME: Message = m(
    "OAuth2SecurityScheme",
    &[
        f(1, "description", Text, Plain),
        f(2, "flows", Kind::Message(&OAUTH_FLOWS), Required),
        f(3, "oauth2MetadataUrl", Text, Plain),
    ],
);
pub(super) static OPEN_ID_CONNECT_SECURITY_SCHEME: Message =
    m("OpenIdConnectSecurityScheme", &[f(1, "description", Text, Plain), f(2, "openIdConnectUrl", Text, Required)]);
pub(super) static MUTUAL_TLS_SECURITY_SCHEME: Message =
    m("MutualTlsSecurityScheme", &[f(1, "description", Text, Plain)]);
pub(super) static OAUTH_FLOWS: Message = m(
    "OAuthFlows",
    &[
        f(1, "authorizationCode", Kind::Message(&AUTHORIZATION_CODE_OAUTH_FLOW), Present),
        f(2, "clientCredentials", Kind::Message(&CLIENT_CREDENTIALS_OAUTH_FLOW), Present),
        f(3, "implicit", Kind::Message(&IMPLICIT_OAUTH_FLOW), Present),
        f(4, "password", Kind::Message(&PASSWORD_OAUTH_FLOW), Present),
        f(5, "deviceCode", Kind::Message(&DEVICE_CODE_OAUTH_FLOW), Present),
    ],
);
pub(super) static AUTHORIZATION_CODE_OAUTH_FLOW: Message = m(
    "AuthorizationCodeOAuthFlow",
    &[
        f(1, "authorizationUrl", Text, Required),
        f(2, "tokenUrl", Text, Required),
        f(3, "refreshUrl", Text, Plain),
        f(4, "scopes", Text, Map),
        f(5, "pkceRequired", Bool, Plain),
    ],
);
pub(super) static CLIENT_CREDENTIALS_OAUTH_FLOW: Message = m(
    "ClientCredentialsOAuthFlow",
    &[f(1, "tokenUrl", Text, Required), f(2, "refreshUrl", Text, Plain), f(3, "scopes", Text, Map)],
);
pub(super) static IMPLICIT_OAUTH_FLOW: Message = m(
    "ImplicitOAuthFlow",
    &[f(1, "authorizationUrl", Text, Plain), f(2, "refreshUrl", Text, Plain), f(3, "scopes", Text, Map)],
);
pub(super) static PASSWORD_OAUTH_FLOW: Message = m(
    "PasswordOAuthFlow",
    &[f(1, "tokenUrl", Text, Plain), f(2, "refreshUrl", Text, Plain), f(3, "scopes", Text, Map)],
);
pub(super) static DEVICE_CODE_OAUTH_FLOW: Message = m(
    "DeviceCodeOAuthFlow",
    &[
        f(1, "deviceAuthorizationUrl", Text, Required),
        f(2, "tokenUrl", Text, Required),
        f(3, "refreshUrl", Text, Plain),
        f(4, "scopes", Text, Map),
    ],
);
