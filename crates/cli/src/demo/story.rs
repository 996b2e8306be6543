//! The demo's plot: a good version, one that fails a gate, one that begins to lie once it is admitted.

use std::{path::Path, sync::Arc, time::Duration};

use jiff::SignedDuration;
use ostiary_sample::{Lie, Lies, Running as Agent};
use serde_json::{Value, json};

use super::{Check, Narrator, Scenario, Shown, world::World};
use crate::{
    commands::{Dossier, Form, settled},
    error::CliError,
    router::{Answer, Fresh, Question},
};

/// The label of the version that keeps its promises.
const GOOD: &str = "3.4.1";
/// The version that answers in prose.
const TEXT: &str = "3.4.2";
/// The version that begins to lie.
const REOPENS: &str = "3.5.0";
/// The profile that the bundle activates.
const PROFILE: &str = "a2a-jsonrpc-1.0/user/standard";
/// A profile that nobody tried.
const OTHER_PROFILE: &str = "a2a-jsonrpc-1.0/agent/standard";
/// A digest that no card has.
const OTHER_CARD: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
/// Keys that are tried to find one of the canary's cohort: with a weight of a tenth, one in five hundred million demos
/// finds none.
const COHORT_KEYS: u32 = 200;
/// Some key, where it does not matter which.
const MEMBER: &str = "customer-7";
/// Longest wait for one step; a step takes a second or two.
const STEP: Duration = Duration::from_secs(120);
/// Longer than any evidence lives by the policy.
const NEXT_WEEK: SignedDuration = SignedDuration::from_hours(24 * 8);

/// Tells all of it.
pub(super) async fn tell(world: &World, narrator: &Narrator, evidence: Option<&Path>) -> Result<Shown, CliError> {
    let plot = Plot { world, narrator };
    let mut shown = Shown::default();
    let good = plot.good(&mut shown).await?;
    plot.text_for_json(&mut shown).await?;
    plot.lies_in_canary(&mut shown).await?;
    if let Some(folder) = evidence {
        // before anything expires, so that there are summaries
        plot.keep_evidence(folder).await?;
    }
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

/// What must be found.
struct Expected {
    state: &'static str,
    reason: Option<&'static str>,
    holds: &'static [&'static str],
}

/// What was found.
struct Seen {
    state: String,
    verdict: String,
    codes: Vec<String>,
    holds: Vec<String>,
}

// === impl Expected ===

impl Expected {
    /// Whether all of it was found, and, where nothing was to be caught, nothing else.
    fn met_by(&self, seen: &Seen) -> bool {
        let caught = match self.reason {
            Some(reason) => seen.verdict == "FAIL" && seen.codes.iter().any(|code| code == reason),
            None => seen.verdict == "PASS" && seen.codes.is_empty(),
        };
        caught && seen.state == self.state && seen.holds == self.holds
    }

    /// The reason to show: the expected one where it was found, else what was found first.
    fn reason_in(&self, seen: &Seen) -> Option<String> {
        let expected = seen.codes.iter().find(|code| Some(code.as_str()) == self.reason);
        expected.or(seen.codes.first()).cloned()
    }
}

// === impl Plot ===

impl Plot<'_> {
    /// every gate passes, the version is promoted twice, and a router may dispatch.
    async fn good(&self, shown: &mut Shown) -> Result<Known, CliError> {
        const VERSION: &str = GOOD;
        let agent = self.world.start_agent("demo-good", Lies::none()).await?;
        self.submit(VERSION, "demo-good", "first version").await?;
        let known = Known { version: VERSION, card: self.world.card_digest(&agent).await? };
        shown.checks.push(self.ask("admitted, and not promoted yet", &known, |_| {}, "NOT_ADMITTED").await?);
        self.promote(VERSION, "canary").await?;
        let status = self.promote(VERSION, "active").await?;
        let expected = Expected { state: "ACTIVE", reason: None, holds: &[] };
        shown
            .scenarios
            .push(self.scenario(("Q-01", "a version that keeps its promises"), &status, &status, expected).await?);
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
        const VERSION: &str = TEXT;
        let agent = self.world.start_agent("demo-text", Lies::from(Lie::TextArtifact)).await?;
        let status = self.submit(VERSION, "demo-text", "answers in prose").await?;
        let reason = Some("CONTENT_MODE_MISMATCH");
        let expected = Expected { state: "REJECTED", reason, holds: &[] };
        shown
            .scenarios
            .push(self.scenario(("Q-02", "text where JSON was declared"), &status, &status, expected).await?);
        let known = Known { version: VERSION, card: self.world.card_digest(&agent).await? };
        shown.checks.push(self.ask("a version that was rejected", &known, |_| {}, "REJECTED").await?);
        Ok(())
    }

    /// honest until it is a canary; then finished tasks go back to work.
    async fn lies_in_canary(&self, shown: &mut Shown) -> Result<(), CliError> {
        const VERSION: &str = REOPENS;
        let agent: Arc<Agent> = self.world.start_agent("demo-reopens", Lies::none()).await?;
        self.submit(VERSION, "demo-reopens", "retries unfinished work").await?;
        self.promote(VERSION, "canary").await?;
        let known = Known { version: VERSION, card: self.world.card_digest(&agent).await? };
        let excluded = "CANARY_COHORT_EXCLUDED";
        shown.checks.push(self.ask("a canary, for nobody of its cohort", &known, |_| {}, excluded).await?);
        shown.checks.push(self.ask_cohort(&known).await?);
        self.narrator.say("3.5.0  the canary begins to reopen finished tasks");
        agent.set_lies(Lies::from(Lie::ReopenTerminal));
        let stopped = self.verify_again(VERSION).await?;
        let key = |q: &mut Question| MEMBER.clone_into(&mut q.cohort_key);
        shown.checks.push(self.ask("a canary that was stopped", &known, key, "CANARY_STOPPED").await?);
        let status = self.verify_again(VERSION).await?;
        let reason = Some("TERMINAL_STATE_REOPENED");
        let expected = Expected { state: "QUARANTINED", reason, holds: &["canary_stopped"] };
        let scenario = self.scenario(("Q-03", "finished tasks that reopen"), &stopped, &status, expected).await?;
        shown.scenarios.push(scenario);
        shown.checks.push(self.ask("a version in quarantine", &known, key, "QUARANTINED").await?);
        Ok(())
    }

    /// Writes all that was signed about each version.
    async fn keep_evidence(&self, folder: &Path) -> Result<(), CliError> {
        for version in [GOOD, TEXT, REOPENS] {
            let dossier = Dossier::fetch(&self.world.operator, &self.path(version)).await?;
            dossier.write(&folder.join(version), &[Form::Dsse, Form::IntotoJsonl, Form::Sigstore])?;
        }
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
        (id, title): (&'static str, &'static str),
        caught: &Value,
        end: &Value,
        expected: Expected,
    ) -> Result<Scenario, CliError> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let holds = caught["holds"].as_array().into_iter().flatten().map(|hold| text(&hold["kind"]));
        let seen = Seen {
            state: text(&end["state"]),
            verdict: text(&end["newest"]["outcome"]),
            codes: self.failures(&text(&end["newest"]["evidence"])).await?,
            holds: holds.collect(),
        };
        let ok = expected.met_by(&seen);
        let states = self.states(&text(&end["version"])).await?;
        let reason_code = expected.reason_in(&seen);
        let Seen { state, verdict, holds, .. } = seen;
        Ok(Scenario { id, title, verdict, reason_code, state, states, holds, ok })
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

    /// Whether a canary answers somebody of its cohort: who belongs to it is decided by the key, so some are tried.
    async fn ask_cohort(&self, known: &Known) -> Result<Check, CliError> {
        for n in 0..COHORT_KEYS {
            let key = |q: &mut Question| q.cohort_key = format!("customer-{n}");
            let check = self.ask("a canary, for its cohort", known, key, "ALLOWED").await?;
            if check.ok || n + 1 == COHORT_KEYS {
                return Ok(check);
            }
        }
        Err(CliError::could_not_run("no cohort key was tried"))
    }

    fn path(&self, version: &str) -> String {
        format!("{}/versions/{version}", self.world.agent_path())
    }
}

#[cfg(test)]
mod tests {
    use super::{Expected, Seen};

    const CAUGHT: Expected =
        Expected { state: "QUARANTINED", reason: Some("TERMINAL_STATE_REOPENED"), holds: &["canary_stopped"] };
    const GOOD: Expected = Expected { state: "ACTIVE", reason: None, holds: &[] };

    fn seen(state: &str, verdict: &str, codes: &[&str], holds: &[&str]) -> Seen {
        let texts = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        Seen { state: state.to_owned(), verdict: verdict.to_owned(), codes: texts(codes), holds: texts(holds) }
    }

    #[test]
    fn a_lie_that_is_caught_as_expected_is_ok() {
        let codes = ["TASK_TRANSITION_FORBIDDEN", "TERMINAL_STATE_REOPENED"];
        let seen = seen("QUARANTINED", "FAIL", &codes, &["canary_stopped"]);
        assert!(CAUGHT.met_by(&seen));
        assert_eq!(CAUGHT.reason_in(&seen).as_deref(), Some("TERMINAL_STATE_REOPENED"));
    }

    #[test]
    fn anything_missing_is_not_ok() {
        let (code, hold) = (["TERMINAL_STATE_REOPENED"], ["canary_stopped"]);
        assert!(!CAUGHT.met_by(&seen("CANARY", "FAIL", &code, &hold)), "wrong state");
        assert!(!CAUGHT.met_by(&seen("QUARANTINED", "PASS", &code, &hold)), "wrong verdict");
        assert!(!CAUGHT.met_by(&seen("QUARANTINED", "FAIL", &["STREAM_TRUNCATED"], &hold)), "other reason");
        assert!(!CAUGHT.met_by(&seen("QUARANTINED", "FAIL", &code, &[])), "no hold");
    }

    #[test]
    fn a_good_version_with_anything_against_it_is_not_ok() {
        assert!(GOOD.met_by(&seen("ACTIVE", "PASS", &[], &[])));
        assert!(!GOOD.met_by(&seen("ACTIVE", "INCONCLUSIVE", &[], &[])));
        assert!(!GOOD.met_by(&seen("ACTIVE", "PASS", &["STREAM_TRUNCATED"], &[])));
        assert!(!GOOD.met_by(&seen("ACTIVE", "PASS", &[], &["route_disabled"])));
    }
}
