//! What the recordings of `a2a.task.cancel` show: each cancel with the looks after it, and who waited for the task meanwhile.

use ostiary_protocol::a2a::TaskState;
use ostiary_record::{EventRef, MonoNanos, Seq};

use crate::{
    answers::{self, Answered},
    facts::{Facts, Tape},
    scenarios::cancel,
};

/// One cancel of one task.
pub(crate) struct Cancel<'a> {
    /// At which point of the task's life.
    pub(crate) point: &'a str,
    /// The task.
    pub(crate) task: String,
    /// The cancel with its answer.
    pub(crate) asked: Answered<'a>,
    /// The looks at the task after it, in order.
    pub(crate) looks: Vec<Answered<'a>>,
    /// The message whose answer was waited for when it was canceled.
    pub(crate) waiting: Option<Answered<'a>>,
}

/// All cancels of the recordings.
pub(crate) fn of<'a>(facts: &Facts<'a>) -> Vec<Cancel<'a>> {
    let mut all = answers::of(facts, cancel::ID);
    facts.tapes_of(cancel::ID).filter_map(|tape| one(tape, &mut all)).collect()
}

fn one<'a>(tape: Tape<'a>, all: &mut Vec<Answered<'a>>) -> Option<Cancel<'a>> {
    let (task, mark) = tape.recording.mark(cancel::SENT)?;
    let task = task?.to_owned();
    let (own, others): (Vec<_>, Vec<_>) = all.drain(..).partition(|a| a.tape.index == tape.index);
    *all = others;
    let (mut asked, mut looks, mut waiting) = (None, Vec::new(), None);
    for answered in own {
        let after = answered.exchange.sent.seq > mark;
        let ours = || answered.request()["id"] == task.as_str();
        match answered.operation() {
            "CancelTask" if after && asked.is_none() && ours() => asked = Some(answered),
            "GetTask" if after && ours() => looks.push(answered),
            name if name.starts_with("Send") && !after => {
                let open = answered.exchange.ended.is_none_or(|(_, end)| end > mark);
                waiting = open.then_some(answered).or(waiting);
            }
            _ => {}
        }
    }
    let point = tape.recording.axes.values.get(cancel::AXIS).map_or("", String::as_str);
    Some(Cancel { point, task, asked: asked?, looks, waiting })
}

// === impl Cancel ===

impl<'a> Cancel<'a> {
    /// When the cancel was answered with the task, and by which event.
    pub(crate) fn acknowledged(&self) -> Option<(MonoNanos, Seq)> {
        let (_, seq) = self.asked.task().filter(|(task, _)| task.id() == self.task)?;
        Some((self.time(seq), seq))
    }

    /// The state that the cancel was answered with.
    pub(crate) fn told(&self) -> Option<TaskState> {
        self.asked.task().and_then(|(task, _)| task.state())
    }

    /// The states that later looks showed, each with its event.
    pub(crate) fn states(&self) -> impl Iterator<Item = (TaskState, Seq)> {
        self.looks.iter().filter_map(|look| look.task()).filter_map(|(task, seq)| Some((task.state()?, seq)))
    }

    /// The last look.
    pub(crate) fn last(&self) -> Option<(TaskState, Seq)> {
        self.states().last()
    }

    /// A citation of an event of it.
    pub(crate) fn cite(&self, seq: Seq) -> EventRef {
        self.asked.tape.cite(seq)
    }

    /// When an event of it was.
    pub(crate) fn time(&self, seq: Seq) -> MonoNanos {
        let event = self.asked.tape.recording.events.iter().find(|e| e.seq == seq);
        event.map_or(self.asked.exchange.sent.at, |e| e.at)
    }

    /// Citations of the cancel and of another event.
    pub(crate) fn cite_with(&self, seq: Option<Seq>) -> Vec<EventRef> {
        let mut out = self.asked.cite();
        out.extend(seq.map(|seq| self.cite(seq)));
        out
    }
}
