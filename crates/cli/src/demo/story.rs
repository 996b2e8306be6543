//! The demo's plot: a good version, one that fails a gate, one that begins to lie once it is admitted.

use std::{sync::Arc, time::Duration};

use jiff::SignedDuration;
use ostiary_sample::{Lie, Lies, Running as Agent};
use serde_json::{Value, json};

use super::{Check, Narrator, Scenario, Shown, world::World};
use crate::{
    commands::settled,
    error::CliError,
    router::{Answer, Fresh, Question},
};

/// The profile that the bundle activates.
const PROFILE: &str = "a2a-jsonrpc-1.0/user/standard";
/// A profile that nobody tried.
const OTHER_PROFILE: &str = "a2a-jsonrpc-1.0/agent/standard";
/// A digest that no card has.
const OTHER_CARD: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
/// Longest wait for one step; a step takes a second or two.
const STEP: Duration = Duration::from_secs(120);
/// Longer than any evidence lives by the policy.
const NEXT_WEEK: SignedDuration = SignedDuration::from_hours(24 * 8);

/// Tells all of it.
pub(super) async fn tell(world: &World, narrator: &Narrator) -> Result<Shown, CliError> {
    let plot = Plot { world, narrator };
    let mut shown = Shown::default();
    let good = plot.good(&mut shown).await?;
    plot.text_for_json(&mut shown).await?;
    plot.lies_in_canary(&mut shown).await?;
    plot.evidence_expires(&good, &mut shown).await?;
    Ok(shown)
}

struct Plot<'a> {
    world: &'a World,
    narrator: &'a Narrator,
}

/// What a router knows before it dispatches.
struct Known {
    version: &'static str,
    card: String,
}

/// What must be found where something is caught.
struct Expected {
    state: &'static str,
    reason: Option<&'static str>,
    holds: &'static [&'static str],
}

// === impl Plot ===

impl Plot<'_> {
    /// every gate passes, the version is promoted twice, and a router may dispatch.
    async fn good(&self, shown: &mut Shown) -> Result<Known, CliError> {
        const VERSION: &str = "3.4.1";
        let agent = self.world.start_agent("demo-good", Lies::none()).await?;
        self.submit(VERSION, "demo-good", "first version").await?;
        let known = Known { version: VERSION, card: self.world.card_digest(&agent).await? };
        shown.checks.push(self.ask("admitted, and not promoted yet", &known, |_| {}, "NOT_ADMITTED").await?);
        self.promote(VERSION, "canary").await?;
        let status = self.promote(VERSION, "active").await?;
        let expected = Expected { state: "ACTIVE", reason: None, holds: &[] };
        shown
            .scenarios
            .push(self.scenario("Q-01", "a version that keeps its promises", &status, &status, expected).await?);
        shown.checks.push(self.ask("the card that was verified", &known, |_| {}, "ALLOWED").await?);
        let other_card = |q: &mut Question| OTHER_CARD.clone_into(&mut q.card_digest);
        shown.checks.push(self.ask("another card", &known, other_card, "CARD_DIGEST_MISMATCH").await?);
        let no_card = |q: &mut Question| q.card_digest.clear();
        shown.checks.push(self.ask("no card digest at all", &known, no_card, "OBSERVED_DIGEST_MISSING").await?);
        let other_profile = |q: &mut Question| OTHER_PROFILE.clone_into(&mut q.profile);
        shown.checks.push(self.ask("a profile nobody tried", &known, other_profile, "PROFILE_NOT_VERIFIED").await?);
        Ok(known)
    }

    /// the card says JSON, the artifact is text.
    async fn text_for_json(&self, shown: &mut Shown) -> Result<(), CliError> {
        const VERSION: &str = "3.4.2";
        let agent = self.world.start_agent("demo-text", Lies::from(Lie::TextArtifact)).await?;
        let status = self.submit(VERSION, "demo-text", "answers in prose").await?;
        let reason = Some("CONTENT_MODE_MISMATCH");
        let expected = Expected { state: "REJECTED", reason, holds: &[] };
        shown.scenarios.push(self.scenario("Q-02", "text where JSON was declared", &status, &status, expected).await?);
        let known = Known { version: VERSION, card: self.world.card_digest(&agent).await? };
        shown.checks.push(self.ask("a version that was rejected", &known, |_| {}, "REJECTED").await?);
        Ok(())
    }

    /// honest until it is a canary; then finished tasks go back to work.
    async fn lies_in_canary(&self, shown: &mut Shown) -> Result<(), CliError> {
        const VERSION: &str = "3.5.0";
        let agent: Arc<Agent> = self.world.start_agent("demo-reopens", Lies::none()).await?;
        self.submit(VERSION, "demo-reopens", "retries unfinished work").await?;
        self.promote(VERSION, "canary").await?;
        let known = Known { version: VERSION, card: self.world.card_digest(&agent).await? };
        let excluded = "CANARY_COHORT_EXCLUDED";
        shown.checks.push(self.ask("a canary, for nobody of its cohort", &known, |_| {}, excluded).await?);
        self.narrator.say("Q-03  the canary begins to reopen finished tasks");
        agent.set_lies(Lies::from(Lie::ReopenTerminal));
        let stopped = self.verify_again(VERSION).await?;
        shown.checks.push(self.ask("a canary that was stopped", &known, cohort, "CANARY_STOPPED").await?);
        let status = self.verify_again(VERSION).await?;
        let reason = Some("TERMINAL_STATE_REOPENED");
        let expected = Expected { state: "QUARANTINED", reason, holds: &["canary_stopped"] };
        let scenario = self.scenario("Q-03", "finished tasks that reopen", &stopped, &status, expected).await?;
        shown.scenarios.push(scenario);
        shown.checks.push(self.ask("a version in quarantine", &known, cohort, "QUARANTINED").await?);
        Ok(())
    }

    /// The good version again, when its evidence is a day too old. Last, since a clock never goes back.
    async fn evidence_expires(&self, known: &Known, shown: &mut Shown) -> Result<(), CliError> {
        self.narrator.say("the control plane's clock is set eight days ahead");
        self.world.clock.advance(NEXT_WEEK);
        shown.checks.push(self.ask("eight days later", known, |_| {}, "EVIDENCE_EXPIRED").await?);
        Ok(())
    }

    async fn submit(&self, version: &str, environment: &str, reason: &str) -> Result<Value, CliError> {
        let body = json!({"bundle": self.world.bundle.digest.to_string(), "environment": environment,
            "version": version, "change_reason": reason});
        self.world.publisher.post(&format!("{}/versions", self.world.agent_path()), &body).await?;
        self.settled(version).await
    }

    async fn promote(&self, version: &str, to: &str) -> Result<Value, CliError> {
        let body = json!({"reason": "the demo goes on", "to": to});
        self.world.operator.post(&format!("{}/promote", self.path(version)), &body).await?;
        self.settled(version).await
    }

    async fn verify_again(&self, version: &str) -> Result<Value, CliError> {
        let body = json!({"reason": "a look at the canary", "gate": "conformance"});
        self.world.operator.post(&format!("{}/verify", self.path(version)), &body).await?;
        self.settled(version).await
    }

    /// Waits until nothing runs for the version any more.
    async fn settled(&self, version: &str) -> Result<Value, CliError> {
        let seen = |status: &Value| {
            self.narrator.say(&format!("{version}  {}", status["state"].as_str().unwrap_or_default()));
        };
        let path = self.path(version);
        let status = tokio::time::timeout(STEP, settled(&self.world.operator, &path, &seen)).await;
        status.map_err(|_| {
            CliError::could_not_run(format!("version {version} was not settled in {} s", STEP.as_secs()))
        })?
    }

    /// What became of a version: `caught` is where holds were set, `end` where it ended.
    async fn scenario(
        &self,
        id: &'static str,
        title: &'static str,
        caught: &Value,
        end: &Value,
        expected: Expected,
    ) -> Result<Scenario, CliError> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let verdict = text(&end["newest"]["outcome"]);
        let codes = self.failures(&text(&end["newest"]["evidence"])).await?;
        let found = expected.reason.filter(|reason| codes.iter().any(|code| code == reason)).map(str::to_owned);
        let holds: Vec<String> =
            caught["holds"].as_array().into_iter().flatten().map(|hold| text(&hold["kind"])).collect();
        let state = text(&end["state"]);
        let ok = state == expected.state
            && verdict == if expected.reason.is_some() { "FAIL" } else { "PASS" }
            && found.as_deref() == expected.reason
            && (expected.reason.is_some() || codes.is_empty())
            && holds == expected.holds;
        let states = self.states(&text(&end["version"])).await?;
        Ok(Scenario { id, title, verdict, reason_code: found.or(codes.into_iter().next()), state, states, holds, ok })
    }

    /// The reason codes of every failure in one piece of evidence.
    async fn failures(&self, evidence: &str) -> Result<Vec<String>, CliError> {
        let report = self.world.operator.get(&format!("/api/v1/evidence/{evidence}/report")).await?;
        let reasons = report["decision"]["reasons"].as_array().into_iter().flatten();
        let failed = reasons.filter(|reason| reason["failed"] == json!(true));
        Ok(failed.filter_map(|reason| reason["code"].as_str().map(str::to_owned)).collect())
    }

    /// The states that a version went through, from the audit log.
    async fn states(&self, version: &str) -> Result<Vec<String>, CliError> {
        let about = format!("{}@{version}", self.world.agent());
        let mut states: Vec<String> = Vec::new();
        for entry in self.world.operator.pages("/api/v1/audit", "entries").await? {
            if !entry["subject"].as_str().is_some_and(|subject| subject.starts_with(&about)) {
                continue;
            }
            for state in [&entry["detail"]["from"], &entry["detail"]["to"]].into_iter().filter_map(Value::as_str) {
                if states.last().is_none_or(|last| last != state) {
                    states.push(state.to_owned());
                }
            }
        }
        Ok(states)
    }

    /// One question, changed by `change`, with the reason that the answer must have.
    async fn ask(
        &self,
        question: &'static str,
        known: &Known,
        change: impl FnOnce(&mut Question) + Send,
        reason: &str,
    ) -> Result<Check, CliError> {
        let mut asked = Question {
            agent: self.world.agent(),
            version: known.version.to_owned(),
            card_digest: known.card.clone(),
            profile: PROFILE.to_owned(),
            fresh: Fresh::Fully,
            ..Question::default()
        };
        change(&mut asked);
        let answer: Answer = self.world.router().await.ask(&asked).await?;
        let ok = answer.reason == reason && answer.allows() == (reason == "ALLOWED");
        Ok(Check { question, outcome: answer.outcome, reason: answer.reason, ok })
    }

    fn path(&self, version: &str) -> String {
        format!("{}/versions/{version}", self.world.agent_path())
    }
}

fn cohort(question: &mut Question) {
    "customer-7".clone_into(&mut question.cohort_key);
}
