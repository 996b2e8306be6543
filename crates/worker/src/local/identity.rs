//! The subjects' credentials: synthetic tokens, signed here, or tokens that the environment refers to.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use jiff::SignedDuration;
use ostiary_canon::jwk::Algorithm;
use ostiary_contract::environment::{HarnessIdentity, Identity, Subject, TokenAlgorithm};
use ostiary_lab::{
    CredentialOf, IssuerOptions, OidcProvider, Subject as LabSubject, SyntheticIssuer, TokenSigner, double::key::derive,
};
use ostiary_record::{ActorId, ports};

use super::{EnvironmentError, Place};
use crate::clock::SystemClock;

/// The issuer of synthetic tokens where the environment names none.
pub const DEFAULT_ISSUER: &str = "urn:ostiary:harness";
/// The audience of synthetic tokens where the environment names none.
pub const DEFAULT_AUDIENCE: &str = "urn:ostiary:candidate";
/// Life of a synthetic token: longer than any run, short enough that a leaked one is soon worthless.
const LIFETIME: SignedDuration = SignedDuration::from_mins(30);

/// The signer of an environment's synthetic tokens; its key set is what the candidate must trust.
///
/// Without `key_env` or `key_file` the key follows from the environment's name: everybody can derive it, so it is for
/// candidates on one's own machine only.
///
/// # Errors
/// When the seed cannot be read.
pub fn signer(place: &Place) -> Result<TokenSigner, EnvironmentError> {
    seed(place).map(TokenSigner::from_seed)
}

/// What keys of an environment's synthetic identity follow from.
fn seed(place: &Place) -> Result<[u8; 32], EnvironmentError> {
    let environment = &place.environment;
    let Identity::Harness(harness) = &environment.identity else {
        return Err(EnvironmentError::Unsupported { what: "an identity other than `issuer: harness`".to_owned() });
    };
    let seed = match (&harness.key_env, &harness.key_file) {
        (Some(name), _) => Some((variable(name, "`identity.key_env`")?, "`identity.key_env`")),
        (None, Some(file)) => {
            let by = "`identity.key_file`";
            let text = String::from_utf8(read_file(place, file, by)?);
            Some((text.map_err(|_| EnvironmentError::Seed { by: by.to_owned() })?, by))
        }
        (None, None) => None,
    };
    match seed {
        Some((text, by)) => seed_of(text.trim()).ok_or(EnvironmentError::Seed { by: by.to_owned() }),
        None => Ok(derive(environment.name.value.as_bytes(), "ostiary harness identity")),
    }
}

/// The identity of an environment: its ports, and the provider that must live as long as the run where one is served.
pub(super) struct Served {
    pub(super) port: Arc<dyn ports::Identity>,
    pub(super) authority: Arc<dyn ports::Authority>,
    pub(super) provider: Option<OidcProvider>,
}

/// The identity of an environment, with its provider listening where it names an address.
pub(super) async fn of(place: &Place) -> Result<Served, EnvironmentError> {
    let environment = &place.environment;
    let names = match &environment.identity {
        Identity::Harness(harness) => harness.clone(),
        Identity::TokenCommand(_) | Identity::ClientCredentials(_) => HarnessIdentity::default(),
    };
    let mut subjects = BTreeMap::new();
    for (name, subject) in &environment.subjects {
        subjects.insert(ActorId(name.clone()), subject_of(name, subject)?);
    }
    let issuer = names.issuer_name();
    let options = IssuerOptions {
        issuer: issuer.clone(),
        audience: names.audience.clone().unwrap_or_else(|| DEFAULT_AUDIENCE.to_owned()),
        algorithm: algorithm(names.algorithm),
        seed: seed(place)?,
        lifetime: LIFETIME,
        subjects,
        now: Arc::new(|| SystemClock.now()),
    };
    let Some(serve) = &names.serve else {
        let issuer = Arc::new(SyntheticIssuer::new(issuer.as_deref().unwrap_or(DEFAULT_ISSUER), options));
        return Ok(Served { port: issuer.clone(), authority: issuer, provider: None });
    };
    let by = "`identity.serve`";
    let failed = |source| EnvironmentError::Listen { address: serve.value.clone(), by: by.to_owned(), source };
    let listen = serve.value.parse().map_err(|_| failed(std::io::ErrorKind::InvalidInput.into()))?;
    let provider = OidcProvider::start(options, Some(listen)).await.map_err(failed)?;
    let issuer = Arc::new(provider.issuer().clone());
    Ok(Served { port: issuer.clone(), authority: issuer, provider: Some(provider) })
}

const fn algorithm(named: TokenAlgorithm) -> Algorithm {
    match named {
        TokenAlgorithm::EdDsa => Algorithm::EdDsa,
        TokenAlgorithm::Es256 => Algorithm::Es256,
        TokenAlgorithm::Rs256 => Algorithm::Rs256,
    }
}

fn subject_of(name: &str, subject: &Subject) -> Result<LabSubject, EnvironmentError> {
    let credential = match (&subject.token_env, subject.expired, subject.foreign) {
        (Some(env), ..) => CredentialOf::Static(variable(env, &format!("`subjects.{name}.token_env`"))?),
        (None, true, _) => CredentialOf::Expired,
        (None, false, true) => CredentialOf::ForeignKey,
        (None, false, false) => CredentialOf::Valid,
    };
    Ok(LabSubject { tenant: subject.tenant.clone(), scopes: subject.scopes.clone(), credential })
}

/// The value of a variable that an operator's environment names.
#[expect(clippy::disallowed_methods, reason = "a reference that the environment names, the one way secrets come in")]
pub(super) fn variable(name: &str, by: &str) -> Result<String, EnvironmentError> {
    std::env::var(name).map_err(|_| EnvironmentError::Variable { name: name.to_owned(), by: by.to_owned() })
}

/// The bytes of a file that an operator's environment names.
pub(super) fn read_file(place: &Place, file: &str, by: &str) -> Result<Vec<u8>, EnvironmentError> {
    let root = place.root.as_deref().ok_or_else(|| EnvironmentError::NoFiles { by: by.to_owned() })?;
    let path = Path::new(root).join(file);
    std::fs::read(&path).map_err(|source| EnvironmentError::Read { path, source })
}

fn seed_of(hex: &str) -> Option<[u8; 32]> {
    if hex.len() != 64 {
        return None;
    }
    let mut seed = [0_u8; 32];
    for (n, byte) in seed.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * n..2 * n + 2)?, 16).ok()?;
    }
    Some(seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_32_bytes_in_hexadecimal() {
        assert_eq!(seed_of(&"0f".repeat(32)), Some([15; 32]));
        for wrong in ["", "0f", &"0g".repeat(32), &"0f".repeat(33), &"é".repeat(32)] {
            assert_eq!(seed_of(wrong), None, "{wrong}");
        }
    }
}
