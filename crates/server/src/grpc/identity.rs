//! Callers of gRPC, by the same tokens as over HTTP.

use tonic::{Status, metadata::MetadataMap};

use crate::auth::{Caller, TokenTable};

/// The caller of a request.
///
/// # Errors
/// `UNAUTHENTICATED`.
pub fn caller<'t>(tokens: &'t TokenTable, metadata: &MetadataMap) -> Result<&'t Caller, Status> {
    let field = metadata.get("authorization").map(tonic::metadata::MetadataValue::as_bytes);
    tokens.authenticate(field).map_err(Status::from)
}
