//! Questions that the copy cannot answer: put to the control plane, equal ones together, with a short patience.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use hashbrown::HashMap;
use ostiary_admission::{Decision, Observed, Query, wire::decision_from_wire};
use ostiary_canon::Revision;
use ostiary_proto::admission::v1::{
    self as wire, admission_service_client::AdmissionServiceClient, consistency::Requirement,
};
use prost::Message as _;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;
use tonic::{Status, transport::Channel};

use crate::{config::Token, link::authorize, metrics::Metrics, ports::Ports};

/// Asks, and remembers denials for a moment.
pub(crate) struct Misses {
    channel: Channel,
    token: Option<Token>,
    patience: Duration,
    ports: Ports,
    metrics: Arc<Metrics>,
    tasks: TaskTracker,
    open: Mutex<HashMap<Question, Slot>>,
}

/// The encoded request: equal bytes are an equal question.
type Question = Vec<u8>;
type Answer = Result<Decision, Status>;

enum Slot {
    /// Somebody asked; who comes now waits for the same answer.
    Asking(watch::Receiver<Option<Answer>>),
    /// Denied until this instant of the boot clock.
    Denied(Box<Decision>, i64),
}

/// How long a denial may be repeated: short enough that a version just admitted is not kept waiting.
const KEEP_DENIAL: i64 = 1_000_000_000;
/// Questions that are open at once: whoever asks about made-up versions must not make the control plane busy.
const ASKING: usize = 256;
/// Questions remembered at once; more are asked all the same and not remembered.
const QUESTIONS: usize = 4_096;

// === impl Misses ===

impl Misses {
    pub(crate) fn new(
        channel: Channel,
        token: Option<Token>,
        patience: Duration,
        ports: Ports,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self { channel, token, patience, ports, metrics, tasks: TaskTracker::new(), open: Mutex::default() }
    }

    /// The control plane's answer at `at_least` or later.
    pub(crate) async fn ask(self: &Arc<Self>, query: &Query<'_>, at_least: Revision) -> Answer {
        let request = request(query, at_least);
        let question = request.encode_to_vec();
        let mut answer = match self.join(&question, request) {
            Ok(decision) => return Ok(decision),
            Err(answer) => answer,
        };
        let waited = tokio::time::timeout(self.patience, answer.wait_for(Option::is_some)).await;
        match waited {
            Ok(Ok(answer)) => answer.clone().unwrap_or_else(|| Err(Status::internal("an answer is there"))),
            Ok(Err(_)) => Err(Status::cancelled("the router was stopped")),
            Err(_) => {
                self.metrics.ask_failed();
                Err(Status::deadline_exceeded("the control plane did not answer in time"))
            }
        }
    }

    pub(crate) async fn stop(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// A remembered denial, or where the answer will come from.
    fn join(
        self: &Arc<Self>,
        question: &Question,
        request: wire::CheckAdmissionRequest,
    ) -> Result<Decision, watch::Receiver<Option<Answer>>> {
        let now = self.ports.time.boot_nanos();
        let mut open = self.open();
        match open.get(question) {
            Some(Slot::Asking(answer)) => return Err(answer.clone()),
            Some(Slot::Denied(decision, until)) if now < *until => return Ok((**decision).clone()),
            Some(Slot::Denied(..)) | None => {}
        }
        if open.len() >= QUESTIONS {
            open.retain(|_, slot| !matches!(slot, Slot::Denied(_, until) if now >= *until));
        }
        if self.tasks.len() >= ASKING {
            let full = Status::resource_exhausted("too many questions are open");
            return Err(watch::channel(Some(Err(full))).1);
        }
        let (tell, answer) = watch::channel(None);
        if open.len() < QUESTIONS {
            open.insert(question.clone(), Slot::Asking(answer.clone()));
        }
        drop(open);
        // Tracked, and not the asker's own: whoever joined still gets the answer when the first one has gone.
        let (misses, question) = (Arc::clone(self), question.clone());
        self.tasks.spawn(async move {
            let answer = misses.call(request).await;
            misses.remember(question, &answer);
            tell.send_replace(Some(answer));
        });
        Err(answer)
    }

    fn remember(&self, question: Question, answer: &Answer) {
        let mut open = self.open();
        match answer {
            Ok(decision) if !decision.allows() => {
                let until = self.ports.time.boot_nanos().saturating_add(KEEP_DENIAL);
                if let Some(slot) = open.get_mut(&question) {
                    *slot = Slot::Denied(Box::new(decision.clone()), until);
                }
            }
            // An ALLOW is used by those who asked for it, an error by nobody.
            Ok(_) | Err(_) => _ = open.remove(&question),
        }
    }

    async fn call(&self, request: wire::CheckAdmissionRequest) -> Answer {
        self.metrics.asked();
        let mut request = tonic::Request::new(request);
        request.set_timeout(self.patience);
        authorize(&mut request, self.token.as_ref());
        let mut client = AdmissionServiceClient::new(self.channel.clone());
        let call = tokio::time::timeout(self.patience, client.check_admission(request));
        let answer = match call.await {
            Ok(answer) => answer.map(|answer| decision_from_wire(answer.get_ref())),
            Err(_) => Err(Status::deadline_exceeded("the control plane did not answer in time")),
        };
        if answer.is_err() {
            self.metrics.ask_failed();
        }
        answer
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Question, Slot>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn request(query: &Query<'_>, at_least: Revision) -> wire::CheckAdmissionRequest {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let requirement = Requirement::AtLeastAsFresh(wire::RevisionToken { revision: at_least.0 });
    wire::CheckAdmissionRequest {
        agent: query.agent.to_owned(),
        version: query.version.to_owned(),
        card_digest: observed(query.card_digest),
        profile: text(query.profile),
        contract_digest: observed(query.contract_digest),
        producer_digest: observed(query.producer_digest),
        consumer: text(query.consumer),
        interface: text(query.interface),
        cohort_key: text(query.cohort_key),
        consistency: Some(wire::Consistency { requirement: Some(requirement) }),
    }
}

fn observed(observed: Observed) -> String {
    match observed {
        Observed::Omitted => String::new(),
        // It stays something that was given and is no digest.
        Observed::Unreadable => "unreadable".to_owned(),
        Observed::Digest(digest) => digest.to_string(),
    }
}
