//! As whom the servers of an environment are looked at: each authorization profile and class of tenant that it has a
//! subject for, over HTTP; over stdio there is no credential to show.

use std::collections::BTreeMap;

use ostiary_canon::Profile;
use ostiary_protocol::mcp::{ClientProfile, Revision};
use ostiary_record::{
    ActorId, CredentialKind, EnvironmentFacts, Tape,
    ports::{Actor, Carrier},
};

use super::{Caller, Endpoint, Look};
use crate::{
    drive::{Ports, Request},
    mcp::check::pinned,
    meter::Meter,
    registry::HARNESS_VERSION,
    stage::ANONYMOUS,
};

/// Looks at all servers of the environment as all its callers.
pub(crate) async fn look(ports: &Ports, request: &Request<'_>, meter: &Meter, tape: &Tape) {
    let silent = |_: &str| {};
    let mut look = Look::new(ports.transport.as_ref(), tape, &silent);
    look.pace = Some((meter, ports.timer.as_ref()));
    if let Some(revision) = pinned(request.bundle).filter(|r| !r.is_stateless()) {
        look.offered = revision;
    }
    for endpoint in &request.mcp {
        for ((authorization, tenant_class), subject) in subjects(&request.environment, endpoint) {
            let named = |actor| Caller {
                client: ClientProfile::harness(HARNESS_VERSION),
                actor,
                authorization: authorization.clone(),
                tenant_class: tenant_class.clone(),
            };
            match actor(ports, &subject).await {
                Ok(actor) => drop(look.at(endpoint, &named(actor)).await),
                Err(why) => look.not_asked(endpoint, &named(nobody()), &why),
            }
        }
    }
}

/// The first subject of each profile and class with a good credential; nobody, where there is none at all.
fn subjects(environment: &EnvironmentFacts, endpoint: &Endpoint) -> BTreeMap<(String, String), ActorId> {
    let default = || Profile::DEFAULT.to_owned();
    let mut out = BTreeMap::new();
    if endpoint.target.carrier != Carrier::Stdio {
        for (name, subject) in environment.subjects.iter().filter(|(_, s)| s.credential == CredentialKind::Valid) {
            let part = |part: &Option<String>| part.clone().unwrap_or_else(default);
            let key = (part(&subject.profile), part(&subject.tenant_class));
            out.entry(key).or_insert_with(|| ActorId(name.clone()));
        }
    }
    if out.is_empty() {
        out.insert((default(), default()), ANONYMOUS.into());
    }
    out
}

async fn actor(ports: &Ports, subject: &ActorId) -> Result<Actor, String> {
    if subject.0 == ANONYMOUS {
        return Ok(nobody());
    }
    match ports.identity.actor(subject).await {
        Ok(Some(actor)) => Ok(actor),
        Ok(None) => Err(format!("no credential for `{subject}`")),
        Err(problem) => Err(problem.to_string()),
    }
}

fn nobody() -> Actor {
    Actor { id: ANONYMOUS.into(), credentials: Vec::new() }
}

/// The revision that servers of the older era are offered where nothing pins one.
pub(super) const OFFERED: Revision = Revision::V2025_11_25;
