//! A2A 1.0 (both patch levels) with enough of its predecessors to recognise them.

pub mod binding;
pub mod call;
pub mod canonical;
pub mod card;
pub mod codec;
pub mod digest;
pub mod error;
pub mod grpc;
pub mod http_json;
pub mod jsonrpc;
pub mod leak;
pub mod operation;
pub mod reply;
pub mod signature;
pub mod sse;
pub mod stream;
pub mod task;
pub mod trace;

pub use binding::{Binding, Version};
pub use call::Call;
pub use card::{Card, CardFormat};
pub use error::{A2aError, ErrorKind};
pub use operation::Operation;
pub use reply::{Answer, Reply};
pub use stream::StreamItem;
pub use task::{TaskState, TaskView};
