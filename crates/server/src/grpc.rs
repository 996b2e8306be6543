//! The gRPC API: routers and workers.

mod admission;
mod drift;
mod greeting;
mod identity;
mod jobs;
mod listen;

use jiff::Timestamp;

pub use admission::{AdmissionApi, Guard, HubClock};
pub use drift::DriftApi;
pub use jobs::JobsApi;
pub use listen::{Services, serve};

/// A time as protobuf has it.
fn timestamp(time: Timestamp) -> prost_types::Timestamp {
    prost_types::Timestamp { seconds: time.as_second(), nanos: time.subsec_nanosecond() }
}
