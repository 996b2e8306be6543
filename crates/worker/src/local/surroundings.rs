//! What an environment becomes: ports, facts, allowance.

use std::{sync::Arc, time::Duration};

use ostiary_canon::{Digest, jwk::KeySet};
use ostiary_contract::environment::Budget;
use ostiary_drivers::{AddressGuard, HttpTransport, Settings, SettingsError, SettingsProblem, TokioTimer, Transports};
use ostiary_lab::{CallbackReceiver, OidcProvider, TcpProxy};
use ostiary_record::{
    EnvironmentFacts, Monotonic,
    ports::{Detours, Faults, Inbox, Observer, States},
};
use ostiary_verify::{Allowance, Ports, mcp::live::Endpoint};

use super::{
    EnvironmentError, Place, callbacks, dependency, detour::ProxyDetours, identity, observers, servers,
    states::HttpStates,
};
use crate::clock::MonotonicClock;

/// Scenarios at the same time: independent ones overlap, and an agent on a laptop still answers in time.
const CONCURRENCY: usize = 6;
/// Calls a second where the environment names no rate: gentle enough for other people's agents.
const RATE_PER_S: u32 = 50;

/// Everything that a run needs of its environment.
pub struct Surroundings {
    /// The ways to the candidate.
    pub ports: Ports,
    /// Where its card is.
    pub card_url: Option<String>,
    /// Its MCP servers.
    pub mcp: Vec<Endpoint>,
    /// What the judge may know.
    pub facts: EnvironmentFacts,
    /// How much may be asked of it.
    pub allowance: Allowance,
    /// The identity provider, where one is served: it must live as long as the run.
    pub provider: Option<OidcProvider>,
    /// What stands before the candidate's dependencies: it must live as long as the run.
    pub dependencies: Vec<TcpProxy>,
    /// The receiver of push notifications, where there is one: it must live as long as the run.
    pub receiver: Option<Arc<CallbackReceiver>>,
}

// === impl Surroundings ===

impl Surroundings {
    /// Builds drivers and laboratory.
    ///
    /// # Errors
    /// When any setting cannot be honoured.
    pub async fn of(place: &Place) -> Result<Self, EnvironmentError> {
        let environment = &place.environment;
        supported(place)?;
        let settings = settings(place)?;
        let transport = HttpTransport::new(settings.clone()).map_err(EnvironmentError::Settings)?;
        let states = environment.provider_states.as_ref().map(|states| HttpStates::new(&states.url.value, &settings));
        let states = states.transpose().map_err(EnvironmentError::Settings)?;
        let servers = servers::of(place)?;
        let identity = identity::of(place).await?;
        let clock: Arc<dyn Monotonic> = Arc::new(MonotonicClock::start());
        let dependencies = dependency::started(place, &clock).await?;
        let detours = ProxyDetours { transport: transport.clone(), clock: Arc::clone(&clock) };
        let callbacks = callbacks::of(place, &clock).await?;
        let observers = observers::of(place, callbacks.receiver.as_deref(), &clock).await?;
        let ports = Ports {
            transport: Arc::new(Transports { http: transport.clone(), stdio: servers.stdio }),
            fetch: Arc::new(transport),
            identity: identity.port,
            states: states.map(|states| Arc::new(states) as Arc<dyn States>),
            authority: Some(identity.authority),
            inbox: callbacks.receiver.clone().map(|receiver| receiver as Arc<dyn Inbox>),
            faults: dependencies.iter().map(|proxy| Arc::new(proxy.faults()) as Arc<dyn Faults>).collect(),
            detours: (!environment.faults.is_empty()).then(|| Arc::new(detours) as Arc<dyn Detours>),
            observers: observers.iter().map(|o| Arc::clone(o) as Arc<dyn Observer>).collect(),
            timer: Arc::new(TokioTimer),
            clock,
        };
        let allowance = allowance(&environment.budget);
        let card_url = environment.a2a.as_ref().map(|a2a| a2a.card_url.value.clone());
        let artifact = environment.artifact.as_ref();
        let artifact = artifact.map(|a| identity::read_file(place, &a.path.value, "`artifact`")).transpose()?;
        let digest = |bytes: &Vec<u8>| Digest::of(bytes).to_string();
        let facts = EnvironmentFacts {
            artifact_digest: artifact.as_ref().map(digest),
            trust_roots: settings.trust_roots.as_ref().map(digest),
            callbacks: callbacks.facts,
            observed: observers.iter().flat_map(|o| o.sees()).collect(),
            ..environment.facts()
        };
        let mcp = servers.endpoints;
        let (provider, receiver) = (identity.provider, callbacks.receiver);
        Ok(Self { ports, card_url, mcp, facts, allowance, provider, dependencies, receiver })
    }
}

/// What a run may cost; what the environment does not say is as usual.
fn allowance(budget: &Budget) -> Allowance {
    let usual = Allowance::default();
    let seconds = |given: Option<u32>, usual| given.map_or(usual, |s| Duration::from_secs(s.into()));
    Allowance {
        calls: u32::try_from(budget.calls).unwrap_or(u32::MAX),
        rate_per_s: budget.rate_per_s.unwrap_or(RATE_PER_S),
        concurrency: CONCURRENCY,
        time: seconds(budget.time_s, usual.time),
        answer: seconds(budget.answer_s, usual.answer),
        memory: budget.memory_mib.map_or(usual.memory, |mib| u64::from(mib) << 20),
    }
}

/// Settings that the format has and this build has no code for. The reader of environments refuses them as well; one
/// that was kept by its format alone is refused here.
fn supported(place: &Place) -> Result<(), EnvironmentError> {
    let environment = &place.environment;
    let unsupported = |what: String| Err(EnvironmentError::Unsupported { what });
    if let Some(what) = environment.mcp.iter().find_map(servers::unsupported) {
        return unsupported(what);
    }
    if let Some(observer) = environment.observers.iter().find(|o| o.kind() != "egress") {
        return unsupported(format!("the observer `{}`", observer.kind()));
    }
    Ok(())
}

/// The operator's keys for signed cards.
pub(super) fn card_keys(place: &Place) -> Result<KeySet, EnvironmentError> {
    let Some(file) = &place.environment.card_keys else { return Ok(KeySet::default()) };
    let bytes = identity::read_file(place, file, "`card_keys`")?;
    KeySet::parse(&bytes).map_err(|source| EnvironmentError::Keys { by: "`card_keys`", file: file.clone(), source })
}

fn settings(place: &Place) -> Result<Settings, EnvironmentError> {
    let environment = &place.environment;
    let trust_roots = match &environment.trust_roots {
        Some(file) => Some(identity::read_file(place, file, "`trust_roots`")?),
        None => None,
    };
    let mut guard = AddressGuard::public_only();
    let servers = environment.mcp.iter().filter_map(|server| server.url.as_ref());
    for url in environment.a2a.iter().map(|a2a| &a2a.card_url).chain(servers).map(|url| &url.value) {
        if let Some(authority) = authority(url) {
            let wrong = |e| EnvironmentError::Settings(SettingsError(vec![SettingsProblem::ConnectTo(e)]));
            guard = guard.exempt(&authority).map_err(wrong)?;
        }
    }
    Ok(Settings {
        connect_to: environment.connect_to.clone(),
        trust_roots,
        allow_insecure_http: environment.allow_insecure_http,
        guard,
    })
}

/// `host:port` of an address that the operator wrote.
pub(super) fn authority(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let port = if scheme == "https" { 443 } else { 80 };
    Some(if has_port { authority.to_owned() } else { format!("{authority}:{port}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_authority_of_an_address_has_its_port() {
        let cases = [
            ("https://a.example.test/card.json", "a.example.test:443"),
            ("http://127.0.0.1:9100/x", "127.0.0.1:9100"),
            ("http://[::1]/x", "[::1]:80"),
            ("http://[::1]:8080", "[::1]:8080"),
        ];
        for (url, expected) in cases {
            assert_eq!(authority(url).as_deref(), Some(expected), "{url}");
        }
    }
}
