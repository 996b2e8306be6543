//! Tests of the canonical form, strict JSON and signed statements, through the public interface.

mod names;
mod properties;
mod rfc8785;
mod statements;
mod strict_json;
