//! The gRPC listener.

use ostiary_proto::{
    FILE_DESCRIPTOR_SET, admission::v1::admission_service_server::AdmissionServiceServer,
    jobs::v1::jobs_service_server::JobsServiceServer,
};
use ostiary_worker::jobs::MAX_RUN_BYTES;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Server, server::TcpIncoming};

use super::{AdmissionApi, JobsApi};

/// What one listener serves.
pub struct Services {
    /// For routers.
    pub admission: AdmissionApi,
    /// For workers.
    pub jobs: JobsApi,
    /// Whether it describes its services to whoever asks.
    pub reflection: bool,
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
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<AdmissionServiceServer<AdmissionApi>>().await;
    health.set_serving::<JobsServiceServer<JobsApi>>().await;
    // A deadline that the caller sends is honoured by the transport itself.
    Server::builder()
        .add_service(health_service)
        .add_optional_service(services.reflection.then(reflection))
        .add_service(AdmissionServiceServer::new(services.admission).max_decoding_message_size(QUESTION))
        .add_service(JobsServiceServer::new(services.jobs).max_encoding_message_size(2 * MAX_RUN_BYTES))
        .serve_with_incoming_shutdown(TcpIncoming::from(listener).with_nodelay(Some(true)), stop.cancelled_owned())
        .await
}

/// Largest question: ten fields of names and digests need a tenth of it.
const QUESTION: usize = 16 << 10;

fn reflection()
-> tonic_reflection::server::v1::ServerReflectionServer<impl tonic_reflection::server::v1::ServerReflection> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .expect("the descriptors were compiled together with this program")
}
