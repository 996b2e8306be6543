//! A2A (and later MCP) as pure models and codecs that keep presence: what was on the wire, not what a default would be.
//!
//! Knows the specifications: cards, operations, error tables, task states, framing. Must not know sockets, clocks,
//! files, or what anyone expects of an agent: judging is done in `verify`. Everything takes bytes or `Value`s and
//! gives views or problems; nothing is dropped, nothing defaulted. Start with [`a2a::card`], then [`a2a::codec`],
//! which turns an abstract [`a2a::operation::Operation`] into bytes of a binding and a recorded exchange into a reply.

pub mod a2a;
pub mod content;
pub mod hidden;
pub mod mcp;
pub mod media_type;

pub use media_type::MediaType;
