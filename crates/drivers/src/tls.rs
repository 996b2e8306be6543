//! TLS with the ring provider, and the server key that evidence names.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
    server::ParsedCertificate,
};
use sha2::{Digest as _, Sha256};

use crate::settings::SettingsProblem;

/// A client for each version of HTTP, as its protocol is named in the handshake (ALPN).
#[derive(Clone)]
pub(crate) struct Clients {
    pub(crate) http1: Arc<ClientConfig>,
    pub(crate) http2: Arc<ClientConfig>,
}

/// Clients that trust the given authorities, or the web's where none are given.
pub(crate) fn clients(trust_roots: Option<&[u8]>) -> Result<Clients, SettingsProblem> {
    let mut roots = RootCertStore::empty();
    match trust_roots {
        Some(pem) => add_pem(&mut roots, pem).map_err(SettingsProblem::TrustRoots)?,
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| SettingsProblem::TrustRoots(e.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let mut http2 = config.clone();
    http2.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Clients { http1: Arc::new(config), http2: Arc::new(http2) })
}

/// SHA-256 over the DER of the key that the peer's certificate certifies, in hex.
pub(crate) fn spki_sha256(chain: Option<&[CertificateDer<'_>]>) -> Option<String> {
    let parsed = ParsedCertificate::try_from(chain?.first()?).ok()?;
    Some(hex::encode(Sha256::digest(parsed.subject_public_key_info())))
}

fn add_pem(roots: &mut RootCertStore, pem: &[u8]) -> Result<(), String> {
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|e| e.to_string())?;
        roots.add(certificate).map_err(|e| e.to_string())?;
    }
    if roots.is_empty() { Err("no certificate in it".to_owned()) } else { Ok(()) }
}
