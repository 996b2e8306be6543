//! `errors.yaml`: each error contract, judged on the refusals that the scenarios recorded (E-01). Message texts are
//! never looked at.

use ostiary_contract::file::error::{ErrorContract, HttpClass, Recovery};
use ostiary_protocol::a2a::{A2aError, Answer, Binding, ErrorKind, error::RetryClass};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    refusal::{self, Refusal},
    scenarios::{extension, malformed, media_type, push, rpc, terminal, undeclared, unknown, version},
    schema_cost::{self, Undecided},
};

/// The check.
pub(super) struct ErrorContracts;

static SPEC: CheckSpec = CheckSpec {
    id: "contract.errors",
    version: 1,
    summary: "Each condition that errors.yaml names is refused as it says: error, class, retryability, data.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["E-01", "G-02"],
    reads: Reads::Any(&[
        terminal::ID,
        unknown::ID,
        version::ID,
        undeclared::STREAM,
        push::undeclared::ID,
        undeclared::EXTENDED_CARD,
        extension::ID,
        malformed::ID,
        media_type::ID,
        rpc::ID,
    ]),
    depends: &[Input::Candidate, Input::Contract],
    reasons: &[
        ReasonCode::ErrorNotRefused,
        ReasonCode::ErrorCodeMismatch,
        ReasonCode::ErrorShapeInvalid,
        ReasonCode::ResponseMalformed,
    ],
    severity: Severity::Error,
    liar: "an_altered_error_contract_is_not_kept",
};

/// How a condition of `errors.yaml` is brought about.
struct Condition {
    name: &'static str,
    scenario: &'static str,
    /// Axis and value of the variant, where the scenario has several.
    variant: Option<(&'static str, &'static str)>,
    /// The operation that is refused; empty = a raw request.
    operation: &'static str,
}

const fn condition(
    name: &'static str,
    scenario: &'static str,
    variant: Option<(&'static str, &'static str)>,
    operation: &'static str,
) -> Condition {
    Condition { name, scenario, variant, operation }
}

/// The conditions that the harness knows how to bring about.
const CONDITIONS: [Condition; 14] = [
    condition(
        "terminal_task_received_new_message",
        terminal::ID,
        Some((terminal::AXIS, terminal::MESSAGE)),
        "SendMessage",
    ),
    condition("terminal_task_canceled", terminal::ID, Some((terminal::AXIS, terminal::CANCEL)), "CancelTask"),
    condition("unknown_task", unknown::ID, None, "GetTask"),
    condition("unsupported_protocol_version", version::ID, Some((version::AXIS, version::UNSUPPORTED)), "SendMessage"),
    condition("undeclared_streaming", undeclared::STREAM, None, "SendStreamingMessage"),
    condition("undeclared_push", push::undeclared::ID, None, "CreateTaskPushNotificationConfig"),
    condition("undeclared_extended_card", undeclared::EXTENDED_CARD, None, "GetExtendedAgentCard"),
    condition("required_extension_not_named", extension::ID, None, "SendMessage"),
    condition("malformed_message", malformed::ID, None, "SendMessage"),
    condition("undeclared_media_type", media_type::ID, Some((media_type::AXIS, media_type::INPUT)), "SendMessage"),
    condition("unknown_method", rpc::ID, Some((rpc::AXIS, rpc::Wrong::Method.as_str())), ""),
    condition("invalid_params", rpc::ID, Some((rpc::AXIS, rpc::Wrong::Params.as_str())), ""),
    condition("invalid_request", rpc::ID, Some((rpc::AXIS, rpc::Wrong::Envelope.as_str())), ""),
    condition("invalid_json", rpc::ID, Some((rpc::AXIS, rpc::Wrong::Json.as_str())), ""),
];

impl Check for ErrorContracts {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let contracts = &facts.bundle().errors;
        if contracts.is_empty() {
            return vec![facts.not_applicable("errors.yaml", "/error_contract")];
        }
        contracts.iter().flat_map(|contract| of_contract(facts, contract)).collect()
    }
}

fn of_contract(facts: &Facts<'_>, contract: &ErrorContract) -> Vec<Finding> {
    let name = contract.condition.value.as_str();
    let open = |what: String, remedy: &str| {
        let finding = facts.inconclusive(ReasonCode::ScenarioNotRun, what, remedy);
        vec![finding.with_detail(name).at_pointer("errors.yaml", "/error_contract")]
    };
    let Some(condition) = CONDITIONS.iter().find(|c| c.name == name) else {
        return open(format!("condition:{name}"), "the harness does not know how to bring this condition about");
    };
    let Some(kind) = ErrorKind::named(&contract.protocol_error.value) else {
        let remedy = "the specification knows no error of this name";
        return open(format!("error:{}", contract.protocol_error.value), remedy);
    };
    let asked = refused(facts, condition);
    if asked.is_empty() {
        return open(format!("scenario:{}", condition.scenario), "the scenario was not driven so far for this profile");
    }
    let judged = asked.iter().flat_map(|answered| of_answer(facts, contract, kind, answered));
    judged.map(|f| if f.detail.is_none() { f.with_detail(name) } else { f }).collect()
}

/// The last request of each recording that meant the condition's operation.
fn refused<'a>(facts: &Facts<'a>, condition: &Condition) -> Vec<Answered<'a>> {
    let mut out: Vec<Answered<'a>> = Vec::new();
    for answered in answers::of(facts, condition.scenario) {
        let variant = condition.variant.is_none_or(|(axis, value)| answered.axis(axis) == value);
        if !variant || answered.operation() != condition.operation {
            continue;
        }
        out.retain(|before| before.tape.index != answered.tape.index);
        out.push(answered);
    }
    out
}

fn of_answer(facts: &Facts<'_>, contract: &ErrorContract, kind: ErrorKind, answered: &Answered<'_>) -> Vec<Finding> {
    let named = [kind];
    let refusal = Refusal { named: &named, tolerated: &[], served: ReasonCode::ErrorNotRefused };
    let findings = refusal::judge(facts, answered, refusal);
    let Some(Answer::Error(error)) = answered.reply.first().map(|i| &i.answer) else { return findings };
    let (data, undecided) = match data(facts, contract, error) {
        Ok(data) => (data, None),
        Err(why) => (None, Some(why.finding(facts, "data_schema").at_exchange(answered.exchange.id))),
    };
    let wrong: Vec<Wrong> = [class(facts, contract.expected_http_class, error), retry(contract, error), data]
        .into_iter()
        .flatten()
        .collect();
    if wrong.is_empty() && undecided.is_none() {
        return findings;
    }
    let fail = |(expected, observed, detail): Wrong| {
        let finding = facts.fail(ReasonCode::ErrorShapeInvalid, answered.cite(), expected, observed);
        finding.at_exchange(answered.exchange.id).with_detail(detail)
    };
    let kept = findings.into_iter().filter(|f| f.verdict.outcome() != ostiary_record::Outcome::Pass);
    kept.chain(wrong.into_iter().map(fail)).chain(undecided).collect()
}

/// What was expected, what was observed, and the stable word for it.
type Wrong = (String, String, String);

/// The class of status, where the binding has one: JSON-RPC carries its errors under any.
fn class(facts: &Facts<'_>, wanted: Option<HttpClass>, error: &A2aError) -> Option<Wrong> {
    let (wanted, status) = (wanted?, error.http_status?);
    let free = answers::binding(facts) == Binding::JsonRpc && status == 200;
    (!free && !wanted.holds(status))
        .then(|| (format!("HTTP status {wanted}"), status.to_string(), "http_class".to_owned()))
}

/// What the error says about another try, against what the contract says. An error that says nothing contradicts nobody.
fn retry(contract: &ErrorContract, error: &A2aError) -> Option<Wrong> {
    let wanted = contract.retryable || contract.recovery == Some(Recovery::Retry);
    let wrong = |expected: &str, observed: String| Some((expected.to_owned(), observed, "retryable".to_owned()));
    match error.retry_class() {
        RetryClass::Later if !wanted => {
            wrong("no invitation to retry what is not retryable", format!("{}, which says to try later", error.label()))
        }
        RetryClass::Never if wanted => {
            wrong("an error that says to try later", format!("{}, which says not to", error.label()))
        }
        _ => None,
    }
}

fn data(facts: &Facts<'_>, contract: &ErrorContract, error: &A2aError) -> Result<Option<Wrong>, Undecided> {
    let Some(name) = contract.data_schema.as_ref().map(|name| &name.value) else { return Ok(None) };
    let expected = format!("error data of schema {name}");
    let Some((_, schema)) = facts.bundle().schema(name) else {
        return Ok(Some((expected, "the bundle has no such schema".to_owned(), "data_schema".to_owned())));
    };
    let Some(details) = &error.details else {
        return Ok(Some((expected, "no data".to_owned(), "data_is_required".to_owned())));
    };
    let found = schema_cost::check(facts.bundle(), schema, details, "data")?.into_iter().next();
    Ok(found.map(|v| (expected, format!("{} at `{}`", v.detail, v.pointer), v.detail)))
}

#[cfg(test)]
mod tests {
    use ostiary_protocol::a2a::error::RETRY_INFO;
    use serde_json::json;

    use super::*;
    use crate::testing::{Edit, World, caught, passes};

    fn with_errors(text: &str) -> World {
        let mut world = World::honest();
        world.put("errors.yaml", text);
        world
    }

    const KEPT: &str = "error_contract:
  - { condition: terminal_task_received_new_message, protocol_error: UnsupportedOperationError, retryable: false, expected_http_class: 4xx }
  - { condition: unknown_task, protocol_error: TaskNotFoundError, retryable: false }
  - { condition: unsupported_protocol_version, protocol_error: VersionNotSupportedError, retryable: false }
";

    #[test]
    fn an_honest_agent_keeps_its_error_contracts() {
        passes(&ErrorContracts, &with_errors(KEPT).drive());
    }

    #[test]
    fn an_altered_error_contract_is_not_kept() {
        let altered = KEPT.replace("TaskNotFoundError", "TaskNotCancelableError");
        caught(&ErrorContracts, &with_errors(&altered).drive(), ReasonCode::ErrorCodeMismatch);
        let served = with_errors(KEPT).drive().edit(|i| {
            if i.scenario == version::ID { Edit::Replace(i.with_result(json!({"message": {}}))) } else { Edit::Keep }
        });
        caught(&ErrorContracts, &served, ReasonCode::ErrorNotRefused);
    }

    #[test]
    fn an_invitation_to_retry_what_is_not_retryable_is_caught() {
        let inviting = with_errors(KEPT).drive().edit(|i| {
            if i.scenario != unknown::ID {
                return Edit::Keep;
            }
            let data = json!([{"@type": RETRY_INFO, "retryDelay": "1s"}]);
            Edit::Replace(i.with_error(json!({"code": -32001, "message": "no", "data": data})))
        });
        caught(&ErrorContracts, &inviting, ReasonCode::ErrorShapeInvalid);
    }

    #[test]
    fn an_error_that_says_never_where_the_contract_says_later_is_caught() {
        for retryable in ["retryable: true", "retryable: false, recovery: retry"] {
            let later = KEPT.replace("TaskNotFoundError, retryable: false", &format!("TaskNotFoundError, {retryable}"));
            caught(&ErrorContracts, &with_errors(&later).drive(), ReasonCode::ErrorShapeInvalid);
        }
    }

    #[test]
    fn a_condition_that_nobody_can_bring_about_is_not_taken_for_kept() {
        let text = "error_contract: { condition: moon_is_full, protocol_error: TaskNotFoundError, retryable: false }\n";
        let findings = with_errors(text).drive().judge(&ErrorContracts);
        assert_eq!(findings[0].verdict.reason(), Some(ReasonCode::ScenarioNotRun));
    }
}
