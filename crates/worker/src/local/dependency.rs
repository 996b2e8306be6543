//! The candidate's dependencies: the harness stands before each while a run goes on, so that it can be disturbed.

use std::{io, sync::Arc};

use ostiary_contract::environment::Dependency;
use ostiary_lab::{TcpOptions, TcpProxy};
use ostiary_record::Monotonic;

use super::{EnvironmentError, Place};

/// A proxy before each dependency, listening; they must live as long as the run.
pub(super) async fn started(place: &Place, clock: &Arc<dyn Monotonic>) -> Result<Vec<TcpProxy>, EnvironmentError> {
    let mut proxies = Vec::new();
    for dependency in &place.environment.dependencies {
        proxies.push(start(dependency, Arc::clone(clock)).await?);
    }
    Ok(proxies)
}

async fn start(dependency: &Dependency, clock: Arc<dyn Monotonic>) -> Result<TcpProxy, EnvironmentError> {
    let address = &dependency.listen.value;
    let failed = |source| EnvironmentError::Listen {
        address: address.clone(),
        by: format!("`dependencies` for `{}`", dependency.name.value),
        source,
    };
    let listen = address.parse().map_err(|_| failed(io::ErrorKind::InvalidInput.into()))?;
    let options = TcpOptions { listen: Some(listen), place: dependency.name.value.clone(), clock: Some(clock) };
    TcpProxy::start(dependency.connect.value.clone(), options).await.map_err(failed)
}
