//! `a2a.stream.artifacts`: the pieces that a stream brings make up the artifacts that the task has in the end, and no piece
//! passes for the whole.

use std::collections::BTreeMap;

use ostiary_protocol::a2a::{StreamItem, TaskView, card::Capability, stream::ArtifactUpdate};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Seq, Severity};
use serde_json::Value;

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    protocol::undeclared::declares,
    scenarios::{stream, subscribe},
    story,
};

/// The check.
pub(super) struct StreamArtifacts;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.stream.artifacts",
    version: 1,
    summary: "The pieces of artifacts that a stream brings fit together, and make what the task has in the end.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["A-05"],
    reads: Reads::Any(&[stream::ID, subscribe::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Contract],
    reasons: &[ReasonCode::ArtifactChunkInvalid, ReasonCode::ArtifactAssemblyMismatch],
    severity: Severity::Error,
    liar: "a_piece_of_no_known_artifact_is_caught",
};

impl Check for StreamArtifacts {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !declares(facts, Capability::Streaming) {
            return vec![facts.not_applicable(CARD, "/capabilities/streaming")];
        }
        let all = answers::all(facts);
        let streams: Vec<&Answered<'_>> = all.iter().filter(|a| a.reply.streamed && asks_for_stream(a)).collect();
        let out: Vec<Finding> = streams.iter().flat_map(|a| judge(facts, &all, a)).collect();
        if out.is_empty() { vec![answers::no_task(facts)] } else { out }
    }
}

/// The artifacts as a reader of a stream knows them.
#[derive(Default)]
struct Assembly {
    parts: BTreeMap<String, Vec<Value>>,
    /// Those whose last piece has come.
    whole: BTreeMap<String, Seq>,
    /// The last piece of each.
    seen: BTreeMap<String, Seq>,
    problems: Vec<(Seq, Severity, String)>,
}

// === impl Assembly ===

impl Assembly {
    fn of(answered: &Answered<'_>) -> Self {
        let mut out = Self::default();
        for (seq, item) in answered.reply.stream_items().filter_map(|(seq, item)| Some((seq, item.ok()?))) {
            match item {
                StreamItem::Task(task) => out.begin(task),
                StreamItem::ArtifactUpdate(update) => out.take(seq, update),
                StreamItem::Message(_) | StreamItem::StatusUpdate(_) => {}
            }
        }
        out
    }

    /// A snapshot of the task is the whole truth of its moment.
    fn begin(&mut self, task: TaskView<'_>) {
        for artifact in task.artifacts() {
            self.parts.insert(id_of(artifact), parts_of(artifact));
        }
    }

    fn take(&mut self, seq: Seq, update: ArtifactUpdate<'_>) {
        let (id, parts) = (id_of(update.artifact()), parts_of(update.artifact()));
        let mut problem = |severity, what: String| self.problems.push((seq, severity, what));
        let closed = self.whole.contains_key(&id);
        if id.is_empty() {
            problem(Severity::Error, "an artifact without `artifactId`".to_owned());
        } else if update.appends() && !self.parts.contains_key(&id) {
            problem(Severity::Error, format!("a piece that is appended to the artifact `{id}`, which had not come"));
        } else if update.appends() && closed {
            problem(Severity::Error, format!("a piece that is appended to the artifact `{id}` after its last one"));
        } else if closed && self.parts.get(&id) != Some(&parts) {
            problem(Severity::Warning, format!("the artifact `{id}` anew after its last piece"));
        }
        let known = self.parts.entry(id.clone()).or_default();
        if !update.appends() {
            known.clear();
        }
        known.extend(parts);
        self.seen.insert(id.clone(), seq);
        if update.0.get("lastChunk").and_then(Value::as_bool) == Some(true) {
            self.whole.insert(id, seq);
        }
    }
}

fn judge(facts: &Facts<'_>, all: &[Answered<'_>], answered: &Answered<'_>) -> Vec<Finding> {
    let x = answered.exchange.id;
    let assembly = Assembly::of(answered);
    let expected = "pieces that fit together";
    let chunk = |(seq, severity, observed): &(Seq, Severity, String)| {
        let finding = facts.fail(ReasonCode::ArtifactChunkInvalid, answered.at(*seq), expected, &**observed);
        finding.at_exchange(x).as_severity(*severity)
    };
    let mut out: Vec<Finding> = assembly.problems.iter().map(chunk).collect();
    if out.iter().all(|f| f.severity != Severity::Error) {
        out.extend(differences(facts, all, answered, &assembly));
    }
    if out.iter().all(|f| f.severity != Severity::Error) {
        let seen: Vec<_> = assembly.seen.values().map(|seq| answered.tape.cite(*seq)).collect();
        out.push(if seen.is_empty() {
            facts.not_applicable("stream", "/artifactUpdate").at_exchange(x)
        } else {
            facts.pass(answers::some_of(seen)).at_exchange(x)
        });
    }
    out
}

/// What the stream of a message told and the task then read has not, or the other way round. A subscriber may have got a
/// piece both in its snapshot and after it, so that nothing is compared there.
fn differences(facts: &Facts<'_>, all: &[Answered<'_>], answered: &Answered<'_>, told: &Assembly) -> Vec<Finding> {
    let end = story::end_of(answered).filter(|_| answered.operation() == "SendStreamingMessage");
    let Some((task, seq)) = end.and_then(|(end, _)| read_after(all, answered, end)) else { return Vec::new() };
    let differs = |at: Seq, observed: String, severity| {
        let cited = vec![answered.tape.cite(at), answered.tape.cite(seq)];
        let expected = "in the task what its stream had brought";
        let finding = facts.fail(ReasonCode::ArtifactAssemblyMismatch, cited, expected, observed);
        finding.at_exchange(answered.exchange.id).as_severity(severity)
    };
    let kept: BTreeMap<String, &Value> = task.artifacts().iter().map(|a| (id_of(a), a)).collect();
    let mut out = Vec::new();
    for (id, at) in &told.seen {
        let observed = match kept.get(id) {
            None => format!("no artifact `{id}`"),
            Some(artifact) if joined(&parts_of(artifact)) == joined(&told.parts[id]) => continue,
            Some(_) => format!("another content of the artifact `{id}`"),
        };
        out.push(differs(*at, observed, Severity::Error));
    }
    let untold = kept.keys().filter(|id| !told.parts.contains_key(*id));
    out.extend(untold.map(|id| {
        let observed = format!("the artifact `{id}`, of which no stream told");
        differs(seq, observed, Severity::Warning)
    }));
    out
}

/// The task as it was read after a stream had told of its end.
fn read_after<'r>(all: &'r [Answered<'_>], answered: &Answered<'_>, end: Seq) -> Option<(TaskView<'r>, Seq)> {
    let id = answered.first_item()?.0.task_id()?.to_owned();
    let later = all.iter().filter(|a| a.tape.index == answered.tape.index && a.exchange.sent.seq > end);
    later.filter(|a| a.operation() == "GetTask").filter_map(Answered::task).find(|(task, _)| task.id() == id)
}

fn asks_for_stream(answered: &Answered<'_>) -> bool {
    matches!(answered.operation(), "SendStreamingMessage" | "SubscribeToTask")
}

fn id_of(artifact: &Value) -> String {
    artifact.get("artifactId").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn parts_of(artifact: &Value) -> Vec<Value> {
    artifact.get("parts").and_then(Value::as_array).cloned().unwrap_or_default()
}

/// Parts less what is empty, with neighbouring texts in one: whether pieces of a text become one part or several is not said.
fn joined(parts: &[Value]) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    for part in parts {
        let mut part = part.clone();
        if let Some(members) = part.as_object_mut() {
            members.retain(|name, value| matches!(&**name, "text" | "data") || !is_empty(value));
        }
        let before = out.last_mut().filter(|before| is_text(before) && is_text(&part) && same_kind(before, &part));
        match before {
            Some(before) => {
                let both = format!(
                    "{}{}",
                    before["text"].as_str().unwrap_or_default(),
                    part["text"].as_str().unwrap_or_default()
                );
                before["text"] = both.into();
            }
            None => out.push(part),
        }
    }
    out
}

fn is_text(part: &Value) -> bool {
    part.get("text").is_some_and(Value::is_string)
}

fn same_kind(a: &Value, b: &Value) -> bool {
    ["mediaType", "filename", "metadata"].iter().all(|name| a.get(name) == b.get(name))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, is, passes, warnings};

    fn artifact_events(change: impl Fn(&Item<'_>) -> Edit) -> Driven {
        World::honest().drive().edit(|i| {
            let this = i.operation == "SendStreamingMessage" && i.is("artifactUpdate");
            if this { change(i) } else { Edit::Keep }
        })
    }

    /// The artifact in two pieces of text, and the task then read with these parts.
    fn in_pieces(read: &Value) -> Driven {
        let driven = artifact_events(|i| {
            let piece = |text: &str, append: bool| {
                let mut answer = i.answer.clone();
                answer["result"]["artifactUpdate"]["artifact"]["parts"] = json!([{"text": text}]);
                answer["result"]["artifactUpdate"]["append"] = json!(append);
                answer
            };
            let mut first = piece("one ", false);
            first["result"]["artifactUpdate"]["lastChunk"] = json!(false);
            Edit::Instead(vec![first, piece("two", true)])
        });
        driven.edit(|i| {
            if i.operation != "GetTask" || i.answer["result"]["artifacts"].is_null() {
                return Edit::Keep;
            }
            i.changed(|a| a["result"]["artifacts"][0]["parts"] = read.clone())
        })
    }

    #[test]
    fn whole_artifacts_and_pieces_pass() {
        passes(&StreamArtifacts, &World::honest().drive());
        passes(&StreamArtifacts, &in_pieces(&json!([{"text": "one "}, {"text": "two"}])));
        passes(&StreamArtifacts, &in_pieces(&json!([{"text": "one two", "metadata": {}}])));
    }

    #[test]
    fn a_piece_of_no_known_artifact_is_caught() {
        let unknown = artifact_events(|i| i.changed(|a| a["result"]["artifactUpdate"]["append"] = json!(true)));
        caught(&StreamArtifacts, &unknown, ReasonCode::ArtifactChunkInvalid);
    }

    #[test]
    fn a_piece_after_the_last_one_is_caught() {
        let more = |append: bool| {
            artifact_events(move |i| {
                let mut last = i.answer.clone();
                last["result"]["artifactUpdate"]["lastChunk"] = json!(true);
                let mut more = last.clone();
                more["result"]["artifactUpdate"]["append"] = json!(append);
                more["result"]["artifactUpdate"]["artifact"]["parts"] = json!([{"text": "more"}]);
                Edit::Instead(vec![last, more])
            })
        };
        caught(&StreamArtifacts, &more(true), ReasonCode::ArtifactChunkInvalid);
        assert!(warnings(&StreamArtifacts, &more(false)).contains(&ReasonCode::ArtifactChunkInvalid));
    }

    #[test]
    fn partial_content_that_stands_as_the_result_is_caught() {
        let read = in_pieces(&json!([{"text": "one "}]));
        caught(&StreamArtifacts, &read, ReasonCode::ArtifactAssemblyMismatch);
        let gone = World::honest().drive().edit(|i| {
            let read = i.operation == "GetTask" && !i.answer["result"]["artifacts"].is_null();
            if read { i.changed(|a| a["result"]["artifacts"] = json!([])) } else { Edit::Keep }
        });
        caught(&StreamArtifacts, &gone, ReasonCode::ArtifactAssemblyMismatch);
    }

    #[test]
    fn an_artifact_that_no_stream_told_of_is_warned_about() {
        let untold = artifact_events(|_| Edit::Drop);
        assert!(warnings(&StreamArtifacts, &untold).contains(&ReasonCode::ArtifactAssemblyMismatch));
        is(&StreamArtifacts, &World::without_streaming().drive(), Outcome::NotApplicable);
    }
}
