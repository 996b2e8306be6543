//! Transports: they carry bytes to a candidate and report the bytes that come back.
//!
//! Does: byte-exact HTTP/1.1 with overlapping exchanges, event streams reported event by event, gRPC over HTTP/2 reported
//! message by message, processes by the line, every answer bounded in bytes and time, and one guard on every address that is dialled. Must not know A2A, MCP, contracts or verdicts, and
//! never sends a request twice: what came back the first time is what the judge sees.
//!
//! Start with [`HttpTransport`], [`StdioTransport`], and [`Transports`] for both; the rules on addresses are in [`AddressGuard`]. HTTP/1.1 is spoken by `wire.rs` and
//! not by a client library, since those lower-case header names, regroup repeated fields, add fields of their own and
//! cannot half-close. HTTP/2 (`http2.rs`) is a second speaker behind the same `dial`, on the frames of `h2`.

mod channel;
mod dial;
mod exchange;
mod fetch;
mod frames;
mod guard;
mod http2;
pub mod http_client;
mod io;
mod messages;
mod request;
mod settings;
mod sse;
mod stdio;
mod timer;
mod tls;
mod transport;
mod wire;

pub use guard::{AddressGuard, Refusal};
pub use settings::{Authority, AuthorityError, Settings, SettingsError, SettingsProblem};
pub use stdio::{Program, StdioTransport, Transports};
pub use timer::TokioTimer;
pub use transport::HttpTransport;
