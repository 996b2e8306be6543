//! The combinations in which a contract's operations are tried: axes from card, contract and environment, constraints as
//! data, rows by the contract's policy (O-01).
//!
//! Operations are put together by risk, since the policy speaks of risks. Authorization and tenant class come from the
//! profiles to be activated; approvals and consumers have their axis and one value, until something can drive more.

use std::collections::BTreeSet;

use ostiary_canon::Profile;
use ostiary_contract::file::{
    coverage::OperationCoverage,
    operations::{Approval, Operation, Risk},
};
use ostiary_protocol::a2a::{Card, card::Capability};
use ostiary_record::Axes;

use crate::{
    coverage::{
        covering::{Covering, Demand, cover, product},
        space::{Constraint, Row, Rule, Space, SpaceError},
    },
    plan::PlanInput,
    scenarios::example::{self, Example},
};

/// The binding, as profiles name it: `a2a-grpc`.
pub(crate) const BINDING: &str = "binding";
/// The protocol version: `1.0`.
pub(crate) const VERSION: &str = "version";
/// The authorization profile.
pub(crate) const AUTHORIZATION: &str = "authorization";
/// The tenant class.
pub(crate) const TENANT_CLASS: &str = "tenant_class";
/// How the answer is waited for.
pub(crate) const MODE: &str = "mode";
/// How much of the history is asked for: the boundaries of `historyLength`.
pub(crate) const HISTORY: &str = "history";
/// Whether the message goes on with a conversation.
pub(crate) const CONTEXT: &str = "context";
/// Whether the caller says which media types it takes.
pub(crate) const OUTPUT: &str = "output";
/// Whether a person has agreed.
pub(crate) const APPROVAL: &str = "approval";
/// For whom it is tried.
pub(crate) const CONSUMER: &str = "consumer";
/// The axes that a profile is made of.
const PROFILE: [&str; 4] = [BINDING, VERSION, AUTHORIZATION, TENANT_CLASS];
/// The axes that variants carry; the others are in the profile, or have no driver yet.
const DRIVEN: [&str; 5] = [example::AXIS, MODE, HISTORY, CONTEXT, OUTPUT];

/// What an operation may do, as the contract says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RiskClass {
    /// It looks.
    Read,
    /// It adds or changes; or nobody says, and the careful reading holds.
    Write,
    /// It removes.
    Destructive,
}

/// The combinations of the operations of one risk.
pub(crate) struct Matrix {
    /// The risk.
    pub(crate) risk: RiskClass,
    /// The skills.
    pub(crate) operations: Vec<String>,
    /// How the rows are chosen.
    pub(crate) policy: OperationCoverage,
    /// The axes and constraints.
    pub(crate) space: Space,
    /// What the rows must hold.
    pub(crate) demand: Demand,
    /// The rows, or why there are none.
    pub(crate) covering: Result<Covering, SpaceError>,
    /// Whether the environment clears the risk.
    pub(crate) cleared: bool,
}

/// One matrix for each risk that some example has; none where no interface can be driven.
pub(crate) fn matrices(input: &PlanInput<'_>) -> Vec<Matrix> {
    let profiles: Vec<Profile> =
        input.each_profile().iter().filter_map(|a| a.profile.as_deref()?.parse().ok()).collect();
    if profiles.is_empty() {
        return Vec::new();
    }
    let examples = example::examples(input.bundle, input.discovered.card.as_ref());
    let of = |risk: RiskClass| {
        let own: Vec<&Example> = examples.iter().filter(|e| class_of(input, e) == risk).collect();
        (!own.is_empty()).then(|| matrix(input, risk, &profiles, &own))
    };
    [RiskClass::Read, RiskClass::Write, RiskClass::Destructive].into_iter().filter_map(of).collect()
}

/// The variants to drive. What writes and is not cleared is held back by the plan; what destroys is not even planned.
pub(crate) fn variants(input: &PlanInput<'_>) -> Vec<Axes> {
    let matrices = matrices(input);
    let cleared = matrices.iter().filter(|m| m.cleared || m.risk != RiskClass::Destructive);
    cleared.filter_map(|m| m.covering.as_ref().ok()).flat_map(|c| &c.rows).map(axes_of).collect()
}

/// The variant of a row.
pub(crate) fn axes_of(row: &Row) -> Axes {
    let of = |axis: &str| row.get(axis).map_or("", String::as_str);
    let bare = of(AUTHORIZATION) == Profile::DEFAULT && of(TENANT_CLASS) == Profile::DEFAULT;
    let protocol = format!("{}-{}", of(BINDING), of(VERSION));
    let named = || format!("{protocol}/{}/{}", of(AUTHORIZATION), of(TENANT_CLASS));
    let profile = if bare { protocol.clone() } else { named() };
    let values = DRIVEN.iter().filter_map(|axis| Some(((*axis).to_owned(), row.get(*axis)?.clone()))).collect();
    Axes { profile: Some(profile), values, ..Axes::default() }
}

// === impl RiskClass ===

impl RiskClass {
    /// Its name, as operations and environments have it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
        }
    }
}

fn operation<'a>(input: &PlanInput<'a>, example: &Example) -> Option<&'a Operation> {
    let skill = example.skill.as_ref()?;
    input.bundle.operations.iter().find(|o| o.skill.as_ref().is_some_and(|s| s.value == *skill))
}

fn class_of(input: &PlanInput<'_>, example: &Example) -> RiskClass {
    match operation(input, example).map(|o| o.risk) {
        Some(Risk::Read) => RiskClass::Read,
        Some(Risk::Write) | None => RiskClass::Write,
        Some(Risk::Destructive) => RiskClass::Destructive,
    }
}

fn matrix(input: &PlanInput<'_>, risk: RiskClass, profiles: &[Profile], examples: &[&Example]) -> Matrix {
    let coverage = &input.bundle.coverage;
    let policy = match risk {
        RiskClass::Read => coverage.read_only_operations,
        // what writes is as risky as what destroys, until the contract says that it only reads
        RiskClass::Write | RiskClass::Destructive => coverage.destructive_operations,
    };
    let space = constrained(axes(profiles, examples), input, profiles, examples);
    let demand = demand(policy, &space, profiles);
    // ordinary messages are sent under the clearance of writes, whatever the contract says that they do
    let needed = if risk == RiskClass::Destructive { "destructive" } else { "write" };
    Matrix {
        risk,
        operations: examples.iter().filter_map(|e| e.skill.clone()).collect::<BTreeSet<_>>().into_iter().collect(),
        policy,
        covering: demand.clone().and_then(|demand| cover(&space, &demand, input.seed)),
        demand: demand.unwrap_or_default(),
        space,
        cleared: input.environment.cleared_effects.iter().any(|e| e == needed),
    }
}

fn axes(profiles: &[Profile], examples: &[&Example]) -> Space {
    let each = |of: &dyn Fn(&Profile) -> String| profiles.iter().map(of).collect::<BTreeSet<_>>();
    let (bindings, versions) = (each(&|p| protocol(p).0), each(&|p| protocol(p).1));
    let (users, classes) = (each(&|p| p.authorization().to_owned()), each(&|p| p.tenant_class().to_owned()));
    let mut space = Space::default();
    for (name, values) in
        [(BINDING, &bindings), (VERSION, &versions), (AUTHORIZATION, &users), (TENANT_CLASS, &classes)]
    {
        space = space.axis(name, values.iter().map(String::as_str));
    }
    space
        .axis(example::AXIS, examples.iter().map(|e| e.name.as_str()))
        .axis(MODE, ["blocking", "immediate", "stream", "subscribe", "push"])
        .axis(HISTORY, ["unset", "none", "one"])
        .axis(CONTEXT, ["new", "continued"])
        .axis(OUTPUT, ["unset", "declared"])
        .axis(APPROVAL, ["none_needed", "given", "missing"])
        .axis(CONSUMER, ["harness"])
}

/// The binding and the version of a profile: `a2a-grpc`, `1.0`.
fn protocol(profile: &Profile) -> (String, String) {
    let (binding, version) = profile.protocol().rsplit_once('-').unwrap_or((profile.protocol(), ""));
    (binding.to_owned(), version.to_owned())
}

fn constrained(mut space: Space, input: &PlanInput<'_>, profiles: &[Profile], examples: &[&Example]) -> Space {
    let rows = profiles.iter().map(part_of);
    let row = |part: Row| PROFILE.iter().filter_map(|axis| part.get(*axis).cloned()).collect();
    let rule = Rule::Only { axes: PROFILE.map(str::to_owned).into(), rows: rows.map(row).collect() };
    space.constraints.push(Constraint { name: "the profile is not to be activated".to_owned(), rule });
    let card = input.discovered.card.as_ref().map(|v| Card::new(v.clone()));
    let declares = |what: Capability| card.as_ref().is_some_and(|c| c.capability(what) == Some(true));
    space = if declares(Capability::Streaming) {
        space.never("tasks of these examples are over too soon to be followed", &[(MODE, &["subscribe"])])
    } else {
        space.never("the card declares no streaming", &[(MODE, &["stream", "subscribe"])])
    };
    space = if declares(Capability::PushNotifications) {
        space.never("callbacks are driven by scenarios of their own", &[(MODE, &["push"])])
    } else {
        space.never("the card declares no push notifications", &[(MODE, &["push"])])
    };
    let guarded = |e: &&&Example| operation(input, e).is_some_and(|o| o.approval == Approval::Required);
    let (needy, free): (Vec<&Example>, Vec<&Example>) = examples.iter().copied().partition(|e| guarded(&e));
    let names = |of: &[&Example]| of.iter().map(|e| e.name.clone()).collect::<Vec<_>>();
    for (name, of) in
        [("no approval is needed", names(&free)), ("approvals are driven from a later release on", names(&needy))]
    {
        if !of.is_empty() {
            let approval = vec!["given".to_owned(), "missing".to_owned()];
            let rule = Rule::Never(vec![(example::AXIS.to_owned(), of), (APPROVAL.to_owned(), approval)]);
            space.constraints.push(Constraint { name: name.to_owned(), rule });
        }
    }
    space
}

/// What a policy demands of the rows; a row for each profile in any case, since each is judged by itself.
fn demand(policy: OperationCoverage, space: &Space, profiles: &[Profile]) -> Result<Demand, SpaceError> {
    let each_profile = profiles.iter().map(part_of);
    match policy {
        OperationCoverage::PairwisePlusBoundaries => Ok(Demand { strength: 2, parts: each_profile.collect() }),
        OperationCoverage::ExhaustiveSecurityMatrix => {
            let approvals = product(space, &[APPROVAL])?;
            let with = |part: Row| {
                approvals.iter().map(move |a| part.iter().chain(a).map(owned).collect()).collect::<Vec<Row>>()
            };
            Ok(Demand { strength: 2, parts: each_profile.flat_map(with).collect() })
        }
        OperationCoverage::Representative => {
            // the usual value of each axis, for each operation and profile; the erroneous calls are the core's
            let fixed = space.axes.iter().filter(|a| [MODE, HISTORY, CONTEXT, OUTPUT].contains(&a.name.as_str()));
            let usual: Row = fixed.map(|a| (a.name.clone(), a.values[0].clone())).collect();
            let examples = product(space, &[example::AXIS])?;
            let with = |part: Row| {
                let usual = &usual;
                examples
                    .iter()
                    .map(move |e| part.iter().chain(e).chain(usual).map(owned).collect())
                    .collect::<Vec<Row>>()
            };
            Ok(Demand { strength: 0, parts: each_profile.flat_map(with).collect() })
        }
    }
}

fn owned((axis, value): (&String, &String)) -> (String, String) {
    (axis.clone(), value.clone())
}

/// The part of a row that a profile is.
fn part_of(profile: &Profile) -> Row {
    let (binding, version) = protocol(profile);
    let values = [binding, version, profile.authorization().to_owned(), profile.tenant_class().to_owned()];
    PROFILE.iter().map(|axis| (*axis).to_owned()).zip(values).collect()
}
