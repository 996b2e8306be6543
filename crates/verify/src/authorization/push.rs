//! Push notifications as a way in and out: what they show to their receiver, where they go, and where they may be sent.

use crate::check::Check;

mod authentication;
mod destination;
mod inside;

/// All checks of this room.
pub(super) fn checks() -> Vec<Box<dyn Check>> {
    vec![Box::new(authentication::Authentication), Box::new(destination::Destination), Box::new(inside::Inside)]
}
