//! Why no copy comes: found out by asking for one, because a router only goes on trying.

use ostiary_admission::{HeadError, VerifiedHead, ViewScope};
use ostiary_canon::dsse::Keyring;
use ostiary_proto::admission::v1::get_snapshot_response::Message;
use tonic::Code;

use super::Upstream;
use crate::error::CliError;

/// What stands in the way of a verified copy of `scope`. `None` when nothing was found, so that waiting may help.
pub(crate) async fn doubts(upstream: &Upstream, url: &str, scope: &ViewScope, trust: &Keyring) -> Option<CliError> {
    let status = match head_of(upstream, scope).await {
        Ok(head) => return head.and_then(|head| judged(&head, trust)),
        Err(status) => status,
    };
    let said = format!("`{url}` gives no copy of `{scope}`: {}", status.message());
    let error = CliError::could_not_run(said).code(format!("{:?}", status.code()));
    Some(match status.code() {
        Code::Unauthenticated => error.hint("the token must be one of that control plane, with the role `router`"),
        Code::PermissionDenied => {
            error.hint("watch a namespace that the token is for with --scope, or use a router's token for all of them")
        }
        // the second is what an HTTP API's answer looks like
        Code::Unimplemented | Code::Internal => {
            error.hint("the address must be that of a control plane's gRPC API (port 8421, not 8420), or of a sidecar")
        }
        Code::Unavailable => error.hint("start the control plane, or give the address of its gRPC API"),
        _ => error,
    })
}

async fn head_of(upstream: &Upstream, scope: &ViewScope) -> Result<Option<Vec<u8>>, tonic::Status> {
    let mut parts = upstream.snapshot(scope.to_string()).await?;
    while let Some(part) = parts.message().await? {
        if let Some(Message::SnapshotEnd(end)) = part.message {
            return Ok(Some(end.head.to_vec()));
        }
    }
    Ok(None)
}

fn judged(head: &[u8], trust: &Keyring) -> Option<CliError> {
    let error = VerifiedHead::read(head, trust).err()?;
    let hint = match error {
        HeadError::Signature(_) => {
            "the file given with --trust holds other keys than that control plane signs with; take its \
             /.well-known/ostiary-keys.json over a way that you trust"
        }
        _ => "control plane and sidecar must be of versions that understand each other",
    };
    Some(CliError::because("the copy's head is not believed", &error).code("HEAD_NOT_BELIEVED").hint(hint))
}
