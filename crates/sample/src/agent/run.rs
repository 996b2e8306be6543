//! What a task does: think about each item for a while, then draft the plan in one transaction.

use std::sync::Arc;

use jiff::SignedDuration;
use tokio::sync::Mutex;

use super::Agent;
use crate::{
    clock,
    lies::Lie,
    live::Live,
    store::{Drafted, StoreError},
    task::{State, Task},
    work::WorkRequest,
};

/// How far back the liar sets its clock.
const TIME_BACK: SignedDuration = SignedDuration::from_hours(1);
/// How often work of some length is reported on.
const REPORTS: usize = 8;
/// How many steps the reopened task stays in WORKING, so that polling sees it too.
const REOPENED_STEPS: u32 = 20;

// === impl Agent ===

impl Agent {
    /// Works on a new task; nobody has to watch.
    pub(super) fn work_on(self: &Arc<Self>, live: Arc<Mutex<Live>>, work: WorkRequest) {
        let agent = Arc::clone(self);
        self.tasks.spawn(async move {
            if let Err(error) = agent.run(&live, &work).await {
                tracing::error!(error = &error as &dyn std::error::Error, "a plan could not be made");
                agent.fail(&live).await;
            }
            let mut live = live.lock().await;
            live.close();
            agent.live.remove(&live.task.id);
        });
    }

    async fn run(&self, live: &Mutex<Live>, work: &WorkRequest) -> Result<(), StoreError> {
        self.step().await;
        if !self.enter_unless_over(live, State::Working).await? {
            return Ok(());
        }
        let (all, stretch) = (work.items.len(), work.items.len() / REPORTS);
        for done in 1..=all {
            self.step().await;
            if self.stop.is_cancelled() || live.lock().await.task.state.is_terminal() {
                return Ok(());
            }
            if stretch > 0 && done < all && done.is_multiple_of(stretch) {
                self.report(live, &format!("{done} of {all} items")).await?;
            }
        }
        self.finish(live, work).await?;
        if self.switches.tells(Lie::ReopenTerminal) {
            self.reopen(live).await?;
        }
        Ok(())
    }

    /// One step of the work, or the end of the agent.
    async fn step(&self) {
        tokio::select! {
            () = tokio::time::sleep(self.pace) => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Moves the task on, unless it has been canceled meanwhile.
    async fn enter_unless_over(&self, live: &Mutex<Live>, state: State) -> Result<bool, StoreError> {
        let mut live = live.lock().await;
        if live.task.state.is_terminal() {
            return Ok(false);
        }
        self.enter(&mut live, state, None).await?;
        Ok(true)
    }

    /// Tells how far the work is, unless it is over.
    async fn report(&self, live: &Mutex<Live>, progress: &str) -> Result<(), StoreError> {
        let mut live = live.lock().await;
        if live.task.state.is_terminal() { Ok(()) } else { self.enter(&mut live, State::Working, Some(progress)).await }
    }

    /// Changes the state: first kept, then told.
    pub(super) async fn enter(&self, live: &mut Live, state: State, note: Option<&str>) -> Result<(), StoreError> {
        let note = note.map(str::to_owned);
        let task = Task { state, note, at: clock::now(), ..live.task.clone() };
        self.store.put_task(&task).await?;
        live.task = task;
        live.tell(live.task.status_update());
        Ok(())
    }

    /// Drafts the plan and finishes the task, under the task's lock: a cancel comes before this or too late.
    async fn finish(&self, live: &Mutex<Live>, work: &WorkRequest) -> Result<(), StoreError> {
        let mut live = live.lock().await;
        if live.task.state.is_terminal() {
            return Ok(());
        }
        let plan_id = clock::new_id("plan");
        let before = live.task.clone();
        let finished = |drafted: &Drafted| self.finished(before, drafted);
        let (_, task) = self.store.draft(work, &plan_id, clock::now(), finished).await?;
        live.task = task;
        for artifact in &live.task.artifacts {
            live.tell(live.task.artifact_update(artifact));
        }
        live.tell(live.task.status_update());
        Ok(())
    }

    fn finished(&self, task: Task, drafted: &Drafted) -> Task {
        let lies = self.switches.get();
        let at = if lies.tells(Lie::TimeBack) { clock::now() - TIME_BACK } else { clock::now() };
        let plan = match drafted {
            Drafted::Plan(plan) => plan,
            Drafted::KeyReused => {
                let note = Some("The request_id was used for other work before.".to_owned());
                return Task { state: State::Failed, note, at, ..task };
            }
        };
        let artifacts = match () {
            () if lies.tells(Lie::DropArtifact) => Vec::new(),
            () if lies.tells(Lie::TextArtifact) => vec![plan.prose_artifact(&task.id)],
            () => vec![plan.artifact(&task.id)],
        };
        Task { state: State::Completed, artifacts, at, ..task }
    }

    /// The lie of Q-03: COMPLETED, WORKING, COMPLETED.
    async fn reopen(&self, live: &Mutex<Live>) -> Result<(), StoreError> {
        self.step().await;
        self.enter(&mut *live.lock().await, State::Working, None).await?;
        for _ in 0..REOPENED_STEPS {
            self.step().await;
        }
        self.enter(&mut *live.lock().await, State::Completed, None).await
    }

    async fn fail(&self, live: &Mutex<Live>) {
        let mut live = live.lock().await;
        let note = Some("The plan could not be stored.");
        if let Err(error) = self.enter(&mut live, State::Failed, note).await {
            tracing::error!(error = &error as &dyn std::error::Error, "a failed task could not be stored");
        }
    }
}
