//! A certificate authority of the sample's own, so that it can be called by the production name that its card gives.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};

/// Signs the certificates of one demo or test; its root is what the verification environment trusts.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate with its key.
#[derive(Clone)]
pub struct TlsIdentity {
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

/// A key or certificate that could not be made or used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// Making it failed.
    #[error("make a certificate")]
    Make(#[from] rcgen::Error),
    /// Using it failed.
    #[error("set TLS up")]
    Use(#[from] rustls::Error),
}

// === impl Authority ===

impl Authority {
    /// Makes an authority with a fresh key.
    ///
    /// # Errors
    /// When the key or its certificate cannot be made.
    pub fn generate() -> Result<Self, TlsError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "sample planning agent: test authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Ok(Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)? })
    }

    /// The root certificate in PEM.
    #[must_use]
    pub fn root_pem(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate for these host names.
    ///
    /// # Errors
    /// When a name is none, or the certificate cannot be made.
    pub fn issue(&self, names: &[&str]) -> Result<TlsIdentity, TlsError> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(names)?.signed_by(&key, &self.issuer)?;
        Ok(TlsIdentity { certificate: certificate.der().clone(), key: key.serialize_der() })
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

// === impl TlsIdentity ===

impl TlsIdentity {
    pub(crate) fn server_config(&self) -> Result<ServerConfig, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(self.key.clone()));
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

impl std::fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsIdentity").finish_non_exhaustive()
    }
}
