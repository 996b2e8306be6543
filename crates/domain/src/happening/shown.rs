//! What of a receiver's address may be shown: many services put a key into it, in the query or as a part of the path.

use super::{Webhook, WebhookFacts};

/// Parts of a path that are at least that long and hold a digit are keys, not names.
const KEY: usize = 16;

/// What stands where something is not shown.
const LEFT_OUT: &str = "…";

// === impl WebhookFacts ===

impl WebhookFacts {
    /// The address with everything left out that may be a key.
    #[must_use]
    pub fn shown_url(&self) -> String {
        let url = self.url.split('#').next().unwrap_or_default();
        let (path, query) = url.split_once('?').map_or((url, None), |(path, query)| (path, Some(query)));
        let path: Vec<&str> =
            path.split('/').enumerate().map(|(n, part)| if n > 2 { named(part) } else { part }).collect();
        let path = path.join("/");
        let value = |pair: &str| match pair.split_once('=') {
            Some((name, value)) if !value.is_empty() => format!("{}={LEFT_OUT}", named(name)),
            _ => named(pair).to_owned(),
        };
        let query = query.map(|query| query.split('&').map(value).collect::<Vec<_>>().join("&"));
        query.map_or_else(|| path.clone(), |query| format!("{path}?{query}"))
    }
}

/// A part of an address, unless it is a key.
fn named(part: &str) -> &str {
    if part.len() >= KEY && part.bytes().any(|b| b.is_ascii_digit()) { LEFT_OUT } else { part }
}

// === impl Webhook ===

impl Webhook {
    /// What a try said, without what may be a key in the address that it names.
    #[must_use]
    pub fn shown_error(&self, error: &str) -> String {
        let url = self.facts.url.as_str();
        let mut shown = error.replace(url, &self.facts.shown_url());
        // whoever reports an address may have written it anew: what is secret in it stays what it was
        let path = url.split('#').next().unwrap_or_default().split('/').skip(3).collect::<Vec<_>>().join("/");
        for part in path.split(['/', '?', '&']) {
            let secret =
                part.split_once('=').map_or_else(|| if named(part) == part { "" } else { part }, |(_, value)| value);
            if secret.len() >= 4 {
                shown = shown.replace(secret, LEFT_OUT);
            }
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use ostiary_canon::Revision;

    use super::*;
    use crate::{
        WebhookId,
        sample::{hour, moment, operator},
    };

    fn hook(url: &str) -> Webhook {
        let (id, by, at) = (WebhookId("hook".into()), operator(), moment(0, 5));
        let facts = WebhookFacts { id, url: url.into(), allow_private: false, namespace: None, by, at };
        Webhook { facts, reached: Revision(0), tries: 0, not_before: hour(0), last_error: None }
    }

    #[test]
    fn no_key_in_an_address_is_shown() {
        for (url, shown) in [
            ("https://hooks.example/ostiary", "https://hooks.example/ostiary"),
            (
                "https://hooks.example:8443/a?token=s3cret&channel=ops&x",
                "https://hooks.example:8443/a?token=…&channel=…&x",
            ),
            ("https://hooks.example/services/T0001/XyZ12345678901234", "https://hooks.example/services/T0001/…"),
            (
                "https://hooks.example/very-long-name-of-a-receiver",
                "https://hooks.example/very-long-name-of-a-receiver",
            ),
            ("https://a1.b2.c3.d4.hooks.example.com/x", "https://a1.b2.c3.d4.hooks.example.com/x"),
        ] {
            assert_eq!(hook(url).facts.shown_url(), shown);
        }
    }

    #[test]
    fn no_key_in_an_error_is_shown() {
        let hook = hook("https://hooks.example/services/XyZ12345678901234?token=s3cret");
        for error in [
            "could not reach `https://hooks.example/services/XyZ12345678901234?token=s3cret`: refused",
            "GET /services/XyZ12345678901234?token=s3cret HTTP/1.1",
            "could not reach `https://hooks.example:443/?token=s3cret`",
        ] {
            let shown = hook.shown_error(error);
            assert!(!shown.contains("s3cret") && !shown.contains("XyZ1234"), "{shown}");
        }
        assert_eq!(hook.shown_error("answered 500"), "answered 500");
    }
}
