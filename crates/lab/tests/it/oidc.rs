//! The identity double by its endpoints (X-01; W-04 and part of G-01, expired credential, failed authentication, stand on
//! it). What foreign libraries say of its tokens is in the end-to-end tests.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use jiff::{SignedDuration, Timestamp};
use ostiary_canon::jwk::Algorithm;
use ostiary_lab::{CredentialOf, IssuerOptions, OidcProvider, Subject};
use ostiary_record::{
    ActorId, TokenFlaw,
    ports::{Authority, Identity},
};
use serde_json::{Value, json};

use crate::web::{form, get};

/// A provider with a clock of its own.
struct World {
    provider: OidcProvider,
    seconds: Arc<AtomicI64>,
}

impl World {
    async fn new(algorithm: Algorithm, issuer: Option<&str>) -> Self {
        let seconds = Arc::new(AtomicI64::new(1_790_000_000));
        let clock = Arc::clone(&seconds);
        let subject = |tenant: &str, scopes: &[&str], credential| Subject {
            tenant: Some(tenant.to_owned()),
            scopes: scopes.iter().map(|s| (*s).to_owned()).collect(),
            credential,
        };
        let subjects = BTreeMap::from([
            (ActorId::from("user-a"), subject("tenant-a", &["plan.read", "plan.write"], CredentialOf::Valid)),
            (ActorId::from("worker-b"), subject("tenant-b", &["plan.read"], CredentialOf::Valid)),
            (ActorId::from("late"), subject("tenant-a", &[], CredentialOf::Expired)),
            (ActorId::from("guest"), subject("tenant-a", &[], CredentialOf::Anonymous)),
        ]);
        let options = IssuerOptions {
            issuer: issuer.map(str::to_owned),
            audience: "planning-agent".to_owned(),
            algorithm,
            seed: [5; 32],
            lifetime: SignedDuration::from_mins(10),
            subjects,
            now: Arc::new(move || Timestamp::from_second(clock.load(Ordering::SeqCst)).unwrap()),
        };
        Self { provider: OidcProvider::start(options, None).await.unwrap(), seconds }
    }

    async fn usual() -> Self {
        Self::new(Algorithm::Es256, None).await
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.provider.addr())
    }

    fn secret(&self, name: &str) -> String {
        self.provider.issuer().client_secret(&ActorId::from(name))
    }

    async fn post(&self, path: &str, client: &str, fields: &str) -> (u16, Value) {
        form(&self.url(path), Some((client, &self.secret(client))), fields).await
    }

    async fn token(&self, client: &str) -> String {
        let (status, answer) = self.post("/token", client, "grant_type=client_credentials").await;
        assert_eq!((status, &answer["token_type"]), (200, &json!("Bearer")), "{answer}");
        answer["access_token"].as_str().unwrap().to_owned()
    }

    async fn active(&self, token: &str) -> Value {
        self.post("/introspect", "worker-b", &format!("token={token}")).await.1
    }
}

#[tokio::test]
async fn metadata_is_where_both_documents_say() {
    let world = World::usual().await;
    let (_, openid) = get(&world.url("/.well-known/openid-configuration")).await;
    let (_, oauth) = get(&world.url("/.well-known/oauth-authorization-server")).await;
    assert_eq!(openid, oauth);
    assert_eq!(openid["issuer"], world.url(""));
    let (status, keys) = get(openid["jwks_uri"].as_str().unwrap()).await;
    assert_eq!((status, &keys), (200, &world.provider.issuer().jwks()));
    let asked: Vec<_> = world.provider.asked().into_iter().map(|asked| asked.what).collect();
    assert_eq!(asked, ["discovery", "discovery", "jwks"]);
}

#[tokio::test]
async fn an_issuer_with_a_path_has_its_metadata_after_and_before_it() {
    let world = World::new(Algorithm::EdDsa, Some("https://id.example.test/realms/a/")).await;
    for path in [
        "/realms/a/.well-known/openid-configuration",
        "/.well-known/openid-configuration/realms/a",
        "/.well-known/oauth-authorization-server/realms/a",
    ] {
        let (status, metadata) = get(&world.url(path)).await;
        assert_eq!((status, &metadata["issuer"]), (200, &json!("https://id.example.test/realms/a/")), "{path}");
        assert_eq!(metadata["token_endpoint"], "https://id.example.test/realms/a/token");
    }
    assert_eq!(get(&world.url("/realms/a/jwks")).await.0, 200);
    assert_eq!(get(&world.url("/elsewhere")).await.0, 404);
}

#[tokio::test]
async fn a_workload_gets_its_token_and_no_more_than_its_own() {
    let world = World::usual().await;
    let (status, answer) =
        world.post("/token", "user-a", "grant_type=client_credentials&scope=plan.read&audience=planning-agent").await;
    assert_eq!((status, &answer["scope"], &answer["expires_in"]), (200, &json!("plan.read"), &json!(600)));
    let claims = world.active(answer["access_token"].as_str().unwrap()).await;
    assert_eq!(
        (&claims["sub"], &claims["tenant"], &claims["scope"]),
        (&json!("user-a"), &json!("tenant-a"), &json!("plan.read"))
    );
    for (fields, error) in [
        ("grant_type=client_credentials&scope=plan.write", "invalid_scope"),
        ("grant_type=client_credentials&resource=somebody-else", "invalid_target"),
        ("grant_type=password", "unsupported_grant_type"),
        ("", "invalid_request"),
    ] {
        let (status, answer) = world.post("/token", "worker-b", fields).await;
        assert_eq!((status, &answer["error"]), (400, &json!(error)), "{fields}");
    }
}

#[tokio::test]
async fn who_cannot_prove_its_name_gets_nothing() {
    let world = World::usual().await;
    let fields = "grant_type=client_credentials";
    let url = world.url("/token");
    let guest = world.secret("guest");
    let wrong = [None, Some(("user-a", "wrong")), Some(("stranger", "wrong")), Some(("guest", guest.as_str()))];
    for client in wrong {
        let (status, answer) = form(&url, client, fields).await;
        assert_eq!((status, answer), (401, json!({"error": "invalid_client"})), "{client:?}");
    }
    let posted = format!("{fields}&client_id=user-a&client_secret={}", world.secret("user-a"));
    assert_eq!(form(&url, None, &posted).await.0, 200);
    assert_eq!(get(&url).await.0, 405);
}

#[tokio::test]
async fn a_revoked_token_is_not_active_and_others_are() {
    let world = World::usual().await;
    let (first, second) = (world.token("user-a").await, world.token("user-a").await);
    assert_eq!(world.active(&first).await["active"], true);
    // A client may not call in what is another's (RFC 7009 §2.1).
    assert_eq!(world.post("/revoke", "worker-b", &format!("token={first}")).await.0, 400);
    assert_eq!(world.active(&first).await["active"], true);
    assert_eq!(world.post("/revoke", "user-a", &format!("token={first}")).await.0, 200);
    assert_eq!(world.active(&first).await, json!({"active": false}));
    assert_eq!(world.active(&second).await["active"], true);
    assert_eq!(world.post("/revoke", "user-a", "token=no-token-at-all").await.0, 200);
}

#[tokio::test]
async fn all_tokens_of_a_subject_are_called_in_at_once() {
    let world = World::usual().await;
    let (own, other) = (world.token("user-a").await, world.token("worker-b").await);
    world.provider.issuer().revoke(&ActorId::from("user-a"));
    assert_eq!(world.active(&own).await["active"], false);
    assert_eq!(world.active(&other).await["active"], true);
    assert_eq!(world.active(&world.token("user-a").await).await["active"], true, "a token issued afterwards is good");
}

#[tokio::test]
async fn tokens_end_in_their_time_and_on_demand() {
    let world = World::usual().await;
    let token = world.token("user-a").await;
    world.seconds.fetch_add(599, Ordering::SeqCst);
    assert_eq!(world.active(&token).await["active"], true);
    world.seconds.fetch_add(1, Ordering::SeqCst);
    assert_eq!(world.active(&token).await["active"], false);
    world.provider.issuer().set_lifetime(SignedDuration::from_secs(2));
    let short = world.token("user-a").await;
    assert_eq!(world.active(&short).await["active"], true);
    // A candidate whose clock agrees with ours sees the token of an issuer that is an hour behind as expired.
    world.provider.issuer().set_clock_offset(SignedDuration::from_hours(-1));
    let behind = world.token("user-a").await;
    let claims = world.active(&behind).await;
    assert!(claims["exp"].as_i64().unwrap() < world.seconds.load(Ordering::SeqCst), "{claims}");
}

#[tokio::test]
async fn a_rotated_key_signs_and_the_old_one_stays_or_goes() {
    let world = World::usual().await;
    let kids = || -> Vec<String> {
        let jwks = world.provider.issuer().jwks();
        jwks["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect()
    };
    let (old, before) = (world.token("user-a").await, kids());
    world.provider.issuer().rotate(true);
    assert_eq!(world.active(&old).await["active"], true);
    assert!(kids().len() == 2 && kids()[0] == before[0], "{:?}", kids());
    assert_eq!(world.active(&world.token("user-a").await).await["active"], true);
    world.provider.issuer().rotate(false);
    assert_eq!(kids().len(), 1);
    assert_eq!(world.active(&old).await["active"], false);
}

#[tokio::test]
async fn subjects_show_what_they_are_set_up_with() {
    let world = World::usual().await;
    let issuer = world.provider.issuer();
    let fields = async |name: &str| issuer.actor(&ActorId::from(name)).await.unwrap().map(|a| a.credentials.len());
    assert_eq!(fields("user-a").await, Some(1));
    assert_eq!(fields("guest").await, Some(0));
    assert_eq!(fields("anonymous").await, Some(0));
    assert_eq!(fields("stranger").await, None);
    let late = issuer.actor(&ActorId::from("late")).await.unwrap().unwrap().credentials[0].1.clone();
    assert_eq!(world.active(late.strip_prefix("Bearer ").unwrap()).await["active"], false);
    assert!(issuer.flawed(&ActorId::from("stranger"), TokenFlaw::Expired).await.unwrap().is_none());
}
