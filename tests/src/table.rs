//! Target × check → verdict, as executed runs say it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use serde_json::Value;

/// What a check came to for one target over one binding; what weighs more comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// Exempted by a declaration.
    NotApplicable,
    /// Seen kept.
    Pass,
    /// Broken in a way that changes no verdict.
    Warning,
    /// Not told.
    Open,
    /// Broken.
    Fail,
}

/// The runs of all targets, column by column.
#[derive(Debug, Default)]
pub struct Table {
    columns: Vec<String>,
    rows: BTreeMap<String, BTreeMap<usize, Cell>>,
}

/// The bindings in the order of the columns: the slug of a profile, and the name that cards give.
const BINDINGS: [(&str, &str); 3] = [("a2a-jsonrpc", "JSON-RPC"), ("a2a-http-json", "HTTP+JSON"), ("a2a-grpc", "gRPC")];

// === impl Cell ===

impl Cell {
    /// What a finding says; none where it says nothing that is known here.
    fn of(finding: &Value) -> Option<Self> {
        match (finding["verdict"].as_str()?, finding["severity"].as_str()) {
            ("NOT_APPLICABLE", _) => Some(Self::NotApplicable),
            ("PASS", _) => Some(Self::Pass),
            ("FAIL", Some("error")) => Some(Self::Fail),
            ("FAIL", _) => Some(Self::Warning),
            ("INCONCLUSIVE", _) => Some(Self::Open),
            _ => None,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::NotApplicable => "–",
            Self::Pass => "pass",
            Self::Warning => "warn",
            Self::Open => "open",
            Self::Fail => "**FAIL**",
        }
    }
}

// === impl Table ===

impl Table {
    /// Adds a target's report: a column for each binding that its profiles speak.
    pub fn add(&mut self, target: &str, report: &Value) {
        for (slug, binding) in BINDINGS {
            let own = |profile: &Value| profile.as_str().is_some_and(|p| p.starts_with(slug));
            let findings = report["findings"].as_array();
            if !findings.into_iter().flatten().any(|finding| own(&finding["profile"])) {
                continue;
            }
            let column = self.columns.len();
            self.columns.push(format!("{target}<br>{binding}"));
            for finding in findings.into_iter().flatten() {
                let here = finding["profile"].is_null() || own(&finding["profile"]);
                let (Some(check), Some(cell), true) = (finding["check"].as_str(), Cell::of(finding), here) else {
                    continue;
                };
                let row = self.rows.entry(check.to_owned()).or_default();
                row.entry(column).and_modify(|known| *known = cell.max(*known)).or_insert(cell);
            }
        }
    }

    /// As Markdown: a row for each check that at least one target is not exempted from.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text =
            format!("| check | {} |\n|---|{}\n", self.columns.join(" | "), "---|".repeat(self.columns.len()));
        for (check, cells) in &self.rows {
            if cells.values().all(|cell| *cell == Cell::NotApplicable) {
                continue;
            }
            let shown = (0..self.columns.len()).map(|n| cells.get(&n).map_or("", |cell| cell.as_str()));
            let _ = writeln!(text, "| {check} | {} |", shown.collect::<Vec<_>>().join(" | "));
        }
        text
    }
}

/// The codes that a report's broken promises have, those that only warn included.
#[must_use]
pub fn codes(report: &Value) -> BTreeSet<String> {
    let findings = report["findings"].as_array().into_iter().flatten();
    findings.filter(|f| f["verdict"] == "FAIL").filter_map(|f| f["reason_code"].as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_worst_of_a_checks_findings_is_shown_for_the_bindings_that_it_is_about() {
        let finding = |check: &str, profile: Value, verdict: &str, severity: &str| json!({"check": check, "profile": profile, "verdict": verdict, "severity": severity});
        let mut table = Table::default();
        table.add(
            "one",
            &json!({"findings": [
                finding("a", Value::Null, "PASS", "error"),
                finding("b", json!("a2a-jsonrpc-1.0/user/standard"), "FAIL", "error"),
                finding("b", json!("a2a-jsonrpc-1.0/user/standard"), "PASS", "error"),
                finding("b", json!("a2a-grpc-1.0"), "FAIL", "warning"),
                finding("c", Value::Null, "NOT_APPLICABLE", "error"),
            ]}),
        );
        let rows = ["| check | one<br>JSON-RPC | one<br>gRPC |", "|---|---|---|", "| a | pass | pass |"];
        assert_eq!(table.markdown(), format!("{}\n| b | **FAIL** | warn |\n", rows.join("\n")));
    }
}
