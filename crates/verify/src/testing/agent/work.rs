//! What a task does, step by step: time passes for it whenever somebody looks or waits.

use serde_json::{Value, json};

use super::{Agent, is_terminal};

/// What a message asks for, in the words of the fixtures of all sample agents.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wish {
    /// Steps that are reported.
    steps: u64,
    /// Whether something must be asked first.
    asks: bool,
    fails: bool,
    refuses: bool,
}

// === impl Wish ===

impl Wish {
    pub(super) fn of(message: &Value) -> Self {
        let said = message.pointer("/parts/0/data").unwrap_or(&Value::Null);
        let is = |member: &str| said[member] == true;
        let steps = said["steps"].as_u64().unwrap_or(0);
        Self { steps, asks: is("ask"), fails: is("fail"), refuses: is("refuse") }
    }

    /// Whether its task is open for a while.
    pub(super) const fn is_long(self) -> bool {
        self.steps > 0
    }
}

// === impl Agent ===

impl Agent {
    /// One step on.
    pub(super) fn advance(&self, task: &str) {
        let (state, wish) = {
            let tasks = self.lock();
            (tasks[task].state, tasks[task].wish)
        };
        match state {
            "TASK_STATE_SUBMITTED" if wish.refuses => self.set(task, "TASK_STATE_REJECTED"),
            "TASK_STATE_SUBMITTED" => self.set(task, "TASK_STATE_WORKING"),
            "TASK_STATE_WORKING" if wish.steps > 0 => {
                self.lock().get_mut(task).expect("made by this agent").wish.steps -= 1;
                self.set(task, "TASK_STATE_WORKING");
            }
            "TASK_STATE_WORKING" if wish.asks => self.set(task, "TASK_STATE_INPUT_REQUIRED"),
            "TASK_STATE_WORKING" if wish.fails => self.set(task, "TASK_STATE_FAILED"),
            "TASK_STATE_WORKING" => self.complete(task),
            _ => {}
        }
    }

    /// On until it stands still.
    pub(super) fn run(&self, task: &str) {
        while !self.stands_still(task) {
            self.advance(task);
        }
    }

    /// On with what was asked for.
    pub(super) fn go_on(&self, task: &str, message: &Value) {
        if let Some(task) = self.lock().get_mut(task) {
            task.wish = Wish::default();
            task.history.as_array_mut().expect("a list").push(message.clone());
        }
        self.set(task, "TASK_STATE_WORKING");
    }

    pub(super) fn stands_still(&self, task: &str) -> bool {
        let state = self.lock()[task].state;
        is_terminal(state) || state == "TASK_STATE_INPUT_REQUIRED"
    }

    fn complete(&self, task: &str) {
        let data = json!({"plan_id": "plan-1", "status": "draft"});
        let artifact = json!({"artifactId": "a1", "name": "plan", "parts": [{"data": data}]});
        if let Some(of) = self.lock().get_mut(task) {
            of.artifacts = json!([artifact]);
            let update = json!({"taskId": task, "contextId": of.context, "artifact": artifact});
            of.events.push(json!({"artifactUpdate": update}));
        }
        self.set(task, "TASK_STATE_COMPLETED");
    }
}
