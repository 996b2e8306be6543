//! `a2a.task.list`: a caller's tasks are listed newest first, page by page, without what they made unless that is asked for
//! (§3.1.4).

use ostiary_protocol::a2a::{Answer, ErrorKind, TaskView};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Seq, Severity};
use serde_json::Value;

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::{Facts, Tape},
    scenarios::list,
};

/// The check.
pub(super) struct TaskList;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.task.list",
    version: 1,
    summary: "Tasks are listed newest first, page by page, each once, and with artifacts only where these are asked for.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["T-07", "I-09"],
    reads: Reads::Any(&[list::ID]),
    depends: &[Input::Candidate],
    reasons: &[
        ReasonCode::TaskListInvalid,
        ReasonCode::CapabilityNotKept,
        ReasonCode::ResponseMalformed,
        ReasonCode::ErrorCodeMismatch,
    ],
    severity: Severity::Error,
    liar: "a_list_in_the_wrong_order_is_caught",
};

impl Check for TaskList {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let Some(tape) = facts.tapes().first().copied() else { return vec![answers::no_task(facts)] };
        let all = answers::of(facts, list::ID);
        let Some((Some(context), _)) = tape.recording.mark(list::CONTEXT) else {
            return vec![nothing_to_list(facts)];
        };
        let large = tape.recording.mark(list::TOO_LARGE).map(|(_, seq)| seq);
        let listed = all.iter().filter(|a| a.operation() == "ListTasks");
        let (pages, last): (Vec<_>, Vec<_>) = listed.partition(|a| large.is_none_or(|l| a.exchange.sent.seq < l));
        let made = made(&all, context);
        let mut out: Vec<Finding> = match pages.iter().find_map(|a| refused(facts, a)) {
            Some(refused) => vec![refused],
            None => lists(facts, tape, &pages, &made),
        };
        if out.iter().all(|f| f.severity != Severity::Error) {
            out.push(facts.pass(pages.iter().flat_map(|a| a.cite()).collect()));
        }
        out.extend(last.iter().filter_map(|a| too_large(facts, a)));
        out
    }
}

fn nothing_to_list(facts: &Facts<'_>) -> Finding {
    let none = answers::no_task(facts);
    if matches!(none.verdict, ostiary_record::Verdict::NotApplicable { .. }) {
        return none;
    }
    let remedy = "no two tasks of one context could be made";
    facts.inconclusive(ReasonCode::ObservationIncomplete, "tasks to list", remedy)
}

/// The ids of the tasks that this recording made, in order.
fn made(all: &[Answered<'_>], context: &str) -> Vec<String> {
    let of = |a: &Answered<'_>| {
        let value = a.reply.result()?.0.get("task")?;
        let task = TaskView::of(value).filter(|t| t.context_id() == Some(context))?;
        Some(task.id().to_owned())
    };
    all.iter().filter(|a| a.operation() == "SendMessage").filter_map(of).collect()
}

/// No capability excuses an agent from listing tasks.
fn refused(facts: &Facts<'_>, answered: &Answered<'_>) -> Option<Finding> {
    let x = answered.exchange.id;
    if let Some(unusable) = answered.unusable(facts) {
        return Some(unusable);
    }
    let fail = |reason, observed: String| {
        let expected = "the tasks of the caller; no capability excuses an agent from this";
        Some(facts.fail(reason, answered.cite(), expected, observed).at_exchange(x))
    };
    match answered.reply.first().map(|item| &item.answer) {
        Some(Answer::Error(_)) if answered.credential_refused() => {
            let remedy = "the credential was refused";
            Some(facts.inconclusive(ReasonCode::ControlFailed, "a credential that works", remedy).at_exchange(x))
        }
        Some(Answer::Error(error)) => fail(ReasonCode::CapabilityNotKept, error.label()),
        Some(Answer::Malformed(why)) => fail(ReasonCode::ResponseMalformed, why.clone()),
        Some(Answer::Result(_)) => None,
        None => fail(ReasonCode::ResponseMalformed, "an empty answer".to_owned()),
    }
}

/// One answer to `ListTasks`, read.
struct Page<'a> {
    answered: &'a Answered<'a>,
    seq: Seq,
    value: &'a Value,
    tasks: Vec<TaskView<'a>>,
}

fn lists(facts: &Facts<'_>, tape: Tape<'_>, pages: &[&Answered<'_>], made: &[String]) -> Vec<Finding> {
    let read = |a: &&'_ Answered<'_>| -> Option<Finding> { problem_of(facts, a, made) };
    let mut out: Vec<Finding> = pages.iter().filter_map(read).collect();
    let read: Vec<Page<'_>> = pages.iter().filter_map(|a| page(a)).collect();
    let single: Vec<&Page<'_>> = read.iter().filter(|p| asked(p.answered, "pageSize") == Some(1)).collect();
    out.extend(paging(facts, tape, &single, made));
    out.extend(read.iter().filter_map(|p| absent(facts, p)));
    out
}

fn page<'a>(answered: &'a Answered<'_>) -> Option<Page<'a>> {
    let (value, seq) = answered.reply.result()?;
    let tasks = value.get("tasks").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    Some(Page { answered, seq, value, tasks: tasks.iter().filter_map(TaskView::of).collect() })
}

/// What is wrong with one answer by itself.
fn problem_of(facts: &Facts<'_>, answered: &Answered<'_>, made: &[String]) -> Option<Finding> {
    let page = page(answered)?;
    let fail = |expected: &str, observed: String| {
        let finding = facts.fail(ReasonCode::TaskListInvalid, answered.at(page.seq), expected, observed);
        Some(finding.at_exchange(answered.exchange.id))
    };
    if let Some(strange) = page.tasks.iter().find(|t| !made.iter().any(|id| id == t.id())) {
        return fail("tasks of the context only", format!("the task {}", strange.id()));
    }
    let size = asked(answered, "pageSize");
    if size.is_some_and(|size| u64::try_from(page.tasks.len()).unwrap_or(u64::MAX) > size) {
        return fail("no more tasks than a page holds", format!("{} tasks", page.tasks.len()));
    }
    let whole = size.is_none();
    if let Some(missing) = made.iter().find(|id| whole && !page.tasks.iter().any(|t| t.id() == *id)) {
        return fail("all tasks of the context", format!("not the task {missing}"));
    }
    let wants_artifacts = answered.request().get("includeArtifacts").is_some_and(|v| *v == true || v == "true");
    let shown = page.tasks.iter().find(|t| !wants_artifacts && !t.artifacts().is_empty());
    if let Some(shown) = shown {
        return fail("no artifacts, which were not asked for", format!("artifacts of the task {}", shown.id()));
    }
    let times: Vec<_> = page.tasks.iter().map(|t| t.status().timestamp()).collect();
    let ascends = times.windows(2).find(|pair| matches!(pair, [Some(first), Some(next)] if first < next))?;
    let shown = ascends.iter().flatten().map(ToString::to_string).collect::<Vec<_>>().join(" before ");
    fail("the task that changed last first", shown)
}

/// Page after page, each task once and the newest first.
fn paging(facts: &Facts<'_>, tape: Tape<'_>, pages: &[&Page<'_>], made: &[String]) -> Option<Finding> {
    let at: Vec<EventRef> = pages.iter().map(|p| tape.cite(p.seq)).collect();
    let fail = |expected: &str, observed: String| {
        Some(facts.fail(ReasonCode::TaskListInvalid, at.clone(), expected, observed))
    };
    let first = pages.first()?;
    if token(first.value).is_none_or(str::is_empty) {
        return fail("`nextPageToken` where more tasks follow", "none".to_owned());
    }
    let second = pages.get(1)?;
    let ids: Vec<&str> = pages.iter().flat_map(|p| p.tasks.iter().map(|t| t.id())).collect();
    let repeated = ids.iter().enumerate().find(|(n, id)| ids[..*n].contains(id));
    if let Some((_, id)) = repeated {
        return fail("each task on one page only", format!("the task {id} again"));
    }
    if ids.len() < made.len() {
        return fail("all tasks on the pages together", format!("{} of {}", ids.len(), made.len()));
    }
    let times: Vec<_> = pages.iter().flat_map(|p| p.tasks.iter().map(|t| t.status().timestamp())).collect();
    if times.windows(2).any(|pair| matches!(pair, [Some(first), Some(next)] if first < next)) {
        return fail("the task that changed last on the first page", "an older one".to_owned());
    }
    let more = token(second.value).filter(|token| !token.is_empty())?;
    let expected = "an empty `nextPageToken` on the last page";
    let finding = facts.fail(ReasonCode::TaskListInvalid, at.clone(), expected, format!("`{more}`"));
    Some(finding.as_severity(Severity::Warning))
}

/// A warning for members that the prose requires and writers of ProtoJSON leave out where they are empty or zero.
fn absent(facts: &Facts<'_>, page: &Page<'_>) -> Option<Finding> {
    let lacks = |name: &&&str| page.value.get(**name).is_none_or(Value::is_null);
    let missing: Vec<&str> =
        ["tasks", "nextPageToken", "pageSize", "totalSize"].iter().filter(lacks).copied().collect();
    let empty = page.tasks.iter().any(|t| t.0.get("artifacts").is_some_and(|a| *a == Value::Array(Vec::new())));
    let (expected, observed) = match (missing.is_empty(), empty) {
        (false, _) => ("`tasks`, `nextPageToken`, `pageSize` and `totalSize`", format!("no {}", missing.join(", "))),
        (true, true) => ("no member `artifacts`, which were not asked for", "an empty list".to_owned()),
        (true, false) => return None,
    };
    let finding = facts.fail(ReasonCode::TaskListInvalid, page.answered.at(page.seq), expected, observed);
    Some(finding.at_exchange(page.answered.exchange.id).as_severity(Severity::Warning))
}

/// A page larger than any may be is refused; one that is cut down to what may be is a warning, as is another error.
fn too_large(facts: &Facts<'_>, answered: &Answered<'_>) -> Option<Finding> {
    let warn = |reason, observed: String| {
        let expected = format!("a refusal with {}", ErrorKind::InvalidParams.name());
        let finding = facts.fail(reason, answered.cite(), expected, observed);
        Some(finding.at_exchange(answered.exchange.id).as_severity(Severity::Warning))
    };
    match answered.reply.first().map(|item| &item.answer)? {
        Answer::Error(error) if error.may_mean(ErrorKind::InvalidParams) || answered.credential_refused() => None,
        Answer::Error(error) => warn(ReasonCode::ErrorCodeMismatch, error.label()),
        Answer::Result(_) => warn(ReasonCode::TaskListInvalid, "a page of more than 100 tasks was promised".to_owned()),
        Answer::Malformed(why) => warn(ReasonCode::TaskListInvalid, why.clone()),
    }
}

fn token(value: &Value) -> Option<&str> {
    value.get("nextPageToken").and_then(Value::as_str)
}

fn asked(answered: &Answered<'_>, name: &str) -> Option<u64> {
    let request = answered.request();
    let value = request.get(name)?;
    value.as_u64().or_else(|| value.as_str().and_then(|text| text.parse().ok()))
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, is, passes, warnings};

    fn listing(change: impl Fn(&Item<'_>) -> Edit) -> Driven {
        World::honest()
            .drive()
            .edit(|i| if i.operation == "ListTasks" && i.answer["result"].is_object() { change(i) } else { Edit::Keep })
    }

    fn whole(change: impl Fn(&mut Value)) -> Driven {
        listing(|i| {
            let whole = i.request["params"]["includeArtifacts"] == true;
            if whole { i.changed(|a| change(&mut a["result"])) } else { Edit::Keep }
        })
    }

    #[test]
    fn a_list_in_order_passes() {
        passes(&TaskList, &World::honest().drive());
        assert_eq!(warnings(&TaskList, &World::honest().drive()), []);
    }

    #[test]
    fn a_list_in_the_wrong_order_is_caught() {
        let turned = whole(|list| list["tasks"].as_array_mut().unwrap().reverse());
        caught(&TaskList, &turned, ReasonCode::TaskListInvalid);
    }

    #[test]
    fn tasks_that_lack_or_do_not_belong_are_caught() {
        let lacks = whole(|list| drop(list["tasks"].as_array_mut().unwrap().pop()));
        caught(&TaskList, &lacks, ReasonCode::TaskListInvalid);
        let strange = whole(|list| list["tasks"][0]["id"] = json!("other"));
        caught(&TaskList, &strange, ReasonCode::TaskListInvalid);
    }

    #[test]
    fn pages_without_end_or_bound_are_caught() {
        let never_more = listing(|i| i.changed(|a| a["result"]["nextPageToken"] = json!("")));
        caught(&TaskList, &never_more, ReasonCode::TaskListInvalid);
        let same = listing(|i| {
            let second = !i.request["params"]["pageToken"].is_null();
            if second { i.changed(|a| a["result"]["tasks"][0]["id"] = json!("3512472e")) } else { Edit::Keep }
        });
        caught(&TaskList, &same, ReasonCode::TaskListInvalid);
    }

    #[test]
    fn artifacts_that_were_not_asked_for_are_caught() {
        let shown = listing(|i| {
            i.changed(|a| {
                a["result"]["tasks"][0]["artifacts"] = json!([{"artifactId": "a", "parts": [{"text": "x"}]}]);
            })
        });
        caught(&TaskList, &shown, ReasonCode::TaskListInvalid);
    }

    #[test]
    fn what_protojson_leaves_out_is_warned_about() {
        let sparse = listing(|i| {
            i.changed(|a| {
                let list = a["result"].as_object_mut().unwrap();
                list.remove("totalSize");
            })
        });
        passes(&TaskList, &sparse);
        assert!(warnings(&TaskList, &sparse).contains(&ReasonCode::TaskListInvalid));
    }

    #[test]
    fn a_list_that_is_refused_is_caught() {
        let refused = listing(|i| Edit::Replace(i.with_error(json!({"code": -32004, "message": "no"}))));
        caught(&TaskList, &refused, ReasonCode::CapabilityNotKept);
    }

    #[test]
    fn an_agent_of_messages_only_has_no_list() {
        let mut world = World::honest();
        world.makes_tasks = false;
        is(&TaskList, &world.drive(), Outcome::NotApplicable);
    }
}
