//! What an honest agent does with single answers.

use ostiary_sample::{Ledger, StoreAt};
use serde_json::json;

use crate::support::{Agent, TENANT_A, card, message};

#[tokio::test]
async fn a_work_request_becomes_one_draft_one_event_and_one_json_artifact() {
    let agent = Agent::honest().await;
    let task = agent.plan(TENANT_A, "r-1").await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    let [artifact] = task["artifacts"].as_array().unwrap().as_slice() else { panic!("{task}") };
    assert_eq!(artifact["parts"][0]["mediaType"], "application/json");
    assert_eq!(artifact["parts"][0]["data"]["status"], "draft");
    assert_eq!(agent.running.ledger(Some(TENANT_A)).await.unwrap(), Ledger { drafts: 1, outbox: 1 });
}

#[tokio::test]
async fn the_same_key_again_gives_the_same_plan_and_no_second_record() {
    let agent = Agent::honest().await;
    let (first, second) = (agent.plan(TENANT_A, "r-1").await, agent.plan(TENANT_A, "r-1").await);
    let plan = |task: &serde_json::Value| task["artifacts"][0]["parts"][0]["data"]["plan_id"].clone();
    assert_eq!(plan(&first), plan(&second));
    assert_ne!(first["id"], second["id"]);
    assert_eq!(agent.running.ledger(None).await.unwrap(), Ledger { drafts: 1, outbox: 1 });
}

#[tokio::test]
async fn the_same_key_at_the_same_time_gives_one_record() {
    let agent = Agent::honest().await;
    let sends = (0..8).map(|_| agent.plan(TENANT_A, "r-1"));
    let tasks = futures::future::join_all(sends).await;
    assert!(tasks.iter().all(|task| task["status"]["state"] == "TASK_STATE_COMPLETED"));
    assert_eq!(agent.running.ledger(None).await.unwrap(), Ledger { drafts: 1, outbox: 1 });
}

#[tokio::test]
async fn a_key_used_for_other_work_fails_the_task() {
    let agent = Agent::honest().await;
    agent.plan(TENANT_A, "r-1").await;
    let other = agent.result(TENANT_A, "SendMessage", message(TENANT_A, "r-1", 3)).await;
    assert_eq!(other["task"]["status"]["state"], "TASK_STATE_FAILED");
    assert_eq!(agent.running.ledger(None).await.unwrap(), Ledger { drafts: 1, outbox: 1 });
}

#[tokio::test]
async fn the_card_is_served_byte_for_byte_with_validators() {
    let agent = Agent::honest().await;
    let answer = agent.get("/.well-known/agent-card.json", &[]).await;
    assert_eq!(answer.body, card().to_string());
    let etag = answer.headers["etag"].to_str().unwrap();
    let again = agent.get("/.well-known/agent-card.json", &[("if-none-match", etag)]).await;
    assert_eq!(again.status, 304);
}

#[tokio::test]
async fn a_version_that_is_missing_or_another_is_not_supported() {
    let agent = Agent::honest().await;
    for version in [None, Some(""), Some("0.3"), Some("1.7"), Some("9.9")] {
        let call = agent.call(TENANT_A, "SendMessage", &message(TENANT_A, "r-1", 1)).version(version);
        let answer = agent.send(call).await;
        assert_eq!(answer.code(), -32009, "{version:?}");
        let data = answer.json()["error"]["data"][0].clone();
        assert_eq!(
            (data["reason"].as_str(), data["domain"].as_str()),
            (Some("VERSION_NOT_SUPPORTED"), Some("a2a-protocol.org"))
        );
    }
    assert_eq!(agent.running.ledger(None).await.unwrap(), Ledger { drafts: 0, outbox: 0 });
}

#[tokio::test]
async fn operations_that_the_card_does_not_declare_are_refused_by_name() {
    let agent = Agent::honest().await;
    let config = json!({"taskId": "t", "id": "c", "url": "https://callback.example.test"});
    for method in [
        "CreateTaskPushNotificationConfig",
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "DeleteTaskPushNotificationConfig",
    ] {
        assert_eq!(agent.error(TENANT_A, method, config.clone()).await, -32003, "{method}");
    }
    assert_eq!(agent.error(TENANT_A, "GetExtendedAgentCard", json!({})).await, -32004);
    assert_eq!(agent.error(TENANT_A, "MakeCoffee", json!({})).await, -32601);
}

#[tokio::test]
async fn undeclared_streaming_is_refused() {
    let mut card = card();
    card["capabilities"]["streaming"] = json!(false);
    let agent = Agent::start(&card, |_| {}).await;
    assert_eq!(agent.error(TENANT_A, "SendStreamingMessage", message(TENANT_A, "r", 1)).await, -32004);
    assert_eq!(agent.error(TENANT_A, "SubscribeToTask", json!({"id": "t"})).await, -32004);
}

#[tokio::test]
async fn a_finished_task_takes_no_message_no_cancel_and_no_subscriber() {
    let agent = Agent::honest().await;
    let task = agent.plan(TENANT_A, "r-1").await;
    let mut more = message(TENANT_A, "r-2", 1);
    more["message"]["taskId"] = task["id"].clone();
    assert_eq!(agent.error(TENANT_A, "SendMessage", more).await, -32004);
    assert_eq!(agent.error(TENANT_A, "CancelTask", json!({"id": task["id"]})).await, -32002);
    assert_eq!(agent.error(TENANT_A, "SubscribeToTask", json!({"id": task["id"]})).await, -32004);
}

#[tokio::test]
async fn a_canceled_task_leaves_no_effect() {
    let agent = Agent::honest().await;
    let task = agent.start_long(TENANT_A).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_SUBMITTED");
    let canceled = agent.result(TENANT_A, "CancelTask", json!({"id": task["id"]})).await;
    assert_eq!(canceled["status"]["state"], "TASK_STATE_CANCELED");
    let read = agent.result(TENANT_A, "GetTask", json!({"id": task["id"]})).await;
    assert_eq!(read["status"]["state"], "TASK_STATE_CANCELED");
    assert_eq!(agent.running.ledger(None).await.unwrap(), Ledger { drafts: 0, outbox: 0 });
}

#[tokio::test]
async fn content_that_is_not_declared_is_refused() {
    let agent = Agent::honest().await;
    let mut text = message(TENANT_A, "r", 1);
    text["message"]["parts"] = json!([{"text": "plan my week"}]);
    assert_eq!(agent.error(TENANT_A, "SendMessage", text).await, -32005);
    let mut modes = message(TENANT_A, "r", 1);
    modes["configuration"] = json!({"acceptedOutputModes": ["text/plain"]});
    assert_eq!(agent.error(TENANT_A, "SendMessage", modes).await, -32005);
    let call = agent.call(TENANT_A, "SendMessage", &message(TENANT_A, "r", 1)).content_type("text/plain");
    assert_eq!(agent.send(call).await.code(), -32005);
}

#[tokio::test]
async fn wrong_parameters_are_named() {
    let agent = Agent::honest().await;
    let answer = agent.send(agent.call(TENANT_A, "SendMessage", &json!({"message": {"parts": []}}))).await;
    assert_eq!(answer.code(), -32602);
    let violations = answer.json()["error"]["data"][0]["fieldViolations"].clone();
    let fields: Vec<_> = violations.as_array().unwrap().iter().map(|v| v["field"].as_str().unwrap()).collect();
    assert_eq!(fields, ["message.messageId", "message.role", "message.parts"]);
}

#[tokio::test]
async fn garbage_is_answered_and_not_fatal() {
    let agent = Agent::honest().await;
    for (body, code) in [("{", -32700), ("[]", -32600), ("\u{0}", -32700)] {
        let answer = agent.send(agent.call(TENANT_A, "GetTask", &json!({})).body(body)).await;
        assert_eq!(answer.code(), code, "{body}");
    }
    assert_eq!(agent.plan(TENANT_A, "r-1").await["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn a_listing_is_newest_first_and_paged() {
    let agent = Agent::honest().await;
    for request in ["r-1", "r-2", "r-3"] {
        agent.plan(TENANT_A, request).await;
    }
    let first = agent.result(TENANT_A, "ListTasks", json!({"pageSize": 2})).await;
    assert_eq!((first["tasks"].as_array().unwrap().len(), &first["totalSize"]), (2, &json!(3)));
    assert!(first["tasks"][0].get("artifacts").is_none(), "artifacts were not asked for");
    let rest = json!({"pageSize": 2, "pageToken": first["nextPageToken"], "includeArtifacts": true});
    let rest = agent.result(TENANT_A, "ListTasks", rest).await;
    assert_eq!(rest["nextPageToken"], "");
    assert_eq!(rest["tasks"][0]["artifacts"].as_array().unwrap().len(), 1);
    let stamp = |task: &serde_json::Value| task["status"]["timestamp"].as_str().unwrap().to_owned();
    assert!(stamp(&first["tasks"][0]) >= stamp(&first["tasks"][1]));
    assert!(stamp(&first["tasks"][1]) >= stamp(&rest["tasks"][0]));
    assert_eq!(agent.error(TENANT_A, "ListTasks", json!({"pageSize": 101})).await, -32602);
}

#[tokio::test]
async fn history_is_shown_as_far_as_asked() {
    let agent = Agent::honest().await;
    let task = agent.plan(TENANT_A, "r-1").await;
    assert_eq!(task["history"].as_array().unwrap().len(), 1);
    let none = agent.result(TENANT_A, "GetTask", json!({"id": task["id"], "historyLength": 0})).await;
    assert!(none.get("history").is_none());
}

#[tokio::test]
async fn after_a_restart_finished_work_is_there_and_unfinished_work_has_failed() {
    let folder = tempfile::tempdir().unwrap();
    let at = StoreAt::File(folder.path().join("plans.db"));
    let first = Agent::start(&card(), |config| config.store = at.clone()).await;
    let (done, unfinished) = (first.plan(TENANT_A, "r-1").await, first.start_long(TENANT_A).await);
    first.running.stop().await;
    let second = Agent::start(&card(), |config| config.store = at).await;
    let state = async |id: &serde_json::Value| {
        second.result(TENANT_A, "GetTask", json!({"id": id})).await["status"]["state"].clone()
    };
    assert_eq!(state(&done["id"]).await, "TASK_STATE_COMPLETED");
    assert_eq!(state(&unfinished["id"]).await, "TASK_STATE_FAILED");
    assert_eq!(second.running.ledger(None).await.unwrap(), Ledger { drafts: 1, outbox: 1 });
}
