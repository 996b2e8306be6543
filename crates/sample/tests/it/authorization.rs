//! Who may do what, and what others learn.

use ed25519_dalek::SigningKey;
use serde_json::{Value, json};

use crate::support::{Agent, TENANT_A, TENANT_B, message, sign};

async fn status_with(agent: &Agent, token: Option<String>) -> u16 {
    let call = agent.call(TENANT_A, "SendMessage", &message(TENANT_A, "r-1", 1)).token(token);
    agent.send(call).await.status.as_u16()
}

#[tokio::test]
async fn a_good_token_is_taken_and_a_missing_one_is_challenged() {
    let agent = Agent::honest().await;
    assert_eq!(status_with(&agent, Some(agent.token(TENANT_A))).await, 200);
    let call = agent.call(TENANT_A, "ListTasks", &json!({})).token(None);
    let answer = agent.send(call).await;
    assert_eq!(answer.status, 401);
    assert!(answer.headers["www-authenticate"].to_str().unwrap().starts_with("Bearer"));
}

#[tokio::test]
async fn a_token_with_anything_wrong_is_refused() {
    let agent = Agent::honest().await;
    let stranger = SigningKey::from_bytes(&[9; 32]);
    let claims = json!({"iss": "https://issuer.example.test", "aud": "https://planning.example.test",
        "exp": 4_102_444_800_i64, "sub": "s", "tenant": TENANT_A, "scopes": ["plan.write"]});
    let good = agent.token(TENANT_A);
    let wrong = [
        ("expired", agent.token_with(TENANT_A, |c| c["exp"] = json!(1))),
        ("not yet", agent.token_with(TENANT_A, |c| c["nbf"] = json!(4_000_000_000_i64))),
        ("issuer", agent.token_with(TENANT_A, |c| c["iss"] = json!("https://other.example.test"))),
        ("audience", agent.token_with(TENANT_A, |c| c["aud"] = json!("https://other.example.test"))),
        ("no tenant", agent.token_with(TENANT_A, |c| c["tenant"] = Value::Null)),
        ("forged", sign(&stranger, &claims)),
        ("cut", good[..good.len() - 2].to_owned()),
        ("not a token", "secret".to_owned()),
    ];
    for (what, token) in wrong {
        assert_eq!(status_with(&agent, Some(token)).await, 401, "{what}");
    }
    assert_eq!(agent.running.ledger(None).await.unwrap().drafts, 0);
}

#[tokio::test]
async fn a_token_that_names_another_algorithm_is_refused() {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    let agent = Agent::honest().await;
    let token = agent.token(TENANT_A);
    let (_, rest) = token.split_once('.').unwrap();
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","kid":"k1"}"#);
    assert_eq!(status_with(&agent, Some(format!("{none}.{rest}"))).await, 401);
}

#[tokio::test]
async fn scopes_decide_what_a_caller_may_do() {
    let agent = Agent::honest().await;
    let reader = agent.token_with(TENANT_A, |c| c["scopes"] = json!(["plan.read"]));
    let nobody = agent.token_with(TENANT_A, |c| c["scopes"] = json!([]));
    assert_eq!(status_with(&agent, Some(reader.clone())).await, 403);
    let list = agent.call(TENANT_A, "ListTasks", &json!({}));
    assert_eq!(agent.send(list.clone().token(Some(reader))).await.status, 200);
    assert_eq!(agent.send(list.token(Some(nobody))).await.status, 403);
}

#[tokio::test]
async fn work_for_another_tenant_is_forbidden() {
    let agent = Agent::honest().await;
    let call = agent.call(TENANT_A, "SendMessage", &message(TENANT_B, "r-1", 1));
    assert_eq!(agent.send(call).await.status, 403);
    assert_eq!(agent.running.ledger(None).await.unwrap().drafts, 0);
}

#[tokio::test]
async fn another_tenants_task_looks_like_no_task_at_all() {
    let agent = Agent::honest().await;
    let (finished, working) = (agent.plan(TENANT_B, "r-1").await, agent.start_long(TENANT_B).await);
    for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
        let missing = agent.send(agent.call(TENANT_A, method, &json!({"id": "task-of-nobody"}))).await;
        assert_eq!(missing.code(), -32001, "{method}");
        for task in [&finished, &working] {
            let foreign = agent.send(agent.call(TENANT_A, method, &json!({"id": task["id"]}))).await;
            assert_eq!((foreign.status, &foreign.body), (missing.status, &missing.body), "{method}");
        }
    }
    let mut follow_up = message(TENANT_A, "r-1", 1);
    follow_up["message"]["taskId"] = finished["id"].clone();
    assert_eq!(agent.error(TENANT_A, "SendMessage", follow_up).await, -32001);
    assert_eq!(agent.result(TENANT_A, "ListTasks", json!({})).await["totalSize"], 0);
}

#[tokio::test]
async fn the_same_key_of_two_tenants_makes_two_plans() {
    let agent = Agent::honest().await;
    agent.plan(TENANT_A, "r-1").await;
    agent.plan(TENANT_B, "r-1").await;
    assert_eq!(agent.running.ledger(Some(TENANT_A)).await.unwrap().drafts, 1);
    assert_eq!(agent.running.ledger(None).await.unwrap().drafts, 2);
}
