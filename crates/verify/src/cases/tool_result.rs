//! A tool's answer that a case holds, judged by the tool's output schema: proves that the judge catches it, without any
//! target.

use ostiary_contract::{Case, CaseKind, JudgeCase, file::case::ExpectedResult};
use ostiary_record::{Finding, ReasonCode};

use crate::{
    cases::{
        document,
        expect::{Yielded, compare},
    },
    facts::Facts,
    schema_cost,
};

/// What the structured content of an answer is called in details when it is wrong as a whole.
const ROOT: &str = "structured_content";

pub(super) fn execute(facts: &Facts<'_>, case: &Case) -> Vec<Finding> {
    let CaseKind::Judge(judge) = &case.kind else { return Vec::new() };
    let finding = match yielded(facts, judge) {
        Ok(yielded) => compare(facts, &judge.expect, &yielded, document(facts, case)),
        Err((reason, what, remedy)) => facts.inconclusive(reason, what, remedy),
    };
    vec![finding]
}

fn yielded(facts: &Facts<'_>, case: &JudgeCase) -> Result<Yielded, (ReasonCode, String, String)> {
    let name = case.when.tool_name().map(|n| n.value.as_str()).unwrap_or_default();
    let missing =
        |what: &str, remedy: &str| (ReasonCode::ObservationIncomplete, format!("{what}:{name}"), remedy.to_owned());
    let (_, tool) =
        facts.bundle().tool(name).ok_or_else(|| missing("tool", "no snapshot of the bundle has this tool"))?;
    if case.observed.is_error == Some(true) {
        return Ok(of(ExpectedResult::NotApplicable, Vec::new()));
    }
    let schema = tool.output_schema.as_ref();
    let schema = schema.ok_or_else(|| missing("outputSchema", "the tool declares no output schema to judge by"))?;
    let Some(content) = &case.observed.structured_content else {
        return Ok(of(ExpectedResult::Fail, vec![format!("{ROOT}_is_required")]));
    };
    let found = schema_cost::check(facts.bundle(), schema, content, ROOT)
        .map_err(|u| (u.reason(), format!("outputSchema:{name}"), u.why()))?;
    let details: Vec<String> = found.into_iter().map(|v| v.detail).collect();
    Ok(of(if details.is_empty() { ExpectedResult::Pass } else { ExpectedResult::Fail }, details))
}

fn of(result: ExpectedResult, details: Vec<String>) -> Yielded {
    let reason = (result == ExpectedResult::Fail).then(|| ReasonCode::OutputSchemaViolation.as_str().to_owned());
    Yielded {
        result: Some(result),
        reasons: Some(reason.into_iter().collect()),
        details: Some(details),
        ..Yielded::default()
    }
}
