//! The gRPC listener.

use std::{sync::Arc, time::Duration};

use ostiary_pdp::ext_authz::{self, AuthorizationServer, ExtAuthz};
use ostiary_proto::{
    FILE_DESCRIPTOR_SET, admission::v1::admission_service_server::AdmissionServiceServer,
    drift::v1::drift_service_server::DriftServiceServer, jobs::v1::jobs_service_server::JobsServiceServer,
};
use ostiary_worker::jobs::MAX_RUN_BYTES;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic_health::{ServingStatus, server::HealthReporter};

use super::{AdmissionApi, DriftApi, JobsApi, drift::REPORT, greeting::Incoming};
use crate::config::GrpcConfig;

/// What one listener serves.
pub struct Services {
    /// For routers.
    pub admission: AdmissionApi,
    /// For what routers report.
    pub drift: DriftApi,
    /// For workers.
    pub jobs: JobsApi,
    /// Patience with peers, and whether it describes its services to whoever asks.
    pub config: GrpcConfig,
    /// Whether routers are answered now: the view is filled and not stale.
    pub answers: Box<dyn Fn() -> bool + Send + Sync>,
}

/// Serves until `stop` fires, then finishes what is under way.
///
/// # Errors
/// When the listener fails.
pub async fn serve(
    listener: TcpListener,
    services: Services,
    stop: CancellationToken,
) -> Result<(), tonic::transport::Error> {
    let (mut health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<JobsServiceServer<JobsApi>>().await;
    health.set_serving::<DriftServiceServer<DriftApi>>().await;
    let Services { admission, drift, jobs, config, answers } = services;
    let told = tell(&mut health, answers, stop.clone());
    let envoy = ExtAuthz::new(Arc::new(admission.clone()));
    // A deadline that the caller sends is honoured by the transport itself.
    let serving = Server::builder()
        .http2_keepalive_interval(Some(config.keepalive()))
        .http2_keepalive_timeout(Some(config.keepalive()))
        .add_service(health_service)
        .add_optional_service(config.reflection.then(reflection))
        .add_service(AdmissionServiceServer::new(admission).max_decoding_message_size(QUESTION))
        .add_service(AuthorizationServer::new(envoy).max_decoding_message_size(ext_authz::LARGEST))
        .add_service(DriftServiceServer::new(drift).max_decoding_message_size(REPORT))
        .add_service(JobsServiceServer::new(jobs).max_encoding_message_size(2 * MAX_RUN_BYTES))
        .serve_with_incoming_shutdown(Incoming::new(listener, config.greeting()), stop.cancelled_owned());
    let (served, ()) = tokio::join!(serving, told);
    served
}

/// How often is looked whether the view went stale, or fresh again.
const LOOK: Duration = Duration::from_millis(100);

/// Keeps what the health service says of the admission service true, for balancers and for routers that choose among us.
async fn tell(health: &mut HealthReporter, answers: impl Fn() -> bool, stop: CancellationToken) {
    let mut told = None;
    while !stop.is_cancelled() {
        let now = answers();
        if told.replace(now) != Some(now) {
            let status = if now { ServingStatus::Serving } else { ServingStatus::NotServing };
            health.set_service_status(ADMISSION, status).await;
            health.set_service_status("", status).await;
        }
        tokio::select! { () = tokio::time::sleep(LOOK) => {}, () = stop.cancelled() => {} }
    }
    // Streams that wait for news of our health would keep the listener from ending.
    health.clear_service_status(ADMISSION).await;
    health.clear_service_status("").await;
}

const ADMISSION: &str = <AdmissionServiceServer<AdmissionApi> as tonic::server::NamedService>::NAME;

/// Largest question: a batch of a hundred, each ten fields of names and digests.
const QUESTION: usize = 256 << 10;

fn reflection()
-> tonic_reflection::server::v1::ServerReflectionServer<impl tonic_reflection::server::v1::ServerReflection> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .expect("the descriptors were compiled together with this program")
}
