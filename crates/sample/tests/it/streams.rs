//! Streams of an honest agent.

use serde_json::json;

use crate::support::{Agent, TENANT_A, message, states};

#[tokio::test]
async fn a_stream_is_the_task_its_progress_its_artifact_and_its_end() {
    let agent = Agent::honest().await;
    let events = agent.stream(TENANT_A, "SendStreamingMessage", message(TENANT_A, "r-1", 1)).await;
    assert_eq!(states(&events), ["SUBMITTED", "WORKING", "COMPLETED"]);
    assert!(events[0].get("task").is_some(), "the task comes first");
    assert!(events[2]["artifactUpdate"]["artifact"]["parts"][0]["data"]["plan_id"].is_string());
    assert_eq!(events.len(), 4);
    let stamps: Vec<_> = events[1..].iter().filter_map(|e| e["statusUpdate"]["status"]["timestamp"].as_str()).collect();
    assert!(stamps.is_sorted(), "{stamps:?}");
}

#[tokio::test]
async fn a_subscriber_sees_the_task_and_everything_after_it() {
    let agent = Agent::honest().await;
    let task = agent.start_long(TENANT_A).await;
    let id = json!({"id": task["id"]});
    let subscription = agent.call(TENANT_A, "SubscribeToTask", &id);
    let events = agent
        .stream_then(subscription, async || {
            let canceled = agent.result(TENANT_A, "CancelTask", id.clone()).await;
            assert_eq!(canceled["status"]["state"], "TASK_STATE_CANCELED");
        })
        .await;
    assert!(events[0].get("task").is_some());
    assert_eq!(states(&events).last(), Some(&"CANCELED"));
}

#[tokio::test]
async fn a_stream_that_is_left_does_not_stop_the_work() {
    let agent = Agent::honest().await;
    let streaming = agent.stream(TENANT_A, "SendStreamingMessage", message(TENANT_A, "r-1", 5));
    let left = tokio::time::timeout(std::time::Duration::from_millis(20), streaming).await;
    assert!(left.is_err(), "the stream was left while it ran");
    let done = async {
        while agent.running.ledger(None).await.unwrap().drafts == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), done).await.expect("the plan is drafted all the same");
}
