//! Tokens that must not be taken: a good one, and one thing of it made wrong.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use ostiary_record::TokenFlaw;
use ring::hmac;
use serde_json::{Value, json};

use super::issue::{Book, number};
use crate::double::key::{JwtKey, unsigned};

/// Well past any leeway that a verifier grants to clocks that are off.
const HOUR: i64 = 3_600;

// === impl Book ===

impl Book {
    /// A token that is wrong in one thing; `None` when there is no such subject.
    pub(super) fn flawed(&mut self, name: &str, flaw: TokenFlaw, now: Timestamp) -> Option<String> {
        let mut claims = self.claims(name, None, now)?;
        let seconds = self.time(now).as_second();
        match flaw {
            TokenFlaw::Expired => {
                claims["iat"] = json!(seconds - 2 * HOUR);
                claims["nbf"] = json!(seconds - 2 * HOUR);
                claims["exp"] = json!(seconds - HOUR);
            }
            TokenFlaw::NotYetValid => {
                claims["nbf"] = json!(seconds + HOUR);
                claims["exp"] = json!(seconds + HOUR + self.lifetime().max(1));
            }
            TokenFlaw::WrongAudience => claims["aud"] = json!(format!("not-{}", self.audience)),
            TokenFlaw::WrongIssuer => claims["iss"] = json!("https://another-issuer.example.test"),
            TokenFlaw::Revoked => self.revoke_number(number(&claims)?),
            _ => {}
        }
        Some(match flaw {
            TokenFlaw::AlgNone => format!("{}.", unsigned(&json!({"alg": "none", "typ": "JWT"}), &claims)),
            TokenFlaw::PublicKeyAsSecret => with_public_key_as_secret(self.key(), &claims),
            TokenFlaw::ForeignKey => {
                let header = header(self.key());
                self.foreign_key().token_under(&header, &claims)
            }
            TokenFlaw::UnknownKey => self.foreign_key().token(&claims),
            TokenFlaw::Tampered => tampered(self.key(), claims),
            TokenFlaw::NoSignature => format!("{}.", unsigned(&header(self.key()), &claims)),
            TokenFlaw::Expired
            | TokenFlaw::NotYetValid
            | TokenFlaw::WrongAudience
            | TokenFlaw::WrongIssuer
            | TokenFlaw::Revoked => self.key().token(&claims),
        })
    }
}

fn header(key: &JwtKey) -> Value {
    json!({"alg": key.algorithm().as_str(), "typ": "JWT", "kid": key.kid()})
}

/// The signature of one subject's token under the claims of another.
fn tampered(key: &JwtKey, mut claims: Value) -> String {
    let token = key.token(&claims);
    let signature = token.rsplit_once('.').map_or("", |(_, signature)| signature);
    claims["sub"] = json!("somebody-else");
    format!("{}.{signature}", unsigned(&header(key), &claims))
}

/// What a verifier falls for that lets the token choose between a shared secret and a public key.
fn with_public_key_as_secret(key: &JwtKey, claims: &Value) -> String {
    let header = json!({"alg": "HS256", "typ": "JWT", "kid": key.kid()});
    let signed = unsigned(&header, claims);
    let secret = hmac::Key::new(hmac::HMAC_SHA256, key.public_pem().as_bytes());
    let signature = hmac::sign(&secret, signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use jiff::SignedDuration;
    use ostiary_canon::jwk::{Algorithm, KeySet};

    use super::*;
    use crate::double::{identity::Subject, oidc::IssuerOptions, verify};

    const NOW: i64 = 1_790_000_000;

    fn now() -> Timestamp {
        Timestamp::from_second(NOW).unwrap()
    }

    fn book() -> Book {
        let subject = Subject {
            tenant: Some("tenant-a".to_owned()),
            scopes: vec!["plan.write".to_owned()],
            ..Subject::default()
        };
        let options = IssuerOptions {
            issuer: None,
            audience: "planning-agent".to_owned(),
            algorithm: Algorithm::Es256,
            seed: [3; 32],
            lifetime: SignedDuration::from_mins(10),
            subjects: BTreeMap::from([("user-a".into(), subject)]),
            now: Arc::new(now),
        };
        Book::new("https://issuer.test", options)
    }

    /// What a careful verifier says.
    fn refusal(book: &Book, token: &str) -> Option<&'static str> {
        let keys = KeySet::parse(book.jwks().to_string().as_bytes()).unwrap();
        match verify::claims(token, &keys, now()) {
            Err(why) => Some(why),
            Ok(claims) if !verify::is_for(&claims, "planning-agent") => Some("audience"),
            Ok(claims) if claims["iss"] != "https://issuer.test" => Some("issuer"),
            Ok(claims) if book.active(token, now()).is_none() => {
                Some(if claims["sub"] == "user-a" { "not active" } else { "" })
            }
            Ok(_) => None,
        }
    }

    #[test]
    fn a_good_token_is_taken() {
        let mut book = book();
        let token = book.token("user-a", now()).unwrap();
        assert_eq!(refusal(&book, &token), None);
        assert_eq!(book.token("stranger", now()), None);
    }

    #[test]
    fn each_flaw_is_refused_for_its_own_reason() {
        let mut book = book();
        for (flaw, why) in [
            (TokenFlaw::Expired, "it is expired"),
            (TokenFlaw::NotYetValid, "its time has not come"),
            (TokenFlaw::WrongAudience, "audience"),
            (TokenFlaw::WrongIssuer, "issuer"),
            (TokenFlaw::AlgNone, "its algorithm is none that is taken"),
            (TokenFlaw::PublicKeyAsSecret, "its algorithm is none that is taken"),
            (TokenFlaw::ForeignKey, "no published key made its signature"),
            (TokenFlaw::UnknownKey, "it names a key that is not published"),
            (TokenFlaw::Tampered, "no published key made its signature"),
            (TokenFlaw::NoSignature, "no published key made its signature"),
            (TokenFlaw::Revoked, "not active"),
        ] {
            let token = book.flawed("user-a", flaw, now()).unwrap();
            assert_eq!(refusal(&book, &token), Some(why), "{flaw:?}");
        }
    }

    #[test]
    fn the_shared_secret_is_the_public_key() {
        let mut book = book();
        let token = book.flawed("user-a", TokenFlaw::PublicKeyAsSecret, now()).unwrap();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let secret = hmac::Key::new(hmac::HMAC_SHA256, book.key().public_pem().as_bytes());
        hmac::verify(&secret, signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
    }
}
