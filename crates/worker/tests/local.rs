//! Local runs against the planning agent, over TLS, by its production name: the whole path but for the server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::{path::Path, sync::Mutex};

use ostiary_contract::Bundle;
use ostiary_record::{DigestSource, FindingLine, Gate, NoSink, Outcome, ReasonCode, Report, Run, RunEvent, RunSink};
use ostiary_sample::{Authority, Config, Lie, Lies, PlanningAgent, Running, Trust};
use ostiary_verify::{Harness, JudgeOptions, judge, recording_file};
use ostiary_worker::{
    bundle_dir,
    clock::SystemClock,
    local::{DEFAULT_ISSUER, EnvironmentError, LocalRun, Place, signer},
};

const AUDIENCE: &str = "https://planning.example.test/a2a";

fn bundles() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../bundles"))
}

fn bundle() -> Bundle {
    let files = bundle_dir::read(&bundles().join("planning-agent")).unwrap_or_else(|p| panic!("{p}"));
    Bundle::load(&files).unwrap_or_else(|p| panic!("{p}"))
}

/// The shipped environment with another port, beside a file of trust roots.
fn place(dir: &Path, root_pem: &str, change: impl Fn(String) -> String) -> Place {
    std::fs::write(dir.join("planning-agent.ca.pem"), root_pem).unwrap();
    let text = std::fs::read_to_string(bundles().join("planning-agent.environment.yaml")).unwrap();
    let path = dir.join("environment.yaml");
    std::fs::write(&path, change(text)).unwrap();
    Place::read(&path).unwrap_or_else(|e| panic!("{e}"))
}

struct Stage {
    place: Place,
    agent: Running,
    _dir: tempfile::TempDir,
}

async fn stage(lies: Lies) -> Stage {
    stage_of(&bundle(), lies).await
}

async fn stage_of(bundle: &Bundle, lies: Lies) -> Stage {
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::generate().unwrap();
    let first = place(dir.path(), &authority.root_pem(), |text| text);
    let trust = Trust::from_jwks(DEFAULT_ISSUER, AUDIENCE, &signer(&first).unwrap().jwks()).unwrap();
    let card = bundle.card.as_ref().unwrap().bytes.clone();
    let tls = Some(authority.issue(&["planning.example.test"]).unwrap());
    let agent = PlanningAgent::start(Config { tls, lies, ..Config::new(card, trust) }).await.unwrap();
    let addr = agent.addr().to_string();
    let place = place(dir.path(), &authority.root_pem(), |text| text.replace("127.0.0.1:9100", &addr));
    Stage { place, agent, _dir: dir }
}

async fn verify(stage: &Stage, gate: Option<Gate>) -> (Run, Report) {
    verify_bundle(stage, &bundle(), gate).await
}

async fn verify_bundle(stage: &Stage, bundle: &Bundle, gate: Option<Gate>) -> (Run, Report) {
    let run = LocalRun {
        bundle,
        place: &stage.place,
        gate,
        only: Vec::new(),
        seed: 1,
        run_id: "test".to_owned(),
        started_at: SystemClock.now(),
    };
    run.verify(&NoSink).await.unwrap()
}

/// What is worth looking at when a verdict surprises.
fn told(report: &Report) -> String {
    let bad =
        report.findings.iter().filter(|f| matches!(f.finding.verdict.outcome(), Outcome::Fail | Outcome::Inconclusive));
    let line = |f: &FindingLine| {
        let case = f.finding.case.as_ref().map(|c| format!(" [{c}]")).unwrap_or_default();
        format!(
            "{} {}{case} {:?} {}: {}",
            f.finding.layer,
            f.finding.check,
            f.finding.severity,
            f.finding.verdict.outcome(),
            f.finding.message
        )
    };
    bad.map(line).collect::<Vec<_>>().join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_honest_planning_agent_passes_every_gate() {
    let stage = stage(Lies::none()).await;
    for gate in [Gate::Static, Gate::Conformance, Gate::Security, Gate::Admission, Gate::Canary] {
        let (_, report) = verify(&stage, Some(gate)).await;
        assert_eq!(report.verdict, Outcome::Pass, "gate {gate}\n{}", told(&report));
        if gate != Gate::Static && gate != Gate::Admission {
            let passed: Vec<String> = report.profiles_passed.iter().map(ToString::to_string).collect();
            assert_eq!(passed, ["a2a-jsonrpc-1.0/user/standard"], "gate {gate}");
        }
    }
    stage.agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_run_is_judged_again_from_its_file_to_the_same_report() {
    let stage = stage(Lies::none()).await;
    let (run, report) = verify(&stage, None).await;
    assert_eq!(report.verdict, Outcome::Pass, "{}", told(&report));
    assert!(report.evaluation_eligible);
    let bytes = recording_file::write(&run);
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert!(!text.contains("eyJ"), "no token is in the recording");
    let read = recording_file::read(&bytes).unwrap();
    let bundle = recording_file::bundle_of(&read).unwrap();
    let again = judge(&Harness::standard(), &read, &bundle, &JudgeOptions::default());
    assert_eq!(serde_json::to_vec(&again).unwrap(), serde_json::to_vec(&report).unwrap());
    assert!(run.environment.spki_sha256.is_some(), "the server key is known");
    stage.agent.stop().await;
}

/// The code by which each lie must be caught.
const fn code(lie: Lie) -> ReasonCode {
    match lie {
        Lie::TextArtifact => ReasonCode::ContentModeMismatch,
        Lie::ReopenTerminal => ReasonCode::TerminalStateReopened,
        Lie::DropArtifact => ReasonCode::ArtifactMissing,
        Lie::CutStream => ReasonCode::StreamTruncated,
        Lie::LateStream => ReasonCode::StreamNotIncremental,
        Lie::TimeBack => ReasonCode::TimestampBackwards,
        Lie::DuplicateEvent => ReasonCode::DuplicateEventMishandled,
        Lie::LeakStackTrace => ReasonCode::ErrorDataLeak,
        Lie::ServeForeignTasks => ReasonCode::CrossTenantAccess,
        Lie::AcceptAnyVersion => ReasonCode::VersionNotEnforced,
        Lie::AcceptExpiredToken => ReasonCode::CredentialExpiredAccepted,
        Lie::AcceptForgedToken => ReasonCode::CredentialForeignAccepted,
        Lie::AllowAnonymous => ReasonCode::CredentialNotRequired,
        Lie::AcceptTerminalMessage => ReasonCode::TerminalTaskMessageAccepted,
        Lie::ServeUndeclaredStreaming | Lie::ServeUndeclaredPush => ReasonCode::UndeclaredCapabilityServed,
        Lie::IgnoreCancel => ReasonCode::CancelNotEffective,
        Lie::HideResult => ReasonCode::CancelHidesResult,
        Lie::CancelWithCaller => ReasonCode::DisconnectEndsTask,
        Lie::ForgetTasks => ReasonCode::RetentionNotKept,
        Lie::RememberTokens => ReasonCode::CredentialExpiredAccepted,
        Lie::RequiredExtension => ReasonCode::RequiredExtensionUnsupported,
        Lie::DuplicateSkillId => ReasonCode::SkillIdDuplicate,
    }
}

/// The bundle whose card makes the lie one: streaming cannot be undeclared where it is declared.
fn bundle_for(lie: Lie) -> Bundle {
    let mut files = bundle().files;
    if lie == Lie::ServeUndeclaredStreaming {
        let card = String::from_utf8(files["agent-card.json"].to_vec()).unwrap();
        let card = card.replace("\"streaming\": true", "\"streaming\": false");
        files.insert("agent-card.json".to_owned(), card.into());
    }
    Bundle::load(&files).unwrap_or_else(|p| panic!("{p}"))
}

/// What was said of an agent with one lie, where its code is not among it.
async fn missed(lie: Lie) -> Option<String> {
    let bundle = bundle_for(lie);
    let stage = stage_of(&bundle, [lie].into_iter().collect()).await;
    let (_, report) = verify_bundle(&stage, &bundle, None).await;
    stage.agent.stop().await;
    let by_code = |f: &FindingLine| f.finding.verdict.outcome() == Outcome::Fail && f.reason_code == Some(code(lie));
    let caught = report.verdict == Outcome::Fail || lie == Lie::LateStream;
    let said = format!("{lie}: {}\n{}", report.verdict, told(&report));
    (!caught || !report.findings.iter().any(by_code)).then_some(said)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_lie_of_the_agent_is_caught_by_its_code() {
    let mut all: tokio::task::JoinSet<Option<String>> = Lie::ALL.iter().map(|lie| missed(*lie)).collect();
    let mut surprises = Vec::new();
    while let Some(said) = all.join_next().await {
        surprises.extend(said.unwrap());
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n\n"));
}

#[derive(Default)]
struct Events(Mutex<Vec<&'static str>>);

impl RunSink for Events {
    fn emit(&self, event: &RunEvent) {
        let name = match event {
            RunEvent::Planned { .. } => "planned",
            RunEvent::Started { .. } => "started",
            RunEvent::Driven { .. } => "driven",
            RunEvent::Judged { .. } => "judged",
            RunEvent::Finished { .. } => "finished",
        };
        self.0.lock().unwrap().push(name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_not_there_is_inconclusive_and_the_events_end() {
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::generate().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap().to_string();
    drop(listener);
    let place = place(dir.path(), &authority.root_pem(), |text| text.replace("127.0.0.1:9100", &addr));
    let bundle = bundle();
    let run = LocalRun {
        bundle: &bundle,
        place: &place,
        gate: None,
        only: Vec::new(),
        seed: 1,
        run_id: "test".to_owned(),
        started_at: SystemClock.now(),
    };
    let events = Events::default();
    let (_, report) = run.verify(&events).await.unwrap();
    assert_eq!(report.verdict, Outcome::Inconclusive, "{}", told(&report));
    assert!(report.profiles_passed.is_empty());
    let events = events.0.into_inner().unwrap();
    assert_eq!((events.first(), events.last()), (Some(&"planned"), Some(&"finished")));
}

async fn refused(text: &str) -> EnvironmentError {
    match Place::of_text("environment.yaml", text.as_bytes()) {
        Ok(place) => ostiary_worker::local::Surroundings::of(&place).await.map(drop).unwrap_err(),
        Err(error) => error,
    }
}

#[tokio::test]
async fn what_an_environment_cannot_have_is_an_error_before_the_first_call() {
    let with =
        |more: &str| format!("environment:\n  name: e\n  a2a: {{ card_url: https://a.example.test/c.json }}\n{more}");
    assert!(matches!(refused(&with("  trust_roots: ca.pem\n")).await, EnvironmentError::NoFiles { .. }));
    let token = with("  subjects: { s: { token_env: OSTIARY_TEST_NO_SUCH_VARIABLE } }\n");
    assert!(
        matches!(refused(&token).await, EnvironmentError::Variable { name, .. } if name == "OSTIARY_TEST_NO_SUCH_VARIABLE")
    );
    let key = with("  identity: { issuer: harness, key_env: OSTIARY_TEST_NO_SUCH_VARIABLE }\n");
    assert!(matches!(refused(&key).await, EnvironmentError::Variable { .. }));
    let observer = with("  observers: [ { kind: approvals } ]\n");
    assert!(matches!(refused(&observer).await, EnvironmentError::Problems(_)));
    let algorithm = with("  identity: { issuer: harness, algorithm: RS256 }\n");
    assert!(refused(&algorithm).await.to_string().contains("serve: 127.0.0.1:9400"));
    let serve = with("  identity: { issuer: harness, serve: localhost }\n");
    assert!(refused(&serve).await.to_string().contains("`localhost`"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let serve = with(&format!("  identity: {{ issuer: harness, serve: '{}' }}\n", taken.local_addr().unwrap()));
    assert!(matches!(refused(&serve).await, EnvironmentError::Listen { .. }));
}

#[test]
fn an_environment_file_that_is_not_there_is_named() {
    let error = Place::read(Path::new("no-such-environment.yaml")).unwrap_err();
    assert!(error.to_string().contains("no-such-environment.yaml"));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_server_key_or_way_is_other_evidence() {
    let (one, other) = (stage(Lies::none()).await, stage(Lies::none()).await);
    let (run, report) = verify(&one, Some(Gate::Static)).await;
    let (other_run, other_report) = verify(&other, Some(Gate::Static)).await;
    // the same card at the same name, served by somebody with another key
    assert_eq!(report.card_digest, other_report.card_digest);
    assert_eq!(report.target.endpoint, other_report.target.endpoint);
    assert_ne!(report.target.spki_sha256, other_report.target.spki_sha256);
    assert_ne!(report.target.trust_roots, other_report.target.trust_roots);
    assert_ne!(report.target.connect_to, other_report.target.connect_to);
    assert_ne!(recording_file::write(&run), recording_file::write(&other_run));
    let key = report.target.spki_sha256.clone().unwrap();
    for said in [&format!("server key {key}"), "own trust roots sha256:", "connections were led to 127.0.0.1:"] {
        assert!(report.statement.contains(said), "{said}: {}", report.statement);
    }
    one.agent.stop().await;
    other.agent.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_artifact_is_observed_where_its_file_is_digested_and_another_file_is_caught() {
    let mut stage = stage(Lies::none()).await;
    let dir = stage._dir.path().to_owned();
    let file = dir.join("agent.bin");
    let path = dir.join("environment.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("  budget:", "  artifact: { path: agent.bin }\n  budget:")).unwrap();
    stage.place = Place::read(&path).unwrap_or_else(|e| panic!("{e}"));
    // the shipped contract pins the digest of this text
    std::fs::write(&file, "planning-agent 3.4.1").unwrap();
    let (_, report) = verify(&stage, Some(Gate::Static)).await;
    assert_eq!((report.verdict, report.producer_digest_source), (Outcome::Pass, DigestSource::Observed));
    assert!(!report.statement.contains("which artifact runs"), "{}", report.statement);

    std::fs::write(&file, "something else").unwrap();
    let (_, report) = verify(&stage, Some(Gate::Static)).await;
    assert_eq!((report.verdict, report.producer_digest_source), (Outcome::Fail, DigestSource::Declared));
    assert!(report.findings.iter().any(|f| f.reason_code == Some(ReasonCode::ArtifactDigestMismatch)));

    std::fs::remove_file(&file).unwrap();
    let gone = LocalRun {
        bundle: &bundle(),
        place: &stage.place,
        gate: None,
        only: Vec::new(),
        seed: 1,
        run_id: "test".to_owned(),
        started_at: SystemClock.now(),
    };
    assert!(
        matches!(gone.verify(&NoSink).await, Err(EnvironmentError::Read { .. })),
        "a file that is named must be there"
    );
    stage.agent.stop().await;
}
