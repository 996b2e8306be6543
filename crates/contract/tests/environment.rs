//! Environments: all settings of the format are read, and none is ignored.

use ostiary_contract::{Code, Environment, environment::Observer};

const WHOLE: &str = r#"environment:
  name: staging
  strictness: production
  connect_to: { "agents.example.com:443": "127.0.0.1:9100" }
  trust_roots: staging-ca.pem
  allow_insecure_http: true
  a2a: { card_url: https://agents.example.com/.well-known/agent-card.json }
  mcp:
    - { server: plan-store, url: http://127.0.0.1:9200/mcp }
    - { server: files, command: ["node", "server.js"], env_from: [PLAN_TOKEN], sandbox: overlay }
  identity: { issuer: harness }
  subjects:
    allowed-user-a: {profile: user, tenant_class: standard, tenant: tenant-fixture-a, scopes: [plan.write]}
    expired-a: {expired: true}
    unregistered: {}
  provider_states: { url: http://127.0.0.1:9100/_states }
  cleared_effects: [ read, write ]
  parts: { store: real, outbox: real, authorization: real, payments: double }
  observers:
    - { kind: sql, dsn_env: PLAN_DB, tables: [drafts, outbox] }
    - { kind: filesystem, path: ./data }
    - { kind: egress, allow: [payments.example.test] }
    - { kind: approvals }
    - { kind: audit, dsn_env: PLAN_DB, table: audit_log }
  callbacks: { listen: 127.0.0.1:9500, base: "https://hooks.example.test", reachable: public }
  budget: { calls: 2000, rate_per_s: 50 }
  faults: [ latency, reset, partial_response, dependency_down ]
  dependencies: [ { name: store, listen: 127.0.0.1:9700, connect: "db.internal:5432" } ]
"#;

#[track_caller]
fn codes(text: &str) -> Vec<(Code, u32)> {
    let problems = Environment::parse("e.yaml", text.as_bytes()).expect_err("refused").0;
    problems.into_iter().map(|p| (p.code, p.line.unwrap_or(0))).collect()
}

#[test]
fn the_whole_format_is_read() {
    let environment = Environment::well_formed("e.yaml", WHOLE.as_bytes()).unwrap_or_else(|p| panic!("{p}"));
    let kinds: Vec<&str> = environment.observers.iter().map(|o| Observer::kind(o)).collect();
    assert_eq!(kinds, ["sql", "filesystem", "egress", "approvals", "audit"]);
    assert_eq!(environment.facts().parts["payments"], "double");
    assert!(environment.needs_operator());
}

#[test]
fn a_setting_that_this_build_cannot_honour_is_an_error_with_its_line() {
    let problems = codes(WHOLE);
    assert!(problems.iter().all(|(code, _)| *code == Code::SettingUnsupported), "{problems:?}");
    let lines: Vec<u32> = problems.iter().map(|(_, line)| *line).collect();
    assert_eq!(lines, [10, 20, 21, 23, 24]);
}

#[test]
fn faults_and_dependencies_are_told_to_the_judge_and_need_an_operator_where_a_port_is_opened() {
    let with = |more: &str| {
        let text = format!("environment:\n  name: local\n  a2a: {{card_url: https://a.example.test/c.json}}\n{more}");
        Environment::parse("e.yaml", text.as_bytes())
    };
    let on_the_way = with("  faults: [latency, reset]\n").unwrap_or_else(|p| panic!("{p}"));
    assert_eq!(on_the_way.facts().faults, ["latency", "reset"]);
    assert!(!on_the_way.needs_operator());
    let store = "  dependencies: [{name: store, listen: '127.0.0.1:9700', connect: 'db:5432'}]\n";
    let behind = with(&format!("  faults: [dependency_down]\n{store}")).unwrap_or_else(|p| panic!("{p}"));
    assert_eq!(behind.facts().dependencies, ["store"]);
    assert!(behind.needs_operator());
}

#[test]
fn a_dependency_that_cannot_be_led_is_refused() {
    let found = codes(
        "environment:\n  name: local\n  a2a: {card_url: https://a.example.test/c.json}\n  faults: [dependency_down]\n",
    );
    assert_eq!(found, [(Code::Contradiction, 4)]);
    let found = codes(
        "environment:\n  name: local\n  a2a: {card_url: https://a.example.test/c.json}\n  dependencies:\n    \
         - {name: '', listen: everywhere, connect: db}\n    - {name: a, listen: '127.0.0.1:9', connect: '127.0.0.1:9'}\n    \
         - {name: a, listen: '127.0.0.1:8', connect: '127.0.0.1:9'}\n",
    );
    let expect = [
        (Code::InvalidValue, 5),
        (Code::InvalidValue, 5),
        (Code::InvalidValue, 5),
        (Code::Contradiction, 6),
        (Code::Contradiction, 7),
    ];
    assert_eq!(found, expect);
}

#[test]
fn secrets_are_taken_by_reference_only_and_never_shown() {
    let token = ["gh", "p_", "Zk3vQ9xT1mB7rY5wN2cH8dL4pJ6sF0aGuEoI"].concat();
    let text = format!(
        "environment:\n  name: local\n  a2a: {{card_url: https://user:pa55word@a.example.test/c.json}}\n  subjects:\n    \
         a: {{token_env: \"{token}\"}}\n"
    );
    let problems = Environment::parse("e.yaml", text.as_bytes()).expect_err("refused");
    assert!(problems.0.iter().all(|p| p.code == Code::SecretInline), "{problems}");
    let lines: Vec<Option<u32>> = problems.0.iter().map(|p| p.line).collect();
    assert!(lines.contains(&Some(3)) && lines.contains(&Some(5)), "{problems}");
    assert!(!problems.to_string().contains(&token) && !problems.to_string().contains("pa55word"), "{problems}");
}

#[test]
fn every_contradiction_of_an_environment_comes_at_once() {
    let found = codes(
        "environment:\n  name: local\n  stricness: production\n  connect_to: {\"agents.example.com\": \"127.0.0.1:0\"}\n  \
         a2a: {card_url: http://a.example.test/c.json}\n  identity: {issuer: harness, key_env: A, key_file: b}\n  \
         subjects:\n    a: {token_env: TOKEN_A, expired: true}\n    anonymous: {}\n  cleared_effects: [reed]\n",
    );
    let expect = [
        (Code::UnknownKey, 3),
        (Code::InvalidValue, 4),
        (Code::InvalidValue, 4),
        (Code::Contradiction, 5),
        (Code::Contradiction, 6),
        (Code::Contradiction, 8),
        (Code::Contradiction, 9),
        (Code::InvalidValue, 10),
    ];
    assert_eq!(found, expect);
    assert_eq!(codes("environment: {name: local}\n"), [(Code::MissingKey, 1)]);
}

#[test]
fn callbacks_open_a_port_and_name_what_everybody_can_call() {
    let text = |callbacks: &str| {
        format!(
            "environment:\n  name: local\n  a2a: {{card_url: https://a.example.test/c.json}}\n  callbacks: {callbacks}\n"
        )
    };
    let read = |callbacks: &str| Environment::parse("e.yaml", text(callbacks).as_bytes());
    let local = read("{}").unwrap_or_else(|p| panic!("{p}"));
    assert!(local.needs_operator());
    let facts = local.callbacks.unwrap_or_else(|| panic!("it was read")).facts(None);
    assert_eq!((facts.public, facts.https, facts.signed), (false, false, None));
    let public = "{ listen: 127.0.0.1:9500, base: https://hooks.example.test, reachable: public }";
    let facts = read(public).unwrap_or_else(|p| panic!("{p}")).callbacks.unwrap_or_default().facts(None);
    assert_eq!((facts.public, facts.https), (true, true));
    for (wrong, code) in [
        ("{ reachable: public }", Code::Contradiction),
        ("{ listen: nowhere }", Code::InvalidValue),
        ("{ base: hooks.example.test }", Code::InvalidValue),
        ("{ base: https://user:pass@hooks.example.test }", Code::SecretInline),
        ("{ audience: me }", Code::Contradiction),
        ("{ signed_by: keys.json }", Code::Contradiction),
        ("{ reachable: everywhere }", Code::InvalidValue),
    ] {
        assert!(codes(&text(wrong)).contains(&(code, 4)), "{wrong}");
    }
}
