//! Tokens of the identity double before PyJWT and jose, which look its keys up by discovery.

use std::{collections::BTreeMap, process::Command, sync::Arc};

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use ostiary_canon::jwk::Algorithm;
use ostiary_lab::{IssuerOptions, OidcProvider, Subject};
use ostiary_record::{ActorId, TokenFlaw, ports::Authority};

use super::{javascript, printed, python};

const AUDIENCE: &str = "planning-agent";

fn user() -> ActorId {
    ActorId::from("user-a")
}

async fn provider(algorithm: Algorithm) -> Result<OidcProvider> {
    let subject =
        Subject { tenant: Some("tenant-a".to_owned()), scopes: vec!["plan.write".to_owned()], ..Subject::default() };
    let options = IssuerOptions {
        issuer: None,
        audience: AUDIENCE.to_owned(),
        algorithm,
        seed: [9; 32],
        lifetime: SignedDuration::from_mins(10),
        subjects: BTreeMap::from([(user(), subject)]),
        now: Arc::new(now),
    };
    Ok(OidcProvider::start(options, None).await?)
}

#[expect(clippy::disallowed_methods, reason = "libraries of other people judge tokens by the real time")]
fn now() -> Timestamp {
    Timestamp::now()
}

/// The verifiers that other people wrote, by name.
fn verifiers(issuer: &str) -> Vec<(&'static str, Command)> {
    let mut pyjwt = python("verify_tokens.py");
    pyjwt.args(["careful", issuer, AUDIENCE]);
    let mut jose = javascript("verify_tokens.mjs");
    jose.args([issuer, AUDIENCE]);
    vec![("PyJWT", pyjwt), ("jose", jose)]
}

/// A good token, one with each flaw that shows in it, and a good one again.
fn tokens(provider: &OidcProvider) -> (Vec<String>, String, String) {
    let flaws = TokenFlaw::ALL.iter().copied().filter(|flaw| flaw.shows_offline());
    let flawed = flaws.map(|flaw| (flaw.name(), provider.issuer().flawed_token(&user(), flaw)));
    let good = || ("good", provider.issuer().token(&user()));
    let all: Vec<_> = [good()].into_iter().chain(flawed).chain([good()]).collect();
    let wanted = all.iter().map(|(name, _)| if *name == "good" { "valid user-a" } else { "invalid" });
    let (wanted, names) = (wanted.collect::<Vec<_>>().join("\n"), all.iter().map(|(name, _)| (*name).to_owned()));
    (names.collect(), all.iter().map(|(_, token)| token.clone().unwrap_or_default() + "\n").collect(), wanted)
}

#[tokio::test(flavor = "multi_thread")]
async fn libraries_take_the_good_token_and_none_with_a_flaw() -> Result<()> {
    for algorithm in Algorithm::ALL {
        let provider = provider(algorithm).await?;
        let (names, lines, wanted) = tokens(&provider);
        for (library, command) in verifiers(&provider.issuer().name()) {
            let said = printed(command, lines.clone()).await?;
            assert_eq!(said, wanted, "{library}, {algorithm}, {names:?}");
        }
        let asked: Vec<_> = provider.asked().into_iter().map(|asked| asked.what).collect();
        assert!(asked.iter().any(|what| what == "discovery") && asked.iter().any(|what| what == "jwks"), "{asked:?}");
    }
    Ok(())
}

/// What a flawed token is wrong in is what the flaw says: who looks at no signature takes exactly those whose claims are
/// right.
#[tokio::test(flavor = "multi_thread")]
async fn who_looks_at_no_signature_takes_what_is_wrong_only_there() -> Result<()> {
    let provider = provider(Algorithm::Es256).await?;
    let (names, lines, _) = tokens(&provider);
    let mut trusting = python("verify_tokens.py");
    trusting.args(["trusting", &provider.issuer().name(), AUDIENCE]);
    let said = printed(trusting, lines).await?;
    let taken: Vec<_> =
        names.iter().zip(said.lines()).filter(|(_, line)| *line != "invalid").map(|(n, _)| n.as_str()).collect();
    let signature = ["alg_none", "public_key_as_secret", "foreign_key", "unknown_key", "tampered", "no_signature"];
    assert_eq!(taken, [&["good"], &signature[..], &["good"]].concat());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawn_key_ends_its_tokens_and_a_kept_one_does_not() -> Result<()> {
    let provider = provider(Algorithm::Rs256).await?;
    let old = provider.issuer().token(&user()).unwrap_or_default();
    for (keep_old, wanted) in [(true, "valid user-a\nvalid user-a"), (false, "invalid\nvalid user-a")] {
        provider.issuer().rotate(keep_old);
        let new = provider.issuer().token(&user()).unwrap_or_default();
        for (library, command) in verifiers(&provider.issuer().name()) {
            assert_eq!(printed(command, format!("{old}\n{new}\n")).await?, wanted, "{library}, kept: {keep_old}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_off_makes_tokens_that_are_refused() -> Result<()> {
    let provider = provider(Algorithm::EdDsa).await?;
    provider.issuer().set_clock_offset(SignedDuration::from_hours(-1));
    let behind = provider.issuer().token(&user()).unwrap_or_default();
    provider.issuer().set_clock_offset(SignedDuration::from_hours(1));
    let ahead = provider.issuer().token(&user()).unwrap_or_default();
    for (library, command) in verifiers(&provider.issuer().name()) {
        assert_eq!(printed(command, format!("{behind}\n{ahead}\n")).await?, "invalid\ninvalid", "{library}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_gets_asks_about_and_calls_in_its_token() -> Result<()> {
    let provider = provider(Algorithm::Es256).await?;
    let mut client = python("ask_issuer.py");
    client.args([&provider.issuer().name(), "user-a", &provider.issuer().client_secret(&user())]);
    assert_eq!(printed(client, String::new()).await?, r#"["plan.write", true, 200, false]"#);
    Ok(())
}
