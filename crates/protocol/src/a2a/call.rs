//! One call: an operation with the service parameters that go along (§3.6).

use crate::a2a::operation::Operation;

/// An operation and what travels beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// What is asked.
    pub operation: Operation,
    /// The request id, where the binding has one.
    pub id: u64,
    /// The value of `A2A-Version`; `None` sends no such header.
    pub version: Option<String>,
    /// The interface's routing value (§8.3.2).
    pub tenant: Option<String>,
    /// Extension URIs for `A2A-Extensions`; none sends no such header.
    pub extensions: Vec<String>,
}

/// The header that carries the protocol version.
pub const VERSION_HEADER: &str = "A2A-Version";
/// The header that carries the extensions the caller supports.
pub const EXTENSIONS_HEADER: &str = "A2A-Extensions";

// === impl Call ===

impl Call {
    /// A call of `operation` with the version header of 1.0, no tenant and no extensions.
    #[must_use]
    pub fn new(operation: Operation) -> Self {
        Self { operation, id: 1, version: Some("1.0".to_owned()), tenant: None, extensions: Vec::new() }
    }

    /// The header fields of the service parameters, in order.
    #[must_use]
    pub fn service_headers(&self) -> Vec<(String, String)> {
        let version = self.version.iter().map(|v| (VERSION_HEADER.to_owned(), v.clone()));
        let extensions = (!self.extensions.is_empty()).then(|| self.extensions.join(", "));
        version.chain(extensions.map(|e| (EXTENSIONS_HEADER.to_owned(), e))).collect()
    }
}
