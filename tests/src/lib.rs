//! What the end-to-end tests stand on: agents of other people, the `ostiary` binary, and the model of the verdicts that
//! each agent must get. Knows every crate; no crate knows it. Start with [`target::SdkAgent`] and [`program`].

pub mod gateway;
pub mod hostile;
pub mod mcp;
pub mod model;
pub mod pair;
pub mod program;
pub mod promises;
pub mod steady;
pub mod table;
pub mod target;
pub mod world;
