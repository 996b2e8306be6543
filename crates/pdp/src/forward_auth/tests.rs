use http::{Request, StatusCode};
use ostiary_proto::admission::v1::{DecisionReason, EnforcementMode, Outcome};
use serde_json::Value;
use tonic::Status;

use super::*;
use crate::gateway::fake::{Fake, decided};

async fn ask(fake: &Fake, uri: &str, headers: &[(&str, &str)]) -> Response<String> {
    let mut request = Request::builder().uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (parts, ()) = request.body(()).expect("a request").into_parts();
    answer(fake, &parts).await
}

fn header<'r>(response: &'r Response<String>, name: &str) -> Option<&'r str> {
    response.headers().get(name).and_then(|value| value.to_str().ok())
}

fn problem(response: &Response<String>) -> Value {
    assert_eq!(header(response, "content-type"), Some(PROBLEM_JSON));
    serde_json::from_str(response.body()).expect("JSON")
}

#[tokio::test]
async fn an_allow_is_200_with_what_it_rests_on() {
    let fake = Fake::allowing();
    let uri = "/forward-auth?agent=acme/text&version=1.0.0&card-digest=sha256%3Aab&profile=a2a-jsonrpc-1.0";
    let answer = ask(&fake, uri, &[]).await;
    assert_eq!((answer.status(), answer.body().as_str()), (StatusCode::OK, ""));
    let told = ["decision", "reason", "revision", "valid-until", "evidence-digest"];
    let told = told.map(|name| header(&answer, &format!("x-ostiary-{name}")).unwrap_or_default());
    assert_eq!(told, ["ALLOW", "ALLOWED", "42", "2027-01-15T08:00:00Z", "sha256:e"]);
    assert_eq!(header(&answer, "cache-control"), Some("no-store"));
    let (asked, _) = fake.asked();
    let asked = [asked.agent, asked.version, asked.card_digest, asked.profile];
    assert_eq!(asked, ["acme/text", "1.0.0", "sha256:ab", "a2a-jsonrpc-1.0"]);
}

#[tokio::test]
async fn headers_alone_are_a_question_and_only_the_credential_goes_along() {
    let fake = Fake::allowing();
    let headers = [
        ("x-ostiary-agent", "acme/text"),
        ("x-ostiary-version", "1.0.0"),
        ("x-ostiary-card-digest", "sha256:ab"),
        ("x-ostiary-profile", "p"),
        ("authorization", "Bearer router"),
        ("cookie", "secret"),
        ("grpc-timeout", "1n"),
    ];
    assert_eq!(ask(&fake, PATH, &headers).await.status(), StatusCode::OK);
    let (asked, credential) = fake.asked();
    assert_eq!([asked.agent, asked.version, asked.card_digest], ["acme/text", "1.0.0", "sha256:ab"]);
    assert_eq!(credential.as_deref(), Some("Bearer router"));
}

#[tokio::test]
async fn a_clients_header_cannot_override_the_operators_query() {
    let fake = Fake::allowing();
    let liar = [("x-ostiary-version", "0.9.0"), ("x-ostiary-consumer", "friend")];
    ask(&fake, "/forward-auth?agent=acme/text&version=1.0.0", &liar).await;
    let (asked, _) = fake.asked();
    assert_eq!([asked.version, asked.consumer], ["1.0.0", ""]);
}

#[tokio::test]
async fn what_is_left_out_is_asked_as_left_out() {
    let fake = Fake::answering(Ok(decided(Outcome::Deny, DecisionReason::ObservedDigestMissing)));
    let answer = ask(&fake, "/forward-auth?agent=acme/text&version=1.0.0", &[]).await;
    assert_eq!((answer.status(), fake.asked().0.card_digest.as_str()), (StatusCode::FORBIDDEN, ""));
    assert_eq!(problem(&answer)["code"], "OBSERVED_DIGEST_MISSING");
    assert_eq!(header(&answer, "x-ostiary-reason"), Some("OBSERVED_DIGEST_MISSING"));
}

#[tokio::test]
async fn a_parameter_that_comes_twice_or_is_unknown_is_refused_without_asking() {
    for query in ["agent=a/b&agent=a/c", "agnet=a/b", "agent=a/b&original=/rpc?version=2", "at-least-revision=newest"] {
        let fake = Fake::allowing();
        let answer = ask(&fake, &format!("/forward-auth?{query}"), &[]).await;
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{query}");
        assert_eq!(header(&answer, "x-ostiary-reason"), Some("QUESTION_UNCLEAR"));
        assert!(fake.was_not_asked(), "{query}");
    }
}

#[tokio::test]
async fn a_view_that_is_behind_is_503_and_says_when_to_come_back() {
    let fake = Fake::answering(Ok(decided(Outcome::Deny, DecisionReason::ViewStale)));
    let answer = ask(&fake, PATH, &[]).await;
    assert_eq!((answer.status(), header(&answer, "retry-after")), (StatusCode::SERVICE_UNAVAILABLE, Some("2")));
    assert_eq!(problem(&answer)["retryable"], true);
}

#[tokio::test]
async fn what_cannot_be_decided_is_never_200() {
    let errors = [
        (Status::unauthenticated("no token"), StatusCode::UNAUTHORIZED, "UNAUTHENTICATED"),
        (Status::permission_denied("no router"), StatusCode::FORBIDDEN, "FORBIDDEN"),
        (Status::unavailable("later"), StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE"),
        (Status::internal("bug"), StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE"),
        (Status::ok("no error"), StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE"),
    ];
    for (status, http, code) in errors {
        let answer = ask(&Fake::answering(Err(status)), PATH, &[]).await;
        assert_eq!((answer.status(), problem(&answer)["code"].as_str()), (http, Some(code)));
        assert_eq!(header(&answer, "x-ostiary-decision"), None);
        assert_eq!(header(&answer, "www-authenticate").is_some(), http == StatusCode::UNAUTHORIZED);
    }
}

#[tokio::test]
async fn a_trial_lets_pass_and_says_what_it_would_have_denied() {
    let mut trial = decided(Outcome::Allow, DecisionReason::AllowedWouldDeny);
    trial.would_deny = DecisionReason::EvidenceExpired.into();
    trial.mode = EnforcementMode::Observe.into();
    let answer = ask(&Fake::answering(Ok(trial)), PATH, &[]).await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(header(&answer, "x-ostiary-would-deny"), Some("EVIDENCE_EXPIRED"));
}
