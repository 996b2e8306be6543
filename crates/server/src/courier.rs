//! Tells receivers what happened (L-12): in order, at least once, signed, and never inside a transaction.
//!
//! A receiver is handed out by the store to one courier at a time, for longer than a try may take. What is delivered is
//! read from the audit, so that nothing can be told that is not there; a courier that dies tells the same thing again.
//! What a receiver does not take is tried again with growing waits, then given up and kept where people see it.

use std::{panic::resume_unwind, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use ostiary_domain::{
    Happening, StoreError, Webhook, WebhookId,
    audit::AuditError,
    happening::{Attempted, expiring, mode_expired},
    ports::SignError,
};
use ostiary_drivers::{
    AddressGuard, Settings,
    http_client::{HttpClient, Request},
};
use serde::{Deserialize, Serialize};
use tokio::task::{JoinError, JoinSet};
use utoipa::ToSchema;

use crate::{app::App, error::chain};

/// Delivers, and tells what the clock brings about.
#[derive(Clone, Debug)]
pub struct Courier {
    app: Arc<App>,
}

/// What a receiver is sent, and what the feed of events lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventView {
    /// Names it for ever; a repeat has the same one.
    pub id: String,
    /// What kind, such as `version.quarantined`.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it happened.
    pub timestamp: String,
    /// The revision at which it holds; also the cursor of the feed.
    pub revision: u64,
    /// About what: `namespace/agent@version#attempt`, or a namespace.
    pub subject: String,
    /// Who did it.
    pub actor: String,
    /// Why, where somebody said so.
    pub reason: Option<String>,
    /// The particulars.
    pub data: serde_json::Value,
}

/// Why a courier could not do its work.
#[derive(Debug, thiserror::Error)]
enum CourierError {
    #[error("failed to use the store")]
    Store(#[from] StoreError),
    #[error("failed to read the audit")]
    Audit(#[from] AuditError),
    #[error("failed to sign")]
    Sign(#[from] SignError),
}

/// Receivers told at the same time: one that is slow keeps nobody waiting, and many that are slow cost bounded memory.
const AT_ONCE: usize = 16;
/// How often the clock and due tries are looked at when nobody rings.
const IDLE: Duration = Duration::from_secs(1);
/// Longest a receiver may take to answer: it is to store and go, not to work.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longer than a try, so that no second courier takes the receiver meanwhile.
const LEASE: SignedDuration = SignedDuration::from_secs(60);
/// Most bytes of an answer; only its status counts.
const ANSWER: u64 = 16 << 10;
/// Audit entries read at a time.
const BATCH: u32 = 200;
/// How long before its end people are told that evidence runs out: a working day to do something about it.
const AHEAD: SignedDuration = SignedDuration::from_hours(24);
/// How often expiry is looked at: notices are hours ahead, so minutes do not matter.
const WATCH_EVERY: SignedDuration = SignedDuration::from_mins(1);
/// Agents read at a time.
const PAGE: u32 = 500;

// === impl Courier ===

impl Courier {
    /// A courier over an app.
    #[must_use]
    pub const fn new(app: Arc<App>) -> Self {
        Self { app }
    }

    /// Works until dropped.
    pub async fn work(&self) {
        let mut waiter = self.app.wake.waiter();
        let mut watched: Option<Timestamp> = None;
        let mut under_way = JoinSet::new();
        loop {
            let now = self.app.clock.now();
            if watched.is_none_or(|last| now.duration_since(last) >= WATCH_EVERY) {
                watched = Some(now);
                if let Err(error) = self.watch(now).await {
                    tracing::warn!(error = %chain(&error), "could not look for what runs out");
                }
            }
            if let Err(error) = self.hand_out(&mut under_way).await {
                tracing::warn!(error = %chain(&error), "could not look for receivers that are due");
            }
            tokio::select! {
                Some(ended) = under_way.join_next() => report(ended),
                () = waiter.wait(IDLE) => {}
            }
        }
    }

    /// Starts to serve every receiver that is due, as far as there is room. The store hands a receiver out once at a
    /// time, so each is still told in order.
    async fn hand_out(&self, under_way: &mut JoinSet<Result<(), CourierError>>) -> Result<(), CourierError> {
        while under_way.len() < AT_ONCE {
            let Some(hook) = self.app.store.claim_webhook(LEASE).await? else { return Ok(()) };
            let courier = self.clone();
            under_way.spawn(async move { courier.serve(&hook).await });
        }
        Ok(())
    }

    /// Writes what the clock has brought about and nobody was told of.
    async fn watch(&self, now: Timestamp) -> Result<(), CourierError> {
        for namespace in self.app.store.namespaces().await? {
            if let Some(notice) = mode_expired(&namespace, now) {
                self.told(self.app.store.notice(notice).await?.is_some());
            }
        }
        let mut after = None;
        loop {
            let agents = self.app.store.agents(after.as_ref(), PAGE).await?;
            for agent in &agents {
                for version in self.app.store.versions(&agent.id).await? {
                    if let Some(notice) = expiring(&version, AHEAD, now) {
                        self.told(self.app.store.notice(notice).await?.is_some());
                    }
                }
            }
            match agents.last() {
                Some(last) if agents.len() == PAGE as usize => after = Some(last.id.clone()),
                _ => return Ok(()),
            }
        }
    }

    fn told(&self, anew: bool) {
        if anew {
            self.app.committed();
        }
    }

    /// Tells one receiver of the next thing that it wants to know.
    async fn serve(&self, hook: &Webhook) -> Result<(), CourierError> {
        let entries = self.app.store.audit(hook.reached, BATCH).await?;
        let mut reached = hook.reached;
        for entry in entries {
            reached = entry.revision;
            let happening = Happening::of(entry.record()?).filter(|happening| hook.wants(happening));
            if let Some(happening) = happening {
                let attempted = self.deliver(hook, &happening).await?;
                self.app.metrics.delivered(matches!(attempted, Attempted::Delivered(_)));
                self.app.store.attempted(hook, attempted).await?;
                return Ok(());
            }
        }
        self.app.store.attempted(hook, Attempted::Delivered(reached)).await?;
        Ok(())
    }

    async fn deliver(&self, hook: &Webhook, happening: &Happening) -> Result<Attempted, CourierError> {
        let event = EventView::of(happening);
        let body = serde_json::to_string(&event).expect("an event holds only texts, numbers and JSON");
        let now = self.app.clock.now();
        let stamp = now.as_second().to_string();
        let signed = self.app.signer.sign_bytes(format!("{}.{stamp}.{body}", event.id).as_bytes())?;
        let mut request = Request::new("POST", &hook.facts.url)
            .header("webhook-id", &event.id)
            .header("webhook-timestamp", &stamp)
            .header("webhook-signature", &format!("v1a,{}", base64(&signed)))
            .body("application/json", body);
        request.timeout = PATIENCE;
        request.max_bytes = ANSWER;
        match send(hook.facts.allow_private, &request).await {
            Ok(()) => Ok(Attempted::Delivered(happening.revision)),
            Err(error) => {
                let error = hook.shown_error(&error);
                let id: &WebhookId = &hook.facts.id;
                tracing::info!(webhook = %id, event = %event.id, %error, "a receiver did not take an event");
                Ok(hook.failed(happening.revision, error, self.app.clock.now()))
            }
        }
    }
}

/// What became of one receiver. A panic is our bug and goes on in the courier, whose server stops for it.
fn report(ended: Result<Result<(), CourierError>, JoinError>) {
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(error = %chain(&error), "could not tell a receiver what happened"),
        Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
        Err(error) => tracing::warn!(%error, "a delivery was cut off"),
    }
}

/// Sends, under the guard that all our own fetches are under. Redirects are not followed: they count as refusals.
async fn send(allow_private: bool, request: &Request) -> Result<(), String> {
    let guard = AddressGuard::public_only();
    let guard = if allow_private { guard.allow_private() } else { guard };
    let settings = Settings { allow_insecure_http: allow_private, guard, ..Settings::default() };
    let client = HttpClient::new(settings).map_err(|error| error.to_string())?;
    match client.send(request).await {
        Ok(response) if (200..300).contains(&response.status) => Ok(()),
        Ok(response) => Err(format!("answered {}", response.status)),
        Err(error) => Err(error.to_string()),
    }
}

fn base64(bytes: &[u8]) -> String {
    use ::base64::{Engine as _, engine::general_purpose::STANDARD};
    STANDARD.encode(bytes)
}

// === impl EventView ===

impl EventView {
    /// A happening as people are told of it.
    #[must_use]
    pub fn of(happening: &Happening) -> Self {
        let kind = serde_json::to_value(happening.kind).ok().and_then(|kind| kind.as_str().map(str::to_owned));
        Self {
            id: format!("evt-{}", happening.revision),
            kind: kind.unwrap_or_default(),
            timestamp: happening.at.to_string(),
            revision: happening.revision.0,
            subject: happening.subject.clone(),
            actor: happening.actor.to_string(),
            reason: happening.reason.clone(),
            data: happening.detail.clone(),
        }
    }
}
