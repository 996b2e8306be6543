//! Tokens that must not be taken, each wrong in one thing.

use serde::{Deserialize, Serialize};

/// Declares the flaws with the names that files use.
macro_rules! flaws {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// What is wrong with a token; everything else of it is right.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum TokenFlaw {
            $($(#[$doc])* $name,)*
        }

        impl TokenFlaw {
            /// Every flaw there is.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Its name in files.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

flaws! {
    /// Its time is over (`exp`, RFC 7519 §4.1.4).
    Expired = "expired";
    /// Its time has not come (`nbf`, §4.1.5).
    NotYetValid = "not_yet_valid";
    /// It is meant for somebody else (`aud`, §4.1.3).
    WrongAudience = "wrong_audience";
    /// It says that somebody else issued it (`iss`, §4.1.1).
    WrongIssuer = "wrong_issuer";
    /// It is not signed and says so: `alg` is `none` (RFC 8725 §2.1).
    AlgNone = "alg_none";
    /// It is "signed" with the public key as a shared secret: `alg` is `HS256` (RFC 8725 §2.1).
    PublicKeyAsSecret = "public_key_as_secret";
    /// Its signature is that of a key that nobody published, under the name of one that was.
    ForeignKey = "foreign_key";
    /// It names a key that nobody published.
    UnknownKey = "unknown_key";
    /// Its claims were changed after it was signed.
    Tampered = "tampered";
    /// Its signature is missing, though its `alg` wants one.
    NoSignature = "no_signature";
    /// It was revoked (RFC 7009): only who asks the issuer (RFC 7662) can know.
    Revoked = "revoked";
}

// === impl TokenFlaw ===

impl TokenFlaw {
    /// Whether a verifier that only holds the published keys can see it.
    #[must_use]
    pub const fn shows_offline(self) -> bool {
        !matches!(self, Self::Revoked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flaw_is_written_with_its_name() {
        for flaw in TokenFlaw::ALL {
            assert_eq!(serde_json::to_value(flaw).unwrap(), flaw.name());
        }
    }
}
