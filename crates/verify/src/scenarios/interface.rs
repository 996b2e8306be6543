//! Looks for what the card does not name at the addresses that it does name: another binding, or version 0.3.
//!
//! Every request is a read of a task that does not exist, at the interface's own URL and at the root of its origin.

use bytes::Bytes;
use ostiary_protocol::a2a::{Binding, Call, Card, Operation, Version, card, codec, http_json, jsonrpc};
use ostiary_record::{
    Axes, TargetId,
    ports::{BoxFuture, Carrier, CouldNotRun, Outbound, Target},
};
use serde_json::{Value, json};

use crate::{
    discover::Interface,
    plan::PlanInput,
    scenario::{Control, Role, Scenario, ScenarioSpec},
    scenarios::{client::Client, send},
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.interface.undeclared";
/// The axis that says what is looked for.
pub(crate) const AXIS: &str = "looked_for";

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookedFor {
    /// The binding HTTP+JSON.
    HttpJson,
    /// The binding JSON-RPC.
    JsonRpc,
    /// Protocol version 0.3, over JSON-RPC.
    V0_3,
}

/// What is served is declared.
pub(super) struct UndeclaredInterface;

static SPEC: ScenarioSpec = ScenarioSpec {
    control: Control::By(send::ID),
    ..ScenarioSpec::new(
        ID,
        "Bindings over HTTP and versions that the card does not name are looked for where it points.",
    )
};

impl Scenario for UndeclaredInterface {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        let card = input.discovered.card.as_ref();
        let of = |axes: &Axes| {
            let profile = axes.profile.as_deref().and_then(|p| p.parse().ok());
            let over_http = profile.and_then(|p| input.interface(&p)).filter(|i| i.target.carrier == Carrier::Http);
            let at = over_http.map(|i| Binding::parse(&i.binding));
            let looked = at.iter().flat_map(|at| LookedFor::at(at, card));
            let with = |looked: LookedFor| {
                let mut axes = axes.clone();
                axes.values.insert(AXIS.to_owned(), looked.as_str().to_owned());
                axes
            };
            looked.map(with).collect::<Vec<_>>()
        };
        input.each_profile().iter().flat_map(of).collect()
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let looked = stage.axes().values.get(AXIS).and_then(|l| LookedFor::parse(l));
    let looked = looked.ok_or_else(|| CouldNotRun::Internal("the variant names nothing to look for".to_owned()))?;
    let own = stage.interface()?.clone();
    let mut places = vec![own.target.clone()];
    places.extend(root(&own.target));
    // 0.3 is looked for where 1.0 is spoken
    places.truncate(if looked == LookedFor::V0_3 { 1 } else { 2 });
    for target in places {
        let id = stage.fresh("no-such-task");
        let interface = Interface { target, ..own.clone() };
        let mut client = Client::open_at(stage, Role::Primary, &interface).await?;
        let call = client.prepare(Operation::GetTask { id, history_length: None });
        let out = looked.request(&call).map_err(|e| CouldNotRun::Internal(e.to_string()))?;
        client.send_raw(stage, out).await?;
    }
    Ok(())
}

/// The root of the origin, where it is another place.
fn root(target: &Target) -> Option<Target> {
    let (scheme, rest) = target.url.split_once("://")?;
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let another = !matches!(path, "" | "/");
    another.then(|| Target { id: TargetId("origin".to_owned()), url: format!("{scheme}://{host}/"), ..target.clone() })
}

// === impl LookedFor ===

impl LookedFor {
    /// What can be looked for at an interface of this binding.
    fn at(binding: &Binding, card: Option<&Value>) -> Vec<Self> {
        let undeclared = |l: &Self| card.is_some_and(|card| l.declared(card).is_none());
        let all = match binding {
            Binding::JsonRpc => vec![Self::HttpJson, Self::V0_3],
            _ => vec![Self::JsonRpc],
        };
        all.into_iter().filter(undeclared).collect()
    }

    /// Its name among the variants.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::HttpJson => "HTTP+JSON",
            Self::JsonRpc => "JSONRPC",
            Self::V0_3 => "0.3",
        }
    }

    /// The variant of that name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::HttpJson, Self::JsonRpc, Self::V0_3].into_iter().find(|l| l.as_str() == text)
    }

    /// Where the card declares it.
    pub(crate) fn declared(self, served: &Value) -> Option<String> {
        let card = Card::new(served.clone());
        let is_0_3 = |text: &str| Version::parse_lenient(text) == Some(Version { major: 0, minor: 3 });
        let interfaces = card.interfaces();
        let fits = |i: &&card::Interface<'_>| match self {
            Self::HttpJson => i.binding == Some(Binding::HttpJson),
            Self::JsonRpc => i.binding == Some(Binding::JsonRpc),
            Self::V0_3 => i.version_text.is_some_and(is_0_3),
        };
        let listed = interfaces.iter().find(fits).map(|i| i.pointer.clone());
        let beside = self == Self::V0_3 && card.text("protocolVersion").is_some_and(is_0_3);
        listed.or_else(|| beside.then(|| "/protocolVersion".to_owned()))
    }

    /// The binding that an answer to it is read by.
    pub(crate) const fn binding(self) -> Binding {
        match self {
            Self::HttpJson => Binding::HttpJson,
            Self::JsonRpc | Self::V0_3 => Binding::JsonRpc,
        }
    }

    /// The read, as this binding or version has it.
    fn request(self, call: &Call) -> Result<Outbound, codec::EncodeError> {
        match self {
            Self::HttpJson => Ok(Outbound { intent: None, ..http_json::encode(call) }),
            Self::JsonRpc => Ok(Outbound { intent: None, ..jsonrpc::encode(call) }),
            Self::V0_3 => {
                let Operation::GetTask { id, .. } = &call.operation else {
                    return codec::encode(&Binding::JsonRpc, call);
                };
                let body = json!({"jsonrpc": "2.0", "id": call.id, "method": "tasks/get", "params": {"id": id}});
                // callers of 0.3 send no version
                let call = Call { version: None, ..call.clone() };
                Ok(jsonrpc::raw(&call, Bytes::from(body.to_string()), None))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_is_not_looked_for() {
        let card = |binding: &str, version: &str| json!({"supportedInterfaces": [{"url": "https://a/rpc", "protocolBinding": binding, "protocolVersion": version}]});
        let at = |binding, card: Value| LookedFor::at(&binding, Some(&card));
        assert_eq!(at(Binding::JsonRpc, card("JSONRPC", "1.0")), [LookedFor::HttpJson, LookedFor::V0_3]);
        assert_eq!(at(Binding::JsonRpc, card("HTTP+JSON", "0.3")), []);
        assert_eq!(at(Binding::HttpJson, card("HTTP+JSON", "1.0")), [LookedFor::JsonRpc]);
        assert_eq!(LookedFor::at(&Binding::JsonRpc, None), []);
    }

    #[test]
    fn the_root_is_of_the_same_origin() {
        let at = |url: &str| Target { id: "t".into(), url: url.to_owned(), carrier: Carrier::Http };
        assert_eq!(root(&at("https://a.test:8443/x/rpc?k=1")).unwrap().url, "https://a.test:8443/");
        assert_eq!(root(&at("https://a.test/")), None);
    }
}
