use std::collections::HashMap;

use envoy_types::pb::envoy::{
    config::core::v3::HeaderMap, service::auth::v3::attribute_context::Request as Attributes,
};
use ostiary_proto::admission::v1::{DecisionReason, EnforcementMode, Outcome};

use super::*;
use crate::gateway::fake::{Fake, decided};

fn texts(words: &[(&str, &str)]) -> HashMap<String, String> {
    words.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn metadata_of(words: &[(&str, &str)]) -> Option<Metadata> {
    let text = |value: &str| Value { kind: Some(Kind::StringValue(value.to_owned())) };
    let fields = words.iter().map(|(name, value)| ((*name).to_owned(), text(value))).collect();
    let filter_metadata = [(NAMESPACE.to_owned(), Struct { fields })].into();
    Some(Metadata { filter_metadata, ..Metadata::default() })
}

fn with_headers(http: HttpRequest) -> AttributeContext {
    AttributeContext {
        request: Some(Attributes { http: Some(http), ..Attributes::default() }),
        ..AttributeContext::default()
    }
}

async fn check(fake: Fake, attributes: AttributeContext) -> (Arc<Fake>, Result<CheckResponse, Status>) {
    let fake = Arc::new(fake);
    let asking = CheckRequest { attributes: Some(attributes) };
    let answered = ExtAuthz::new(Arc::clone(&fake)).check(Request::new(asking)).await;
    (fake, answered.map(Response::into_inner))
}

fn code(response: &CheckResponse) -> Code {
    Code::from(response.status.as_ref().expect("a status").code)
}

fn told(headers: &[HeaderValueOption]) -> HashMap<&str, &str> {
    let replace = i32::from(HeaderAppendAction::OverwriteIfExistsOrAdd);
    assert!(headers.iter().all(|option| option.append_action == replace), "{headers:?}");
    headers.iter().filter_map(|o| o.header.as_ref()).map(|h| (h.key.as_str(), h.value.as_str())).collect()
}

#[tokio::test]
async fn an_allow_passes_and_replaces_what_a_client_may_have_forged() {
    let context = AttributeContext {
        context_extensions: texts(&[("ostiary-agent", "acme/text"), ("ostiary-version", "1.0.0"), ("other", "x")]),
        ..AttributeContext::default()
    };
    let (fake, answer) = check(Fake::allowing(), context).await;
    let answer = answer.expect("decided");
    assert_eq!(code(&answer), Code::Ok);
    let Some(HttpResponse::OkResponse(pass)) = &answer.http_response else { panic!("{answer:?}") };
    let headers = told(&pass.headers);
    let names = ["decision", "reason", "revision", "valid-until", "evidence-digest"];
    let values = names.map(|name| headers[format!("x-ostiary-{name}").as_str()]);
    assert_eq!(values, ["ALLOW", "ALLOWED", "42", "2027-01-15T08:00:00Z", "sha256:e"]);
    assert!(pass.headers_to_remove.contains(&"x-ostiary-would-deny".to_owned()), "{:?}", pass.headers_to_remove);
    assert_eq!(pass.headers.len() + pass.headers_to_remove.len(), FACTS.len());
    assert!(pass.response_headers_to_add.is_empty());
    let (asked, _) = fake.asked();
    assert_eq!([asked.agent, asked.version], ["acme/text", "1.0.0"]);
}

#[tokio::test]
async fn a_denial_is_403_with_a_problem_and_metadata() {
    let quarantined = Fake::answering(Ok(decided(Outcome::Deny, DecisionReason::Quarantined)));
    let (_, answer) = check(quarantined, AttributeContext::default()).await;
    let answer = answer.expect("decided");
    assert_eq!(code(&answer), Code::PermissionDenied);
    let Some(HttpResponse::DeniedResponse(refused)) = &answer.http_response else { panic!("{answer:?}") };
    assert_eq!(refused.status.as_ref().map(|status| status.code), Some(403));
    let headers = told(&refused.headers);
    assert_eq!((headers["x-ostiary-decision"], headers["x-ostiary-reason"]), ("DENY", "QUARANTINED"));
    assert_eq!(headers["content-type"], PROBLEM_JSON);
    let problem: serde_json::Value = serde_json::from_str(&refused.body).expect("JSON");
    assert_eq!((&problem["code"], &problem["status"]), (&"QUARANTINED".into(), &403.into()));
    let fields = answer.dynamic_metadata.expect("metadata").fields;
    assert_eq!(fields["reason"].kind, Some(Kind::StringValue("QUARANTINED".to_owned())));
    assert!(fields.contains_key("valid_until"), "{fields:?}");
}

#[tokio::test]
async fn a_view_that_is_behind_denies_with_503_even_where_failures_are_let_through() {
    let stale = Fake::answering(Ok(decided(Outcome::Deny, DecisionReason::ViewStale)));
    let (_, answer) = check(stale, AttributeContext::default()).await;
    let answer = answer.expect("a decision, not an error");
    assert_eq!(code(&answer), Code::Unavailable);
    let Some(HttpResponse::DeniedResponse(refused)) = answer.http_response else { panic!("no denial") };
    assert_eq!(refused.status.map(|status| status.code), Some(503));
}

#[tokio::test]
async fn what_cannot_be_decided_is_an_error_of_the_call() {
    let (_, answer) =
        check(Fake::answering(Err(Status::unauthenticated("no token"))), AttributeContext::default()).await;
    assert_eq!(answer.expect_err("no decision").code(), Code::Unauthenticated);
}

#[tokio::test]
async fn context_extensions_win_over_metadata_and_both_over_headers() {
    let headers = [("x-ostiary-agent", "evil/a"), ("x-ostiary-version", "9"), ("x-ostiary-consumer", "friend")];
    let context = AttributeContext {
        context_extensions: texts(&[("ostiary-agent", "acme/text")]),
        route_metadata_context: metadata_of(&[("agent", "acme/other"), ("version", "1")]),
        metadata_context: metadata_of(&[("version", "2"), ("profile", "p"), ("headers", "consumer")]),
        ..with_headers(HttpRequest { headers: texts(&headers), ..HttpRequest::default() })
    };
    let (fake, _) = check(Fake::allowing(), context).await;
    let (asked, _) = fake.asked();
    assert_eq!([asked.agent, asked.version, asked.profile, asked.consumer], ["acme/text", "1", "p", "friend"]);
}

#[tokio::test]
async fn headers_are_heard_merged_or_raw() {
    let merged = HttpRequest { headers: texts(&[("x-ostiary-agent", "acme/text")]), ..HttpRequest::default() };
    let raw = |value: &[u8]| HttpRequest {
        header_map: Some(HeaderMap {
            headers: vec![HeaderValue {
                key: "x-ostiary-agent".to_owned(),
                raw_value: value.to_vec(),
                ..HeaderValue::default()
            }],
        }),
        ..HttpRequest::default()
    };
    for http in [merged, raw(b"acme/text")] {
        let (fake, _) = check(Fake::allowing(), with_headers(http)).await;
        assert_eq!(fake.asked().0.agent, "acme/text");
    }
    let (fake, answer) = check(Fake::allowing(), with_headers(raw(b"\xff"))).await;
    assert!(fake.was_not_asked());
    assert_eq!(code(&answer.expect("refused")), Code::PermissionDenied);
}

#[tokio::test]
async fn a_misspelt_extension_is_refused_instead_of_left_out() {
    let context = AttributeContext {
        context_extensions: texts(&[("ostiary-agent", "acme/text"), ("ostiary-consumr", "a")]),
        ..AttributeContext::default()
    };
    let (fake, answer) = check(Fake::allowing(), context).await;
    assert!(fake.was_not_asked());
    let answer = answer.expect("refused");
    let fields = answer.dynamic_metadata.expect("metadata").fields;
    assert_eq!(fields["reason"].kind, Some(Kind::StringValue("QUESTION_UNCLEAR".to_owned())));
}

#[tokio::test]
async fn a_warning_reaches_the_client_and_an_observation_does_not() {
    for (mode, shown) in [(EnforcementMode::Warn, true), (EnforcementMode::Observe, false)] {
        let mut trial = decided(Outcome::Allow, DecisionReason::AllowedWouldDeny);
        trial.would_deny = DecisionReason::Quarantined.into();
        trial.mode = mode.into();
        let (_, answer) = check(Fake::answering(Ok(trial)), AttributeContext::default()).await;
        let Some(HttpResponse::OkResponse(pass)) = answer.expect("decided").http_response else { panic!("denied") };
        assert_eq!(told(&pass.headers)["x-ostiary-would-deny"], "QUARANTINED");
        let told = told(&pass.response_headers_to_add);
        assert_eq!(told.get("x-ostiary-would-deny").copied(), shown.then_some("QUARANTINED"), "{mode:?}");
    }
}

#[tokio::test]
async fn the_gateways_credential_goes_along() {
    let fake = Arc::new(Fake::allowing());
    let mut request = Request::new(CheckRequest::default());
    request.metadata_mut().insert("authorization", "Bearer router".parse().expect("ASCII"));
    ExtAuthz::new(Arc::clone(&fake)).check(request).await.expect("decided");
    assert_eq!(fake.asked().1.as_deref(), Some("Bearer router"));
}
