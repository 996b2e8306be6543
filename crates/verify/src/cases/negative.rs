//! The standard negatives (G-01): each is executed by the scenarios that bring it about, and judged by the checks of the
//! promise it is about. One that the harness cannot bring about yet is INCONCLUSIVE and says what is missing.

use ostiary_contract::{Case, CaseKind, file::case::NegativeName};
use ostiary_record::{EventRef, Finding, Layer, Outcome, ReasonCode, Severity, Verdict};

use crate::{
    check::Check,
    facts::Facts,
    judge::{repeat, unit},
    registry::Harness,
    scenarios::{credential, duplicate, forbidden, interface, malformed, rpc, tenant, terminal, undeclared, version},
};

/// How a negative is brought about.
enum Means {
    /// By these scenarios; judged by the checks that read one of them and cover the promise.
    Driven(&'static [&'static str], &'static str),
    /// By judging the declaration; the check that covers the promise.
    Declared(&'static str),
    /// Not yet: what is missing, and why.
    Missing(ReasonCode, &'static str, &'static str),
}

const NO_MCP: Means =
    Means::Missing(ReasonCode::ScenarioNotRun, "driver:mcp", "tools are called over MCP, and there is no MCP driver");
const NO_OBSERVER: Means = Means::Missing(
    ReasonCode::ObserverMissing,
    "observer:records",
    "without an observer of records nothing can be said about effects",
);
const NO_FAULTS: Means = Means::Missing(
    ReasonCode::ScenarioNotRun,
    "faults",
    "faults of dependencies are injected by the laboratory, and no scenario uses them",
);

/// The layer that a negative belongs to.
pub(super) const fn layer(name: NegativeName) -> Layer {
    use NegativeName as N;
    match name {
        N::RequiredExtensionNotSupported => Layer::Declaration,
        N::InputSchemaBoundaryOverflow | N::OutputSchemaViolation => Layer::Schema,
        N::InvalidJsonRpcEnvelope
        | N::MalformedArtifactPart
        | N::UnsupportedProtocolVersion
        | N::UndeclaredStreamingRequest
        | N::TerminalTaskMessageAppend
        | N::McpUnknownTool
        | N::UnsupportedCapability
        | N::UndeclaredInterface
        | N::DuplicateProtocolRequest => Layer::Protocol,
        N::CrossTenantTaskAccess
        | N::ExpiredTaskCredential
        | N::FailedAuthentication
        | N::ForbiddenResourceSameTenant => Layer::Authorization,
        N::CancelDuringSideEffect
        | N::DuplicateIdempotencyKey
        | N::ReadonlyToolMutation
        | N::DependencyDown
        | N::Timeout
        | N::PartialResponse => Layer::Behavior,
    }
}

fn means(name: NegativeName) -> Means {
    use NegativeName as N;
    match name {
        N::RequiredExtensionNotSupported => Means::Declared("C-08"),
        N::InvalidJsonRpcEnvelope => Means::Driven(&[rpc::ID], "E-02"),
        N::UnsupportedProtocolVersion => Means::Driven(&[version::ID], "I-03"),
        N::UndeclaredStreamingRequest | N::UnsupportedCapability => Means::Driven(&[undeclared::STREAM], "I-05"),
        N::TerminalTaskMessageAppend => Means::Driven(&[terminal::ID], "T-04"),
        N::CrossTenantTaskAccess => Means::Driven(&[tenant::ID], "T-05"),
        N::ExpiredTaskCredential => Means::Driven(&[credential::EXPIRED], "Z-02"),
        N::FailedAuthentication => Means::Driven(&[credential::MISSING, credential::FOREIGN], "Z-02"),
        N::McpUnknownTool | N::InputSchemaBoundaryOverflow | N::OutputSchemaViolation => NO_MCP,
        N::MalformedArtifactPart => Means::Driven(&[malformed::ID], "E-02"),
        N::UndeclaredInterface => Means::Driven(&[interface::ID], "I-08"),
        N::DuplicateProtocolRequest => Means::Driven(&[duplicate::ID], "F-04"),
        N::ForbiddenResourceSameTenant => Means::Driven(&[forbidden::ID], "Z-01"),
        N::CancelDuringSideEffect | N::DuplicateIdempotencyKey | N::ReadonlyToolMutation => NO_OBSERVER,
        N::DependencyDown | N::Timeout | N::PartialResponse => NO_FAULTS,
    }
}

/// The scenarios that bring a negative about.
pub(crate) fn scenarios_of(case: &Case) -> &'static [&'static str] {
    match &case.kind {
        CaseKind::Negative(name) => match means(*name) {
            Means::Driven(ids, _) => ids,
            Means::Declared(_) | Means::Missing(..) => &[],
        },
        CaseKind::Judge(_) | CaseKind::Live(_) => &[],
    }
}

pub(super) fn execute(facts: &Facts<'_>, case: &Case) -> Vec<Finding> {
    let CaseKind::Negative(name) = &case.kind else { return Vec::new() };
    if let Means::Missing(reason, what, why) = means(*name) {
        return vec![facts.inconclusive(reason, what, why)];
    }
    let checks = checks_of(facts.scene.harness, *name);
    if checks.is_empty() {
        let remedy = "this harness has no check for it";
        return vec![facts.inconclusive(ReasonCode::ScenarioNotRun, format!("check:{name}"), remedy)];
    }
    let findings: Vec<Finding> = checks.into_iter().flat_map(|check| findings_of(facts, check)).collect();
    vec![summary(facts, &findings)]
}

/// The checks of the promise that a negative is about, in its layer.
fn checks_of(harness: &Harness, name: NegativeName) -> Vec<&dyn Check> {
    let about = |check: &&dyn Check| {
        let spec = check.spec();
        let own = spec.id.starts_with("case.");
        let hit = match means(name) {
            Means::Driven(ids, req) => {
                spec.covers.contains(&req) && ids.iter().any(|id| spec.reads.scenarios().contains(id))
            }
            Means::Declared(req) => spec.covers.contains(&req),
            Means::Missing(..) => false,
        };
        // an undeclared interface is a fault of the card that only calls bring to light
        let placed = spec.layer == layer(name) || name == NegativeName::UndeclaredInterface;
        !own && hit && placed && spec.severity == Severity::Error
    };
    harness.checks().filter(about).collect()
}

fn findings_of(facts: &Facts<'_>, check: &dyn Check) -> Vec<Finding> {
    let units = unit::units(facts.scene, check.spec());
    let mine = units.iter().filter(|u| u.profile.as_ref() == facts.profile());
    mine.flat_map(|unit| repeat::judge_unit(facts.scene, check, unit)).collect()
}

/// One finding for all that the checks say: the worst of them, with its evidence.
fn summary(facts: &Facts<'_>, findings: &[Finding]) -> Finding {
    // a check that only warns has found another reading of the specification, and the negative was refused by that
    let warns = |f: &&Finding| f.severity != Severity::Error && f.verdict.outcome() == Outcome::Fail;
    let counted = || findings.iter().filter(|f| !warns(f));
    let worst = counted().map(|f| f.verdict.outcome()).reduce(Outcome::worst);
    let deciding: Vec<&Finding> = counted().filter(|f| Some(f.verdict.outcome()) == worst).collect();
    let warned: Vec<EventRef> = findings.iter().filter(warns).flat_map(events).collect();
    if matches!(worst, None | Some(Outcome::Pass)) && !warned.is_empty() {
        let cited = deciding.iter().flat_map(|f| events(f)).chain(warned).collect();
        return facts.pass(cited).with_message("the negative is caught, by another reading of the specification");
    }
    let cited: Vec<EventRef> = deciding.iter().flat_map(|f| events(f)).collect();
    let Some(first) = deciding.first() else {
        return facts.inconclusive(ReasonCode::ScenarioNotRun, "check", "no check judged it for this profile");
    };
    match &first.verdict {
        Verdict::Pass { .. } => facts.pass(cited).with_message("the negative is caught"),
        Verdict::Fail { reason, expected, observed, .. } => {
            let observed = format!("{reason} by {}: {observed}", first.check);
            facts.fail(ReasonCode::CaseExpectationFailed, cited, expected.clone(), observed)
        }
        Verdict::Inconclusive { reason, missing } => {
            let (reason, missing) = (*reason, missing.first());
            facts.inconclusive(reason, missing.what.clone(), missing.remedy.clone())
        }
        Verdict::NotApplicable { because, .. } => {
            facts.not_applicable(because.document.clone(), because.pointer.clone())
        }
    }
}

fn events(finding: &Finding) -> Vec<EventRef> {
    match &finding.verdict {
        Verdict::Pass { seen: refs } | Verdict::Fail { at: refs, .. } => refs.as_slice().to_vec(),
        Verdict::Inconclusive { .. } | Verdict::NotApplicable { .. } => Vec::new(),
    }
}
