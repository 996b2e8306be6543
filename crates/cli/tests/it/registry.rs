//! A control plane, an agent, and people who work on it from the command line.

use std::{fs, path::Path};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Ended, Running, bundle, environment, run};

const AGENT: &str = "team/agent-fixture-planning";
const PROFILE: &str = "a2a-jsonrpc-1.0/user/standard";

/// A control plane with people and a router, and the sample agent.
struct Site {
    folder: TempDir,
    control_plane: Running,
    _agent: Running,
}

// === impl Site ===

impl Site {
    /// Starts everything; `embedded` is how many runs the control plane drives itself.
    fn start(embedded: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let tokens = [
            ("ada", "[admin]", "'*'", true),
            ("paula", "[publisher]", "team", true),
            ("olga", "[publisher, operator]", "team", true),
            ("otto", "[operator]", "team", true),
            ("router-1", "[router]", "team", false),
            ("worker-1", "[verifier]", "'*'", false),
        ];
        let mut text = format!(
            "data_dir: {0}/data\nhttp: {{ listen: '127.0.0.1:0' }}\ngrpc: {{ listen: '127.0.0.1:0' }}\n\
             worker: {{ environment_files: {0}, embedded: {embedded} }}\ntokens:\n",
            path.display()
        );
        for (name, roles, namespaces, person) in tokens {
            let file = path.join(format!("{name}.token"));
            fs::write(&file, format!("{name}-secret-0123456789abcdef0123456789abcdef")).unwrap();
            text.push_str(&format!(
                "  - {{ name: {name}, file: {}, roles: {roles}, namespaces: [{namespaces}], person: {person} }}\n",
                file.display()
            ));
        }
        let config = path.join("ostiary.yaml");
        fs::write(&config, text).unwrap();
        let control_plane = Running::start(&["serve", "--config", config.to_str().unwrap()]);
        let env = environment(path, "staging");
        let agent = Running::start(&["sample", &bundle(), "--env", env.to_str().unwrap()]);
        Self { folder, control_plane, _agent: agent }
    }

    /// Runs a command as somebody.
    fn as_(&self, who: &str, arguments: &[&str]) -> Ended {
        self.printed_as("json", who, arguments)
    }

    fn printed_as(&self, format: &str, who: &str, arguments: &[&str]) -> Ended {
        let token = self.folder.path().join(format!("{who}.token"));
        let server = self.control_plane.said["http"].as_str().unwrap();
        let remote = ["--server", server, "--token-file", token.to_str().unwrap(), "--format", format];
        run(&[arguments, &remote].concat())
    }

    /// Runs a command that must work.
    fn done(&self, who: &str, arguments: &[&str]) -> Value {
        let ended = self.as_(who, arguments);
        assert_eq!(ended.code, 0, "{who}: {arguments:?}: {ended:?}");
        ended.json()
    }

    /// Runs an act on version 3.4.1.
    fn act(&self, who: &str, arguments: &[&str]) -> Ended {
        self.as_(who, &[arguments, &["--agent", AGENT, "--version", "3.4.1"]].concat())
    }

    /// Asks as the router: exit code and reason.
    fn check(&self, card: &str, profile: &str) -> (i32, String) {
        let grpc = self.control_plane.said["grpc"].as_str().unwrap();
        let question = ["check", "--card-digest", card, "--profile", profile, "--grpc", grpc, "--consistent"];
        let ended = self.act("router-1", &question);
        (ended.code, ended.json()["reason"].as_str().unwrap().to_owned())
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

#[test]
fn from_a_bundle_to_a_routers_answer_and_off_the_road_again() {
    let site = Site::start(1);
    let env = site.path().join("staging.yaml");
    site.done("ada", &["namespace", "put", "team"]);
    site.done("paula", &["agent", "create", AGENT]);
    site.done("otto", &["environment", "put", env.to_str().unwrap()]);
    let submit = ["version", "submit", "--namespace", "team", "--bundle", &bundle(), "--env", "staging", "--wait"];
    let admitted = site.done("olga", &submit);
    assert_eq!(admitted["state"], "REGISTRY_ADMITTED", "{admitted}");
    let card = admitted["subject"]["card_digest"].as_str().unwrap();
    assert_eq!(site.check(card, PROFILE), (1, "NOT_ADMITTED".to_owned()));

    for (to, state) in [("canary", "CANARY"), ("active", "ACTIVE")] {
        let promoted = site.act("otto", &["version", "promote", "--reason", "ready", "--to", to, "--wait"]);
        assert_eq!((promoted.code, &promoted.json()["state"]), (0, &json!(state)), "{promoted:?}");
    }
    assert_eq!(site.check(card, PROFILE), (0, "ALLOWED".to_owned()));
    assert_eq!(site.check(card, "a2a-jsonrpc-1.0/agent/standard"), (1, "PROFILE_NOT_VERIFIED".to_owned()));
    assert_eq!(site.check("", PROFILE), (1, "OBSERVED_DIGEST_MISSING".to_owned()));

    let hold = site.act("otto", &["version", "hold", "set", "--kind", "route_disabled", "--reason", "looks odd"]);
    assert_eq!(site.check(card, PROFILE), (1, "ROUTE_DISABLED".to_owned()));
    let id = hold.json()["holds"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(site.act("otto", &["version", "hold", "lift", "--id", &id, "--reason", "it was nothing"]).code, 0);
    assert_eq!(site.check(card, PROFILE), (0, "ALLOWED".to_owned()));
    quarantine_is_proved(&site);
    assert_eq!(site.check(card, PROFILE), (1, "QUARANTINED".to_owned()));

    proof_is_verified_by_oneself(&site);
    refusals_have_their_exit_codes(&site);
}

/// L-04: an answer that was given just before may be used for a lease; until then there is no proof, and then there is.
fn quarantine_is_proved(site: &Site) {
    let quarantined = site.act("otto", &["version", "quarantine", "--reason", "an incident", "--wait", "0"]);
    let said = quarantined.json();
    assert_eq!((quarantined.code, &said["proof"]["proved"]), (3, &json!(false)), "{said:#}");
    assert!(said["proof"]["answers_until"].is_string(), "{said:#}");
    let revision = said["revision"].to_string();
    let proof = site.done("otto", &["revision", "applied", &revision, "--wait"]);
    assert_eq!((&proof["proved"], &proof["pending"]), (&json!(true), &json!(0)), "{proof:#}");
    assert_eq!(site.as_("paula", &["revision", "applied", &revision]).code, 1, "not a publisher's business");
    assert_eq!(site.as_("otto", &["revision", "applied", "999999"]).code, 2, "there is none");
}

fn proof_is_verified_by_oneself(site: &Site) {
    let out = site.path().join("evidence");
    let forms = ["--as", "dsse", "--as", "intoto-jsonl", "--as", "sigstore"];
    let exported = site.act("otto", &[&["evidence", "export", "--out", out.to_str().unwrap()], &forms[..]].concat());
    assert_eq!(exported.code, 0, "{exported:?}");
    let keys = out.join("keys.json");
    let envelopes: Vec<_> = fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().ends_with(".dsse.json"))
        .collect();
    assert!(envelopes.len() >= 6, "a piece of evidence for each gate: {envelopes:?}");
    let verify = |path: &Path| {
        run(&["evidence", "verify", path.to_str().unwrap(), "--keys", keys.to_str().unwrap(), "--format", "json"])
    };
    for path in &envelopes {
        let verified = verify(path);
        assert_eq!((verified.code, &verified.json()["verified"]), (0, &json!(true)), "{verified:?}");
    }
    let lines = out.join("evidence.intoto.jsonl");
    assert_eq!(verify(&lines).json()["files"].as_array().unwrap().len(), envelopes.len(), "an envelope a line");
    let summary = site.act("otto", &["evidence", "export", "--out", out.to_str().unwrap(), "--as", "vsa"]);
    assert_eq!(summary.code, 1, "a version in quarantine is not summed up: {summary:?}");
    let forged = site.path().join("forged.dsse.json");
    let mut envelope: Value = serde_json::from_slice(&fs::read(&envelopes[0]).unwrap()).unwrap();
    let payload = envelope["payload"].as_str().unwrap().to_owned();
    envelope["payload"] = json!(format!("A{}", &payload[1..]));
    fs::write(&forged, envelope.to_string()).unwrap();
    assert_eq!(verify(&forged).code, 1, "a changed payload does not verify");
    let audit = site.done("otto", &["audit", "verify"]);
    assert_eq!(audit["intact"], true);
}

fn refusals_have_their_exit_codes(site: &Site) {
    let own = site.act("olga", &["approve", "--edge", "release", "--reason", "mine is fine"]);
    assert_eq!((own.code, &own.json()["error"]["code"]), (1, &json!("OWN_SUBMISSION")), "{own:?}");
    let forbidden = site.act("paula", &["version", "quarantine", "--reason", "not my job"]);
    assert_eq!((forbidden.code, &forbidden.json()["error"]["code"]), (1, &json!("FORBIDDEN")));
    let missing = site.as_("otto", &["version", "status", "--agent", AGENT, "--version", "9.9.9"]);
    assert_eq!((missing.code, &missing.json()["error"]["code"]), (2, &json!("NOT_FOUND")));
    fs::write(site.path().join("nobody.token"), "nobody").unwrap();
    let stranger = site.act("nobody", &["version", "status"]);
    assert_eq!((stranger.code, &stranger.json()["error"]["code"]), (4, &json!("UNAUTHENTICATED")));
    let unreachable = run(&["agent", "list", "--server", "http://127.0.0.1:1", "--format", "json"]);
    assert_eq!(unreachable.code, 4);
    assert!(unreachable.json()["error"]["hint"].as_str().unwrap().contains("ostiary serve"));
}

#[test]
fn a_worker_on_another_machine_drives_the_runs() {
    let site = Site::start(0);
    let (env, token) = (site.path().join("staging.yaml"), site.path().join("worker-1.token"));
    site.done("ada", &["namespace", "put", "team"]);
    site.done("paula", &["agent", "create", AGENT]);
    site.done("otto", &["environment", "put", env.to_str().unwrap()]);
    let submit = ["version", "submit", "--namespace", "team", "--bundle", &bundle(), "--env", "staging"];
    let submitted = site.done("paula", &submit);
    assert_eq!(submitted["attempt"], 1);
    let grpc = site.control_plane.said["grpc"].as_str().unwrap();
    let files = site.path().to_str().unwrap();
    let _worker = Running::start(&[
        "worker",
        "--grpc",
        grpc,
        "--token-file",
        token.to_str().unwrap(),
        "--environment-files",
        files,
    ]);
    let mut state = Value::Null;
    // each of three gates drives tasks that are at work for seconds
    for _ in 0..6_000 {
        state = site.act("otto", &["version", "status"]).json()["state"].clone();
        if state == "REGISTRY_ADMITTED" || state == "REJECTED" {
            break;
        }
    }
    assert_eq!(state, "REGISTRY_ADMITTED");
}

#[test]
fn a_bad_configuration_is_told_with_every_problem() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("ostiary.yaml");
    fs::write(&config, "worker: { tries: 0 }\nadmission: { lease_seconds: 1 }\n").unwrap();
    let checked = run(&["config", "check", "--config", config.to_str().unwrap(), "--format", "json"]);
    assert_eq!((checked.code, checked.json()["problems"].as_array().unwrap().len() >= 2), (4, true), "{checked:?}");
    let served = run(&["serve", "--config", config.to_str().unwrap()]);
    assert_eq!(served.code, 4);
    fs::write(&config, "http: { listen: '127.0.0.1:0' }\n").unwrap();
    assert_eq!(run(&["config", "check", "--config", config.to_str().unwrap()]).code, 0);
}

/// L-08, L-09, L-12 from the command line: a trial that ends, an exception that two people answer for, and what was told.
#[test]
fn a_trial_a_waiver_and_the_events_of_both() {
    let site = Site::start(1);
    let env = site.path().join("staging.yaml");
    site.done("ada", &["namespace", "put", "team"]);
    site.done("otto", &["environment", "put", env.to_str().unwrap()]);
    let hook = site.done("otto", &["webhook", "add", "https://hooks.invalid/ostiary", "--namespace", "team"]);
    assert_eq!(site.as_("otto", &["webhook", "add", "https://hooks.invalid/ostiary"]).code, 1, "otto reaches one team");
    let submit = ["version", "submit", "--namespace", "team", "--bundle", &bundle(), "--env", "staging", "--wait"];
    let admitted = site.done("paula", &submit);
    let submitted: jiff::Timestamp = admitted["submitted_at"].as_str().unwrap().parse().unwrap();
    let tomorrow = (submitted + jiff::SignedDuration::from_hours(24)).to_string();

    let ask = ["waive", "--check", "a2a.error.leak", "--reason", "mended next week", "--expires", &tomorrow];
    let asked = site.act("paula", &ask);
    assert_eq!((asked.code, &asked.json()["standing"]), (0, &json!("asked")), "{asked:?}");
    let id = asked.json()["id"].as_str().unwrap().to_owned();
    let grant = ["waive", "--grant", &id, "--reason", "seen"];
    assert_eq!(site.act("paula", &grant).code, 1, "nobody grants what they asked for");
    let granted = site.act("otto", &grant);
    assert_eq!(granted.json()["standing"], "granted", "{granted:?}");
    let revoked = site.act("otto", &["waive", "--revoke", &id, "--reason", "mended"]);
    assert_eq!(revoked.json()["standing"], "revoked", "{revoked:?}");
    let list = ["waive", "--list", "--agent", AGENT, "--version", "3.4.1"];
    assert_eq!(site.as_("olga", &list).json()[0]["id"], json!(id));
    let table = site.printed_as("human", "olga", &list).stdout;
    assert!(table.contains("paula") && table.contains("otto"), "both people stand there: {table}");

    let observe = ["namespace", "put", "team", "--mode", "observe", "--until", &tomorrow];
    assert_eq!(site.as_("ada", &observe).code, 2, "a trial has a reason");
    site.done("ada", &[&observe[..], &["--reason", "first weeks"]].concat());
    let card = admitted["subject"]["card_digest"].as_str().unwrap();
    assert_eq!(site.check(card, PROFILE), (0, "ALLOWED_WOULD_DENY".to_owned()));
    assert_eq!(site.act("olga", &["version", "status"]).json()["mode"], "observe");

    let events = site.done("olga", &["event", "list"]);
    let kinds: Vec<&str> = events["events"].as_array().unwrap().iter().map(|e| e["type"].as_str().unwrap()).collect();
    for kind in ["version.submitted", "version.moved", "waiver.changed", "namespace.mode_set"] {
        assert!(kinds.contains(&kind), "{kind} in {kinds:?}");
    }
    site.done("otto", &["webhook", "remove", hook["id"].as_str().unwrap()]);
    assert_eq!(site.done("otto", &["webhook", "list"]), json!([]));
}
