//! Reads a contract bundle from bytes, proves it well-formed, names it by digest.
//!
//! Owns the types of every bundle file and of `environment.yaml`. Must not touch files, sockets or clocks: a bundle is a
//! map from paths to bytes, read elsewhere. Start with [`Bundle::load`], then [`mod@file`] for what each file may hold.

pub mod bundle;
pub mod decode;
pub mod environment;
pub mod file;
pub mod init;
pub mod manifest;
pub mod problem;
pub mod schema;
pub mod secrets;
pub mod yaml;

pub use bundle::{Bundle, CardDocument, Files, PinProblem};
pub use environment::Environment;
pub use file::case::{Case, CaseKind, CaseSet, Expect, JudgeCase, LiveCase, Probe};
pub use manifest::manifest;
pub use problem::{Code, Position, Problem, Problems};
