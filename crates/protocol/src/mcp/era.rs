//! Which era a server speaks, by what it answers to the two openings (2026-07-28, "Versioning").
//!
//! A server that answers `tools/list` without an opening proves nothing: many old ones do. Only an answer to
//! `server/discover`, or an error that no older server sends, shows the stateless era; only an answer to `initialize`
//! shows the other. A server may speak both, and is then judged in each.

use serde_json::Value;

use super::{
    Revision,
    reply::{Answer, Reply},
    result::{Handshake, ResultType},
};

/// What an opening showed.
#[derive(Clone, Debug, PartialEq)]
pub enum Opening {
    /// The server speaks the era, and this revision of it.
    Speaks {
        /// The revision that is spoken from here on.
        revision: Revision,
        /// What the server said of itself; `None` where only an error showed the era.
        handshake: Option<Box<Handshake>>,
    },
    /// The server speaks the era, and no revision that we know.
    Unknown {
        /// The revisions that it names.
        versions: Vec<String>,
    },
    /// The server does not speak the era.
    Refuses {
        /// What it answered.
        why: String,
    },
    /// Nobody may speak with it as this caller: HTTP 401 or 403 came before the protocol.
    Denied {
        /// The status.
        status: u16,
    },
    /// Nothing was said at all, or only to come again: whether it speaks the era cannot be told.
    Silent {
        /// What came of asking.
        why: String,
    },
}

/// What the answer to `server/discover` shows.
#[must_use]
pub fn discovered(reply: &Reply) -> Opening {
    if let Some(opening) = before_protocol(reply) {
        return opening;
    }
    match &reply.answer {
        Answer::Result(result) => {
            let handshake = Box::new(Handshake::of(result, Revision::V2026_07_28));
            let typed = ResultType::of(result) != ResultType::Absent;
            if handshake.versions.is_empty() && !typed {
                // a server that answers anything at all to a method that it does not know
                return Opening::Refuses { why: "a result that names no supported version".to_owned() };
            }
            stateless(handshake.versions.clone(), Some(handshake))
        }
        Answer::Error(error) if error.is_modern() => stateless(error.supported(), None),
        Answer::Nothing(why) => Opening::Silent { why: why.clone() },
        other => Opening::Refuses { why: other.describe() },
    }
}

/// What the answer to `initialize` shows; the server may settle on another revision than was offered.
#[must_use]
pub fn initialized(reply: &Reply) -> Opening {
    if let Some(opening) = before_protocol(reply) {
        return opening;
    }
    match &reply.answer {
        Answer::Result(result) => {
            let named = result.get("protocolVersion").and_then(Value::as_str);
            match named.map(str::parse::<Revision>) {
                Some(Ok(revision)) if !revision.is_stateless() => {
                    let handshake = Some(Box::new(Handshake::of(result, revision)));
                    Opening::Speaks { revision, handshake }
                }
                Some(_) => Opening::Unknown { versions: named.into_iter().map(str::to_owned).collect() },
                None => Opening::Refuses { why: "a result without `protocolVersion`".to_owned() },
            }
        }
        Answer::Nothing(why) => Opening::Silent { why: why.clone() },
        other => Opening::Refuses { why: other.describe() },
    }
}

/// What a status says before any message is read: a gateway may answer in the server's place.
fn before_protocol(reply: &Reply) -> Option<Opening> {
    match (reply.status?, &reply.answer) {
        (status @ (401 | 403), _) => Some(Opening::Denied { status }),
        (status @ (429 | 502..=504), _) => Some(Opening::Silent { why: format!("HTTP {status}") }),
        (400.., Answer::Nothing(why)) => Some(Opening::Refuses { why: why.clone() }),
        _ => None,
    }
}

/// The newest stateless revision that both know. A list that is empty says nothing against the one that was asked by.
fn stateless(versions: Vec<String>, handshake: Option<Box<Handshake>>) -> Opening {
    let known = versions.iter().filter_map(|v| v.parse::<Revision>().ok()).filter(|r| r.is_stateless());
    let newest = known.max().or_else(|| versions.is_empty().then_some(Revision::V2026_07_28));
    match newest {
        Some(revision) => Opening::Speaks { revision, handshake },
        None => Opening::Unknown { versions },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::error::RpcError, *};

    fn reply(answer: Answer) -> Reply {
        Reply { status: None, items: Vec::new(), answer, last_event: None }
    }

    fn result(value: Value) -> Reply {
        reply(Answer::Result(value))
    }

    fn error(code: i64, data: Value) -> Reply {
        reply(Answer::Error(RpcError::of(&json!({"code": code, "message": "x", "data": data}))))
    }

    fn nothing(status: Option<u16>) -> Reply {
        Reply { status, ..reply(Answer::Nothing("x".to_owned())) }
    }

    fn stateless_by(reply: &Reply) -> bool {
        matches!(discovered(reply), Opening::Speaks { revision: Revision::V2026_07_28, .. })
    }

    #[test]
    fn only_an_answer_of_the_era_shows_it() {
        let listed =
            json!({"resultType": "complete", "supportedVersions": ["2025-11-25", "2026-07-28"], "capabilities": {}});
        assert!(stateless_by(&result(listed)));
        assert!(stateless_by(&error(-32021, json!({"requiredCapabilities": {}}))));
        assert!(!stateless_by(&result(json!({"tools": []}))), "it answers whatever it is asked");
        assert!(!stateless_by(&error(-32601, Value::Null)));
        assert!(!stateless_by(&error(-32000, Value::Null)));
    }

    #[test]
    fn a_version_of_the_future_is_not_taken_for_ours() {
        let future = error(-32022, json!({"supported": ["2099-01-01"], "requested": "2026-07-28"}));
        assert_eq!(discovered(&future), Opening::Unknown { versions: vec!["2099-01-01".to_owned()] });
        let old = result(json!({"protocolVersion": "2024-11-05"}));
        assert_eq!(initialized(&old), Opening::Unknown { versions: vec!["2024-11-05".to_owned()] });
    }

    #[test]
    fn silence_is_not_refusal() {
        assert!(matches!(discovered(&nothing(None)), Opening::Silent { .. }));
        assert!(matches!(initialized(&error(-32601, Value::Null)), Opening::Refuses { .. }));
        assert!(matches!(discovered(&nothing(Some(404))), Opening::Refuses { .. }), "an empty page is one");
        assert!(matches!(discovered(&nothing(Some(503))), Opening::Silent { .. }), "come again");
        assert_eq!(discovered(&nothing(Some(401))), Opening::Denied { status: 401 });
    }

    #[test]
    fn a_server_may_settle_on_an_older_revision() {
        let answer = result(json!({"protocolVersion": "2025-06-18", "capabilities": {}}));
        assert!(matches!(initialized(&answer), Opening::Speaks { revision: Revision::V2025_06_18, .. }));
    }
}
