//! The same agent, verified again and again: what every run must say alike.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use serde_json::Value;

/// What one run says: check, profile, case, severity, verdict, reason, each once.
type Said = BTreeSet<[String; 6]>;

/// What a report says, without counts, times and texts.
#[must_use]
pub fn said(report: &Value) -> Said {
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or("–").to_owned();
    let keys = ["check", "profile", "case", "severity", "verdict", "reason_code"];
    let findings = report["findings"].as_array().into_iter().flatten();
    findings.map(|finding| keys.map(|key| text(finding, key))).collect()
}

/// What of two runs flipped, in words; empty when they say the same.
#[must_use]
pub fn flips(first: &Said, later: &Said) -> Vec<String> {
    let told = |sign: &str, only: BTreeSet<&[String; 6]>| {
        only.into_iter().map(|row| format!("{sign} {}", row.join(" "))).collect::<Vec<_>>()
    };
    let (gone, new) = (first.difference(later).collect(), later.difference(first).collect());
    [told("-", gone), told("+", new)].concat()
}

/// Runs `verify` so often, and compares each run with the first.
///
/// # Errors
/// What flipped, in which run; or when a run fails.
pub fn repeated(agent: &str, times: u32, mut verify: impl FnMut() -> Result<Value>) -> Result<()> {
    let first = said(&verify()?);
    ensure!(!first.is_empty(), "{agent}: a report without findings says nothing");
    for run in 2..=times {
        let flips = flips(&first, &said(&verify()?));
        ensure!(flips.is_empty(), "{agent}: run {run} of {times} is not like the first:\n  {}", flips.join("\n  "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(verdict: &str) -> Value {
        json!({"findings": [
            {"check": "a", "profile": "p", "case": null, "severity": "error", "verdict": verdict, "reason_code": null},
        ]})
    }

    #[test]
    fn a_verdict_that_flips_is_shown() {
        let mut runs = ["PASS", "PASS", "INCONCLUSIVE"].into_iter();
        let flipped = repeated("agent", 3, || Ok(report(runs.next().unwrap_or("PASS")))).unwrap_err().to_string();
        assert!(flipped.contains("run 3 of 3") && flipped.contains("- a p – error PASS –"), "{flipped}");
        assert!(flipped.contains("+ a p – error INCONCLUSIVE –"), "{flipped}");
        assert!(repeated("agent", 3, || Ok(report("PASS"))).is_ok());
        assert!(repeated("agent", 3, || Ok(json!({"findings": []}))).is_err());
    }
}
