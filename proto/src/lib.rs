//! Ostiary's own gRPC API: messages, clients and servers, generated from the `.proto` files of this folder.
//!
//! Nothing here is written by hand but this page. Without the feature `rpc` there are only messages, no clients and
//! servers. Must not know any other crate of ours: what a message means stands in the crates that speak it. Start with `ostiary/admission/v1/admission.proto`.

/// Includes what the build script generated for one package.
macro_rules! include_proto {
    ($package:literal) => {
        include!(concat!(env!("OUT_DIR"), "/", $package, ".rs"));
    };
}

/// Descriptors of all messages and services, for server reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// What routers ask.
pub mod admission {
    /// First version.
    #[expect(missing_docs, reason = "a oneof takes no comment")]
    #[cfg_attr(
        feature = "rpc",
        expect(
            unused_qualifications,
            clippy::too_many_lines,
            clippy::allow_attributes,
            clippy::allow_attributes_without_reason,
            reason = "generated clients and servers"
        )
    )]
    pub mod v1 {
        include_proto!("ostiary.admission.v1");
    }
}

/// What routers report.
pub mod drift {
    /// First version.
    #[cfg_attr(
        feature = "rpc",
        expect(
            unused_qualifications,
            clippy::too_many_lines,
            clippy::allow_attributes,
            clippy::allow_attributes_without_reason,
            reason = "generated clients and servers"
        )
    )]
    pub mod v1 {
        include_proto!("ostiary.drift.v1");
    }
}

/// What workers ask.
pub mod jobs {
    /// First version.
    #[expect(missing_docs, reason = "a oneof takes no comment")]
    #[cfg_attr(
        feature = "rpc",
        expect(
            unused_qualifications,
            clippy::too_many_lines,
            clippy::allow_attributes,
            clippy::allow_attributes_without_reason,
            reason = "generated clients and servers"
        )
    )]
    pub mod v1 {
        include_proto!("ostiary.jobs.v1");
    }
}
