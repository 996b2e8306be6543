//! What was measured, against which goals.

use std::fmt;

use serde::Serialize;

use crate::child::Costs;

/// The result of one benchmark.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Its name.
    pub bench: &'static str,
    /// The ratios.
    pub rows: Vec<Row>,
    /// Goals that are no ratios to a baseline.
    pub goals: Vec<Goal>,
    /// What holding versions costs, by size.
    pub costs: Vec<Costs>,
}

/// One case: medians of ratios to the baseline of the same round.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Versions and questions in flight: `1M/64`.
    pub case: String,
    /// `decision`: the decision alone. `shipped`: behind tokens and counters, as the product serves it.
    pub variant: &'static str,
    /// Subject's answers a second, divided by the baseline's. At least `goal_throughput`.
    pub ratio_throughput: f64,
    /// The same for the 99th percentile of the answer time.
    pub ratio_p99: f64,
    /// The same for server CPU per answer.
    pub ratio_cpu: f64,
    /// How many rounds.
    pub rounds: u32,
    /// The least `ratio_throughput` that meets the goal.
    pub goal_throughput: f64,
    /// The subject's answers a second, median; reported, not judged.
    pub throughput: f64,
    /// The subject's server CPU for one answer in microseconds, median; reported, not judged.
    pub cpu_us: f64,
}

/// One number that must not exceed its limit.
#[derive(Clone, Debug, Serialize)]
pub struct Goal {
    /// What it is.
    pub name: String,
    /// What was measured.
    pub value: f64,
    /// What it may be at most; infinite where it is only told.
    pub limit: f64,
}

// === impl Report ===

impl Report {
    /// Whether every goal is met.
    pub fn ok(&self) -> bool {
        self.rows.iter().all(Row::ok) && self.goals.iter().all(Goal::ok)
    }
}

// === impl Row ===

impl Row {
    fn ok(&self) -> bool {
        self.ratio_throughput >= self.goal_throughput
    }
}

// === impl Goal ===

impl Goal {
    fn ok(&self) -> bool {
        self.value <= self.limit
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.rows.is_empty() {
            writeln!(
                f,
                "{:<10} {:<9} {:>10} {:>6} {:>7} {:>7} {:>9} {:>7}",
                "case", "variant", "throughput", "goal", "p99", "CPU", "req/s", "CPU us"
            )?;
        }
        for row in &self.rows {
            writeln!(
                f,
                "{:<10} {:<9} {:>9.2}x {:>6.2} {:>6.2}x {:>6.2}x {:>9.0} {:>7.1}  {}",
                row.case,
                row.variant,
                row.ratio_throughput,
                row.goal_throughput,
                row.ratio_p99,
                row.ratio_cpu,
                row.throughput,
                row.cpu_us,
                verdict(row.ok()),
            )?;
        }
        for cost in &self.costs {
            writeln!(
                f,
                "{} versions: loaded in {:.2} s, {:.0} bytes each; publishing one copies {} shard of {:.0} records in \
                 {:.0} us; a decision takes {:.0} ns ({:.0} hot)",
                cost.versions,
                cost.load_seconds,
                cost.bytes_per_version,
                cost.publish_shards,
                cost.publish_records,
                cost.publish_us,
                cost.decision_ns,
                cost.decision_hot_ns,
            )?;
        }
        for goal in &self.goals {
            match goal.limit.is_finite() {
                true => {
                    writeln!(f, "{}: {:.2}, at most {:.2}  {}", goal.name, goal.value, goal.limit, verdict(goal.ok()))?
                }
                // Told and not judged: no verdict that could not have been another.
                false => writeln!(f, "{}: {:.2}", goal.name, goal.value)?,
            }
        }
        Ok(())
    }
}

const fn verdict(ok: bool) -> &'static str {
    if ok { "ok" } else { "MISSED" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(ratio: f64, value: f64) -> Report {
        let row = Row {
            case: "1M/64".to_owned(),
            variant: "decision",
            ratio_throughput: ratio,
            ratio_p99: 1.0,
            ratio_cpu: 1.0,
            rounds: 5,
            goal_throughput: 0.9,
            throughput: 10_000.0,
            cpu_us: 50.0,
        };
        let goal = Goal { name: "queries".to_owned(), value, limit: 0.0 };
        Report { bench: "check", rows: vec![row], goals: vec![goal], costs: vec![] }
    }

    #[test]
    fn one_missed_goal_fails_the_whole() {
        assert!(report(0.9, 0.0).ok());
        assert!(!report(0.89, 0.0).ok());
        assert!(!report(0.95, 1.0).ok());
        assert!(!report(f64::NAN, 0.0).ok(), "what could not be measured is no success");
        assert!(!report(0.95, f64::NAN).ok());
    }

    #[test]
    fn the_document_has_the_published_fields() {
        let json = serde_json::to_value(report(0.97, 0.0)).unwrap();
        assert_eq!(json["bench"], "check");
        for field in ["case", "variant", "ratio_throughput", "ratio_p99", "ratio_cpu", "rounds"] {
            assert!(json["rows"][0].get(field).is_some(), "{field}");
        }
    }
}
