//! Names and digests: what is one, and what is not.

use ostiary_canon::{AgentId, DeclaredDigest, Digest, DigestError, NameError, Profile, VersionLabel};

#[test]
fn an_agent_id_has_two_parts() {
    let id: AgentId = "acme/planner".parse().unwrap();
    assert_eq!((id.namespace(), id.agent(), id.as_str()), ("acme", "planner", "acme/planner"));
    assert_eq!(AgentId::new("acme", "planner"), Ok(id));
    for bad in ["", "acme", "/planner", "acme/", "acme/plan/ner", "acme/plan ner", "acmé/planner", "acme/plan\0ner"] {
        assert!(bad.parse::<AgentId>().is_err(), "{bad:?}");
    }
    assert!(AgentId::new("a/b", "c").is_err(), "a slash inside a part would move the border");
    assert!(AgentId::new(&"a".repeat(128), &"b".repeat(128)).is_ok());
    assert!(AgentId::new(&"a".repeat(129), "b").is_err());
}

#[test]
fn a_name_of_dots_alone_is_a_step_in_a_path() {
    for bad in ["acme/.", "acme/..", "../planner", "./planner", "acme/..."] {
        assert!(matches!(bad.parse::<AgentId>(), Err(NameError::Dots { .. })), "{bad:?}");
    }
    assert!("..".parse::<VersionLabel>().is_err());
    assert!("acme/.planner".parse::<AgentId>().is_ok() && "..1".parse::<VersionLabel>().is_ok());
}

#[test]
fn a_version_is_pinned() {
    for good in ["3.4.1", "2026-08-11", "1.0.0+build.5", "latest-1"] {
        assert_eq!(good.parse::<VersionLabel>().unwrap().as_str(), good);
    }
    for unpinned in ["latest", "LATEST", "Latest"] {
        assert_eq!(unpinned.parse::<VersionLabel>(), Err(NameError::NotPinned(unpinned.to_owned())));
    }
    for bad in ["", "3.4 1", "a/b", "a@b", "3.4.1\n", "versión"] {
        assert!(bad.parse::<VersionLabel>().is_err(), "{bad:?}");
    }
}

#[test]
fn the_short_form_of_a_profile_is_the_default_profile_only() {
    let short: Profile = "a2a-jsonrpc-1.0".parse().unwrap();
    let long: Profile = "a2a-jsonrpc-1.0/default/default".parse().unwrap();
    let user: Profile = "a2a-jsonrpc-1.0/user/standard".parse().unwrap();
    assert_eq!(short, long);
    assert_ne!(short, user);
    assert_eq!((short.to_string(), short.as_str()), ("a2a-jsonrpc-1.0".to_owned(), "a2a-jsonrpc-1.0/default/default"));
    assert_eq!(user.to_string(), "a2a-jsonrpc-1.0/user/standard");
    assert_eq!((user.protocol(), user.authorization(), user.tenant_class()), ("a2a-jsonrpc-1.0", "user", "standard"));
}

#[test]
fn a_profile_is_recognised_in_both_forms_and_in_no_other() {
    let short: Profile = "mcp-2026-07-28".parse().unwrap();
    let user: Profile = "mcp-2026-07-28/user/standard".parse().unwrap();
    assert!(short.is("mcp-2026-07-28") && short.is("mcp-2026-07-28/default/default"));
    assert!(user.is("mcp-2026-07-28/user/standard"));
    for not in ["", "mcp-2026-07-28/", "mcp-2026-07-28/default", "mcp-2026-07-28/user/standard/x", "MCP-2026-07-28"] {
        assert!(!short.is(not) && !user.is(not), "{not:?}");
    }
    // Z-05: one privilege level says nothing about another.
    assert!(!user.is("mcp-2026-07-28"));
    for bad in ["a/b", "a/b/c/d", "a//c", "/b/c", "a b/c/d"] {
        assert!(bad.parse::<Profile>().is_err(), "{bad:?}");
    }
}

#[test]
fn names_survive_json() {
    let profile: Profile = "a2a-grpc-1.0/agent/standard".parse().unwrap();
    let text = serde_json::to_string(&profile).unwrap();
    assert_eq!(text, "\"a2a-grpc-1.0/agent/standard\"");
    assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), profile);
    assert!(serde_json::from_str::<VersionLabel>("\"latest\"").is_err());
    assert!(serde_json::from_str::<AgentId>("\"acme\"").is_err());
}

#[test]
fn a_digest_has_one_spelling() {
    // FIPS 180-2, one-block example.
    let text = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let digest = Digest::of(b"abc");
    assert_eq!(digest.to_string(), text);
    assert_eq!(text.parse(), Ok(digest));
    assert_eq!(digest.hex(), text["sha256:".len()..]);
    for bad in ["", "latest", "ba7816bf", "SHA256:ba", "sha512:ba"] {
        assert!(matches!(bad.parse::<Digest>(), Err(DigestError::Algorithm(_))), "{bad:?}");
    }
    for bad in [text.to_uppercase().replace("SHA256", "sha256"), text[..70].to_owned(), format!("{text}00")] {
        assert!(matches!(bad.parse::<Digest>(), Err(DigestError::Hex(_))), "{bad:?}");
    }
}

#[test]
fn a_placeholder_loads_and_is_told_apart() {
    for placeholder in ["sha256:fixture-card-digest", "latest", ""] {
        let declared = DeclaredDigest::from(placeholder);
        assert_eq!((declared.digest(), declared.to_string()), (None, placeholder.to_owned()));
    }
    let real = Digest::of(b"abc");
    assert_eq!(DeclaredDigest::from(&*real.to_string()).digest(), Some(real));
}
