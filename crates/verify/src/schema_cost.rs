//! Validation with a bound: the only way in which a value of somebody else's meets a schema (J-04).
//!
//! A validator has no bound of its own, and both schema and value may be hostile: a recursive schema with two alternatives
//! doubles its work with each level of the value. So the work is counted first, and what is too much is left undecided.

use ostiary_contract::Bundle;
use ostiary_record::{Finding, ReasonCode};
use serde_json::Value;

use crate::{
    facts::Facts,
    schema_detail::{Violation, violations},
};

/// Most steps of one validation: well below a second, and a hundred times what the largest honest value needs.
const MOST_STEPS: u64 = 500_000;

/// Why it is not known whether a value satisfies a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Undecided {
    /// The schema does not compile.
    NoSchema(String),
    /// The validation would take too long.
    TooCostly,
    /// A pattern could not be matched to its end.
    Pattern,
}

/// How a value violates a schema of the bundle; empty when it does not.
pub(crate) fn check(bundle: &Bundle, schema: &Value, value: &Value, root: &str) -> Result<Vec<Violation>, Undecided> {
    if bundle.validation_steps(schema, value, MOST_STEPS).is_none() {
        return Err(Undecided::TooCostly);
    }
    let validator = bundle.validator(schema).map_err(|error| Undecided::NoSchema(error.to_string()))?;
    violations(&validator, value, root).ok_or(Undecided::Pattern)
}

// === impl Undecided ===

impl Undecided {
    /// The reason that stands in the report.
    pub(crate) const fn reason(&self) -> ReasonCode {
        match self {
            Self::NoSchema(_) => ReasonCode::ObservationIncomplete,
            Self::TooCostly | Self::Pattern => ReasonCode::BudgetExceeded,
        }
    }

    /// What is wrong, for people.
    pub(crate) fn why(&self) -> String {
        match self {
            Self::NoSchema(problem) => problem.clone(),
            Self::TooCostly => format!("validating this value takes more than {MOST_STEPS} steps"),
            Self::Pattern => "a pattern of the schema steps back too often on this value".to_owned(),
        }
    }

    /// The finding of a check that needed to know; `what` names the schema.
    pub(crate) fn finding(&self, facts: &Facts<'_>, what: &str) -> Finding {
        facts.inconclusive(self.reason(), format!("schema:{what}"), self.why())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::World;

    fn checked(schema: &Value, value: &Value) -> Result<Vec<Violation>, Undecided> {
        check(&World::honest().bundle(), schema, value, "value")
    }

    #[test]
    fn a_recursive_schema_and_a_deep_value_are_left_undecided_at_once() {
        let schema = json!({"anyOf": [
            {"properties": {"next": {"$ref": "#"}}, "required": ["a"]},
            {"properties": {"next": {"$ref": "#"}}, "required": ["b"]}
        ]});
        let deep = (0..60).fold(json!({}), |inner, _| json!({"next": inner}));
        assert_eq!(checked(&schema, &deep), Err(Undecided::TooCostly));
        assert_eq!(Undecided::TooCostly.reason(), ReasonCode::BudgetExceeded);
        let shallow = checked(&schema, &json!({"next": {}})).expect("cheap");
        assert_eq!(shallow.len(), 1, "an honest twin is judged: {shallow:?}");
    }

    #[test]
    fn a_pattern_that_does_not_come_to_its_end_is_no_violation() {
        let schema = json!({"pattern": "^(a|a)*\\1b"});
        let hostile = json!(format!("{}!", "a".repeat(60)));
        assert_eq!(checked(&schema, &hostile), Err(Undecided::Pattern));
        assert_eq!(checked(&schema, &json!("aab")), Ok(vec![]));
        assert_eq!(checked(&schema, &json!("x")).map(|v| v.len()), Ok(1));
    }

    #[test]
    fn a_schema_that_does_not_compile_decides_nothing() {
        assert!(matches!(checked(&json!({"type": 3}), &json!(1)), Err(Undecided::NoSchema(_))));
    }
}
