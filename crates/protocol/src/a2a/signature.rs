//! Signatures of agent cards (§8.4, C-07).
//!
//! A valid signature shows that the card is as the holder of a key signed it: integrity. It does not show who the agent
//! is, nor that it works. Keys come from the operator alone; a card's own `jku` is told and never followed, or a card
//! would choose what it is measured by. One valid signature suffices, and all are reported.
//!
//! Signers differ in the bytes they sign, so each known [`Form`] is tried and the one that fits is named. What a form
//! leaves out is listed as unsigned input. Start with [`verify`].

use ostiary_canon::{
    json::{Limits, parse_strict},
    jwk::PublicKey,
};
use ostiary_record::ReasonCode;
use serde::Serialize;
use serde_json::Value;

mod form;
mod jws;
mod legacy;
mod schema;
mod sign;

use jws::{Claims, Jws, Refusal};

pub use form::{Canonical, Form, LeftOut, Unsigned};
pub use ostiary_canon::jwk::{KeySet as Anchors, KeySetError as AnchorsError};
pub use sign::{Draft, SignError, sign};

/// Most signatures of a card: two or three while keys are rotated. Each costs some verifications.
pub const SIGNATURES: usize = 16;

/// What is known about the signatures of a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SignatureReport {
    /// One line for each, in the card's order; empty for a card without signatures.
    pub signatures: Vec<SignatureLine>,
    /// Why the signatures could not be looked at one by one: no readable card, no list, too many.
    pub refused: Option<String>,
}

/// What is known about one signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SignatureLine {
    /// Where it stands: `/signatures/0`.
    pub pointer: String,
    /// The algorithm it claims.
    pub alg: Option<String>,
    /// The key it names.
    pub kid: Option<String>,
    /// Where it says its keys are; told, never fetched.
    pub jku: Option<String>,
    /// What became of it.
    #[serde(flatten)]
    pub status: SignatureStatus,
}

/// What became of one signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum SignatureStatus {
    /// A key that the operator knows signed the card in this form.
    Valid {
        /// The form that fits; the strictest, where several give the same bytes.
        form: Form,
        /// The other forms that give the same bytes.
        same_bytes: Vec<Form>,
        /// The key's thumbprint (RFC 7638).
        thumbprint: String,
        /// Members of the card that the form leaves out.
        unsigned: Vec<Unsigned>,
        /// What the form cannot show at all, in words.
        gap: Option<&'static str>,
    },
    /// Not a readable detached JWS of bounded size.
    Malformed {
        /// Why.
        why: String,
    },
    /// An algorithm that is not accepted, or not that of the key it names.
    AlgorithmForbidden {
        /// Why.
        why: String,
    },
    /// It does not name its key.
    KeyIdMissing,
    /// It names a key that the operator does not know.
    KeyUnknown,
    /// The key is known and the signature fits the card in no form.
    Invalid,
    /// Well-formed, but no key was given at all.
    NotChecked,
}

/// What was expected of a card before it was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expectation {
    /// Signed or not.
    #[default]
    Nothing,
    /// A signature, by policy.
    Signature,
    /// A signature, because the card had one before.
    AsBefore,
}

/// What the signatures of a card come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// At least one signature is valid: the card is as its signer made it.
    Intact,
    /// No signature, and none was expected.
    NotSigned,
    /// Signed, and no key was given to check with.
    NotChecked,
    /// Expected or claimed integrity is not there.
    Broken(ReasonCode),
}

/// Checks the signatures of a card, as bytes, against the operator's keys.
#[must_use]
pub fn verify(card: &[u8], anchors: &Anchors) -> SignatureReport {
    match parse_strict(card, Limits::DOCUMENT) {
        Ok(value) => verify_value(&value, anchors),
        Err(error) => SignatureReport::refused(format!("the card is not readable: {error}")),
    }
}

/// Checks the signatures of a card that was read strictly.
#[must_use]
pub fn verify_value(card: &Value, anchors: &Anchors) -> SignatureReport {
    let entries = match card.get("signatures") {
        _ if !card.is_object() => return SignatureReport::refused("the card is no JSON object".to_owned()),
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(list)) if list.len() > SIGNATURES => {
            return SignatureReport::refused(format!("{} signatures, more than {SIGNATURES}", list.len()));
        }
        Some(Value::Array(list)) => list.as_slice(),
        Some(_) => return SignatureReport::refused("`signatures` is no list".to_owned()),
    };
    let payloads = if entries.is_empty() { Vec::new() } else { Payload::all(card) };
    let line = |(n, entry)| SignatureLine::of(n, entry, &payloads, anchors);
    SignatureReport { signatures: entries.iter().enumerate().map(line).collect(), refused: None }
}

// === impl SignatureReport ===

impl SignatureReport {
    /// What the signatures come to, given what was expected.
    #[must_use]
    pub fn conclude(&self, expected: Expectation) -> Conclusion {
        if self.refused.is_some() {
            return Conclusion::Broken(ReasonCode::CardSignatureMalformed);
        }
        let reasons = || self.signatures.iter().map(|line| line.status.reason());
        match (self.signatures.is_empty(), expected) {
            (true, Expectation::Nothing) => Conclusion::NotSigned,
            (true, Expectation::Signature) => Conclusion::Broken(ReasonCode::CardSignatureMissing),
            (true, Expectation::AsBefore) => Conclusion::Broken(ReasonCode::CardSignatureStripped),
            (false, _) if reasons().any(|reason| reason.is_none()) => Conclusion::Intact,
            (false, _) if reasons().any(|reason| reason == Some(ReasonCode::CardSignatureNotChecked)) => {
                Conclusion::NotChecked
            }
            (false, _) => {
                let gravest = reasons().flatten().max_by_key(|reason| gravity(*reason));
                gravest.map_or(Conclusion::NotChecked, Conclusion::Broken)
            }
        }
    }

    /// The valid signature that leaves out least.
    #[must_use]
    pub fn best(&self) -> Option<&SignatureLine> {
        let left_out = |line: &&SignatureLine| line.status.unsigned().map(<[Unsigned]>::len);
        self.signatures.iter().filter(|line| line.status.reason().is_none()).min_by_key(left_out)
    }

    /// The members of the card that no valid signature covers; empty where none is valid, since then nothing is.
    #[must_use]
    pub fn unsigned(&self) -> &[Unsigned] {
        self.best().and_then(|line| line.status.unsigned()).unwrap_or_default()
    }

    fn refused(why: String) -> Self {
        Self { signatures: Vec::new(), refused: Some(why) }
    }
}

// === impl SignatureLine ===

impl SignatureLine {
    fn of(n: usize, entry: &Value, payloads: &[Payload], anchors: &Anchors) -> Self {
        let (Claims { alg, kid, jku }, read) = jws::read(entry);
        let status = match read {
            Ok(jws) => SignatureStatus::of(&jws, payloads, anchors),
            Err(Refusal::Malformed(why)) => SignatureStatus::Malformed { why },
            Err(Refusal::Algorithm(why)) => SignatureStatus::AlgorithmForbidden { why },
            Err(Refusal::KeyIdMissing) => SignatureStatus::KeyIdMissing,
        };
        Self { pointer: format!("/signatures/{n}"), alg, kid, jku, status }
    }
}

// === impl SignatureStatus ===

impl SignatureStatus {
    /// The reason code; a valid signature has none.
    #[must_use]
    pub const fn reason(&self) -> Option<ReasonCode> {
        match self {
            Self::Valid { .. } => None,
            Self::Malformed { .. } => Some(ReasonCode::CardSignatureMalformed),
            Self::AlgorithmForbidden { .. } => Some(ReasonCode::CardSignatureAlgorithmForbidden),
            Self::KeyIdMissing => Some(ReasonCode::CardSignatureKeyIdMissing),
            Self::KeyUnknown => Some(ReasonCode::CardSignatureKeyUnknown),
            Self::Invalid => Some(ReasonCode::CardSignatureInvalid),
            Self::NotChecked => Some(ReasonCode::CardSignatureNotChecked),
        }
    }

    /// In words, for people: integrity, never trust.
    #[must_use]
    pub fn told(&self) -> String {
        match self {
            Self::Valid { form, thumbprint, .. } => {
                format!(
                    "signed by key {thumbprint}; unchanged in all that the form `{form}` covers; says nothing of what the agent does"
                )
            }
            Self::Malformed { why } => format!("not a signature: {why}"),
            Self::AlgorithmForbidden { why } => format!("algorithm: {why}"),
            Self::KeyIdMissing => "names no key: `kid` is missing in the protected header".to_owned(),
            Self::KeyUnknown => "signed with a key that the operator does not know".to_owned(),
            Self::Invalid => "the card is not what the named key signed, in any known form".to_owned(),
            Self::NotChecked => "not checked: no keys were given".to_owned(),
        }
    }

    fn unsigned(&self) -> Option<&[Unsigned]> {
        match self {
            Self::Valid { unsigned, .. } => Some(unsigned),
            _ => None,
        }
    }

    fn of(jws: &Jws<'_>, payloads: &[Payload], anchors: &Anchors) -> Self {
        if anchors.is_empty() {
            return Self::NotChecked;
        }
        let named: Vec<&PublicKey> = anchors.named(&jws.kid).collect();
        let fitting: Vec<&PublicKey> = named.iter().copied().filter(|k| k.algorithm() == jws.algorithm).collect();
        match (named.first(), fitting.is_empty()) {
            (None, _) => return Self::KeyUnknown,
            (Some(key), true) => {
                let why =
                    format!("`{}` is claimed, and the key it names is one for {}", jws.algorithm, key.algorithm());
                return Self::AlgorithmForbidden { why };
            }
            (Some(_), false) => {}
        }
        let fits = |payload: &Payload| {
            let input = sign::input(jws.protected, &payload.canonical.bytes);
            fitting.iter().find(|key| key.verifies(&input, &jws.signature)).map(|key| key.thumbprint())
        };
        match payloads.iter().find_map(|payload| fits(payload).map(|thumbprint| (payload, thumbprint))) {
            None => Self::Invalid,
            Some((payload, thumbprint)) => Self::Valid {
                form: payload.canonical.form,
                same_bytes: payload.same_bytes.clone(),
                thumbprint,
                unsigned: payload.canonical.unsigned.clone(),
                gap: payload.gap(),
            },
        }
    }
}

/// Bytes that a signature may be over, with the forms that lead to them.
struct Payload {
    /// The form that leaves out least.
    canonical: Canonical,
    /// Other forms with the same bytes.
    same_bytes: Vec<Form>,
}

// === impl Payload ===

impl Payload {
    /// The payloads of a card in the order in which they are tried.
    fn all(card: &Value) -> Vec<Self> {
        let mut out: Vec<Self> = Vec::new();
        for canonical in Form::ALL.into_iter().filter_map(|form| form.of(card).ok()) {
            match out.iter_mut().find(|known| known.canonical.bytes == canonical.bytes) {
                Some(known) => known.same_bytes.push(canonical.form),
                None => out.push(Self { canonical, same_bytes: Vec::new() }),
            }
        }
        out
    }

    /// What cannot be shown. Where forms agree, nobody knows which one the signer used, so the widest gap is told: what
    /// a lossy form left out when the card was signed may be gone from it since.
    fn gap(&self) -> Option<&'static str> {
        let forms = std::iter::once(self.canonical.form).chain(self.same_bytes.iter().copied());
        forms.filter_map(Form::gap).next_back()
    }
}

/// Which reason stands for a card where no signature is valid: a key that disagrees tells more than one that is missing.
const fn gravity(reason: ReasonCode) -> u8 {
    match reason {
        ReasonCode::CardSignatureInvalid => 5,
        ReasonCode::CardSignatureAlgorithmForbidden => 4,
        ReasonCode::CardSignatureMalformed => 3,
        ReasonCode::CardSignatureKeyIdMissing => 2,
        ReasonCode::CardSignatureKeyUnknown => 1,
        _ => 0,
    }
}
