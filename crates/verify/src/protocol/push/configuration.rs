//! `a2a.push.configuration`: a push configuration is given an id, kept as it was registered, listed with all others, and
//! gone once it is deleted (A2A 1.0 §3.1.7 to §3.1.10).

use std::collections::BTreeMap;

use ostiary_protocol::a2a::{ErrorKind, reply::Silence};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Seq, Severity};
use serde_json::Value;

use crate::{
    answers::{self, Answered},
    callbacks,
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    refusal::{self, Refusal},
    scenarios::push::configuration,
};

/// The check.
pub(super) struct Configuration;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.push.configuration",
    version: 1,
    summary: "A push configuration gets an id, is read back and listed as it was registered, and is gone once deleted.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["I-09"],
    reads: Reads::Each(&[configuration::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Environment],
    reasons: &[
        ReasonCode::CallbackConfigurationLost,
        ReasonCode::CallbackRefused,
        ReasonCode::CapabilityNotKept,
        ReasonCode::ObserverMissing,
        ReasonCode::ErrorNotRefused,
        ReasonCode::ErrorCodeMismatch,
        ReasonCode::ResponseMalformed,
    ],
    severity: Severity::Error,
    liar: "a_configuration_that_is_read_back_as_another_is_caught",
};

/// What is known of the configurations while the answers are read in order.
struct Story<'f, 'a> {
    facts: &'f Facts<'a>,
    /// Whether the task was open at the end; if not, an agent may have forgotten them.
    open: bool,
    /// The addresses by the ids that the agent gave.
    kept: BTreeMap<String, String>,
    deleted: Vec<String>,
    seen: Vec<EventRef>,
    found: Vec<Finding>,
}

impl Check for Configuration {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if let Some(finding) = callbacks::undeclared(facts).or_else(|| callbacks::no_receiver(facts)) {
            return vec![finding];
        }
        let answers = answers::all(facts);
        let Some(first) = answers.first() else { return Vec::new() };
        if callbacks::task_of(&answers, first.tape).is_none() {
            return vec![answers::no_task(facts)];
        }
        let unknown = first.tape.recording.mark(configuration::UNKNOWN).map_or(Seq(u64::MAX), |(_, seq)| seq);
        let (known, strangers): (Vec<_>, Vec<_>) = answers.iter().partition(|a| a.exchange.sent.seq < unknown);
        let open = callbacks::open_at(&answers, first.tape, unknown);
        let mut story =
            Story { facts, open, kept: BTreeMap::new(), deleted: Vec::new(), seen: Vec::new(), found: Vec::new() };
        known.into_iter().for_each(|a| story.read(a));
        let Story { seen, mut found, .. } = story;
        found.extend(strangers.into_iter().filter(|a| a.operation() != "GetTask").flat_map(|a| stranger(facts, a)));
        if !seen.is_empty() {
            found.push(facts.pass(answers::some_of(seen)));
        }
        found
    }
}

// === impl Story ===

impl Story<'_, '_> {
    fn read(&mut self, answered: &Answered<'_>) {
        if !answered.operation().contains("PushNotificationConfig") {
            return;
        }
        if let Some(unusable) = answered.unusable(self.facts)
            && !matches!(answered.reply.silence(), Some(Silence::Empty))
        {
            return self.found.push(unusable);
        }
        let request = answered.request();
        let id = text(&request, "id").to_owned();
        match answered.operation() {
            "CreateTaskPushNotificationConfig" => self.created(answered, &request),
            "GetTaskPushNotificationConfig" if self.deleted.contains(&id) => self.gone(answered),
            "GetTaskPushNotificationConfig" => self.got(answered, &id),
            "ListTaskPushNotificationConfigs" => self.listed(answered),
            _ => self.deleting(answered, id),
        }
    }

    fn created(&mut self, answered: &Answered<'_>, request: &Value) {
        let Some((config, _)) = answered.reply.result() else {
            let asked = callbacks::Asked { answered, name: String::new(), config: request.clone() };
            return self.found.push(callbacks::refused(self.facts, &asked));
        };
        let (id, url) = (text(config, "id"), text(config, "url"));
        if id.is_empty() {
            return self.lost(answered, "an id for the configuration", "none");
        }
        if self.same(answered, config, text(request, "url")) {
            self.kept.insert(id.to_owned(), url.to_owned());
        }
    }

    fn got(&mut self, answered: &Answered<'_>, id: &str) {
        let Some(url) = self.kept.get(id).cloned() else { return };
        match answered.reply.result() {
            Some((config, _)) => drop(self.same(answered, config, &url)),
            None => self.lost(answered, "the configuration that was registered", &came(answered)),
        }
    }

    fn listed(&mut self, answered: &Answered<'_>) {
        let Some((list, _)) = answered.reply.result() else {
            return self.lost(answered, "a list of the configurations", &came(answered));
        };
        let configs = list.get("configs").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let ids: Vec<&str> = configs.iter().map(|c| text(c, "id")).collect();
        let more = !text(list, "nextPageToken").is_empty();
        let missing = self.kept.keys().find(|id| !ids.contains(&id.as_str()) && !self.deleted.contains(id)).cloned();
        let extra = self.deleted.iter().find(|id| ids.contains(&id.as_str())).cloned();
        match (missing, extra) {
            (_, Some(id)) => self.lost(answered, "a list without what was deleted", &format!("`{id}` in it")),
            (Some(id), _) if !more => {
                self.lost(answered, "all configurations of the task", &format!("`{id}` is missing"))
            }
            _ => self.seen.extend(answered.cite()),
        }
    }

    fn deleting(&mut self, answered: &Answered<'_>, id: String) {
        let served = answered.reply.error().is_none() && answered.reply.malformed().is_none();
        if !served {
            let again = if self.deleted.contains(&id) { ", also a second time" } else { "" };
            return self.lost(
                answered,
                &format!("a configuration is deleted without an error{again}"),
                &came(answered),
            );
        }
        self.seen.extend(answered.cite());
        self.deleted.push(id);
    }

    /// A configuration that is not there is told as a task that is not (§3.1.8).
    fn gone(&mut self, answered: &Answered<'_>) {
        if answered.reply.result().is_some() {
            return self.lost(answered, "a deleted configuration is gone", "it is still there");
        }
        let named = &[ErrorKind::TaskNotFound];
        let refusal = Refusal { named, tolerated: &[], served: ReasonCode::CallbackConfigurationLost };
        self.found.extend(refusal::judge(self.facts, answered, refusal));
    }

    /// Whether a configuration leads where it was registered to lead.
    fn same(&mut self, answered: &Answered<'_>, config: &Value, url: &str) -> bool {
        let same = text(config, "url") == url;
        if same {
            self.seen.extend(answered.cite());
        } else {
            self.lost(answered, &format!("the address `{url}`"), &format!("`{}`", text(config, "url")));
        }
        same
    }

    /// A fault, unless the task had ended: what is kept beyond its end is not promised.
    fn lost(&mut self, answered: &Answered<'_>, expected: &str, observed: &str) {
        if !self.open {
            return self.found.push(super::ended_too_soon(self.facts));
        }
        let code = ReasonCode::CallbackConfigurationLost;
        let finding = self.facts.fail(code, answered.cite(), expected, observed);
        self.found.push(finding.at_exchange(answered.exchange.id));
    }
}

/// What is asked of a task that does not exist is refused as such.
fn stranger(facts: &Facts<'_>, answered: &Answered<'_>) -> Vec<Finding> {
    let named = &[ErrorKind::TaskNotFound];
    refusal::judge(facts, answered, Refusal { named, tolerated: &[], served: ReasonCode::ErrorNotRefused })
}

fn came(answered: &Answered<'_>) -> String {
    match (answered.reply.error(), answered.reply.malformed()) {
        (Some((error, _)), _) => error.label(),
        (None, Some((why, _))) => why.to_owned(),
        (None, None) => "no answer".to_owned(),
    }
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, is, passes};

    fn answering(change: impl Fn(&Item<'_>) -> Edit) -> Driven {
        let this = |i: &Item<'_>| i.scenario == configuration::ID && i.operation.contains("PushNotificationConfig");
        World::pushing().drive().edit(|i| if this(i) { change(i) } else { Edit::Keep })
    }

    /// The run with the n-th answer to one operation changed.
    fn nth(operation: &str, n: usize, change: impl Fn(&Item<'_>) -> Edit) -> Driven {
        let seen = std::cell::Cell::new(0);
        answering(|i| {
            if i.operation != operation {
                return Edit::Keep;
            }
            seen.set(seen.get() + 1);
            if seen.get() == n { change(i) } else { Edit::Keep }
        })
    }

    const CREATE: &str = "CreateTaskPushNotificationConfig";
    const GET: &str = "GetTaskPushNotificationConfig";
    const LIST: &str = "ListTaskPushNotificationConfigs";
    const DELETE: &str = "DeleteTaskPushNotificationConfig";

    #[test]
    fn what_is_kept_until_it_is_deleted_passes() {
        passes(&Configuration, &World::pushing().drive());
    }

    #[test]
    fn a_configuration_that_is_read_back_as_another_is_caught() {
        let moved = |i: &Item<'_>| {
            let mut config = i.answer["result"].clone();
            config["url"] = json!("https://elsewhere.example.test/");
            Edit::Replace(i.with_result(config))
        };
        caught(&Configuration, &nth(GET, 1, moved), ReasonCode::CallbackConfigurationLost);
        caught(&Configuration, &nth(CREATE, 1, moved), ReasonCode::CallbackConfigurationLost);
    }

    #[test]
    fn a_configuration_without_id_missing_or_undeletable_is_caught() {
        let nameless = |i: &Item<'_>| {
            let mut config = i.answer["result"].clone();
            config["id"] = json!("");
            Edit::Replace(i.with_result(config))
        };
        let none = |i: &Item<'_>| Edit::Replace(i.with_result(json!({"configs": []})));
        let refused = |i: &Item<'_>| Edit::Replace(i.with_error(json!({"code": -32603, "message": "no"})));
        for driven in [nth(CREATE, 1, nameless), nth(LIST, 1, none), nth(DELETE, 1, refused), nth(DELETE, 2, refused)] {
            caught(&Configuration, &driven, ReasonCode::CallbackConfigurationLost);
        }
    }

    #[test]
    fn what_is_still_there_after_its_deletion_is_caught() {
        let there = |i: &Item<'_>| Edit::Replace(i.with_result(json!({"id": "push-1", "url": "https://x.test/"})));
        caught(&Configuration, &nth(GET, 2, there), ReasonCode::CallbackConfigurationLost);
        let other = |i: &Item<'_>| Edit::Replace(i.with_error(json!({"code": -32603, "message": "no"})));
        caught(&Configuration, &nth(GET, 2, other), ReasonCode::ErrorCodeMismatch);
    }

    #[test]
    fn a_stranger_that_is_served_is_caught() {
        let served = |i: &Item<'_>| Edit::Replace(i.with_result(json!({"configs": []})));
        caught(&Configuration, &nth(LIST, 3, served), ReasonCode::ErrorNotRefused);
    }

    #[test]
    fn a_refused_address_is_no_fault_unless_it_is_a_public_one() {
        let refuse = |i: &Item<'_>| Edit::Replace(i.with_error(json!({"code": -32602, "message": "no"})));
        caught(&Configuration, &nth(CREATE, 1, refuse), ReasonCode::CapabilityNotKept);
        let mut world = World::pushing();
        world.environment.callbacks = Some(ostiary_record::CallbackFacts::default());
        let driven = world.drive().edit(|i| {
            let this = i.scenario == configuration::ID && i.operation == CREATE;
            if this && i.request["params"]["taskId"].as_str().is_some_and(|t| t.starts_with("3512")) {
                refuse(i)
            } else {
                Edit::Keep
            }
        });
        is(&Configuration, &driven, Outcome::Inconclusive);
    }

    #[test]
    fn what_is_not_declared_or_cannot_be_received_is_told_apart() {
        is(&Configuration, &World::honest().drive(), Outcome::NotApplicable);
        let mut world = World::pushing();
        world.environment.callbacks = None;
        let driven = world.drive();
        assert_eq!(driven.verdict(&Configuration), (Outcome::Inconclusive, Some(ReasonCode::ObserverMissing)));
    }
}
