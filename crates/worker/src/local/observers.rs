//! What watches the candidate, started for the time of a run.

use std::{io::ErrorKind, sync::Arc};

use ostiary_contract::environment::{EgressObserver as Settings, Observer};
use ostiary_lab::{AllowList, CallbackReceiver, EgressObserver, EgressOptions};
use ostiary_record::Monotonic;

use super::{EnvironmentError, Place, surroundings::authority};

/// The egress observers of an environment. What is meant for callbacks may always leave, and comes to the receiver.
pub(super) async fn of(
    place: &Place,
    receiver: Option<&CallbackReceiver>,
    clock: &Arc<dyn Monotonic>,
) -> Result<Vec<Arc<EgressObserver>>, EnvironmentError> {
    let mut out = Vec::new();
    for observer in &place.environment.observers {
        let Observer::Egress(settings) = &observer.value else { continue };
        out.push(Arc::new(egress(place, settings, receiver, clock).await?));
    }
    Ok(out)
}

async fn egress(
    place: &Place,
    settings: &Settings,
    receiver: Option<&CallbackReceiver>,
    clock: &Arc<dyn Monotonic>,
) -> Result<EgressObserver, EnvironmentError> {
    let address = settings.listen.as_ref().map_or("127.0.0.1:0", |listen| listen.value.as_str());
    let failed = |source| EnvironmentError::Listen {
        address: address.to_owned(),
        by: "`observers` (egress, `listen`)".to_owned(),
        source,
    };
    let listen = address.parse().map_err(|_| failed(ErrorKind::InvalidInput.into()))?;
    let base = place.environment.callbacks.as_ref().and_then(|c| c.base.as_ref()).and_then(|base| authority(base));
    let mut options = EgressOptions {
        listen: Some(listen),
        only_way_out: settings.only_way_out,
        clock: Some(Arc::clone(clock)),
        ..EgressOptions::default()
    };
    let mut allow = settings.allow.clone();
    if let Some(receiver) = receiver {
        let told = base.unwrap_or_else(|| receiver.addr().to_string());
        options.connect_to.insert(told.clone(), receiver.addr().to_string());
        allow.push(told);
    }
    let wrong = |e: ostiary_lab::NoHost| EnvironmentError::Unsupported { what: format!("the egress observer: {e}") };
    options.allow = AllowList::of(&allow).map_err(wrong)?;
    EgressObserver::start(options).await.map_err(failed)
}
