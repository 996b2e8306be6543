//! Ostiary's own gRPC API: messages, clients and servers, generated from the `.proto` files of this folder.
//!
//! Nothing here is written by hand but this page. Must not know any other crate of ours: what a message means stands in
//! the crates that speak it. Start with `ostiary/admission/v1/admission.proto`.

/// Descriptors of all messages and services, for server reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// What routers ask.
pub mod admission {
    /// First version.
    #[expect(
        missing_docs,
        unused_qualifications,
        clippy::allow_attributes,
        clippy::allow_attributes_without_reason,
        reason = "generated code"
    )]
    pub mod v1 {
        tonic::include_proto!("ostiary.admission.v1");
    }
}

/// What workers ask.
pub mod jobs {
    /// First version.
    #[expect(
        missing_docs,
        unused_qualifications,
        clippy::too_many_lines,
        clippy::allow_attributes,
        clippy::allow_attributes_without_reason,
        reason = "generated code"
    )]
    pub mod v1 {
        tonic::include_proto!("ostiary.jobs.v1");
    }
}
