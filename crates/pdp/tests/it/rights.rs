//! Who may watch what, and ask about what (S-07).

use ostiary_admission::State;
use ostiary_proto::admission::v1::{self as proto, watch_admissions_request::Message as Say};
use tonic::{Code, Request, Status};

use crate::{
    host::{Client, Host, as_caller, within},
    world::{put, question},
};

async fn host() -> Host {
    Host::with([put("acme/a", "1", State::Active), put("other/a", "1", State::Active)]).await
}

/// How a watch of `scope` by a caller that reaches `namespaces` begins.
async fn begin(client: Client, namespaces: Option<&'static str>, scope: &str) -> Result<(), Status> {
    begin_as("r", client, namespaces, scope).await
}

async fn begin_as(
    router: &str,
    mut client: Client,
    namespaces: Option<&'static str>,
    scope: &str,
) -> Result<(), Status> {
    let start = proto::WatchStart { scope: scope.to_owned(), router_id: router.to_owned(), ..Default::default() };
    let start = proto::WatchAdmissionsRequest { message: Some(Say::Start(start)) };
    let said = tokio_stream::iter([start]);
    let request = match namespaces {
        Some(namespaces) => as_caller(namespaces, said),
        None => Request::new(said),
    };
    let mut told = within("opening", client.watch_admissions(request)).await?.into_inner();
    within("the first message", told.message()).await.map(|_| ())
}

#[tokio::test]
async fn a_stream_needs_the_right_to_its_scope() {
    let host = host().await;
    for (namespaces, scope, expected) in [
        (Some("acme"), "acme", Code::Ok),
        (Some("*"), "acme", Code::Ok),
        (Some("*"), "*", Code::Ok),
        (Some("acme"), "other", Code::PermissionDenied),
        (Some("acme,other"), "*", Code::PermissionDenied),
        (None, "acme", Code::Unauthenticated),
        (Some("*"), "not a namespace", Code::InvalidArgument),
        (Some("*"), "", Code::InvalidArgument),
    ] {
        let began = begin(host.client().await, namespaces, scope).await;
        assert_eq!(began.map_or_else(|status| status.code(), |()| Code::Ok), expected, "{namespaces:?} {scope}");
        let snapshot = proto::GetSnapshotRequest { scope: scope.to_owned() };
        let request = match namespaces {
            Some(namespaces) => as_caller(namespaces, snapshot),
            None => Request::new(snapshot),
        };
        let copied = host.client().await.get_snapshot(request).await;
        assert_eq!(copied.map_or_else(|status| status.code(), |_| Code::Ok), expected, "{namespaces:?} {scope}");
    }
}

#[tokio::test]
async fn a_question_about_another_namespace_is_answered_with_nothing_but_that() {
    let host = host().await;
    let mut client = host.client().await;
    let asked = client.check_admission(as_caller("other", question("acme/a", "1"))).await.unwrap().into_inner();
    assert_eq!(asked.reason(), proto::DecisionReason::NamespaceForbidden);
    assert_eq!(asked.state(), proto::VersionState::Unspecified);
    let resolve = proto::ResolveVersionRequest { agent: "acme/a".to_owned(), ..Default::default() };
    let resolved = client.resolve_version(as_caller("other", resolve)).await.unwrap().into_inner();
    assert_eq!((resolved.version.as_str(), resolved.card_digest.as_str()), ("", ""));
    assert_eq!(resolved.decision.unwrap().reason(), proto::DecisionReason::NamespaceForbidden);
    let nobody = client.check_admission(question("acme/a", "1")).await.unwrap_err();
    assert_eq!(nobody.code(), Code::Unauthenticated);
    let nobody = client.batch_check_admission(proto::BatchCheckAdmissionRequest::default()).await.unwrap_err();
    assert_eq!(nobody.code(), Code::Unauthenticated, "an empty batch is a question, too");
}

#[tokio::test]
async fn a_router_has_a_name_that_can_be_shown() {
    let host = host().await;
    for (name, expected) in [
        ("edge 1, Zürich", Code::Ok),
        ("", Code::InvalidArgument),
        ("edge\u{1b}[2J", Code::InvalidArgument),
        ("edge\n2 routers applied", Code::InvalidArgument),
        (&"x".repeat(257), Code::InvalidArgument),
    ] {
        let began = begin_as(name, host.client().await, Some("*"), "*").await;
        assert_eq!(began.map_or_else(|status| status.code(), |()| Code::Ok), expected, "{name:?}");
    }
}
