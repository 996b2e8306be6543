use ostiary_record::ports::Outbound;

use super::*;
use crate::a2a::{
    error::ErrorKind,
    operation::{ListTasks, PushConfig, SendMessage, UserMessage},
};

fn send() -> SendMessage {
    let message = UserMessage { message_id: "m".into(), parts: vec![json!({"text": "hi"})], ..UserMessage::default() };
    SendMessage { message, ..SendMessage::default() }
}

fn all() -> Vec<(Operation, &'static str)> {
    let (id, task_id) = (|| "t/1:x".to_owned(), || "t".to_owned());
    let push = PushConfig { task_id: task_id(), url: "https://r.test/".into(), ..PushConfig::default() };
    let list = ListTasks { status: Some("TASK_STATE_WORKING".into()), page_size: Some(5), ..ListTasks::default() };
    vec![
        (Operation::SendMessage(send()), "POST /message:send"),
        (Operation::SendStreamingMessage(send()), "POST /message:stream"),
        (Operation::GetTask { id: id(), history_length: Some(0) }, "GET /tasks/t%2F1%3Ax?historyLength=0"),
        (Operation::ListTasks(list), "GET /tasks?status=TASK_STATE_WORKING&pageSize=5"),
        (Operation::CancelTask { id: id() }, "POST /tasks/t%2F1%3Ax:cancel"),
        (Operation::SubscribeToTask { id: id() }, "POST /tasks/t%2F1%3Ax:subscribe"),
        (Operation::CreateTaskPushNotificationConfig(push), "POST /tasks/t/pushNotificationConfigs"),
        (
            Operation::GetTaskPushNotificationConfig { task_id: task_id(), id: id() },
            "GET /tasks/t/pushNotificationConfigs/t%2F1%3Ax",
        ),
        (Operation::ListTaskPushNotificationConfigs { task_id: task_id() }, "GET /tasks/t/pushNotificationConfigs"),
        (
            Operation::DeleteTaskPushNotificationConfig { task_id: task_id(), id: id() },
            "DELETE /tasks/t/pushNotificationConfigs/t%2F1%3Ax",
        ),
        (Operation::GetExtendedAgentCard, "GET /extendedAgentCard"),
    ]
}

fn line(out: &Outbound) -> String {
    let Route::Http { method, path } = &out.route else { panic!("{:?}", out.route) };
    format!("{method} {path}")
}

#[test]
fn each_operation_has_its_verb_and_path() {
    let all = all();
    assert_eq!(all.len(), Operation::NAMES.len());
    for (operation, expected) in all {
        let call = Call::new(operation);
        let out = encode(&call);
        assert_eq!(line(&out), expected);
        let with_tenant = encode(&Call { tenant: Some("acme corp".into()), ..call });
        assert_eq!(line(&with_tenant), expected.replacen(" /", " /acme%20corp/", 1));
        assert!(out.headers.contains(&("A2A-Version".to_owned(), "1.0".to_owned())));
        assert_eq!(out.headers.iter().any(|(n, _)| n == "content-type"), expected.starts_with("POST"));
        assert!(
            !std::str::from_utf8(&with_tenant.body).unwrap().contains("acme"),
            "the tenant stands in the path alone"
        );
    }
}

#[test]
fn what_was_asked_is_read_back() {
    for (operation, line) in all() {
        for tenant in [None, Some("acme corp".to_owned())] {
            let call = Call { tenant: tenant.clone(), ..Call::new(operation.clone()) };
            let out = encode(&call);
            let Route::Http { method, path } = &out.route else { panic!("{:?}", out.route) };
            let (name, request) = asked(method, path, &out.body).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(name, operation.name());
            let expected = operation.request(tenant.as_deref());
            // a query has no numbers
            let plain = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
            for (member, value) in expected.as_object().unwrap() {
                assert_eq!(plain(&request[member]), plain(value), "{line} {member}");
            }
        }
    }
    assert_eq!(asked("GET", "/message:send", b"{}"), None);
    assert_eq!(asked("POST", "/tasks/t:pause", b"{}"), None);
    assert_eq!(asked("GET", "/rest/v1/tasks/t", b"").unwrap().1["id"], json!("t"));
    assert_eq!(asked("GET", "/", b""), None);
}

#[test]
fn a_stream_can_be_followed_with_either_verb() {
    let call = Call::new(Operation::SubscribeToTask { id: "t".into() });
    assert_eq!(line(&alternative(&call).unwrap()), "GET /tasks/t:subscribe");
    assert_eq!(alternative(&Call::new(Operation::GetExtendedAgentCard)), None);
}

#[test]
fn answers_and_errors_are_told_apart_by_status_and_shape() {
    let read = |status, v: Value| decode(v.to_string().as_bytes(), Some(status), None);
    assert_eq!(read(200, json!({"task": {}})), Answer::Result(json!({"task": {}})));
    let error = json!({"error": {"code": 404, "status": "NOT_FOUND", "message": "no", "details": []}});
    assert!(matches!(read(404, error), Answer::Error(e) if e.kind() == Some(ErrorKind::TaskNotFound)));
    assert!(matches!(read(400, json!({"title": "Bad Request", "status": 400})), Answer::Error(_)));
    for (status, odd) in
        [(400, json!({"detail": "no"})), (200, json!([1])), (302, json!({})), (500, json!({"error": "x"}))]
    {
        assert!(matches!(read(status, odd.clone()), Answer::Malformed(_)), "{status} {odd}");
    }
    let delete = Some("DeleteTaskPushNotificationConfig");
    assert_eq!(decode(b"", Some(204), delete), Answer::Result(json!({})));
    assert!(matches!(decode(b"", Some(200), Some("GetTask")), Answer::Malformed(_)));
}
