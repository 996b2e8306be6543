//! "Accepted by the protocol" and "the business operation succeeded" are two facts (E-05): every finding about an exchange
//! says both, whether its check thought of it or not.

use std::collections::BTreeMap;

use ostiary_protocol::a2a::{Answer, StreamItem, TaskState};
use ostiary_record::{EventRef, Finding, Verdict};

use crate::{
    answers::{self, Answered},
    facts::Facts,
};

/// The two facts of an exchange.
type Told = (bool, &'static str);

/// Puts both facts into findings; recordings are read once.
pub(super) struct Outcomes<'f, 'a> {
    facts: &'f Facts<'a>,
    read: BTreeMap<u32, BTreeMap<u64, Told>>,
}

// === impl Outcomes ===

impl<'f, 'a> Outcomes<'f, 'a> {
    pub(super) const fn of(facts: &'f Facts<'a>) -> Self {
        Self { facts, read: BTreeMap::new() }
    }

    /// The finding with both facts, where it is about an exchange that was answered and does not say them itself.
    pub(super) fn told(&mut self, finding: Finding) -> Finding {
        let Some(exchange) = finding.place.exchange.filter(|_| finding.protocol_accepted.is_none()) else {
            return finding;
        };
        // citations name the recording that the exchange is of; without any it is the only one of the unit
        let cited = cited(&finding).map(|c| c.recording);
        let only = || Some(self.facts.tapes().first()?.index).filter(|_| self.facts.tapes().len() == 1);
        let Some(recording) = cited.or_else(only) else { return finding };
        match self.of_recording(recording).get(&exchange) {
            Some((accepted, outcome)) => finding.with_business(*accepted, *outcome),
            None => finding,
        }
    }

    fn of_recording(&mut self, index: u32) -> &BTreeMap<u64, Told> {
        let facts = self.facts;
        self.read.entry(index).or_insert_with(|| {
            let tape = facts.tapes().iter().find(|t| t.index == index);
            let read = tape.map(|tape| answers::on(facts, *tape)).unwrap_or_default();
            read.iter().filter_map(|a| Some((a.exchange.id.0, facts_of(a)?))).collect()
        })
    }
}

/// Both facts of an answer; `None` = there is none that says them. Only a task says how the work went.
fn facts_of(answered: &Answered<'_>) -> Option<Told> {
    match &answered.reply.first()?.answer {
        Answer::Malformed(_) => None,
        Answer::Error(_) => Some((false, "failed")),
        Answer::Result(_) => Some((true, state(answered).map_or("unknown", business))),
    }
}

fn state(answered: &Answered<'_>) -> Option<TaskState> {
    if matches!(answered.operation(), "GetTask" | "CancelTask") {
        return answered.task()?.0.state();
    }
    let items = answered.reply.stream_items().filter_map(|(_, item)| item.ok());
    items.filter_map(|item: StreamItem<'_>| item.status()?.state()).last()
}

const fn business(state: TaskState) -> &'static str {
    match state {
        TaskState::Completed => "succeeded",
        TaskState::Failed | TaskState::Canceled | TaskState::Rejected => "failed",
        _ => "unknown",
    }
}

fn cited(finding: &Finding) -> Option<&EventRef> {
    match &finding.verdict {
        Verdict::Pass { seen: refs } | Verdict::Fail { at: refs, .. } => refs.as_slice().first(),
        Verdict::Inconclusive { .. } | Verdict::NotApplicable { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use crate::testing::{Edit, World};

    #[test]
    fn every_finding_about_an_answered_exchange_says_both() {
        let report = World::honest().drive().report();
        let about = |f: &&ostiary_record::FindingLine| f.finding.place.exchange.is_some();
        let silent: Vec<&str> = report
            .findings
            .iter()
            .filter(about)
            .filter(|f| f.finding.verdict.outcome() == Outcome::Pass)
            .filter(|f| f.finding.protocol_accepted.is_none() || f.finding.business_outcome.is_none())
            .map(|f| f.finding.check.0.as_str())
            .filter(|check| *check != "a2a.interface.undeclared")
            .collect();
        assert_eq!(silent, Vec::<&str>::new());
        let of = |check: &str| {
            let line = report.findings.iter().find(|f| f.finding.check.0 == check && about(f)).expect("it is judged");
            (line.finding.protocol_accepted, line.finding.business_outcome.clone().unwrap_or_default())
        };
        assert_eq!(of("a2a.skill.exercised"), (Some(true), "succeeded".to_owned()));
        assert_eq!(of("a2a.version.enforced"), (Some(false), "failed".to_owned()));
    }

    #[test]
    fn work_that_failed_was_accepted_all_the_same() {
        let failing = World::honest().drive().edit(|i| {
            let state = i.answer["result"].pointer("/task/status/state").is_some();
            if state && i.operation == "SendMessage" {
                i.changed(|a| a["result"]["task"]["status"]["state"] = json!("TASK_STATE_FAILED"))
            } else {
                Edit::Keep
            }
        });
        let report = failing.report();
        let told = report.findings.iter().filter(|f| f.finding.check.0 == "a2a.version.accepted");
        let told: Vec<_> = told.map(|f| (f.finding.protocol_accepted, f.finding.business_outcome.as_deref())).collect();
        assert_eq!(told, [(Some(true), Some("failed"))]);
    }
}
