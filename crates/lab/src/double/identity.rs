//! The subjects of an environment: users and workloads, each with what it shows.

/// One subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// Its tenant.
    pub tenant: Option<String>,
    /// What its token permits.
    pub scopes: Vec<String>,
    /// What it shows.
    pub credential: CredentialOf,
}

/// What a subject shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CredentialOf {
    /// A token that the candidate should take.
    #[default]
    Valid,
    /// A token of the right issuer whose time is over.
    Expired,
    /// A token that claims the right issuer and is signed by a key that nobody trusts.
    ForeignKey,
    /// A token of the right issuer for somebody else.
    ForeignAudience,
    /// Nothing.
    Anonymous,
    /// A bearer token that the operator gave.
    Static(String),
}

/// The header field that shows a token.
pub(super) fn bearer(token: String) -> (String, String) {
    ("Authorization".to_owned(), format!("Bearer {token}"))
}
