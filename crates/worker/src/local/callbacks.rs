//! The receiver of push notifications, served while a run goes on.

use std::{io::ErrorKind, sync::Arc};

use ostiary_canon::jwk::KeySet;
use ostiary_contract::environment::Callbacks;
use ostiary_lab::{CallbackOptions, CallbackReceiver};
use ostiary_record::{CallbackFacts, Monotonic};
use serde_json::Value;

use super::{EnvironmentError, Place, identity};
use crate::clock::SystemClock;

/// The receiver of an environment, with what a judge may know of it.
#[derive(Default)]
pub(super) struct Received {
    pub(super) receiver: Option<Arc<CallbackReceiver>>,
    pub(super) facts: Option<CallbackFacts>,
}

/// Listens where the environment says, if it says so.
pub(super) async fn of(place: &Place, clock: &Arc<dyn Monotonic>) -> Result<Received, EnvironmentError> {
    let Some(callbacks) = &place.environment.callbacks else { return Ok(Received::default()) };
    let jwks = keys(place, callbacks)?;
    let address = callbacks.listen.as_ref().map_or("127.0.0.1:0", |listen| listen.value.as_str());
    let failed =
        |source| EnvironmentError::Listen { address: address.to_owned(), by: "`callbacks.listen`".to_owned(), source };
    let listen = address.parse().map_err(|_| failed(ErrorKind::InvalidInput.into()))?;
    let options = CallbackOptions {
        listen: Some(listen),
        base: callbacks.base.as_ref().map(|base| base.value.clone()),
        // what an earlier run's candidate still sends is nothing of this run
        seed: SystemClock.now().as_nanosecond() as u64,
        clock: Some(Arc::clone(clock)),
        ..CallbackOptions::new(|| SystemClock.now())
    };
    let receiver = CallbackReceiver::start(options).await.map_err(failed)?;
    Ok(Received { receiver: Some(Arc::new(receiver)), facts: Some(callbacks.facts(jwks)) })
}

/// The keys that the candidate signs with.
fn keys(place: &Place, callbacks: &Callbacks) -> Result<Option<Value>, EnvironmentError> {
    let by = "`callbacks.signed_by`";
    let Some(file) = &callbacks.signed_by else { return Ok(None) };
    let bytes = identity::read_file(place, &file.value, by)?;
    let wrong = |source| EnvironmentError::Keys { by, file: file.value.clone(), source };
    KeySet::parse(&bytes).map_err(wrong)?;
    Ok(serde_json::from_slice(&bytes).ok())
}
