//! The agent under its production name.

use std::sync::Arc;

use ostiary_sample::Authority;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::support::{Agent, card};

async fn handshake(agent: &Agent, roots: RootCertStore, name: &'static str) -> std::io::Result<()> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let client = client.with_root_certificates(roots).with_no_client_auth();
    let stream = TcpStream::connect(agent.running.addr()).await?;
    TlsConnector::from(Arc::new(client)).connect(ServerName::try_from(name).unwrap(), stream).await.map(drop)
}

#[tokio::test]
async fn only_its_authority_makes_it_trusted_and_only_under_its_name() {
    let authority = Authority::generate().unwrap();
    let identity = authority.issue(&["planning.example.test"]).unwrap();
    let agent = Agent::start(&card(), |config| config.tls = Some(identity)).await;
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.root_pem().as_bytes()).unwrap()).unwrap();
    handshake(&agent, roots.clone(), "planning.example.test").await.expect("trusted under its name");
    handshake(&agent, roots, "other.example.test").await.expect_err("another name");
    handshake(&agent, RootCertStore::empty(), "planning.example.test").await.expect_err("no root");
}
