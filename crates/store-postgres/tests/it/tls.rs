//! The connection to another machine: encrypted, and only with the one whose certificate says so.

use std::fs;

use ostiary_domain::ports::Feed as _;
use ostiary_store_postgres::{OpenError, PostgresStore, Settings, cluster::Cluster};
use rcgen::{CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;

use crate::bench::ports_from;

/// An authority: its own certificate, and one that it gave to the host of that name.
fn authority(host: &str) -> (String, String, String) {
    let mut params = CertificateParams::new(Vec::new()).expect("an authority");
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority");
    let key = KeyPair::generate().expect("a key");
    let certificate = CertificateParams::new(vec![host.to_owned()]).expect("a host");
    let certificate = certificate.signed_by(&key, &authority).expect("a certificate");
    (authority.pem(), certificate.pem(), key.serialize_pem())
}

async fn open(url: &str, mode: &str, root: &str) -> Result<PostgresStore, OpenError> {
    let settings = Settings::from_url(&format!("{url}?sslmode={mode}&sslrootcert={root}")).expect("a database URL");
    PostgresStore::open(&settings, ports_from(0)).await
}

#[tokio::test]
async fn a_server_must_prove_its_name_by_an_authority_that_we_trust() {
    let folder = TempDir::new().expect("a folder");
    let write = |name: &str, pem: &str| {
        let path = folder.path().join(name);
        fs::write(&path, pem).expect("it is written");
        path.display().to_string()
    };
    let (ours, certificate, key) = authority("127.0.0.1");
    let (ours, theirs) = (write("ours.pem", &ours), write("theirs.pem", &authority("127.0.0.1").0));
    let cluster = Cluster::encrypted(&certificate, &key).expect("a server with TLS");
    let url = cluster.database().await;

    let store = open(&url, "verify-full", &ours).await.expect("the right authority");
    store.revision().await.expect("a revision");
    store.close().await;
    let refused = open(&url, "verify-full", &theirs).await;
    assert!(matches!(refused, Err(OpenError::Connect { .. })), "another authority: {refused:?}");
    let elsewhere = url.replace("127.0.0.1", "localhost");
    let refused = open(&elsewhere, "verify-full", &ours).await;
    assert!(matches!(refused, Err(OpenError::Connect { .. })), "another name: {refused:?}");
}

#[tokio::test]
async fn a_server_without_tls_is_refused_where_tls_is_wanted() {
    let url = Cluster::shared().database().await;
    for mode in ["require", "verify-full"] {
        let settings = Settings::from_url(&format!("{url}?sslmode={mode}")).expect("a database URL");
        let refused = PostgresStore::open(&settings, ports_from(0)).await;
        assert!(matches!(refused, Err(OpenError::Connect { .. })), "{mode}: {refused:?}");
    }
}
