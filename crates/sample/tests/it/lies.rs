//! Each lie is really told. That the honest agent does not tell it is in the other files.

use ostiary_sample::{Lie, Lies};
use serde_json::{Value, json};

use crate::support::{Agent, TENANT_A, TENANT_B, card, message, states};

async fn streamed(agent: &Agent) -> Vec<Value> {
    agent.stream(TENANT_A, "SendStreamingMessage", message(TENANT_A, "r-1", 1)).await
}

#[tokio::test]
async fn text_artifact_is_prose() {
    let agent = Agent::lying(Lie::TextArtifact).await;
    let task = agent.plan(TENANT_A, "r-1").await;
    assert_eq!(task["artifacts"][0]["parts"][0]["mediaType"], "text/plain");
    assert!(task["artifacts"][0]["parts"][0].get("data").is_none());
}

#[tokio::test]
async fn reopen_terminal_is_streamed_and_polled() {
    let agent = Agent::lying(Lie::ReopenTerminal).await;
    assert_eq!(states(&streamed(&agent).await), ["SUBMITTED", "WORKING", "COMPLETED", "WORKING", "COMPLETED"]);
    let task = agent.plan(TENANT_A, "r-2").await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    let reopened = async {
        while agent.result(TENANT_A, "GetTask", json!({"id": task["id"]})).await["status"]["state"]
            != "TASK_STATE_WORKING"
        {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), reopened).await.expect("polling sees WORKING again");
}

#[tokio::test]
async fn drop_artifact_completes_with_nothing() {
    let agent = Agent::lying(Lie::DropArtifact).await;
    let task = agent.plan(TENANT_A, "r-1").await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert!(task.get("artifacts").is_none());
}

#[tokio::test]
async fn cut_stream_ends_in_working() {
    let agent = Agent::lying(Lie::CutStream).await;
    assert_eq!(states(&streamed(&agent).await), ["SUBMITTED", "WORKING"]);
}

#[tokio::test]
async fn late_stream_sends_nothing_before_the_end() {
    for (agent, early) in [(Agent::lying(Lie::LateStream).await, false), (Agent::honest().await, true)] {
        let call = agent.call(TENANT_A, "SendStreamingMessage", &message(TENANT_A, "r-1", 40));
        let (answer, drafts_at_first_byte) = agent.send_noting_first(call).await;
        assert_eq!(drafts_at_first_byte == 0, early);
        assert_eq!(states(&answer.events()).last(), Some(&"COMPLETED"));
    }
}

#[tokio::test]
async fn time_back_goes_backwards() {
    let agent = Agent::lying(Lie::TimeBack).await;
    let events = streamed(&agent).await;
    let stamps: Vec<_> = events.iter().filter_map(|e| e["statusUpdate"]["status"]["timestamp"].as_str()).collect();
    assert!(!stamps.is_sorted(), "{stamps:?}");
}

#[tokio::test]
async fn duplicate_event_sends_all_updates_twice() {
    let agent = Agent::lying(Lie::DuplicateEvent).await;
    let events = streamed(&agent).await;
    assert_eq!(states(&events), ["SUBMITTED", "WORKING", "WORKING", "COMPLETED", "COMPLETED"]);
    assert_eq!(events[3], events[4]);
}

#[tokio::test]
async fn leak_stack_trace_shows_in_errors() {
    let agent = Agent::lying(Lie::LeakStackTrace).await;
    let answer = agent.send(agent.call(TENANT_A, "GetTask", &json!({"id": "task-of-nobody"}))).await;
    assert_eq!(answer.code(), -32001);
    assert!(answer.json().to_string().contains("stack_trace"));
}

#[tokio::test]
async fn serve_foreign_tasks_gives_and_cancels_them() {
    let agent = Agent::lying(Lie::ServeForeignTasks).await;
    let task = agent.start_long(TENANT_B).await;
    let id = json!({"id": task["id"]});
    assert_eq!(agent.result(TENANT_A, "GetTask", id.clone()).await["id"], task["id"]);
    assert_eq!(agent.result(TENANT_A, "CancelTask", id).await["status"]["state"], "TASK_STATE_CANCELED");
}

#[tokio::test]
async fn accept_any_version_serves_all() {
    let agent = Agent::lying(Lie::AcceptAnyVersion).await;
    for version in [None, Some("9.9")] {
        let call = agent.call(TENANT_A, "SendMessage", &message(TENANT_A, "r-1", 1)).version(version);
        assert!(agent.send(call).await.json().get("result").is_some(), "{version:?}");
    }
}

#[tokio::test]
async fn tokens_that_an_honest_agent_refuses_are_taken() {
    for lie in [Lie::AcceptExpiredToken, Lie::AcceptForgedToken, Lie::AllowAnonymous] {
        let agent = Agent::lying(lie).await;
        let token = match lie {
            Lie::AcceptExpiredToken => Some(agent.token_with(TENANT_A, |c| c["exp"] = json!(1))),
            Lie::AcceptForgedToken => {
                Some(agent.token_with(TENANT_A, |c| c["iss"] = json!("https://other.example.test")))
            }
            _ => None,
        };
        let call = agent.call(TENANT_A, "SendMessage", &message(TENANT_A, "r-1", 1)).token(token);
        assert!(agent.send(call).await.json().get("result").is_some(), "{lie}");
    }
}

#[tokio::test]
async fn accept_terminal_message_answers_with_the_finished_task() {
    let agent = Agent::lying(Lie::AcceptTerminalMessage).await;
    let task = agent.plan(TENANT_A, "r-1").await;
    let mut more = message(TENANT_A, "r-2", 1);
    more["message"]["taskId"] = task["id"].clone();
    assert_eq!(agent.result(TENANT_A, "SendMessage", more).await["task"]["id"], task["id"]);
}

#[tokio::test]
async fn serve_undeclared_streaming_streams() {
    let mut card = card();
    card["capabilities"]["streaming"] = json!(false);
    let agent = Agent::start(&card, |config| config.lies = Lies::from(Lie::ServeUndeclaredStreaming)).await;
    assert_eq!(states(&streamed(&agent).await), ["SUBMITTED", "WORKING", "COMPLETED"]);
}

#[tokio::test]
async fn serve_undeclared_push_takes_configurations() {
    let agent = Agent::lying(Lie::ServeUndeclaredPush).await;
    let config = json!({"taskId": "t", "url": "https://callback.example.test"});
    assert_eq!(agent.result(TENANT_A, "CreateTaskPushNotificationConfig", config.clone()).await, config);
}

#[tokio::test]
async fn the_card_lies_when_told_to_and_is_honest_again_afterwards() {
    let agent = Agent::honest().await;
    let card_now = async || agent.get("/.well-known/agent-card.json", &[]).await.json();
    agent.running.set_lies([Lie::RequiredExtension, Lie::DuplicateSkillId].into_iter().collect());
    let lying = card_now().await;
    assert_eq!(lying["capabilities"]["extensions"][0]["required"], true);
    assert_eq!(lying["skills"].as_array().unwrap().len(), 2);
    agent.running.set_lies(Lies::none());
    assert_eq!(card_now().await, card());
}
