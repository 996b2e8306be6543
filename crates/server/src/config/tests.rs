//! What a configuration file may say, and what is refused.

use ostiary_canon::Digest;

use super::*;
use crate::auth::Role;

fn check(text: &str, environment: &[(&str, &str)]) -> Result<Config, Vec<String>> {
    let get = |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    Config::read("ostiary.yaml", text.as_bytes(), &get)
        .map_err(|error| error.0.iter().map(ToString::to_string).collect())
}

#[test]
fn empty_file_is_the_default_on_the_published_ports() {
    let config = check("", &[]).expect("an empty file is fine");
    assert_eq!((config.http.listen.port(), config.grpc.listen.port()), (8420, 8421));
    assert_eq!(config.admission.lease_seconds, 15);
}

#[test]
fn file_sets_what_it_names_and_leaves_the_rest() {
    let text = "http:\n  listen: 0.0.0.0:80\ntokens:\n  - name: ci\n    roles: [publisher]\n    namespaces: [acme]\n    \
                digest: sha256:0000000000000000000000000000000000000000000000000000000000000000\n";
    let config = check(text, &[]).expect("a valid file");
    assert_eq!(config.http.listen.port(), 80);
    assert_eq!(config.grpc.listen.port(), 8421);
    assert_eq!(config.tokens[0].roles, [Role::Publisher]);
}

#[test]
fn environment_overrides_the_file_by_name_and_nothing_else() {
    let config =
        check("http: { listen: 127.0.0.1:1 }", &[("OSTIARY_HTTP_LISTEN", "127.0.0.1:2"), ("HTTP_LISTEN", "x")])
            .expect("valid");
    assert_eq!(config.http.listen.port(), 2);
    let errors = check("", &[("OSTIARY_GRPC_LISTEN", "everywhere")]).expect_err("no address");
    assert_eq!(errors, ["OSTIARY_GRPC_LISTEN: `everywhere` is no address (expected like 127.0.0.1:8420)"]);
}

#[test]
fn all_problems_are_reported_with_their_lines() {
    let text = "htpp: {}\nadmission:\n  lease: 4\nworker: { tries: 0 }\ntokens:\n  - name: ci\n    roles: [root]\n";
    let errors = check(text, &[]).expect_err("four mistakes");
    for (line, word) in [("ostiary.yaml:1", "htpp"), ("ostiary.yaml:2", "lease"), ("ostiary.yaml:6", "root")] {
        assert!(errors.iter().any(|e| e.starts_with(line) && e.contains(word)), "{line} {word}: {errors:#?}");
    }
    assert!(errors.iter().any(|e| e.contains("worker.tries")), "{errors:#?}");
}

#[test]
fn token_in_the_clear_is_refused() {
    let errors = check("tokens:\n  - { name: ci, roles: [router], token: s3cret }\n", &[]).expect_err("no such key");
    assert!(errors[0].starts_with("ostiary.yaml:2"), "{errors:?}");
}

/// One secret under two names would let one person ask and grant, or leave to chance who it is.
#[test]
fn a_secret_in_a_file_belongs_to_one_caller() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    let (one, again, other) = (
        write("one", "0123456789abcdef01234567\n"),
        write("again", "0123456789abcdef01234567"),
        write("other", "fedcba"),
    );
    let digest = Digest::of(b"0123456789abcdef01234567").to_string();
    let two = |first: &str, second: &str| {
        let row = |name: &str, secret: &str| format!("  - {{ name: {name}, roles: [router], {secret} }}\n");
        check(&format!("tokens:\n{}{}", row("olga", first), row("otto", second)), &[])
    };
    let file = |path: &str| format!("file: '{path}'");
    for second in [file(&one), file(&again), format!("digest: '{digest}'")] {
        let errors = two(&file(&one), &second).expect_err("one secret, two callers");
        assert!(errors.iter().any(|e| e.contains("`otto` is also somebody else's")), "{errors:?}");
    }
    assert!(two(&file(&one), &file(&other)).is_ok(), "two secrets, two callers");
}

/// The interface names the role of consent `approver`; it is the operator's.
#[test]
fn an_approver_is_an_operator() {
    let digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
    let of = |role: &str| check(&format!("tokens:\n  - {{ name: olga, roles: [{role}], digest: '{digest}' }}\n"), &[]);
    assert_eq!(of("approver").expect("a role").tokens[0].roles, [Role::Operator]);
    for role in ["publisher", "verifier", "operator", "router", "auditor", "admin"] {
        assert_eq!(of(role).expect("a role").tokens[0].roles[0].as_str(), role);
    }
}

#[test]
fn lease_that_would_delay_a_quarantine_for_minutes_is_refused() {
    let errors = check("admission: { lease_seconds: 600 }", &[]).expect_err("too long");
    assert!(errors[0].contains("lease_seconds"), "{errors:?}");
}

#[test]
fn two_callers_cannot_share_name_or_token() {
    let digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
    let one = format!("  - {{ name: ci, roles: [router], digest: '{digest}' }}\n");
    let errors = check(&format!("tokens:\n{one}{one}"), &[]).expect_err("twice the same");
    assert_eq!(errors.len(), 2, "{errors:?}");
}

#[test]
fn token_that_is_not_there_or_that_everybody_knows_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (full, empty) = (folder.path().join("full"), folder.path().join("empty"));
    std::fs::write(&full, "f3c2\n").expect("written");
    std::fs::write(&empty, "\n").expect("written");
    let of = |secret: String| check(&format!("tokens:\n  - {{ name: ci, roles: [router], {secret} }}\n"), &[]);
    assert!(of(format!("file: {}", full.display())).is_ok());
    for (secret, expected) in [
        ("file: /nowhere/token".to_owned(), "/nowhere/token"),
        (format!("file: {}", empty.display()), "is empty"),
        (format!("digest: '{}'", Digest::of(b"")), "the empty text"),
    ] {
        let errors = of(secret.clone()).expect_err(&secret);
        assert!(errors.len() == 1 && errors[0].contains(expected), "{secret}: {errors:?}");
    }
}

#[test]
fn sample_file_names_every_setting_with_its_default() {
    let sample = include_str!("../../ostiary.sample.yaml");
    let read = check(sample, &[]).expect("the sample is valid");
    assert_eq!(format!("{read:?}"), format!("{:?}", Config::default()));
    assert!(sample.contains("environment_files"), "the one setting without a default is shown as well");
}

#[test]
fn database_url_comes_from_a_file_or_a_variable_and_is_not_printed() {
    let env = [("DB", "postgres://o:hunter2@localhost/ostiary")];
    let config = check("database: { postgres: { url_env: DB, connections: 4 } }", &env).expect("a database");
    assert!(matches!(config.database, DatabaseConfig::Postgres(_)));
    assert!(!format!("{config:?}").contains("hunter2"));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("url");
    std::fs::write(&file, "postgresql://o@localhost/ostiary\n").expect("written");
    let text = format!("database: {{ postgres: {{ url_file: {} }} }}", file.display());
    assert!(matches!(check(&text, &[]).expect("a database").database, DatabaseConfig::Postgres(_)));
    assert!(matches!(check("database: sqlite", &[]).expect("a file").database, DatabaseConfig::Sqlite));
}

#[test]
fn database_section_that_cannot_work_is_refused_with_its_line() {
    let env = [("DB", "postgres://o:hunter2@localhost/ostiary"), ("MYSQL", "mysql://o:hunter2@localhost/ostiary")];
    for (section, expected) in [
        ("{ postgres: { url: 'postgres://o:hunter2@localhost/ostiary' } }", "unknown field `url`"),
        ("{ postgres: {} }", "exactly one of"),
        ("{ postgres: { url_env: DB, url_file: /x } }", "exactly one of"),
        ("{ postgres: { url_env: NOBODY } }", "`NOBODY` is not set"),
        ("{ postgres: { url_file: /nowhere/url } }", "/nowhere/url"),
        ("{ postgres: { url_env: MYSQL } }", "`mysql:`"),
        ("{ postgres: { url_env: DB, connections: 1 } }", "give 2 to 64"),
        ("oracle", "unknown variant"),
    ] {
        let errors = check(&format!("http: {{}}\ndatabase: {section}\n"), &env).expect_err(section);
        assert!(errors[0].starts_with("ostiary.yaml:2") && errors[0].contains(expected), "{section}: {errors:?}");
        assert!(!errors[0].contains("hunter2"), "{errors:?}");
    }
}
