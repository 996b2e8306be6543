//! `a2a.task.context`: a task belongs to one context from its beginning to its end, and to the one that its sender named
//! (A-05, T-01; §3.4.1).

use std::collections::BTreeMap;

use ostiary_protocol::a2a::{StreamItem, TaskView};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Seq, Severity};
use serde_json::Value;

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input},
    facts::Facts,
    protocol::machine::TASKS,
};

/// The check.
pub(super) struct TaskContext;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.task.context",
    version: 1,
    summary: "All that is said of a task names its one context, and a context that the sender names is kept.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["A-05", "T-01"],
    reads: TASKS,
    depends: &[Input::Candidate],
    reasons: &[ReasonCode::TaskContextChanged, ReasonCode::ResponseMalformed],
    severity: Severity::Error,
    liar: "a_context_that_changes_is_caught",
};

impl Check for TaskContext {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let mut known = Known::default();
        let all = answers::all(facts);
        let mut out: Vec<Finding> = all.iter().flat_map(|a| said(a).into_iter().map(move |s| (a, s))).fold(
            Vec::new(),
            |mut out, (answered, said)| {
                out.extend(known.hear(facts, answered, said));
                out
            },
        );
        out.extend(all.iter().filter_map(|a| replaced(facts, a)));
        if known.contexts.is_empty() && out.is_empty() {
            return vec![answers::no_task(facts)];
        }
        if out.iter().all(|f| f.severity != Severity::Error) {
            out.extend(known.missing(facts));
            out.push(facts.pass(answers::some_of(known.seen)));
        }
        out
    }
}

/// What one item says of a task.
struct Said {
    seq: Seq,
    task: String,
    context: Option<String>,
    /// Whether it is an update, which must name its context.
    update: bool,
}

/// The context of each task of a recording, where it was first named.
#[derive(Default)]
struct Known {
    contexts: BTreeMap<(u32, String), (String, EventRef)>,
    seen: Vec<EventRef>,
    unnamed: Vec<(EventRef, ostiary_record::ExchangeId)>,
}

// === impl Known ===

impl Known {
    fn hear(&mut self, facts: &Facts<'_>, answered: &Answered<'_>, said: Said) -> Option<Finding> {
        let at = answered.tape.cite(said.seq);
        let Some(context) = said.context.filter(|c| !c.is_empty()) else {
            if said.update {
                self.unnamed.push((at, answered.exchange.id));
            }
            return None;
        };
        self.seen.push(at.clone());
        let (first, where_first) =
            self.contexts.entry((answered.tape.index, said.task)).or_insert_with(|| (context.clone(), at.clone()));
        if *first == context {
            return None;
        }
        let (expected, observed) = (format!("the context `{first}` of the task"), format!("`{context}`"));
        let cited = vec![where_first.clone(), at];
        let finding = facts.fail(ReasonCode::TaskContextChanged, cited, expected, observed);
        Some(finding.at_exchange(answered.exchange.id))
    }

    /// A warning for updates that name no context: the specification requires it, and no reader is misled.
    fn missing(&self, facts: &Facts<'_>) -> Option<Finding> {
        let (at, x) = self.unnamed.first()?;
        let expected = "the `contextId` of the task in each update";
        let observed = format!("{} updates without it", self.unnamed.len());
        let finding = facts.fail(ReasonCode::ResponseMalformed, vec![at.clone()], expected, observed);
        Some(finding.at_exchange(*x).as_severity(Severity::Warning))
    }
}

fn said(answered: &Answered<'_>) -> Vec<Said> {
    let of_task = |seq, task: TaskView<'_>| Said {
        seq,
        task: task.id().to_owned(),
        context: task.context_id().map(str::to_owned),
        update: false,
    };
    if matches!(answered.operation(), "GetTask" | "CancelTask") {
        return answered.task().map(|(task, seq)| of_task(seq, task)).into_iter().collect();
    }
    let item = |(seq, item): (Seq, StreamItem<'_>)| {
        let of_update = |update: &Value| {
            let text = |name: &str| update.get(name).and_then(Value::as_str).map(str::to_owned);
            Some(Said { seq, task: text("taskId")?, context: text("contextId"), update: true })
        };
        match item {
            StreamItem::Task(task) => Some(of_task(seq, task)),
            StreamItem::StatusUpdate(update) => of_update(update.0),
            StreamItem::ArtifactUpdate(update) => of_update(update.0),
            StreamItem::Message(_) => None,
        }
    };
    answered.reply.stream_items().filter_map(|(seq, i)| item((seq, i.ok()?))).collect()
}

/// A context that the sender chose may be refused with an error; it is not replaced in silence.
fn replaced(facts: &Facts<'_>, answered: &Answered<'_>) -> Option<Finding> {
    if !answered.operation().starts_with("Send") {
        return None;
    }
    let request = answered.request();
    let asked = request.pointer("/message/contextId").and_then(Value::as_str).filter(|c| !c.is_empty())?;
    let (value, seq) = answered.reply.result()?;
    let got = match StreamItem::read(value).ok()? {
        StreamItem::Task(task) => task.context_id(),
        StreamItem::Message(message) => message.get("contextId").and_then(Value::as_str),
        StreamItem::StatusUpdate(_) | StreamItem::ArtifactUpdate(_) => None,
    };
    let got = got.filter(|got| !got.is_empty() && *got != asked)?;
    let (expected, observed) = (format!("the context `{asked}` of the sender, or a refusal"), format!("`{got}`"));
    let cited = vec![answered.tape.cite(answered.exchange.sent.seq), answered.tape.cite(seq)];
    let finding = facts.fail(ReasonCode::TaskContextChanged, cited, expected, observed);
    Some(finding.at_exchange(answered.exchange.id))
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::{
        scenarios::ids,
        testing::{Edit, World, caught, is, passes, warnings},
    };

    #[test]
    fn tasks_of_one_context_pass() {
        passes(&TaskContext, &World::honest().drive());
    }

    #[test]
    fn a_context_that_changes_is_caught() {
        let changes = World::honest().drive().edit(|i| {
            let update = i.operation == "SendStreamingMessage" && i.is("artifactUpdate");
            if update { i.changed(|a| a["result"]["artifactUpdate"]["contextId"] = json!("other")) } else { Edit::Keep }
        });
        caught(&TaskContext, &changes, ReasonCode::TaskContextChanged);
        let read = World::honest().drive().edit(|i| {
            if i.operation == "GetTask" { i.changed(|a| a["result"]["contextId"] = json!("other")) } else { Edit::Keep }
        });
        caught(&TaskContext, &read, ReasonCode::TaskContextChanged);
    }

    #[test]
    fn a_context_of_the_sender_that_is_replaced_is_caught() {
        let replaced = World::honest().drive().edit(|i| {
            let named = i.scenario == ids::ID && !i.request["params"]["message"]["contextId"].is_null();
            if named && i.is("task") {
                return i.changed(|a| a["result"]["task"]["contextId"] = json!("mine"));
            }
            Edit::Keep
        });
        caught(&TaskContext, &replaced, ReasonCode::TaskContextChanged);
    }

    #[test]
    fn updates_that_name_no_context_are_warned_about() {
        let unnamed = World::honest().drive().edit(|i| {
            if i.is("statusUpdate") {
                i.changed(|a| a["result"]["statusUpdate"]["contextId"] = json!(""))
            } else {
                Edit::Keep
            }
        });
        passes(&TaskContext, &unnamed);
        assert_eq!(warnings(&TaskContext, &unnamed), [ReasonCode::ResponseMalformed]);
    }

    #[test]
    fn an_agent_of_messages_only_has_no_tasks() {
        let mut world = World::honest();
        world.makes_tasks = false;
        is(&TaskContext, &world.drive(), Outcome::NotApplicable);
    }
}
